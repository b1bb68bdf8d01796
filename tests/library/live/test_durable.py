"""Durable subscribers: whoever stops goes on where it was, and gets every event once."""

import asyncio
import sqlite3
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from camcast import Community, CommunityError, CommunityManager, Reach, Received, ReceivedBatch
from camcast.app import blocking
from camcast.app.durable import DurableSubscription
from camcast.engine.repair.told import REORDER_SECONDS
from camcast.live.archive import writer
from camcast.live.archive.cursor import Cursor, CursorFile
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.library.live.communities import OPTIONS, together
from tests.patience import PATIENCE_SECONDS, eventually, live

NAME = "billing"


def manager(archive: Path | None, *gateways: str) -> CommunityManager:
    return CommunityManager(archive=archive, gateways=gateways, options=OPTIONS)


def subscribed(community: Community, **more: object) -> DurableSubscription:
    subscription = community.subscribe(durable=NAME, **more)  # type: ignore[arg-type]  # of several types
    assert isinstance(subscription, DurableSubscription)
    return subscription


async def take(subscription: DurableSubscription, count: int) -> list[int]:
    """Take so many events, and return the numbers that are their payloads."""
    numbers = []
    for _ in range(count):
        item = await anext(subscription)
        assert isinstance(item, Received)
        numbers.append(int(item.payload))
    return numbers


async def publish(community: Community, start: int, stop: int) -> None:
    for number in range(start, stop):
        await community.publish(b"%d" % number)


@live
async def test_a_subscriber_goes_on_where_it_was_and_has_what_came_meanwhile(
    tmp_path: Path,
) -> None:
    publisher = manager(tmp_path / "publisher")
    async with together(publisher):
        near = await publisher.join(".a")
        await publish(near, 0, 5)
        path = tmp_path / "subscriber"
        async with manager(path, publisher.address) as reader:
            far = await reader.join(".a")
            subscription = subscribed(far, since=60.0)
            assert isinstance(await anext(subscription), Reach)
            assert await take(subscription, 5) == [0, 1, 2, 3, 4], "since= begins a new name"
            await publish(near, 5, 40)
            assert await take(subscription, 5) == [5, 6, 7, 8, 9]
            with pytest.raises(CommunityError, match="already"):
                subscribed(far)
        await publish(near, 40, 60)  # while the subscriber is down
        async with manager(path, publisher.address) as reader:
            far = await reader.join(".a")
            subscription = subscribed(far, since=60.0)
            assert await take(subscription, 51) == list(range(9, 60)), "9 was not done with"
            await publish(near, 60, 62)
            assert await take(subscription, 2) == [60, 61]
            with suppress(TimeoutError):
                subscription._feed.asked_for_next()
        async with manager(path, publisher.address) as reader:
            far = await reader.join(".a")
            subscription = subscribed(far)
            await publish(near, 62, 63)
            assert await take(subscription, 1) == [62]


@live
async def test_a_new_name_begins_with_the_call_though_older_events_are_fetched(
    tmp_path: Path,
) -> None:
    publisher = manager(tmp_path / "publisher")
    async with together(publisher):
        near = await publisher.join(".a")
        await publish(near, 0, 5)
        async with manager(tmp_path / "subscriber", publisher.address) as reader:
            far = await reader.join(".a")
            subscription = subscribed(far)
            await publish(near, 5, 7)
            assert await take(subscription, 2) == [5, 6]


def keep_behind(one: CommunityManager, payload: bytes) -> None:
    """Let the archive have an event of another publisher, whose clock is an hour behind."""
    [group] = one._lifetime.running().node.local_groups
    assert group.archive is not None
    behind = int(1000 * (time.time() - 3600))
    stream = stream_id(PeerId(bytes(16)), 1)
    group.archive(make_batch(stream, 1, [payload], Topic.parse(".a"), published=behind))


@live
async def test_a_new_name_gets_what_comes_later_also_of_a_clock_that_is_behind(
    tmp_path: Path,
) -> None:
    """What it does not get is what was here before the call, of which it judges by the time."""
    async with manager(tmp_path / "events") as one:
        near = await one.join(".a")
        await publish(near, 0, 3)
        archive = one._archive
        assert archive is not None
        await eventually(lambda: archive.last() > 0)
        subscription = subscribed(near)
        await eventually(lambda: len(archive._watchers) == 1)  # it reads
        past = archive.last()
        keep_behind(one, b"3")
        await eventually(lambda: archive.last() > past)
        await publish(near, 4, 6)
        assert await take(subscription, 2) == [3, 4]


