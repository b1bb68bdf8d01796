"""Live multicast: nodes of one community in 2 OS processes, beside a raw PUSH→PULL pair.

*Fast* is a burst, as fast as the publisher can; it is as long as a peer's queue (4 MB, 16,384
records), so that nothing need be dropped. *Paced* is a steady stream. The figures that matter
are ratios to the raw pair in the same round, since machines are noisy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from camcast_members import CamcastMembers
from fleet import Fleet, Run
from fleet_worker import PythonWorker
from live_info import live_info
from pytest_benchmark.fixture import BenchmarkFixture
from raw_pipe import Raw, measure_raw

from camcast import Parameters

SMALL, LARGE = 256, 16_384  # bytes [issue 6]
NODES = (10, 50, 100)  # [issue 6]
PARAMETERS = Parameters(c=2)  # [DESIGN, the hot path] fan-out ceil(ln 50 + 2) = 6
SEED = 1
DELIVERIES = 100_000  # chosen: a second or two
BURST = {SMALL: 10_000, LARGE: 200}  # chosen: 3 MB, which a queue of 4 MB holds
RATES = {SMALL: 200.0, LARGE: 20.0}  # events/s [DESIGN, the hot path]; chosen: 250 MB/s in all
PACED_SECONDS = 4  # chosen: 800 events
RAW_MESSAGES = {SMALL: 300_000, LARGE: 20_000}  # chosen: a third of a second of the raw rate
RAW_SECONDS = 1  # chosen: 200 messages tell a median
ROUNDS = 3  # chosen: the median of three stands against a noisy neighbour

pytestmark = [
    pytest.mark.benchmark(group="live multicast"),
    pytest.mark.parametrize("payload_bytes", [SMALL, LARGE], ids=lambda size: f"{size}B"),
]


@pytest.fixture(scope="module", params=NODES, ids=lambda nodes: f"{nodes}nodes")
def fleet(membership: str, protocol: str, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    members = partial(CamcastMembers, membership, PARAMETERS, protocol=protocol)
    with Fleet(request.param, partial(PythonWorker, members), seed=SEED) as fleet:
        yield fleet


def test_fast(
    benchmark: BenchmarkFixture,
    fleet: Fleet,
    membership: str,
    protocol: str,
    payload_bytes: int,
) -> None:
    events = min(BURST[payload_bytes], DELIVERIES // fleet.nodes)
    raws: list[Raw] = []
    runs: list[Run] = []
    # Timed by the workers, from the first publication to the last delivery: the round itself
    # also waits until nothing more arrives. Each round has a raw rate of its own, from just before.
    benchmark.pedantic(
        lambda: runs.append(fleet.publish(events, payload_bytes)),
        setup=lambda: raws.append(measure_raw(RAW_MESSAGES[payload_bytes], payload_bytes)),
        rounds=ROUNDS,
    )
    info = live_info(fleet, membership, protocol, PARAMETERS, payload_bytes, None, runs, raws)
    benchmark.extra_info.update(info)
    assert all(run.delivered <= run.expected for run in runs), "an event was delivered twice"


def test_paced(
    benchmark: BenchmarkFixture,
    fleet: Fleet,
    membership: str,
    protocol: str,
    payload_bytes: int,
) -> None:
    rate = RATES[payload_bytes]
    raw = measure_raw(int(rate * RAW_SECONDS), payload_bytes, rate)
    runs: list[Run] = []
    benchmark.pedantic(
        lambda: runs.append(fleet.publish(int(rate * PACED_SECONDS), payload_bytes, rate)),
        rounds=1,
    )
    info = live_info(fleet, membership, protocol, PARAMETERS, payload_bytes, rate, runs, [raw])
    benchmark.extra_info.update(info)
    assert runs[0].delivered <= runs[0].expected, "an event was delivered twice"
