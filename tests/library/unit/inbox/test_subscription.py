"""How a subscription hands out what is queued: to tasks in their turn, and to callbacks."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import pairwise
from typing import Any

import pytest

from camcast import CommunityError, Lagged, Overflow, Received, ReceivedBatch
from camcast.inbox import feed as feed_module
from camcast.inbox.feed import TURN_SECONDS
from camcast.inbox.received import Gap
from camcast.inbox.subscription import EventFeed, Subscription
from tests.patience import live
from tests.received_batches import TOPIC, received

Item = Received | ReceivedBatch | Gap
Read = Callable[[Subscription], AsyncIterator[Item]]

iterators = pytest.mark.parametrize("read", [aiter, Subscription.batches])


def subscription(**settings: Any) -> Subscription:
    return Subscription(EventFeed(lambda _: None, TOPIC, **settings))


def one(number: int) -> Received | ReceivedBatch:
    return received(number, [b"x"])


def numbers(item: Item) -> list[int]:
    assert isinstance(item, Received | ReceivedBatch)
    return [item.sequence] if isinstance(item, Received) else list(item.sequences)


def test_closing_is_told_once() -> None:
    async def main() -> None:
        closed: list[EventFeed] = []
        queue = Subscription(EventFeed(closed.append, TOPIC))
        queue.close()
        queue.close()
        assert closed == [queue._feed]
        assert queue.closed

    asyncio.run(main())


@live
async def test_what_is_queued_can_be_read_after_closing_one_by_one_or_by_the_batch() -> None:
    async with subscription(queue_length=6) as queue:
        queue._feed.put(received(1, [b"x"] * 4))
        queue._feed.put(received(5, [b"x"] * 3))
        queue._feed.put(received(8, [b"x"]))
    queue._feed.put(one(9))
    assert await anext(queue) == Lagged(2)
    assert numbers(await anext(queue)) == [3]
    assert [numbers(item) async for item in queue.batches()] == [[4], [5, 6, 7], [8]]
    assert [item async for item in queue] == []


@live
async def test_a_subscription_says_what_is_wrong_with_its_settings() -> None:
    with pytest.raises(ValueError, match="at least 1 event, not 0"):
        subscription(queue_length=0)
    with pytest.raises(ValueError, match="at least 1 byte, not 0"):
        subscription(queue_bytes=0)
    with pytest.raises(ValueError, match="takes events or one that takes batches"):
        subscription(callback=lambda _: None, on_batch=lambda _: None)
    with pytest.raises(ValueError, match="on_missed goes with a callback"):
        subscription(on_missed=lambda _: None)
    called = subscription(callback=lambda _: None)
    with pytest.raises(CommunityError, match="nothing to iterate"):
        await anext(called)
    with pytest.raises(CommunityError, match="nothing to iterate"):
        called.batches()
    called.close()


async def _coroutine_function(_: object) -> None: ...


def _generator_function(_: object) -> Iterator[None]:
    yield


class _Iterated:
    async def __call__(self, _: object) -> AsyncIterator[None]:
        yield


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"callback": 5}, "a callback is a function, and not 5"),
        ({"on_batch": "x"}, "a callback is a function, and not 'x'"),
        ({"callback": _generator_function}, "_generator_function .* has a `yield`"),
        ({"on_batch": _Iterated()}, "_Iterated .* has a `yield`"),
        ({"callback": print, "on_lagged": _generator_function}, "on_lagged is a plain function"),
        ({"callback": print, "on_lagged": _coroutine_function}, "on_lagged is a plain function"),
        ({"callback": print, "on_missed": 5}, "on_missed is a plain function, .* and not 5"),
        ({"queue_length": 1.5}, "queue_length is a whole number, and not 1.5"),
        ({"queue_bytes": None}, "queue_bytes is a whole number, and not None"),
        ({"overflow": "drop-oldest"}, "overflow is an Overflow, .* and not 'drop-oldest'"),
    ],
)
@live
async def test_what_is_of_a_wrong_type_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        subscription(**settings)


def _exits(got: list[Any]) -> Callable[[Received], None]:
    def callback(event: Received) -> None:
        got.append(event)
        sys.exit(3)

    return callback


def _awaits_what_was_cancelled(got: list[Any]) -> Callable[[Received], Coroutine[Any, Any, None]]:
    async def callback(event: Received) -> None:
        got.append(event)
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        await cancelled

    return callback


def _raises_a_group(got: list[Any]) -> Callable[[Received], Coroutine[Any, Any, None]]:
    async def callback(event: Received) -> None:
        got.append(event)
        raise BaseExceptionGroup("of a TaskGroup", [asyncio.CancelledError()])

    return callback


class Panic(BaseException):
    """What a panic of an extension in Rust is: no `Exception`."""


def _panics(got: list[Any]) -> Callable[[Received], Coroutine[Any, Any, None]]:
    async def callback(event: Received) -> None:
        got.append(event)
        raise Panic

    return callback


def _makes_a_coroutine(got: list[Any]) -> Callable[[Received], object]:
    async def note(event: Received) -> None:
        raise AssertionError("nobody awaits this")

    def callback(event: Received) -> object:
        got.append(event)
        return note(event)

    return callback


def _makes_a_generator(got: list[Any]) -> Callable[[Received], object]:
    def callback(event: Received) -> object:
        got.append(event)
        return _generator_function(event)

    return callback


@pytest.mark.parametrize(
    "make",
    [
        *(_exits, _awaits_what_was_cancelled, _raises_a_group, _makes_a_coroutine),
        *(_makes_a_generator, _panics),
    ],
)
@live
async def test_whatever_a_callback_does_it_gets_the_next_event(
    make: Callable[[list[Any]], Any], caplog: pytest.LogCaptureFixture
) -> None:
    got: list[Any] = []
    queue = subscription(callback=make(got))
    events = [one(1), one(2)]
    for event in events:
        queue._feed.put(event)
    queue.close()
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == events
    assert queue.errors == 2
    assert "the callback " in caplog.text


@live
async def test_a_callback_in_a_thread_may_close_its_subscription() -> None:
    """What ends with it, perhaps the membership, is the loop's to do."""
    ended: list[threading.Thread] = []
    queue = Subscription(
        EventFeed(
            lambda _: ended.append(threading.current_thread()), TOPIC, lambda _: queue.close()
        )
    )
    queue._feed.put(one(1))
    assert queue._feed.running is not None
    await queue._feed.running
    assert ended == [threading.current_thread()]