@live
async def test_a_new_name_that_took_nothing_goes_on_where_it_began_to_read(tmp_path: Path) -> None:
    """What came since then is new, whichever clock has dated it."""
    async with manager(tmp_path / "events") as one:
        near = await one.join(".a")
        near.subscribe(lambda _: None)  # which keeps it a member
        archive = one._archive
        assert archive is not None
        subscription = subscribed(near)
        await eventually(lambda: len(archive._watchers) == 1)  # it reads
        subscription.close()
        past = archive.last()
        keep_behind(one, b"3")
        await eventually(lambda: archive.last() > past)
        subscription = subscribed(near)
        assert await take(subscription, 1) == [3], "nothing can be lost, and nothing is told"


@live
async def test_a_new_name_that_took_nothing_is_told_where_what_came_since_may_be_lost(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events"
    async with manager(path) as one:
        near = await one.join(".a")
        near.subscribe(lambda _: None)
        assert one._archive is not None
        watchers = one._archive._watchers
        subscription = subscribed(near)
        await eventually(lambda: len(watchers) == 1)
        subscription.close()
    [file] = tmp_path.glob("*.cursor")
    cursor = CursorFile(file)
    assert cursor.cursor.begun > 0
    cursor.move(Cursor(begun=cursor.cursor.begun - 10))  # and no member has kept these seconds
    cursor.close()
    async with manager(path) as one:
        subscription = subscribed(await one.join(".a"))
        assert isinstance(await anext(subscription), Reach)


@live
async def test_a_new_name_does_not_get_what_was_here_but_not_written_yet(
    tmp_path: Path,
) -> None:
    with pytest.MonkeyPatch.context() as slower:
        slower.setattr(writer, "COMMIT_SECONDS", 2.0)
        async with manager(tmp_path / "events") as one:
            near = await one.join(".a")
            await publish(near, 0, 3)
            now = time.time()
            await eventually(lambda: time.time() > now + 0.01)  # times of publication are in ms
            [group] = one._lifetime.running().node.local_groups
            slower.setattr(type(group.repair), "has_past", lambda *_: True)
            subscription = subscribed(near)
            await asyncio.sleep(0)  # it would begin to read
            await publish(near, 3, 5)
            assert await take(subscription, 2) == [3, 4]


@live
async def test_with_ack_only_what_was_acknowledged_does_not_come_again(tmp_path: Path) -> None:
    path = tmp_path / "events"
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near, ack=True)
        await publish(near, 0, 10)
        assert await take(subscription, 4) == [0, 1, 2, 3]
        subscription.ack()
        assert await take(subscription, 3) == [4, 5, 6]
    async with manager(path) as one:
        subscription = subscribed(await one.join(".a"), ack=True)
        assert await take(subscription, 6) == [4, 5, 6, 7, 8, 9]


@live
async def test_a_full_queue_drops_nothing_and_filters_count_as_done(tmp_path: Path) -> None:
    path = tmp_path / "events"
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near, queue_length=256, where="number >= 5")
        for number in range(1000):
            await near.publish(b'{"number": %d}' % number)
        for number in range(5, 1000):
            item = await anext(subscription)
            assert isinstance(item, Received)
            assert item.payload == b'{"number": %d}' % number
        assert subscription.missed == 0
        subscription._feed.asked_for_next()
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near, where="number >= 5")
        await near.publish(b'{"number": 7777}')
        item = await anext(subscription)
        assert isinstance(item, Received)
        assert item.payload == b'{"number": 7777}'


@live
async def test_a_subscriber_is_told_first_where_what_it_lacks_may_be_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "events"
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near)
        await publish(near, 0, 5)
        assert await take(subscription, 5) == [0, 1, 2, 3, 4]
    with sqlite3.connect(path) as database:  # as if there had been no room for them
        database.execute("DELETE FROM batch")
    database.close()
    [file] = tmp_path.glob("*.cursor")
    cursor = CursorFile(file)
    cursor.move(Cursor(base=1, until=1))
    cursor.close()
    before = time.time()
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near)
        await publish(near, 5, 6)
        first = await anext(subscription)
        assert isinstance(first, Reach)
        assert first.since > before, "nobody keeps what is older"
        assert await take(subscription, 1) == [5]
    assert "another archive" not in caplog.text


