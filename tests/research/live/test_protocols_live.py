"""Every protocol over real sockets: a dozen processes always, 120 and a fifth killed with `slow`.

hpmcast and pmcast with their membership are in test_hpmcast_live.py as well, with a kill.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from camcast import Community, CommunitySettings, Parameters, Received
from camcast.doors.plugs import PROTOCOL_GROUP, find_protocol, shipped
from camcast.research.systems.baselines import population as baselines
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast import population
from camcast.research.systems.camcast.setting import Community as Group
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.hpmcast.pmcast_law import new_infected_law
from camcast.research.systems.percolation.percolation_reach import coverage, poisson_degrees
from camcast.research.systems.rfpbcast.rfpbcast_equations import pittel_rounds, whole_rounds
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.live.communities import managers
from tests.patience import PATIENCE_SECONDS
from tests.protocol_fleet import AB, TOPICS, A, X
from tests.research.live.worker_logs import said_by_workers

# -- a dozen -------------------------------------------------------------------------------------

INTERESTS = (ROOT, ROOT, A, A, A, AB, AB, AB, AB, X, X, X)
OPTIONS: dict[str, dict[str, object]] = {
    "rfpbcast": {"fan_out": 4, "constant": 8.0, "period_seconds": 0.02},
    "pmcast": {"fan_out": 12, "period_seconds": 0.02},
    "hpmcast": {"fan_out": 12, "arity": 2, "period_seconds": 0.02},
    "percolation": {"gamma": 1.0, "tick_seconds": 0.1},
}
# An event climbs for certain, and goes to everybody in a table.
CERTAIN = CommunitySettings(c=8, a=3.0, p_sel=1.0, search_seconds=0.1, check_seconds=0.3)


@pytest.mark.parametrize("protocol", shipped(PROTOCOL_GROUP))
def test_a_dozen_processes(protocol: str) -> None:
    """All who are interested get what comes once they are linked, once each, nobody else gets
    anything, and nothing is left behind: warnings are errors."""
    asyncio.run(_a_dozen(protocol))


async def _a_dozen(protocol: str) -> None:
    own = find_protocol(protocol).membership
    heartbeat = {"gossip_seconds": 0.1} if own else {"heartbeat_seconds": 0.1}
    settings: dict[str, Any] = {
        "protocol": protocol,
        "protocol_options": OPTIONS.get(protocol),
        "topics": TOPICS,
        "options": heartbeat,
        "parameters": CERTAIN,
    }
    got = [Counter[bytes]() for _ in INTERESTS]
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        managers(len(INTERESTS), **settings) as processes,
    ):
        communities = list[Community]()
        for manager, topic, inbox in zip(processes, INTERESTS, got, strict=True):
            community = await manager.join(topic)

            def take(received: Received, inbox: Counter[bytes] = inbox) -> None:
                inbox[received.payload] += 1

            community.subscribe(take)
            communities.append(community)
        # Best effort, so a publisher repeats itself until all have heard of it.
        number = 0
        for publisher in (11, 8, 2, 0):
            wanting = [n for n, mine in enumerate(INTERESTS) if mine.includes(INTERESTS[publisher])]
            name = b"%d " % publisher
            while not all(any(p.startswith(name) for p in got[n]) for n in wanting):
                number += 1
                await communities[publisher].publish(name + b"%d" % number)
                await asyncio.sleep(0.1)
    for mine, counts in zip(INTERESTS, got, strict=True):
        assert set(counts.values()) == {1}
        heard = {INTERESTS[int(payload.split()[0])] for payload in counts}
        assert heard == {topic for topic in TOPICS if mine.includes(topic)}
    assert asyncio.all_tasks() == {asyncio.current_task()}


# -- a fifth of 120 is killed ----------------------------------------------------------------------

SIZES = {Topic.parse(".a"): 40, Topic.parse(".b"): 60, ROOT: 20}
EVENTS, RATE = 160, 20.0  # 4 s before the kill and 4 s after
KILLED = 0.2  # 2 of 10 operating system processes, with 12 nodes each
C = 0.0  # of infect and die: some are missed while a fifth of the tables is dead
GAMMA = 0.1
# Rounds beyond Equation 5: with 2 of them, and five times as much to do as there are cores, 0.961
# were reached, with none 0.833.
OF_THE_KILLED = {"rfpbcast": ["constant=4"], "percolation": [f"gamma={GAMMA}"]}
RUNS = 4000
Z_999 = 3.09  # one-sided 99.9 %


def group_share(protocol: str) -> NDArray[np.float64]:
    """Return the share of the living interested but the publisher that have an event, run by run.

    The kernels' "stillborn" processes are in all tables and dead: the state right after the kill.
    """
    parameters = Parameters(c=C, p_sel=1.0, a=3.0)
    setting = Setting(
        communities=tuple(
            Group(size=size, parameters=parameters, supers=() if topic == ROOT else (2,))
            for topic, size in SIZES.items()
        ),
        success=1.0,
        crash=KILLED,
    )
    if protocol == "camcast":
        upward = population.simulate(setting, RUNS, seed=1)
        alive, received = (
            upward.alive[:, [0, 2]].sum(axis=1),
            upward.delivered[:, [0, 2]].sum(axis=1),
        )
        return np.asarray((received - 1) / np.maximum(1, alive - 1))
    spread = baselines.simulate(baseline("broadcast", setting), RUNS, seed=1)
    return np.asarray((spread.delivered - 1) / np.maximum(1, spread.alive - 1))


def model(protocol: str, view: float) -> tuple[float, float]:
    """Return the mean and the standard deviation, by event, of the share that is reached.

    rfpbcast's are the exact chain's for F = 2 and the rounds of Equation 5, with 96 of 120 to
    reach. It runs with more rounds, for its periods are out of step: what that costs depends on how
    busy the machine is (tests/research/laws/test_protocol_laws.py). Percolation has a Poisson
    overlay of as many neighbours as a table has live peers, which leaves out those who are known
    from theirs.
    """
    if protocol == "rfpbcast":
        rounds = whole_rounds(float(pittel_rounds(120, 2)))
        law = new_infected_law(119, 95, 2, rounds)
        shares = np.arange(len(law)) / 95
        mean = float(shares @ law)
        return mean, float(sqrt(shares**2 @ law - mean**2))
    if protocol == "percolation":
        found = coverage(poisson_degrees(view), 96, sigma=0.5, gamma=GAMMA)
        mean = found.percolates * found.subscribers / (0.5 * 96)
        return mean, sqrt(mean * (1 - mean))
    shares = group_share(protocol)
    return float(shares.mean()), float(shares.std())


@pytest.mark.slow
@pytest.mark.parametrize(
    # multicast and hierarchical spread by what broadcast has
    "protocol",
    ["camcast", "broadcast", "rfpbcast", "percolation"],
)
def test_a_fifth_is_killed(protocol: str, tmp_path: Path) -> None:
    """What is published after the kill reaches at least what the model says of tables with a fifth
    of dead, at 99.9 %: the tables recover within the time, and SCAMP's sponsors help."""
    command = [sys.executable, "-m", "camcast", "run", "--protocol", protocol, "--json"]
    for option in OF_THE_KILLED.get(protocol, ()):
        command += ["--protocol-set", option]
    for topic, size in SIZES.items():
        command += ["--community", f"{topic}={size}"]
    command += ["--topic", ".a", "--events", str(EVENTS), "--rate", str(RATE)]
    command += ["--c", str(C), "--p-sel", "1", "--a", "3"]
    command += ["--processes", "10", "--kill", str(KILLED), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert said_by_workers(tmp_path / "out") == []
    summary = json.loads(done.stdout)
    kill = summary["kill"]
    assert (kill["processes_killed"], kill["nodes_killed"]) == (2, 24)
    assert kill["events_after"] >= 0.4 * EVENTS
    if not find_protocol(protocol).parasitic:
        assert summary["parasites"] == 0
    # Two of ten processes with as many nodes of each community: 32 of `.a` (31 others), 16 of `.`.
    after = kill["reception_after"]
    reception = (31 * after[".a"] + 16 * after["."]) / 47
    view = kill["views"]["1 s after"]
    live = min(row["view_mean"] for row in view)
    mean, deviation = model(protocol, live)
    error = Z_999 * deviation / sqrt(kill["events_after"])
    print(f"{protocol}: {reception:.4f} of the others, model {mean:.4f} - {error:.4f}")
    assert 0.5 < mean < 1
    assert reception >= mean - error
