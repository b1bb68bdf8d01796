"""How a subscription hands out what is queued: to tasks in their turn, and to callbacks."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from camcast import Lagged, Overflow, Received, ReceivedBatch
from camcast.inbox.received import Gap
from camcast.inbox.subscription import Subscription
from tests.patience import live
from tests.received_batches import received

Item = Received | ReceivedBatch | Gap
Read = Callable[[Subscription], AsyncIterator[Item]]

iterators = pytest.mark.parametrize("read", [aiter, Subscription.batches])


def subscription(**settings: Any) -> Subscription:
    return Subscription(lambda _: None, **settings)


def one(number: int) -> Received | ReceivedBatch:
    return received(number, [b"x"])


def numbers(item: Item) -> list[int]:
    assert isinstance(item, Received | ReceivedBatch)
    return [item.sequence] if isinstance(item, Received) else list(item.sequences)


def test_closing_is_told_once() -> None:
    async def main() -> None:
        closed: list[Subscription] = []
        queue = Subscription(closed.append)
        queue.close()
        queue.close()
        assert closed == [queue]
        assert queue.closed

    asyncio.run(main())


@live
async def test_what_is_queued_can_be_read_after_closing_one_by_one_or_by_the_batch() -> None:
    async with subscription(queue_length=6) as queue:
        queue.put(received(1, [b"x"] * 4))
        queue.put(received(5, [b"x"] * 3))
        queue.put(received(8, [b"x"]))
    queue.put(one(9))
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
    with pytest.raises(RuntimeError, match="nothing to iterate"):
        await anext(called)
    with pytest.raises(RuntimeError, match="nothing to iterate"):
        called.batches()
    called.close()


async def _coroutine_function(_: object) -> None: ...


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"callback": 5}, "a callback is a function, and not 5"),
        ({"on_batch": "x"}, "a callback is a function, and not 'x'"),
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


def _makes_a_coroutine(got: list[Any]) -> Callable[[Received], object]:
    async def note(event: Received) -> None:
        raise AssertionError("nobody awaits this")

    def callback(event: Received) -> object:
        got.append(event)
        return note(event)

    return callback


@pytest.mark.parametrize(
    "make", [_exits, _awaits_what_was_cancelled, _raises_a_group, _makes_a_coroutine]
)
@live
async def test_whatever_a_callback_does_it_gets_the_next_event(
    make: Callable[[list[Any]], Any], caplog: pytest.LogCaptureFixture
) -> None:
    got: list[Any] = []
    queue = subscription(callback=make(got))
    events = [one(1), one(2)]
    for event in events:
        queue.put(event)
    queue.close()
    assert queue.running is not None
    await queue.running
    assert got == events
    assert queue.errors == 2
    assert "a subscriber's callback raised" in caplog.text


@live
async def test_a_callback_in_a_thread_may_close_its_subscription() -> None:
    """What ends with it, perhaps the membership, is the loop's to do."""
    ended: list[threading.Thread] = []
    queue = Subscription(
        lambda _: ended.append(threading.current_thread()), lambda _: queue.close()
    )
    queue.put(one(1))
    assert queue.running is not None
    await queue.running
    assert ended == [threading.current_thread()]


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
            queue.put(one(number + 1))
        queue.close()
    assert shares == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]


@live
async def test_tasks_take_turns_within_a_batch_too() -> None:
    queue = subscription()
    first, second = [asyncio.ensure_future(anext(queue)) for _ in range(2)]
    await asyncio.sleep(0)
    queue.put(received(1, [b"x"] * 3))
    third = asyncio.ensure_future(anext(queue))
    items = await asyncio.gather(first, second, third)
    assert [numbers(item) for item in items] == [[1], [2], [3]]


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
        queue.put(one(1))  # `first` would get it in the next turn of the loop
    first.cancel()
    if not woken:
        queue.put(one(1))
    assert numbers(await second) == [1]
    assert first.cancelled()


# -- no turn of the loop is wasted -----------------------------------------------------------


def callback(name: str) -> Callable[[list[Item]], Coroutine[Any, Any, None]]:
    async def run(got: list[Item]) -> None:
        async def take(item: Item) -> None:
            got.append(item)

        queue = subscription(**{name: take})
        await in_one_turn(queue, got)
        queue.close()
        assert queue.running is not None
        await queue.running

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
    queue.put(received(1, [b"x"] * 3))
    queue.put(received(4, [b"x"]))
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
    queue.put(received(1, [b"x"] * 3))
    queue.close()
    assert queue.running is not None
    await queue.running
    assert queue.missed == 1
    if overflow is Overflow.DROP_OLDEST:
        assert got[0] == Lagged(1)
        assert numbers(got[1]) == [2, 3]
    else:
        assert numbers(got[0]) == [1, 2]
        assert got[1] == Lagged(1)