# -- others' code ----------------------------------------------------------------------------


class _Clock:
    """A clock by which a millisecond passes whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.mark.parametrize("how", ["events", "batches", "callback"])
@live
async def test_a_reader_that_is_never_without_items_gives_the_loop_turns(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an event a millisecond, at most a few are taken between two turns of the loop."""
    monkeypatch.setattr(feed_module, "monotonic", _Clock())
    taken: list[object] = []
    most = 0

    async def take(event: object) -> None:
        taken.append(event)

    queue = subscription(callback=take) if how == "callback" else subscription()
    for number in range(1, 201):
        queue._feed.put(one(number))
    queue.close()

    async def read() -> None:
        async for item in queue if how == "events" else queue.batches():
            await take(item)

    reader = queue._feed.running or asyncio.ensure_future(read())
    while not reader.done():
        before = len(taken)
        await asyncio.sleep(0)
        most = max(most, len(taken) - before)
    await reader
    assert len(taken) == 200
    assert most <= TURN_SECONDS / 0.001


@live
async def test_a_gap_comes_before_what_is_left_of_an_opened_batch() -> None:
    got: list[object] = []

    async def take(event: Received) -> None:
        got.append(event.sequence)
        if event.sequence == 1:  # two are left of three, and there is room for one more
            for number in (4, 5):
                queue._feed.put(one(number))

    queue = subscription(queue_length=3, callback=take, on_lagged=got.append)
    queue._feed.put(received(1, [b"x"] * 3))
    while 5 not in got:
        await asyncio.sleep(0)
    queue.close()
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == [1, Lagged(1), 3, 4, 5]


