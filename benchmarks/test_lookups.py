"""Look-ups: what it takes to find strangers, by discovery, on virtual time.

The town of the contract suite: 32 processes, half of them members of what all of them seek, with
the latencies of PlanetLab. `seconds` are virtual, what a user waits; the benchmark's own time is
the processor's for 32 look-ups.
"""

from __future__ import annotations

import statistics
import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.testing.town import Town
from camcast.virtual.climate import Climate, LogNormal

PROCESSES = 32
WANTED = 5
SEED = 1
ROUNDS = 3  # chosen: 96 look-ups; a quantile of 95 % is the fifth from above


@pytest.mark.benchmark(group="look-up", timer=time.process_time)
@pytest.mark.parametrize("loss", [0.0, 0.2], ids=lambda loss: f"loss{loss:.0%}")
def test_everybody_seeks(benchmark: BenchmarkFixture, discovery: str, loss: float) -> None:
    with Town(discovery, SEED, Climate(latency=LogNormal(), loss=loss)) as town:
        people = [town.add() for _ in range(PROCESSES)]
        town.announce(*people[::2], settle=30.0)
        members = {person.me for person in people[::2]}
        datagrams = town.datagrams.sent
        answers = []
        benchmark.pedantic(
            lambda: answers.extend(town.seek_all(people, wanted=WANTED)), rounds=ROUNDS
        )
        assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
        assert all(set(finding.contacts) <= members for _, finding in answers)
        seconds = sorted(seconds for seconds, _ in answers)
        benchmark.extra_info.update(
            discovery=discovery,
            seed=SEED,
            processes=PROCESSES,
            wanted=WANTED,
            loss=loss,
            lookups=len(answers),
            found_share=statistics.mean(bool(finding.contacts) for _, finding in answers),
            seconds_p50=seconds[len(seconds) // 2],
            seconds_p95=seconds[len(seconds) * 95 // 100],
            datagrams_per_lookup=(town.datagrams.sent - datagrams) / len(answers),
            cpu_milliseconds_per_lookup=benchmark.stats.stats.median / PROCESSES * 1e3,
        )
