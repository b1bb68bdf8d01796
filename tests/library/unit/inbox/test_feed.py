"""Who holds whom: a feed that nobody can read any more is closed, and no other one."""

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from camcast import CommunityError
from camcast.inbox import feed as feed_module
from camcast.inbox.changes import ChangeFeed, Changes
from camcast.inbox.feed import Feed, Reader
from camcast.inbox.subscription import EventFeed, Subscription
from camcast.vocabulary.happenings import Change
from tests.patience import eventually, live
from tests.received_batches import TOPIC, received

UNREAD = "nobody can read the .* in .a.b any more"


def events(**settings: Any) -> Subscription:
    return Subscription(EventFeed(lambda _: None, TOPIC, **settings))


def changes() -> Changes:
    return Changes(ChangeFeed(lambda _: None, None, 2, TOPIC))


def put(feed: Feed[Any]) -> None:
    if isinstance(feed, ChangeFeed):
        feed.put(Change("alone", TOPIC))
    else:
        assert isinstance(feed, EventFeed)
        feed.put(received(1, [b"x"] * 2))


Read = Callable[[Any], Any]
readers = pytest.mark.parametrize(
    ("make", "read"),
    [(events, aiter), (events, Subscription.batches), (changes, aiter)],
    ids=["events", "batches", "changes"],
)


@pytest.fixture
def no_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@readers
@live
async def test_leaving_an_iteration_closes_what_only_the_iteration_held(
    make: Callable[[], Reader[Any, Any]], read: Read
) -> None:
    feeds: list[Feed[Any]] = []

    async def first() -> None:
        reader = make()
        feeds.append(reader._feed)
        put(reader._feed)
        items = read(reader)
        del reader
        async for _ in items:
            await asyncio.sleep(0)
            assert not feeds[0].closed
            break

    with pytest.warns(ResourceWarning, match=UNREAD) as warned:
        await first()
    await asyncio.sleep(0)
    assert feeds[0].closed
    assert len(warned) == 1


@readers
@live
async def test_a_cancelled_reader_closes_it_too(
    make: Callable[[], Reader[Any, Any]], read: Read
) -> None:
    feeds: list[Feed[Any]] = []

    async def all_items() -> None:
        reader = make()
        feeds.append(reader._feed)
        async for _ in read(reader):
            pass

    async def cancelled() -> None:
        task = asyncio.create_task(all_items())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    async def collected() -> None:
        await cancelled()
        gc.collect()

    with pytest.warns(ResourceWarning, match=UNREAD):
        await collected()
    await asyncio.sleep(0)
    assert feeds[0].closed


def collect(elsewhere: bool) -> None:
    """Collect garbage, in another thread or in this one."""
    if elsewhere:
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    else:
        gc.collect()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("elsewhere", [False, True])
@live
async def test_one_in_a_cycle_closes_at_the_next_collection_in_any_thread(elsewhere: bool) -> None:
    """And not at once: the collector may run while the loop goes through its feeds."""
    reader: Any = events()
    feed = reader._feed
    reader.me = reader
    del reader
    await asyncio.sleep(0)
    assert not feed.closed
    with pytest.warns(ResourceWarning, match=UNREAD):
        collect(elsewhere)
    assert not feed.closed
    await asyncio.sleep(0)
    assert feed.closed


@readers
@live
async def test_a_task_that_nobody_holds_is_read_on_as_long_as_it_waits(
    make: Callable[[], Reader[Any, Any]], read: Read
) -> None:
    got: list[object] = []
    feeds: list[Feed[Any]] = []

    async def all_items() -> None:
        reader = make()
        feeds.append(reader._feed)
        async for item in read(reader):
            got.append(item)  # noqa: PERF401  # looked at while it grows

    asyncio.create_task(all_items())  # noqa: RUF006  # just what is tested
    await asyncio.sleep(0)
    gc.collect()
    put(feeds[0])
    while not got:
        await asyncio.sleep(0)
    gc.collect()
    assert not feeds[0].closed
    feeds[0].close()
    await asyncio.sleep(0)


@pytest.mark.parametrize("plain", [True, False])
@live
async def test_a_callback_goes_on_without_anybody_who_holds_its_subscription(plain: bool) -> None:
    got = threading.Event()

    async def take(_: object) -> None:
        got.set()

    feed = events(callback=(lambda _: got.set()) if plain else take)._feed
    gc.collect()
    await asyncio.sleep(0)
    put(feed)
    assert await asyncio.to_thread(got.wait)
    assert not feed.closed
    feed.close()
    assert feed.running is not None
    await feed.running


