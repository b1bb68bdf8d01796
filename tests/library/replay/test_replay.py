"""Same scenario, same bytes: in every process, under every hash seed, with a trace or without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from camcast.observe.trace import DigestSink, ListSink, TraceRecord
from camcast.research.scenarios.virtual import Churn, Crashes, Links, Partition, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation import scenario_run
from camcast.research.simulation.scenario_run import run_scenario
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic

REPOSITORY = Path(__file__).parents[3]
A = Topic.parse(".a")
HASH_SEEDS = (*(pytest.param(seed, marks=pytest.mark.slow) for seed in ("0", "1")), "4242")

STORM = VirtualScenario(
    communities={ROOT: 5, A: 15},
    discovery="gateways",
    workload=Workload(topic=A, events=10, rate=2),
    settle_seconds=3.0,
    duration_seconds=8.0,
    drain_seconds=3.0,
    stillborn=0.1,
    links=Links(latency="lognormal", loss=0.02, duplication=0.02, reordering=0.1),
    crashes=(
        Crashes(at_seconds=1, share=0.3, restart_seconds=1),
        Crashes(at_seconds=4, share=0.3, restart_seconds=0.01, identity="same"),
    ),
    cuts=(
        Partition(from_seconds=2, until_seconds=3, share=0.5, one_way=True, loss=0.9),
        Partition(from_seconds=2.5, until_seconds=4, communities=(ROOT,)),
    ),
)
"""Everything at once."""

OVERLAY = attrs.evolve(
    STORM, communities={ROOT: 3, A: 7}, membership="hybrid", discovery="own", settle_seconds=2.0
)
"""The same upon Kademlia."""


class FullDisk:
    """A trace's sink that cannot write."""

    def write(self, record: TraceRecord) -> None:
        raise OSError


def digests(scenario: VirtualScenario) -> str:
    """Return the digest of the run and of its trace."""
    sink = DigestSink()
    return f"{run_scenario(scenario, sink).digest} {sink.hexdigest}"


@cache
def storm() -> str:
    return digests(STORM)


@cache
def plain() -> str:
    return run_scenario(PLAIN).digest


@cache
def overlay() -> str:
    return digests(OVERLAY)


@pytest.mark.parametrize("hash_seed", HASH_SEEDS)
def test_other_processes_with_other_hash_seeds_give_the_same(hash_seed: str) -> None:
    program = (
        "from tests.library.replay.test_replay import OVERLAY, STORM, digests;"
        "print(digests(STORM), digests(OVERLAY))"
    )
    got = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert got.stdout.split() == [*storm().split(), *overlay().split()]


def test_a_trace_changes_nothing() -> None:
    digest, traced = storm().split()
    assert run_scenario(STORM).digest == digest
    sink = ListSink()
    assert run_scenario(STORM, sink).digest == digest
    assert run_scenario(STORM, FullDisk()).digest == digest
    again = DigestSink()
    for record in sink.records:
        again.write(record)
    assert again.hexdigest == traced


def test_two_runs_in_one_process_share_nothing() -> None:
    first = run_scenario(STORM)
    run_scenario(attrs.evolve(STORM, seed=9))
    assert run_scenario(STORM) == first
    assert first.digest == storm().split()[0]


def test_who_looks_at_the_progress_changes_nothing() -> None:
    assert run_scenario(STORM, on_progress=lambda _now, _end: None).digest == storm().split()[0]


PLAIN = attrs.evolve(STORM, repair=False)
"""The same without repair: it costs half as much."""

