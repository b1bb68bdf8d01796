"""The hand-over: what it costs a process to give an event to one of its own subscribers.

A round delivers 2,048 events to a community that has one subscriber, and ends when the subscriber
has had them all. `nanoseconds_per_event` is what to read. Beside it, in the same run, stands
asyncio's own way to hand something over: an `asyncio.Queue` with one item an event.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast import Community, CommunityManager, Received, ReceivedBatch
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".bench")
STREAM = stream_id(PeerId(bytes(range(16))), 1)
EVENTS = 2048  # chosen: half of what a subscription's queue holds
PAYLOAD_BYTES = 256
ROUNDS = 30  # chosen: a millisecond each

pytestmark = pytest.mark.benchmark(group="hand-over", timer=time.process_time)


class Reader:
    """Counts the events of a round."""

    def __init__(self) -> None:
        self._left = EVENTS
        self._loop = asyncio.get_running_loop()
        self._all = asyncio.Event()

    def took(self, events: int = 1) -> None:
        """Count events, in whatever thread."""
        self._left -= events
        if not self._left:
            self._loop.call_soon_threadsafe(self._all.set)

    async def all(self) -> None:
        """Wait until a round's events are counted, and begin the next one."""
        await self._all.wait()
        self._all.clear()
        self._left = EVENTS


async def iterate(community: Community, reader: Reader) -> None:
    async for _ in community.subscribe():
        reader.took()


async def iterate_batches(community: Community, reader: Reader) -> None:
    async for batch in community.subscribe().batches():
        assert isinstance(batch, ReceivedBatch)
        reader.took(len(batch.payloads))


async def call_coroutine(community: Community, reader: Reader) -> None:
    async def take(_received: Received) -> None:
        reader.took()

    community.subscribe(take)


async def call_plain(community: Community, reader: Reader) -> None:
    community.subscribe(lambda _received: reader.took())


async def call_coroutine_with_batches(community: Community, reader: Reader) -> None:
    async def take(batch: ReceivedBatch) -> None:
        reader.took(len(batch.payloads))

    community.subscribe(on_batch=take)


SUBSCRIBERS = {
    "async-for": iterate,
    "batches": iterate_batches,
    "callback": call_coroutine,
    "plain-callback": call_plain,
    "on-batch": call_coroutine_with_batches,
}


def batches_of(events: int) -> list[Batch]:
    """Return a round's events, so many in a batch."""
    payloads = [bytes(PAYLOAD_BYTES)] * events
    firsts = range(1, EVENTS + 1, events)
    return [make_batch(STREAM, first, payloads, TOPIC, hops=3) for first in firsts]


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def asyncio_queue_seconds(loop: asyncio.Runner) -> float:
    """Return the median processor time of a round through an `asyncio.Queue`."""

    async def rounds() -> float:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        reader = Reader()

        async def read() -> None:
            while True:
                await queue.get()
                reader.took()

        task, payloads = asyncio.create_task(read()), [bytes(PAYLOAD_BYTES)] * EVENTS
        seconds = []
        for _ in range(ROUNDS):
            started = time.process_time()
            for payload in payloads:
                queue.put_nowait(payload)
            await reader.all()
            seconds.append(time.process_time() - started)
        task.cancel()
        return statistics.median(seconds)

    return loop.run(rounds())


@pytest.mark.parametrize("events_per_batch", [1, 64])
@pytest.mark.parametrize("subscriber", SUBSCRIBERS)
def test_hand_over(
    benchmark: BenchmarkFixture, loop: asyncio.Runner, subscriber: str, events_per_batch: int
) -> None:
    manager = CommunityManager()
    community = manager.community(TOPIC)  # held, so that `join` returns it
    deliveries = community._deliveries

    async def start() -> tuple[Reader, asyncio.Task[None]]:
        await manager.start()
        community, reader = await manager.join(TOPIC), Reader()
        task = asyncio.create_task(SUBSCRIBERS[subscriber](community, reader))
        await asyncio.sleep(0)  # it subscribes
        return reader, task

    async def hand_over(batches: list[Batch]) -> None:
        for batch in batches:
            deliveries.deliver(batch, history=False)
        await reader.all()

    async def stop() -> None:
        await manager.close()
        await task

    reader, task = loop.run(start())
    try:
        benchmark.pedantic(
            lambda batches: loop.run(hand_over(batches)),
            setup=lambda: ((batches_of(events_per_batch),), {}),
            rounds=ROUNDS,
        )
    finally:
        loop.run(stop())
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    median = benchmark.stats.stats.median
    benchmark.extra_info.update(
        subscriber=subscriber,
        events_per_batch=events_per_batch,
        payload_bytes=PAYLOAD_BYTES,
        nanoseconds_per_event=median / EVENTS * 1e9,
        cpu_ratio_to_asyncio_queue=median / asyncio_queue_seconds(loop),
    )
