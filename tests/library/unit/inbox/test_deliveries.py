"""Latencies of late, against quantiles of the single events."""

from camcast.inbox.deliveries import LATENCIES_MAX, LATENCY_WINDOW_SECONDS, Latencies
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic

CLOCK = Clock()


def batch(published_ms: int, count: int = 1, hops: int = 1) -> Batch:
    payloads = [b"x"] * count
    topic = Topic.parse(".a")
    return make_batch(StreamId(bytes(24)), 1, payloads, topic, published=published_ms, hops=hops)


def test_every_event_of_a_batch_counts_and_the_rank_is_the_nearest() -> None:
    latencies = Latencies()
    assert latencies.milliseconds(0.5, now=100.0) is None
    single = []
    for number, count in enumerate((1, 2, 10, 50, 37), 1):
        latencies.note(batch(100_000 - 10 * number, count), CLOCK, now=100.0)
        single += [10.0 * number] * count
    single.sort()
    for share, rank in ((0.01, 1), (0.5, 50), (0.63, 63), (0.99, 99), (1.0, 100)):
        found = latencies.milliseconds(share, now=100.0)
        assert found is not None
        assert abs(found - single[rank - 1]) < 1e-6


def test_own_events_do_not_count_nor_what_is_old_and_clocks_may_differ() -> None:
    latencies = Latencies()
    latencies.note(batch(90_000, hops=0), CLOCK, now=100.0)
    assert latencies.milliseconds(0.5, now=100.0) is None
    latencies.note(batch(200_000), CLOCK, now=100.0)
    assert latencies.milliseconds(0.5, now=100.0) == 0.0
    assert latencies.milliseconds(0.5, now=100.1 + LATENCY_WINDOW_SECONDS) is None
    for number in range(2 * LATENCIES_MAX):
        latencies.note(batch(100_000), CLOCK, now=100.0 + (number >= LATENCIES_MAX))
    assert latencies.milliseconds(0.01, now=101.0) == 1000.0  # those before are forgotten
