"""The virtual network: messages a second of one core with the engine that ships.

The baseline is the event queue by itself, measured just before: as many happenings, in a queue
as long, that do nothing. `-m slow` adds ten thousand processes under six hours of the Tor
network's churn, which takes ten minutes and needs a trace (scenarios/tor_churn.toml).
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from random import Random

import attrs
import pytest
from extra_info import conditions, redundancy
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.research.scenarios.virtual import Links, VirtualScenario
from camcast.research.simulation.run_context import collector_off
from camcast.research.simulation.run_record import VirtualOutcome
from camcast.research.simulation.scenario_run import run_scenario
from camcast.virtual.event_queue import EventQueue

SCENARIOS = Path(__file__).parent / "scenarios"
HAPPENINGS = 500_000  # chosen: half a second
QUEUE_LENGTH = 10_000  # chosen: as many messages are under way in a flood among 1,110

pytestmark = pytest.mark.benchmark(group="virtual network", timer=time.process_time)


def happenings_per_second() -> float:
    """Measure the event queue by itself."""
    queue, rng = EventQueue(), Random(1)

    def happen(left: int) -> None:
        if left:
            queue.after(rng.random(), happen, left - 1)

    for _ in range(QUEUE_LENGTH):
        queue.after(rng.random(), happen, HAPPENINGS // QUEUE_LENGTH - 1)
    start = time.process_time()
    with collector_off():
        while queue:
            queue.step()
    return HAPPENINGS / (time.process_time() - start)


def _measure(
    benchmark: BenchmarkFixture, scenario: VirtualScenario, membership: str, protocol: str
) -> None:
    scenario = attrs.evolve(scenario, membership=membership, protocol=protocol, discovery="census")
    base = happenings_per_second()
    floor = peak_memory_bytes()
    outcome: VirtualOutcome = benchmark.pedantic(lambda: run_scenario(scenario), rounds=1)
    peak = peak_memory_bytes(reset=False)
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    seconds = float(benchmark.stats.stats.min)
    summary = outcome.summary
    copies = sum(c.deliveries + c.duplicates for c in summary.communities)
    deliveries = summary.deliveries + summary.events  # the publishers' own, as in live runs
    benchmark.extra_info.update(
        membership=membership,
        protocol=protocol,
        seed=scenario.seed,
        nodes=outcome.joined,
        events=summary.events,
        rounds=1,
        payload_bytes=scenario.workload.payload_bytes,
        rate_per_second=scenario.workload.rate,
        deliveries=deliveries,
        missed=summary.lost,
        messages=copies,
        control_messages=outcome.records_sent - copies,
        bytes=outcome.bytes,
        cpu_seconds_per_1000_deliveries=seconds / deliveries * 1000,
        memory_mb_per_node=(peak - floor) / outcome.joined / 1e6,
        redundancy=redundancy(copies, deliveries, summary.events),
        **conditions(scenario.parameters, scenario.options),
        seconds=seconds,
        virtual_seconds=outcome.virtual_seconds,
        messages_per_second=outcome.records_sent / seconds,
        bare_happenings_per_second=base,
        ratio_to_bare_queue=outcome.records_sent / seconds / base,
        peak_memory_mb=peak / 1e6,
    )
    assert summary.parasites == 0


def peak_memory_bytes(*, reset: bool = True) -> int:
    """Return the resident memory's maximum since the last reset; then reset it, to what is."""
    if reset:
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): the peak resident set size
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_the_paper_from_joins_and_a_hundred_events(
    benchmark: BenchmarkFixture, membership: str, protocol: str
) -> None:
    _measure(benchmark, VirtualScenario.read(SCENARIOS / "paper_scamp.toml"), membership, protocol)


@pytest.mark.slow
def test_events_at_a_constant_latency(
    benchmark: BenchmarkFixture, membership: str, protocol: str
) -> None:
    """Five times the events, so that they and not the joins are what is measured."""
    scenario = VirtualScenario.read(SCENARIOS / "paper_scamp.toml")
    workload = attrs.evolve(scenario.workload, events=500, rate=100.0)
    scenario = attrs.evolve(scenario, workload=workload, links=Links())
    _measure(benchmark, scenario, membership, protocol)


@pytest.mark.slow
def test_ten_thousand_processes_under_real_churn(
    benchmark: BenchmarkFixture, protocol: str
) -> None:
    """With SCAMP, for which the scenario has options."""
    scenario = VirtualScenario.read(SCENARIOS / "tor_churn.toml")
    assert scenario.churn is not None
    if not scenario.churn.file.exists():
        pytest.skip(f"needs the trace {scenario.churn.file}")
    _measure(benchmark, scenario, "scamp", protocol)
