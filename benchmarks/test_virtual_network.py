"""The virtual network: messages a second of one core with the engine that ships.

The baseline is the event queue by itself, measured just before: as many happenings, in a queue
as long, that do nothing. `-m slow` adds ten thousand processes under six hours of the Tor
network's churn, which takes ten minutes and needs the trace in ../shared.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from random import Random

import attrs
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.simulation.collector import collector_off
from camcast.simulation.event_queue import EventQueue
from camcast.simulation.scenario import Links, VirtualScenario
from camcast.simulation.scenario_file import read_virtual_scenario
from camcast.simulation.scenario_run import run_scenario

SCENARIOS = Path(__file__).parent / "scenarios"
HAPPENINGS = 500_000  # chosen: half a second
QUEUE_LENGTH = 10_000  # chosen: as many messages are under way in a flood among 1,110


def happenings_per_second() -> float:
    """Measure the event queue by itself."""
    queue, rng = EventQueue(), Random(1)

    def happen(left: int) -> None:
        if left:
            queue.after(rng.random(), happen, left - 1)

    for _ in range(QUEUE_LENGTH):
        queue.after(rng.random(), happen, HAPPENINGS // QUEUE_LENGTH - 1)
    start = time.perf_counter()
    with collector_off():
        while queue:
            queue.step()
    return HAPPENINGS / (time.perf_counter() - start)


def _measure(benchmark: BenchmarkFixture, scenario: VirtualScenario) -> None:
    base = happenings_per_second()
    outcome = benchmark.pedantic(lambda: run_scenario(scenario), rounds=1)
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    seconds = float(benchmark.stats.stats.min)
    summary = outcome.summary
    benchmark.extra_info.update(
        seed=scenario.seed,
        lives=outcome.joined,
        seconds=seconds,
        virtual_seconds=outcome.virtual_seconds,
        messages=outcome.messages,
        messages_per_second=outcome.messages / seconds,
        bare_happenings_per_second=base,
        ratio_to_bare_queue=outcome.messages / seconds / base,
        deliveries=summary.deliveries,
        missed=summary.lost,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    assert summary.parasites == 0


def test_scamp_from_joins_and_a_hundred_events(benchmark: BenchmarkFixture) -> None:
    _measure(benchmark, read_virtual_scenario(SCENARIOS / "paper_scamp.toml"))


def test_events_at_a_constant_latency(benchmark: BenchmarkFixture) -> None:
    """Five times the events, so that they and not the joins are what is measured."""
    scenario = read_virtual_scenario(SCENARIOS / "paper_scamp.toml")
    workload = attrs.evolve(scenario.workload, events=500, rate=100.0)
    _measure(benchmark, attrs.evolve(scenario, workload=workload, links=Links()))


@pytest.mark.slow
def test_ten_thousand_processes_under_real_churn(benchmark: BenchmarkFixture) -> None:
    scenario = read_virtual_scenario(SCENARIOS / "tor_churn.toml")
    assert scenario.churn is not None
    if not scenario.churn.file.exists():
        pytest.skip(f"needs the trace {scenario.churn.file}")
    _measure(benchmark, scenario)
