"""Live multicast: 50 nodes of one community in 2 OS processes, beside a raw PUSH→PULL pair.

`make bench` prints a table; the figures that matter are in `extra_info`, as ratios to the raw
rate of the same round, since machines are noisy.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest
from fleet import Fleet, Run
from pytest_benchmark.fixture import BenchmarkFixture
from raw_pipe import raw_messages_per_second

from camcast import Parameters

NODES = 50
EVENTS = 2000
PAYLOAD_BYTES = 256
C = 2  # the fan-out: ceil(ln 50 + 2) = 6
RAW_MESSAGES = 300_000  # chosen: a third of a second of the raw rate
ROUNDS = 5  # chosen: the median of five stands against a noisy neighbour
RATE = 200.0  # the paced load, events/s
PACED_EVENTS = 1000  # chosen: five seconds of it


@pytest.fixture(scope="module")
def fleet(membership: str) -> Iterator[Fleet]:
    with Fleet(NODES, membership=membership, parameters=Parameters(c=C)) as fleet:
        yield fleet


def _facts(fleet: Fleet) -> dict[str, float]:
    facts = fleet.facts()
    views = [view for fact in facts for view in fact["views"]]
    return {
        "view_mean": statistics.mean(views),
        "memory_mb_per_node": sum(fact["memory"] for fact in facts) / NODES / 1e6,
        "records_dropped": sum(fact["dropped"] for fact in facts),
        "malformed": sum(fact["malformed"] for fact in facts),
    }


def test_as_fast_as_possible(benchmark: BenchmarkFixture, fleet: Fleet) -> None:
    raw: list[float] = []
    runs: list[Run] = []
    # Timed by the workers, from the first delivery to the last: the round itself also waits
    # until nothing more arrives. Each round has a raw rate of its own, from just before.
    benchmark.pedantic(
        lambda: runs.append(fleet.publish(EVENTS, PAYLOAD_BYTES)),
        setup=lambda: raw.append(raw_messages_per_second(RAW_MESSAGES, PAYLOAD_BYTES)),
        rounds=ROUNDS,
    )
    rates = [run.delivered / run.seconds for run in runs]
    ratios = [rate / base for rate, base in zip(rates, raw, strict=True)]
    benchmark.extra_info.update(
        raw_messages_per_second=statistics.median(raw),
        deliveries_per_second=statistics.median(rates),
        ratio_to_raw=statistics.median(ratios),
        ratio_to_raw_min=min(ratios),
        ratio_to_raw_max=max(ratios),
        missed=sum(run.expected - run.delivered for run in runs),
        expected=sum(run.expected for run in runs),
        copies_per_delivery=runs[-1].copies / runs[-1].delivered,
        cpu_seconds_per_1000_deliveries=runs[-1].cpu_seconds / runs[-1].delivered * 1000,
        **_facts(fleet),
    )
    assert all(run.delivered <= run.expected for run in runs), "an event was delivered twice"


def test_paced(benchmark: BenchmarkFixture, fleet: Fleet) -> None:
    runs: list[Run] = []
    benchmark.pedantic(
        lambda: runs.append(fleet.publish(PACED_EVENTS, PAYLOAD_BYTES, RATE)), rounds=1
    )
    run = runs[0]
    benchmark.extra_info.update(
        latency_ms_p50=run.latencies[len(run.latencies) // 2] * 1e3,
        latency_ms_p99=run.latencies[len(run.latencies) * 99 // 100] * 1e3,
        missed=run.expected - run.delivered,
        cpu_cores_busy=run.cpu_seconds / run.seconds,
        **_facts(fleet),
    )
    assert run.delivered <= run.expected, "an event was delivered twice"
