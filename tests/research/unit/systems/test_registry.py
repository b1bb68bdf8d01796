"""The records of the systems, and what a protocol takes to become one."""

from __future__ import annotations

import os
from pathlib import Path
from pkgutil import resolve_name
from random import Random

import pytest

from camcast.doors.plugs import PROTOCOL_GROUP, find_protocol, shipped
from camcast.research.population.outcome import Outcome, joined
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.registry import SYSTEMS, Simulator, System, find_system
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT, Topic
from tests.camcast_command import Capture, answer, camcast
from tests.python_process import output_of

A, AB, X = map(Topic.parse, (".a", ".a.b", ".x"))


def test_every_protocol_of_ours_has_a_record_whose_parts_exist() -> None:
    assert sorted(SYSTEMS) == shipped(PROTOCOL_GROUP)
    for system in SYSTEMS.values():
        named = [simulator.simulate for simulator in system.simulators.values()]
        assert all(callable(resolve_name(part)) for part in (system.setting, system.model, *named))


def test_the_records_import_neither_simulators_nor_models() -> None:
    code = (
        "import sys, camcast.research.systems.registry as _\n"
        "print('numpy' in sys.modules, 'numba' in sys.modules)"
    )
    assert output_of("-c", code).split() == ["False", "False"]


@pytest.mark.parametrize("protocol", SYSTEMS)
def test_the_home_has_the_size_that_the_interests_say(protocol: str) -> None:
    """Who is in the home of `.a`; within 15 %, as hierarchical draws clusters by identity."""
    sizes = {ROOT: 3, A: 6, AB: 8, X: 7}
    found = find_protocol(protocol)
    rng = Random(1)
    peers = {PeerId(rng.randbytes(16)): topic for topic, n in sizes.items() for _ in range(n * 50)}
    home = found.groups(A, tuple(sizes), PeerId(bytes(16)))[0]
    members = sum(
        any(group.topic == home.topic for group in found.groups(topic, tuple(sizes), peer))
        for peer, topic in peers.items()
    )
    kinds: dict[tuple[Topic, ...], int] = {(topic,): size for topic, size in sizes.items()}
    expected = 50 * find_system(protocol).home_size(found, kinds)(A)
    assert members == pytest.approx(expected, rel=0.15)


# -- runs ----------------------------------------------------------------------------------------

SIMULATORS = [(system, name) for system in SYSTEMS.values() for name in system.simulators]


def spread(system: System, simulator: str, runs: int, seed: int, first_run: int = 0) -> Outcome:
    chosen = Setting(communities=chain((30, 12, 5)), success=0.85, crash=0.3)
    simulate = resolve_name(system.simulators[simulator].simulate)
    outcome: Outcome = simulate(system.setting_of(chosen, {}), runs, seed, first_run)
    return outcome


@pytest.mark.parametrize(
    ("system", "simulator"), SIMULATORS, ids=[f"{s.protocol}, {name}" for s, name in SIMULATORS]
)
def test_a_run_depends_on_the_setting_the_seed_and_its_number(
    system: System, simulator: str
) -> None:
    """Not on the runs made before it, so that runs may be split."""
    whole = spread(system, simulator, 12, 10).counts()
    parts = [spread(system, simulator, 5, 10), spread(system, simulator, 7, 10, 5)]
    assert joined([part.counts() for part in parts]).counts() == whole
    assert spread(system, simulator, 12, 11).counts() != whole
    assert spread(system, simulator, 12, 10, 1).counts() != whole


def all_counts() -> str:
    return repr([spread(*one, 3, 12).counts() for one in SIMULATORS])


@pytest.mark.parametrize("hash_seed", [pytest.param("0", marks=pytest.mark.slow), "1"])
def test_another_process_and_hash_seed_give_the_same(hash_seed: str) -> None:
    program = "from tests.research.unit.systems.test_registry import *; print(all_counts())"
    root = Path(__file__).parents[4]
    assert output_of("-c", program, cwd=root, PYTHONHASHSEED=hash_seed).strip() == all_counts()


# -- a ninth system -------------------------------------------------------------------------------

