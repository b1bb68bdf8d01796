"""A short one of each fault that needs no root: processes on the loopback.

`make chaos` has the long ones, in networks of their own.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest

from camcast.live import transports
from tests.library.chaos.lab import Choice, Lab
from tests.library.chaos.network import Loopback
from tests.library.chaos.scenario import Outcome, Scenario, run
from tests.library.chaos.scenarios import (
    SCENARIOS,
    kill,
    nothing,
    pause,
    restart_in_turn,
    with_slow_subscribers,
)


async def garbage(lab: Lab) -> None:
    """Strangers send bytes of all kinds to every node, by TCP and by UDP."""
    random = Random(1)
    for worker in lab.living():
        for node in worker.nodes:
            where = urlsplit(node.bind)
            target = where.hostname, where.port
            for sent in (b"\0", b"\xff" * 64, b"GET / HTTP/1.0\r\n\r\n", random.randbytes(4096)):
                with socket.create_connection(target) as stranger:
                    stranger.sendall(sent)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                    stranger.sendto(sent[:1024], target)
        await asyncio.sleep(0)


_short = partial(Scenario, nodes=18, processes=4, hosts=2, rate=5.0, before=1.0, after=2.0)
SHORT = [
    _short(
        name="kill",
        title="half of the processes and the gateway are killed",
        happen=kill(0.5, gateway=True),
        # chosen: every node has its three links 7.5 s after the start. With 1 s, once in 60 runs
        # both members of .a.x knew one of .a alone, which was killed: nothing can join such
        # islands (docs/reliability.md)
        before=8.0,
        after=12.0,
        excused=(1.0, 10.0),  # events published from 10 s after a fault on arrive
    ),
    _short(name="pause", title="one process is stopped for 2 s", happen=pause(2)),
    _short(
        name="restart",
        title="each process restarts at its addresses",
        # chosen: with 1 s, both members of .b.x left within 4 s of all above whom they knew, and
        # took along what they had just said, once in some 40 runs (docs/reliability.md)
        happen=restart_in_turn(5.0),
    ),
    _short(
        name="slow",
        title="subscribers are slow, hang and raise",
        prepare=with_slow_subscribers,
        happen=nothing(2),
    ),
    _short(name="garbage", title="strangers send bytes of all kinds", happen=garbage),
]
OF_A_KIND = ("pause", "slow")
"""What the virtual network and the tests of slow subscribers have, too."""


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """The scenarios that are chosen, all at the same time, since they wait most of it."""
    chosen = " ".join(one.name for one in request.session.items if one.path == request.path)
    scenarios = [scenario for scenario in SHORT if f"[{scenario.name}]" in chosen]
    choice = Choice(membership="scamp", transport=transports.DEFAULT, seed=1)

    async def all_at_once() -> list[Outcome]:
        folder = tmp_path_factory.mktemp("chaos")
        return await asyncio.gather(
            *(run(one, choice, folder / one.name, Loopback()) for one in scenarios)
        )

    outcomes = asyncio.run(all_at_once())
    return {one.name: outcome for one, outcome in zip(scenarios, outcomes, strict=True)}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one.name, id=one.name, marks=[pytest.mark.slow] * (one.name in OF_A_KIND))
        for one in SHORT
    ],
)
def test_every_event_comes_once_to_all_that_are_alive(
    name: str, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[name]
    findings = outcome.findings
    assert outcome.broken == [], findings and findings.examples
    assert findings is not None
    assert findings.due > 50  # the processes published, and nodes were there to hear of it


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht", "cyclon", "hyparview"])
def test_a_community_in_the_middle_dies_with_the_gateway(membership: str, tmp_path: Path) -> None:
    """The next ancestor that lives stands in for it, also between real processes (000, 3.3)."""
    [scenario] = (s for s in SCENARIOS if s.name == "middle-and-gateway")
    choice = Choice(membership=membership, transport=transports.DEFAULT, seed=1)
    outcome = asyncio.run(run(scenario, choice, tmp_path, Loopback()))
    assert outcome.broken == [], outcome.findings and outcome.findings.examples
