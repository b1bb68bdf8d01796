"""Subscribers that are slow, raise or hang: the others go on, and they learn what they missed."""

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from camcast import Lagged, Overflow, Received, ReceivedBatch
from tests.library.live.communities import Inbox, join_all, managers
from tests.patience import eventually, live


@pytest.mark.parametrize("overflow", Overflow)
@live
async def test_a_slow_subscriber_is_told_what_it_missed_and_nobody_else_misses_any(
    overflow: Overflow,
) -> None:
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        slow = near.subscribe(queue_length=4, overflow=overflow)
        quick = near.subscribe()
        remote = Inbox()
        far.subscribe(remote)
        events = [b"%d" % number for number in range(10)]
        for event in events:
            await near.publish(event)
        await eventually(lambda: remote.payloads == events)
        slow.close()
        quick.close()
        got = [item.payload if isinstance(item, Received) else item async for item in slow]
        if overflow is Overflow.DROP_OLDEST:
            assert got == [Lagged(6), *events[6:]]
        else:
            assert got == [*events[:4], Lagged(6)]
        assert slow.missed == 6
        assert [item.payload async for item in quick if isinstance(item, Received)] == events


@live
async def test_events_can_be_taken_by_the_batch() -> None:
    """In the order of publication, with the ids of the receipts, here and at the other end."""
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        subscriptions = [near.subscribe(), far.subscribe()]
        called: list[ReceivedBatch] = []
        far.subscribe(on_batch=called.append)
        payloads = [b"%d" % number for number in range(20)]
        ids = [(await near.publish(payload)).id for payload in payloads]
        for hops, subscription in enumerate(subscriptions):
            batches: list[ReceivedBatch] = []
            async for batch in subscription.batches():
                assert isinstance(batch, ReceivedBatch)
                batches.append(batch)
                if sum(map(len, batches)) == len(payloads):
                    break
            assert [payload for batch in batches for payload in batch.payloads] == payloads
            assert [event_id for batch in batches for event_id in batch.ids] == ids
            assert {batch.hops for batch in batches} == {hops}
        await eventually(lambda: sum(map(len, called)) == len(payloads))
        assert [payload for batch in called for payload in batch.payloads] == payloads


@live
async def test_an_event_tells_when_it_was_published() -> None:
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        subscription = far.subscribe()
        before = time.time()
        await near.publish(b"x")
        received = await anext(subscription)
        assert isinstance(received, Received)
        millisecond = 0.001  # to which the publisher's clock is told
        assert before - millisecond <= received.published <= time.time() + millisecond


@live
async def test_a_queue_is_bounded_in_bytes_too() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        slow, quick = community.subscribe(queue_bytes=250), Inbox()
        community.subscribe(quick)
        for _ in range(5):
            await community.publish(bytes(100))
        await eventually(lambda: len(quick.payloads) == 5)
        slow.close()
        missed, *rest = [item async for item in slow]
        assert missed == Lagged(3)
        assert [len(item.payload) for item in rest if isinstance(item, Received)] == [100, 100]


@live
async def test_a_slow_callback_is_told_what_it_missed() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        entered, go_on = threading.Event(), threading.Event()
        lagged: list[Lagged] = []

        def slow(received: Received) -> None:
            entered.set()
            go_on.wait()

        community.subscribe(slow, queue_length=2, on_lagged=lagged.append)
        await community.publish(b"first")
        await eventually(entered.is_set)
        for _ in range(5):
            await community.publish(b"more")
        go_on.set()
        await eventually(lambda: lagged)
        assert lagged == [Lagged(3)]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"queue_length": 0}, ValueError, "at least 1 event"),
        ({"where": 5}, TypeError, "where is a text .* and not 5"),
        ({"since": "30"}, TypeError, "since is a number, and not '30'"),
        ({"since": -1}, ValueError, "since is a number of seconds, 0 or more, not -1"),
    ],
)
@live
async def test_a_subscription_that_was_refused_joins_nothing(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    async with managers(1) as (manager,):
        community = manager.community(".a")
        with pytest.raises(error, match=message):
            community.subscribe(**settings)
        assert community.state == "new"


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
@live
async def test_a_raising_callback_is_isolated_logged_and_counted(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(received: Received) -> None:
        raise LookupError("no such player")

    async def coroutine(received: Received) -> None:
        plain(received)

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        raising = community.subscribe(plain if kind == "plain" else coroutine)
        inbox = Inbox()
        community.subscribe(inbox)
        for _ in range(20):
            await community.publish(b"x")
        await eventually(lambda: raising.errors == 20 and len(inbox.payloads) == 20)
    [record] = [r for r in caplog.records if r.levelno >= logging.ERROR]  # once a second
    assert "in .a raised (1 times so far)" in record.message
    assert record.exc_info is not None
    assert "no such player" in str(record.exc_info[1])


@live
async def test_a_hanging_plain_callback_stops_neither_forwarding_nor_closing() -> None:
    hang = threading.Event()
    entered = threading.Event()
    inbox = Inbox()

    def hanging(received: Received) -> None:
        entered.set()
        hang.wait()

    try:
        async with managers(3) as (first, second, third):
            communities = await join_all(".a", [first, second, third])
            communities[1].subscribe(hanging)
            communities[2].subscribe(inbox)
            for number in range(50):
                await communities[0].publish(b"%d" % number)
                await eventually(lambda n: len(inbox.payloads) == n + 1, number)
            await eventually(entered.is_set)
            await second.close()
    finally:
        hang.set()
    await eventually(lambda: not [t for t in threading.enumerate() if "subscriber" in t.name])


@live
async def test_a_hanging_coroutine_callback_is_cancelled_by_close() -> None:
    cancelled = False

    async def hanging(received: Received) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        community.subscribe(hanging)
        await community.publish(b"x")
    assert cancelled  # and `live` finds no task left


@live
async def test_callbacks_get_what_they_still_have_before_close_returns() -> None:
    plain, by_coroutine = Inbox(), list[bytes]()

    async def coroutine(received: Received) -> None:
        await asyncio.sleep(0)
        by_coroutine.append(received.payload)

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        community.subscribe(plain)
        community.subscribe(coroutine)
        for _ in range(1000):
            await community.publish(b"x")
    assert len(plain.payloads) == len(by_coroutine) == 1000


@live
async def test_a_coroutine_callback_may_close_the_manager() -> None:
    async with managers(1) as (manager,):
        closed = asyncio.Event()

        async def close(received: Received) -> None:
            await manager.close()
            closed.set()

        community = await manager.join(".a")
        community.subscribe(close)
        await community.publish(b"x")
        await closed.wait()