FLOOD = '''
from typing import ClassVar

import numpy as np
from attrs import frozen

from camcast.doors.dissemination import Dissemination, Sent
from camcast.doors.protocol import Group, Protocol
from camcast.research.models.event_prediction import EventPrediction
from camcast.research.population.outcome import Outcome
from camcast.research.systems.group_setting import Group as Setting
from camcast.vocabulary.topics import ROOT


class Flooding(Dissemination):
    def __init__(self, context):
        self._context = context

    def disseminate(self, event, now, source=None):
        peers = list(self._context.membership.peers())
        self._context.events.send(event, peers, now)
        return Sent(len(peers))


@frozen
class Flood(Protocol):
    name: ClassVar[str] = "flood"
    source: ClassVar[str] = "a test"
    parasitic: ClassVar[bool] = True

    def groups(self, interest, topics, me):
        return (Group(ROOT, Flooding),)


def simulate(setting, runs, seed, first_run=0):
    """All processes send to all others, so that copies are many enough to reach everybody."""
    n, n_1 = setting.processes, setting.interested
    of_all = np.ones(runs, np.int64)
    return Outcome((), of_all * n_1, of_all * n_1, 2 * of_all, of_all * n * (n - 1),
                   parasite_copies=of_all * (n - n_1) * (n - 1))


def predict(setting):
    n, n_1 = setting.processes, setting.interested
    return EventPrediction(reception=1.0, reliability=1.0, messages=float(n * (n - 1)),
                           parasite_copies=float((n - n_1) * (n - 1)))
'''

SCENARIO = """
duration_seconds = 5
[communities]
"." = 3
".d" = 6
[workload]
topic = ".d"
events = 3
rate = 1
"""


@pytest.fixture
def flood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a protocol, a simulator and a model, and record the system."""
    (tmp_path / "camcast_flood.py").write_text(FLOOD)
    info = tmp_path / "camcast_flood-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: camcast-flood\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[camcast.protocols]\nflood = camcast_flood:Flood\n")
    monkeypatch.syspath_prepend(tmp_path)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    record = System(
        protocol="flood",
        setting="camcast.research.systems.group_setting:Group",
        simulators={"population": Simulator("camcast_flood:simulate", 1000)},
        model="camcast_flood:predict",
    )
    monkeypatch.setitem(SYSTEMS, "flood", record)


@pytest.mark.usefixtures("flood")
def test_a_protocol_with_a_record_is_in_every_command(tmp_path: Path, capfd: Capture) -> None:
    """Predicted, simulated over arrays, compared, in the virtual network, and live."""
    chosen = ("--sizes", "6,3", "--protocol", "flood", "--protocol-set", "published_in=1")
    model = answer(capfd, "model", *chosen)
    assert (model["setting"]["interested"], model["model"]["messages"]) == (3, 72)
    simulated = answer(capfd, "simulate", "population", *chosen, "--runs", 500, "--workers", 1)
    assert simulated["model"] == model["model"]
    assert simulated["parasite_copies"]["mean"] == model["model"]["parasite_copies"] == 48
    scenario = tmp_path / "small.toml"
    scenario.write_text(SCENARIO)
    virtual = answer(capfd, "simulate", "virtual", scenario, "--protocol", "flood")
    assert (virtual["summary"]["events"], virtual["summary"]["lost"]) == (3, 0)
    given = ("--events", 3, "--loss", 0, "--members-max", 3, "--workers", 1)
    (cost,) = answer(capfd, "compare-protocols", "--protocols", "flood", *given)
    assert (cost["protocol"], cost["reached"]) == ("flood", True)
    live = ("--sizes", "6,3", "--events", 3, "--output", tmp_path / "out")
    assert answer(capfd, "run", "--protocol", "flood", *live)["lost"] == 0


@pytest.mark.usefixtures("flood")
def test_a_protocol_without_a_record_runs_but_is_not_predicted(
    monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.delitem(SYSTEMS, "flood")
    assert find_system("flood").one_table
    for command in (["model"], ["simulate", "population"]):
        assert camcast(*command, "--sizes", "6,3", "--protocol", "flood") == 1
        assert "flood has no simulator and no model" in capfd.readouterr().err