@live
async def test_since_may_be_a_time(tmp_path: Path) -> None:
    async with manager(tmp_path / "events") as one:
        near = await one.join(".a")
        await publish(near, 0, 3)
        ago = datetime.now(UTC) - timedelta(hours=8)
        subscription = near.subscribe(since=ago)
        reach = await anext(subscription)
        assert isinstance(reach, Reach)
        assert ago.timestamp() < reach.since < datetime.now(UTC).timestamp(), "no more was had"
        for number in range(3):
            item = await anext(subscription)
            assert isinstance(item, Received)
            assert int(item.payload) == number
        with pytest.raises(ValueError, match="time zone"):
            near.subscribe(since=datetime(2026, 1, 1))
        for wrong in ({"durable": "no/name"}, {"ack": True}, {"durable": NAME, "queue_length": 9}):
            with pytest.raises(ValueError, match=r"name|durable"):
                near.subscribe(**wrong)
        with pytest.raises(ValueError, match="no callbacks"):
            near.subscribe(print, durable=NAME)
    async with manager(None) as one:
        with pytest.raises(CommunityError, match="archive"):
            one.community(".a").subscribe(durable=NAME)


@live
async def test_another_process_goes_on_at_a_position_with_what_was_not_taken(
    tmp_path: Path,
) -> None:
    publisher = manager(tmp_path / "events")
    async with together(publisher):
        near = await publisher.join(".a")
        subscription = near.subscribe()
        assert len(subscription.position) <= 4096
        await publish(near, 0, 10)
        taken = [await anext(subscription) for _ in range(4)]
        position = subscription.position
        assert [one.payload for one in taken if isinstance(one, Received)] == [
            b"0",
            b"1",
            b"2",
            b"3",
        ]
        await asyncio.sleep(2 * REORDER_SECONDS)  # what is younger counts as said in its time
        other = manager(None, publisher.address)
        async with other:
            far = await other.join(".a")
            await far.ready()
            again = far.subscribe(since=position)
            items = [await anext(again) for _ in range(7)]
            await publish(near, 10, 11)
            items.append(await anext(again))
            numbers = [int(one.payload) for one in items if isinstance(one, Received)]
            assert isinstance(items[0], Reach)
            assert numbers == list(range(4, 11))
            callback = far.subscribe(lambda _: None, since=again.position)
            assert callback.position
            for wrong in (b"", b"CPO1", position[:-1], position + b"!", b"x" * 5000):
                with pytest.raises(ValueError, match="no position"):
                    far.subscribe(since=wrong)
            with pytest.raises(ValueError, match="another topic"):
                other.community(".b").subscribe(since=position)


@pytest.mark.slow
@live
async def test_in_a_burst_of_ten_thousand_a_position_loses_nothing_and_brings_nothing_twice(
    tmp_path: Path,
) -> None:
    count, taken_first = 10_000, 3_333
    publisher = manager(tmp_path / "events")
    async with (
        together(publisher),
        manager(None, publisher.address) as reader,
        manager(None, publisher.address) as other,
    ):
        near, far, third = [await one.join(".a") for one in (publisher, reader, other)]
        await near.ready(2)
        subscription = far.subscribe(queue_length=count)
        await publish(near, 0, count // 2)
        taken = [await anext(subscription) for _ in range(taken_first)]
        position = subscription.position
        subscription.close()
        going_on = third.subscribe(since=position, queue_length=count)
        await publish(near, count // 2, count)
        async for item in going_on:
            taken.append(item)
            if isinstance(item, Received) and item.payload == b"%d" % (count - 1):
                going_on.close()
    assert isinstance(taken[taken_first], Reach)
    numbers = [int(item.payload) for item in taken if isinstance(item, Received)]
    assert numbers == list(range(count))


@live
async def test_batches_move_the_cursor_as_events_do(tmp_path: Path) -> None:
    path = tmp_path / "events"
    async with manager(path) as one:
        near = await one.join(".a")
        subscription = subscribed(near)
        await publish(near, 0, 3)
        taken = 0
        async for batch in subscription.batches():
            assert isinstance(batch, ReceivedBatch)
            taken += len(batch)
            if taken == 3:
                break
        await publish(near, 3, 4)
        assert await take(subscription, 1) == [3]
    async with manager(path) as one:
        subscription = subscribed(await one.join(".a"))
        assert await take(subscription, 1) == [3]


def test_a_blocking_subscriber_goes_on_likewise(tmp_path: Path) -> None:
    for first, wanted in ((0, [0, 1]), (3, [2, 3])):
        with blocking.CommunityManager(archive=tmp_path / "events", options=OPTIONS) as one:
            near = one.join(".a")
            subscription = near.subscribe(durable=NAME, ack=True)
            for number in range(first, first + 3):
                near.publish(b"%d" % number)
            items = [subscription.next(timeout=PATIENCE_SECONDS) for _ in wanted]
            assert [int(item.payload) for item in items if isinstance(item, Received)] == wanted
            subscription.ack()
            with near.subscribe() as other, pytest.raises(CommunityError, match="cursor"):
                other.ack()