@live
async def test_a_system_without_threads_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(CommunityError, match="the callback cannot have a thread: can't start"):
        events(callback=print)


@pytest.mark.parametrize("by", ["the application", "itself", "GeneratorExit"])
@live
async def test_a_callback_whose_task_is_ended_closes_its_feed(by: str) -> None:
    """Else it would stay open for ever, and be filled for nobody."""

    async def take(_: object) -> None:
        if by == "GeneratorExit":
            raise GeneratorExit
        if by == "itself" and (task := asyncio.current_task()):
            task.cancel()

    feed = events(callback=take)._feed
    await asyncio.sleep(0)
    if by == "the application":
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
    put(feed)
    await eventually(lambda: feed.closed)
    assert feed.errors == (by == "GeneratorExit")


@pytest.mark.parametrize("plain", [True, False])
@live
async def test_a_callback_that_does_not_return_is_logged_once_and_what_it_misses_is_counted(
    plain: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop looks at it from time to time; nobody waits for these times here."""
    at_work, go_on = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        at_work.set()
        go_on.wait()

    async def hang_in_a_task(_: object) -> None:
        at_work.set()
        await asyncio.to_thread(go_on.wait)

    def looks(feed: Feed[Any], times: int) -> list[str]:
        caplog.clear()
        for _ in range(times):
            feed._look()
            assert feed._look_handle is not None
            feed._look_handle.cancel()
        return [record.getMessage() for record in caplog.records]

    feed = events(callback=hang if plain else hang_in_a_task, queue_length=3)._feed
    assert isinstance(feed, EventFeed)
    assert looks(feed, 3) == []  # it waits for events
    put(feed)
    assert await asyncio.to_thread(at_work.wait)
    for number in range(3):
        feed.put(received(3 + number, [b"x"]))
    early = looks(feed, 3)
    with monkeypatch.context() as patch:
        patch.setattr(feed_module, "LOOK_SECONDS", 0.0)
        told = looks(feed, 3)
    at_work.clear()
    go_on.set()  # before anything is asserted: what fails would wait for the callback
    assert early == []  # it has not been at work for long
    (said,) = told
    assert "hang" in said
    assert said.startswith("slow_subscriber: the callback ")  # as the condition
    assert "in .a.b has not returned for" in said
    assert "3 items wait for it, 1 were dropped" in said
    assert await asyncio.to_thread(at_work.wait)
    assert looks(feed, 1) == []
    feed.close()
    assert feed.running is not None
    await feed.running
    assert feed.stats().missed == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@live
async def test_it_is_closed_where_warnings_are_errors_too() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        feed = events()._feed
    await asyncio.sleep(0)
    assert feed.closed


@pytest.mark.parametrize("why", ["closed before", "closed in another thread", "a fork", "no loop"])
def test_nothing_is_closed_twice_in_a_fork_or_after_the_loop(why: str) -> None:
    feeds: list[Feed[Any]] = []
    kept: list[object] = []

    async def main() -> None:
        reader = events()
        feed = reader._feed
        feeds.append(feed)
        if why == "closed before":
            reader.close()
        elif why == "closed in another thread":
            await asyncio.to_thread(reader.close)
        elif why == "a fork":
            feed._process += 1
        else:
            kept.append(reader)

    asyncio.run(main())
    kept.clear()
    assert feeds[0].closed == why.startswith("closed")


class Unshown:
    """A callback that raises what has no text, and has no name of its own."""

    def __call__(self, _: object) -> None:
        raise UnshownError

    def __repr__(self) -> str:
        raise ValueError("no text")


class UnshownTask(Unshown):
    async def __call__(self, _: object) -> None:  # type: ignore[override]  # the other kind
        raise UnshownError


class UnshownError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("callback", [Unshown(), UnshownTask()], ids=["plain", "coroutine"])
@live
async def test_a_callback_that_cannot_be_shown_is_logged_and_goes_on(
    callback: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    subscription = events(callback=callback)
    for _ in range(2):
        put(subscription._feed)
    await eventually(lambda: subscription.errors == 4)
    # Not `caplog.text`: PySpark's formatter, once it is imported, shows no such exception.
    said = [record.getMessage() for record in caplog.records]
    shown = f"<{type(callback).__name__}, which cannot be shown: ValueError>"
    assert any(shown in one for one in said)
    subscription.close()
    assert subscription._feed.running is not None
    await subscription._feed.running