CHANGES: list[dict[str, Any]] = [
    {"seed": 2},
    {"repair": True},
    {"links": attrs.evolve(STORM.links, loss=0.021)},
    {"links": attrs.evolve(STORM.links, duplication=0.03)},
    {"links": attrs.evolve(STORM.links, reordering=0.2)},
    {"links": attrs.evolve(STORM.links, hold_seconds_max=0.2)},
    {"links": attrs.evolve(STORM.links, p95_seconds=0.2)},
    {"links": attrs.evolve(STORM.links, latency="constant")},
    {"communities": {ROOT: 5, A: 16}},
    {"options": {"c": 1}},
    {"parameters": Parameters(c=4)},
    {"discovery": "census"},
    {"join_gap_seconds": 0.03},
    {"settle_seconds": 3.1},
    {"duration_seconds": 8.1},
    {"stillborn": 0.5},
    {"workload": attrs.evolve(STORM.workload, rate=3)},
    {"workload": attrs.evolve(STORM.workload, payload_bytes=9)},
    {"crashes": STORM.crashes[:1]},
    {"crashes": (STORM.crashes[0], attrs.evolve(STORM.crashes[1], identity="new"))},
    {"cuts": STORM.cuts[:1]},
    {"cuts": (attrs.evolve(STORM.cuts[0], one_way=False), STORM.cuts[1])},
    {"cuts": (STORM.cuts[0], attrs.evolve(STORM.cuts[1], until_seconds=5))},
]


@pytest.mark.parametrize(
    "change", CHANGES, ids=[f"{n}-{next(iter(c))}" for n, c in enumerate(CHANGES)]
)
def test_another_scenario_is_another_run(change: dict[str, Any]) -> None:
    assert run_scenario(attrs.evolve(PLAIN, **change)).digest != plain()


def churn(file: Path) -> VirtualScenario:
    rows = "".join(f"n{n},{n % 2 or ''},{2 + n % 2}\n" for n in range(12))
    file.write_text(f"node,up_minute,down_minute\n{rows}", "utf-8")
    return VirtualScenario(
        communities={ROOT: 4, A: 6},
        workload=Workload(topic=A, events=5, rate=0.1),
        duration_seconds=100.0,
        churn=Churn(file=file, from_seconds=60, jitter_seconds=5.0),
    )


def test_churn_is_drawn_from_the_seed(tmp_path: Path) -> None:
    scenario = churn(tmp_path / "up.csv")
    assert digests(scenario) == digests(scenario)
    assert digests(scenario) != digests(attrs.evolve(scenario, seed=2))


# -- the digest sees what a run may do differently -----------------------------------------------


def mishear(network: VirtualNetwork) -> None:
    take = network.on_delivery
    assert take is not None

    def other(process: Process, delivery: Deliver) -> None:
        batch = msgspec.structs.replace(delivery.batch, hops=9)
        take(process, msgspec.structs.replace(delivery, batch=batch))

    network.on_delivery = other


def forget(network: VirtualNetwork) -> None:
    (local_group,) = next(iter(network)).node.local_groups
    table = local_group.membership.peers()
    table.discard(next(iter(table)).peer)


def miscount(network: VirtualNetwork) -> None:
    next(iter(network)).node.counters.late += 1


CALM = VirtualScenario(
    communities={A: 6},
    discovery="census",
    workload=Workload(topic=A, events=2),
    duration_seconds=1.0,
)
END = 6 * 0.02 + 10 + 10  # settled after the last event, at 0 s


@pytest.mark.parametrize(
    ("at_seconds", "spoil"),
    [
        (5.0, lambda network: network.inject("tcp://10.0.0.3:7000", b"one byte string more")),
        (5.0, lambda network: network.inject("tcp://10.0.0.250:7000", b"to nobody")),
        (5.0, lambda network: network.queue.at(0.0, int)),
        (5.0, lambda network: network.protocol.random()),
        (5.0, mishear),
        (END, forget),
        (END, miscount),
    ],
    ids=["input", "undeliverable", "happening", "draw", "delivery", "table", "counter"],
)
def test_what_another_machine_would_do_differently_shows(
    monkeypatch: pytest.MonkeyPatch, at_seconds: float, spoil: Callable[[VirtualNetwork], object]
) -> None:
    plain = run_scenario(CALM).digest

    class Spoilt(VirtualNetwork):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.queue.at(at_seconds, spoil, self)
            self.queue.happened -= 1  # the spoiling itself does not count

    monkeypatch.setattr(scenario_run, "VirtualNetwork", Spoilt)
    assert run_scenario(CALM).digest != plain
    spoil = lambda _network: None  # noqa: E731 # what is spoilt is the only difference
    assert run_scenario(CALM).digest == plain