@pytest.mark.parametrize("seconds", [0.00001, 0.0001, 0.001])
@live
async def test_the_turn_after_a_short_callback_is_half_as_long_again_at_most(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is not looked at for each event; this one goes on in the callback alone."""
    now, turns = 0.0, [0.0]
    monkeypatch.setattr(feed_module, "monotonic", lambda: now)

    async def take(_: object) -> None:
        nonlocal now
        now += seconds

    queue = subscription(callback=take)
    for number in range(1, 1 + round(4 * TURN_SECONDS / seconds)):
        queue._feed.put(one(number))
    queue.close()
    assert queue._feed.running is not None
    while not queue._feed.running.done():
        await asyncio.sleep(0)
        turns.append(now)
    waited = max(after - before for before, after in pairwise(turns))
    assert 0.9 * TURN_SECONDS <= waited <= 1.5 * TURN_SECONDS


@live
async def test_the_loop_does_not_wait_while_the_thread_of_a_callback_takes() -> None:
    """A `__del__` that waits for the loop may run in it, as if it took that long to take."""
    got: list[Any] = []
    queue = subscription(callback=got.append)
    taking, go = threading.Event(), threading.Event()
    take = queue._feed.take

    def take_slowly() -> Any:
        taking.set()
        go.wait()
        return take()

    queue._feed.take = take_slowly
    queue._feed.put(one(1))
    await asyncio.to_thread(taking.wait)
    events = [one(1), one(2), one(3)]
    for event in events[1:]:
        queue._feed.put(event)
    assert queue.stats().queued_events <= 1  # nor does who looks
    queue.close()
    go.set()
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == events


@live
async def test_what_the_loop_queues_between_the_last_take_of_a_thread_and_its_end_is_taken() -> (
    None
):
    """Without a second look, the thread ends with the items in its queue."""
    got: list[Any] = []
    queue = subscription(callback=got.append)
    lock, waiting, go = queue._feed._lock, threading.Event(), threading.Event()

    class _SlowToGoOn:
        acquire, release = lock.acquire, lock.release

        def __enter__(self) -> None:
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()
            if threading.current_thread() is not threading.main_thread() and queue._feed._closed:
                waiting.set()
                go.wait()

    take = queue._feed.take

    def take_nothing() -> Any:
        item = take()
        if item is None and not queue._feed._closed:
            queue._feed._aside.extend((queue._feed.queue.put, one(number)) for number in (1, 2))
            queue._feed._closed = True
        return item

    queue._feed._lock = _SlowToGoOn()  # type: ignore[assignment]  # a lock, as far as a feed uses it
    queue._feed.take = take_nothing
    queue._feed._wake_thread()
    await asyncio.to_thread(waiting.wait)
    queue._feed._put_aside()
    go.set()
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == [one(1), one(2)]


@live
async def test_a_del_that_closes_a_subscription_while_the_loop_puts_an_event_in() -> None:
    """The garbage collector may run it in the midst of that, in the same thread."""
    got: list[Any] = []
    queue = subscription(callback=got.append)
    put = queue._feed.queue.put

    def collect(event: Any) -> None:
        put(event)
        queue._feed.put(one(2))
        queue.close()

    queue._feed._add(collect, one(1))
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == [one(1), one(2)]


@pytest.mark.parametrize("overflow", Overflow)
@live
async def test_values_for_a_plain_callback_are_made_where_the_loop_never_waits(
    overflow: Overflow,
) -> None:
    """In the callback's thread, without the lock that the loop takes to put an event."""
    made_in: list[tuple[str, bool]] = []
    got: list[object] = []
    go = threading.Event()

    def decode(payload: bytes) -> str:
        made_in.append((threading.current_thread().name, queue._feed._lock.locked()))
        return payload.decode()

    def callback(event: Received) -> None:
        go.wait()
        got.append(event.value)

    queue = subscription(callback=callback, overflow=overflow, queue_length=3)
    queue._feed.put(received(1, [b"1", b"2", b"3"], decode))
    queue._feed.put(received(4, [b"4", b"5"], decode))
    go.set()
    queue.close()
    assert queue._feed.running is not None
    await queue._feed.running
    assert got == [str(event) for event in range(1, 6) if str(event) in got]
    assert len(got) >= 3
    assert made_in == [("camcast-subscriber", False)] * len(got)


@live
async def test_gaps_are_logged_once_a_second_with_their_sum_and_where(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    monkeypatch.setattr(feed_module, "monotonic", clock)

    async def slow(_: Received) -> None: ...

    queue = subscription(callback=slow, queue_length=1)
    for number in range(1, 101):
        queue._feed.put(received(2 * number, [b"x"] * 2))  # one of two is dropped
        await asyncio.sleep(0)
        clock.now += 0.02
    queue.close()
    assert queue._feed.running is not None
    await queue._feed.running
    logged = [record.args for record in caplog.records]
    sums = [args[2] for args in logged if isinstance(args, tuple)]
    assert sum(number for number in sums if isinstance(number, int)) == queue.missed
    assert len(sums) <= 1 + clock.now + 1  # the first, one a second, and what is left at the end
    said = [record.getMessage() for record in caplog.records]
    assert all(one.startswith("slow_subscriber: the callback") for one in said)
    assert all("slow in .a.b missed" in one for one in said)


@live
async def test_items_are_had_in_the_loop_of_the_manager_alone_until_all_is_closed() -> None:
    queue = subscription()
    queue._feed.put(received(1, [b"x"] * 3))
    assert numbers(await anext(queue)) == [1]

    def elsewhere(items: AsyncIterator[Item]) -> list[int]:
        async def take() -> Item:
            return await anext(items)

        return numbers(asyncio.run(take()))

    for items in (aiter(queue), queue.batches()):
        with pytest.raises(CommunityError, match="iterate there"):
            await asyncio.to_thread(elsewhere, items)
    queue.close()
    assert await asyncio.to_thread(elsewhere, aiter(queue)) == [2]


# -- several tasks ---------------------------------------------------------------------------


@iterators
@live
async def test_tasks_that_iterate_one_subscription_take_turns(read: Read) -> None:
    """Even if all events are there and no task waits for anything else meanwhile."""
    queue = subscription()
    shares: list[list[int]] = [[], [], []]

    async def take(share: list[int]) -> None:
        async for item in read(queue):
            share.extend(numbers(item))

    async with asyncio.TaskGroup() as tasks:
        for share in shares:
            tasks.create_task(take(share))
        await asyncio.sleep(0)  # all three wait
        for number in range(9):
            queue._feed.put(one(number + 1))
        queue.close()
    assert shares == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]


@live
async def test_tasks_take_turns_within_a_batch_too() -> None:
    queue = subscription()
    first, second = [asyncio.ensure_future(anext(queue)) for _ in range(2)]
    await asyncio.sleep(0)
    queue._feed.put(received(1, [b"x"] * 3))
    third = asyncio.ensure_future(anext(queue))
    items = await asyncio.gather(first, second, third)
    assert [numbers(item) for item in items] == [[1], [2], [3]]
    queue.close()


@live
async def test_closing_ends_every_task_that_waits() -> None:
    queue = subscription()
    waiting = [asyncio.ensure_future(anext(queue, None)) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    assert await asyncio.gather(*waiting) == [None] * 3


@pytest.mark.parametrize("woken", [False, True])
@live
async def test_a_task_that_is_cancelled_leaves_its_event_to_the_next(woken: bool) -> None:
    queue = subscription()
    first, second = [asyncio.ensure_future(anext(queue)) for _ in range(2)]
    await asyncio.sleep(0)
    if woken:
        queue._feed.put(one(1))  # `first` would get it in the next turn of the loop
    first.cancel()
    if not woken:
        queue._feed.put(one(1))
    assert numbers(await second) == [1]
    assert first.cancelled()
    queue.close()


# -- no turn of the loop is wasted -----------------------------------------------------------


def callback(name: str) -> Callable[[list[Item]], Coroutine[Any, Any, None]]:
    async def run(got: list[Item]) -> None:
        async def take(item: Item) -> None:
            got.append(item)

        queue = subscription(**{name: take})
        await in_one_turn(queue, got)
        queue.close()
        assert queue._feed.running is not None
        await queue._feed.running

    return run


def iterator(read: Read) -> Callable[[list[Item]], Coroutine[Any, Any, None]]:
    async def run(got: list[Item]) -> None:
        queue = subscription()

        async def take() -> None:
            async for item in read(queue):
                got.append(item)  # noqa: PERF401  # looked at while it grows

        task = asyncio.ensure_future(take())
        await in_one_turn(queue, got)
        queue.close()
        await task

    return run


async def in_one_turn(queue: Subscription, got: list[Item]) -> None:
    """Put two batches in; what the loop is given to do afterwards finds both handed out."""
    await asyncio.sleep(0)  # the subscriber waits
    found: list[int] = []
    queue._feed.put(received(1, [b"x"] * 3))
    queue._feed.put(received(4, [b"x"]))
    asyncio.get_running_loop().call_soon(lambda: found.append(len(got)))
    await asyncio.sleep(0)
    assert found == [len(got)]
    assert [number for item in got for number in numbers(item)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "subscriber",
    [callback("callback"), callback("on_batch"), iterator(aiter), iterator(Subscription.batches)],
    ids=["callback", "on_batch", "async for", "batches"],
)
@live
async def test_a_waiting_subscriber_has_everything_in_the_turn_after_it_came(
    subscriber: Callable[[list[Item]], Coroutine[Any, Any, None]],
) -> None:
    await subscriber([])


@pytest.mark.parametrize("overflow", Overflow)
@live
async def test_a_batch_callback_is_told_what_it_missed(overflow: Overflow) -> None:
    got: list[Item] = []

    async def take(batch: ReceivedBatch) -> None:
        got.append(batch)

    queue = subscription(on_batch=take, on_lagged=got.append, queue_length=2, overflow=overflow)
    queue._feed.put(received(1, [b"x"] * 3))
    queue.close()
    assert queue._feed.running is not None
    await queue._feed.running
    assert queue.missed == 1
    if overflow is Overflow.DROP_OLDEST:
        assert got[0] == Lagged(1)
        assert numbers(got[1]) == [2, 3]
    else:
        assert numbers(got[0]) == [1, 2]
        assert got[1] == Lagged(1)
