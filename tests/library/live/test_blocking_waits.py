"""The waits of the blocking face: their limits, what interrupts them, and loops that end."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from camcast import Change, CommunityError, Received, ReceivedBatch
from camcast.app import blocking, loop_thread
from camcast.app.loop_thread import Moment
from camcast.ops import metrics, snapshots
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.python_process import output_of

SHORT = 0.02  # seconds in which nothing comes


class Interrupted(Exception):
    """Raised by a signal handler."""


@pytest.fixture
def manager() -> Iterator[blocking.CommunityManager]:
    with blocking.CommunityManager() as manager:
        yield manager


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `Interrupted` in the main thread in a while, and expect it."""

    before = signal.signal(signal.SIGALRM, raise_interrupted)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(Interrupted):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def payload(item: Any) -> bytes:
    assert isinstance(item, Received)
    return item.payload


# -- limits ---------------------------------------------------------------------------------------


def test_the_next_event_is_waited_for_with_a_limit_and_nothing_is_lost(
    manager: blocking.CommunityManager,
) -> None:
    community = manager.join(".a")
    events = community.subscribe()
    for limit in (0, SHORT, -1):
        with pytest.raises(TimeoutError, match="next"):
            events.next(limit)
    sent = [b"%d" % number for number in range(4)]
    for one in sent:
        community.publish(one)
    wait_until(lambda: events.stats().queued_events == 4)
    got = [payload(events.next(limit)) for limit in (0, None, PATIENCE_SECONDS)]
    got += [payload(event) for event in events.until_quiet(SHORT)]
    assert got == sent
    assert not events.closed
    events.close()
    assert events.next() is events.next(0) is None


def test_an_iteration_that_ends_when_it_is_quiet_leaves_later_events_to_the_next(
    manager: blocking.CommunityManager,
) -> None:
    community = manager.join(".a")
    events, changes = community.subscribe(), community.changes()
    assert [item.kind for item in changes.until_quiet(SHORT) if isinstance(item, Change)] == [
        "alone"
    ]
    for one in (b"1", b"2"):
        community.publish(one)
        wait_until(lambda: events.stats().queued_events == 1)
        assert [payload(event) for event in events.until_quiet(SHORT)] == [one]
    events.close()
    changes.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for a loop that stands still to take a call back."""
    monkeypatch.setattr(loop_thread, "TAKE_BACK_SECONDS", SHORT)
    monkeypatch.setattr(snapshots, "STATS_SECONDS", SHORT)


@pytest.mark.usefixtures("impatient")
def test_every_wait_in_a_with_has_a_limit_that_an_inner_one_cannot_extend(
    manager: blocking.CommunityManager,
) -> None:
    community = manager.join(".a")
    events = community.subscribe()
    stands = threading.Event()
    manager._run.post(stands.wait)  # as a coroutine callback that blocks the loop
    try:
        with blocking.timeout(SHORT), blocking.timeout(PATIENCE_SECONDS):
            for wait in (
                *(lambda: next(events), lambda: next(events.until_quiet(PATIENCE_SECONDS))),
                *(community.leave, lambda: community.publish(b"x"), manager.stats),
                *(lambda: manager.join(".b"), manager.close),
            ):
                with pytest.raises(TimeoutError, match="took longer"):
                    wait()
    finally:
        stands.set()
    with blocking.timeout(None):
        manager.close()
    slow = blocking.CommunityManager(passphrase="of which the key takes a while to compute")
    with blocking.timeout(0), pytest.raises(TimeoutError, match="start"):
        slow.start()
    with pytest.raises(ValueError, match="nan"):
        blocking.timeout(float("nan"))


@pytest.mark.usefixtures("impatient")
def test_metrics_of_a_manager_whose_loop_stands_still_are_none_in_time(
    manager: blocking.CommunityManager, caplog: pytest.LogCaptureFixture
) -> None:
    collector, stands = metrics.Collector(manager), threading.Event()
    manager._run.post(stands.wait)
    assert not any(metric.samples for metric in collector.collect())
    assert "the event loop does not answer" in caplog.text
    stands.set()
    wait_until(lambda: any(metric.samples for metric in collector.collect()))


def test_a_limit_that_was_never_left_properly_is_none_any_more(
    manager: blocking.CommunityManager,
) -> None:
    """As when a signal handler raises between the two steps of a `with`."""
    blocking.timeout(0).__enter__()
    assert manager.join(".a").state == "alone"


def test_a_limit_that_is_entered_within_itself_is_refused_and_ends_with_the_outer(
    manager: blocking.CommunityManager,
) -> None:
    limit = blocking.timeout(PATIENCE_SECONDS)
    for _ in range(2):  # one after the other is well
        with limit:
            with pytest.raises(CommunityError, match="in a `with` already"), limit:
                pass
            assert loop_thread.seconds_left() is not None
        assert loop_thread.seconds_left() is None


def test_a_moment_is_waited_for_no_longer_than_the_limit_whatever_handlers_do() -> None:
    """`SimpleQueue.get` waits for ever when a handler takes longer than what is left."""
    before = signal.signal(signal.SIGALRM, lambda *_: threading.Event().wait(3 * SHORT))
    try:
        signal.setitimer(signal.ITIMER_REAL, SHORT / 2)
        assert not Moment().wait(SHORT)
    finally:
        signal.signal(signal.SIGALRM, before)


# -- what interrupts a wait -----------------------------------------------------------------------


@pytest.mark.parametrize("read", ["events", "batches", "until quiet"])
def test_an_interrupted_reader_takes_no_later_event(
    manager: blocking.CommunityManager, read: str
) -> None:
    community = manager.join(".a")
    events = community.subscribe()
    for _ in range(2):
        with interrupted_after(SHORT):
            if read == "events":
                next(events)
            elif read == "batches":
                next(events.batches())
            else:
                next(events.until_quiet(PATIENCE_SECONDS))
    sent = [b"%d" % number for number in range(3)]
    for one in sent:
        community.publish(one)
    assert [payload(next(events)) for _ in sent] == sent
    events.close()


def test_an_event_that_was_taken_for_who_is_gone_comes_again_first(
    manager: blocking.CommunityManager,
) -> None:
    """A class of the application runs when the event was taken already."""
    community = manager.join(".a")
    events = community.subscribe()
    for one in (b"1", b"2"):
        community.publish(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events._feed, "made", raise_interrupted)
        with pytest.raises(Interrupted):
            next(events)
        manager.close()
        with pytest.raises(Interrupted):  # and so without the loop
            next(events)
    assert [payload(event) for event in events] == [b"1", b"2"]
    events.close()


def test_an_interrupted_join_or_subscription_is_given_up() -> None:
    with blocking.CommunityManager(gateways=["tcp://127.0.0.1:1"]) as manager:
        community = manager.community(".a")
        with interrupted_after(SHORT):
            community.join(timeout=None, retry=True)
        assert community.state == "left"


@pytest.mark.parametrize("verb", ["subscribe", "changes"])
def test_what_was_made_for_who_is_gone_is_closed(
    manager: blocking.CommunityManager, verb: str
) -> None:
    """The signal comes when the result is there, and before the call returns it."""
    community = manager.join(".a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_thread._Call, "wait", wait_and_raise)
        with pytest.raises(Interrupted):
            getattr(community, verb)()
    assert community._inner._deliveries.subscriptions == {}
    assert community._inner._changes == {}


def raise_interrupted(*_: object) -> None:
    raise Interrupted


def wait_and_raise(moment: Moment, seconds: float | None = None) -> bool:
    Moment.wait(moment, seconds)
    raise Interrupted


def test_an_interrupted_start_leaves_nothing_that_runs() -> None:
    manager = blocking.CommunityManager()
    threads = threading.enumerate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Moment, "wait", raise_interrupted)
        with pytest.raises(Interrupted):
            manager.start()
    with manager:
        assert manager.join(".a").state == "alone"
    wait_until(lambda: threading.enumerate() == threads)


# -- loops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
def test_an_exit_in_a_callback_ends_nothing_and_is_counted(
    manager: blocking.CommunityManager, *, plain: bool
) -> None:
    got: list[bytes] = []

    def callback(event: Received) -> None:
        got.append(event.payload)
        raise SystemExit(3)

    async def coroutine_callback(event: Received) -> None:
        callback(event)

    community = manager.join(".a")
    subscription = community.subscribe(callback if plain else coroutine_callback)
    for one in (b"1", b"2"):
        community.publish(one)
    wait_until(lambda: subscription.errors == 2)
    assert got == [b"1", b"2"]


def test_an_exit_anywhere_in_the_loop_does_not_end_it(
    manager: blocking.CommunityManager, caplog: pytest.LogCaptureFixture
) -> None:
    manager._run.post(lambda: (_ for _ in ()).throw(SystemExit(3)))
    assert manager.join(".a").state == "alone"
    assert "which goes on" in caplog.text


def test_a_loop_that_ended_by_itself_is_told_and_can_be_started_again() -> None:
    manager = blocking.CommunityManager()
    manager.start()
    community = manager.join(".a")
    events = community.subscribe()
    community.publish(b"x")
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(lambda: community.ready(timeout=None))
        wait_until(waits.running)
        manager._run.post(lambda: [task.cancel() for task in asyncio.all_tasks()])
        with pytest.raises(CommunityError):
            waits.result(PATIENCE_SECONDS)
    manager._run.ended.wait()
    for call in (lambda: community.publish(b"y"), manager.stats):
        with pytest.raises(CommunityError, match=r"ended by itself; start\(\) starts it again"):
            call()
    assert [payload(event) for event in events] == [b"x"]
    manager.start()
    assert manager.join(".a").state == "alone"
    manager.close()
    with pytest.raises(CommunityError, match="was closed"):
        manager.stats()


def test_batches_can_be_read_when_the_loop_has_ended(manager: blocking.CommunityManager) -> None:
    community = manager.join(".a")
    events = community.subscribe()
    for one in (b"1", b"2"):
        community.publish(one)
    manager.close()
    batches = [item for item in events.batches() if isinstance(item, ReceivedBatch)]
    assert [one for batch in batches for one in batch.payloads] == [b"1", b"2"]


def test_managers_that_were_not_closed_say_goodbye_at_the_interpreters_end(tmp_path: Path) -> None:
    script, trace = tmp_path / "forgets.py", tmp_path / "trace.jsonl"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from camcast import JsonLinesSink\n"
        "from camcast.app import blocking\n"
        "manager = blocking.CommunityManager(trace=JsonLinesSink(Path(sys.argv[1])))\n"
        "manager.start()\n"
        "manager.join('.a')\n"
    )
    output_of(script, trace)
    assert '"kind":"leave"' in trace.read_text()


# -- what nobody can read ------------------------------------------------------------------------


def open_subscriptions(manager: blocking.CommunityManager) -> int:
    return sum(len(community.subscriptions) for community in manager.stats().communities)


def test_a_subscription_that_nobody_can_read_any_more_is_closed(
    manager: blocking.CommunityManager,
) -> None:
    community = manager.join(".a")
    community.publish(b"x")  # who publishes stays

    def first() -> object:
        events = community.subscribe()
        community.publish(b"y")
        for event in events.batches():
            return event
        return None

    def all_closed() -> None:
        first()
        wait_until(lambda: open_subscriptions(manager) == 0)

    with pytest.warns(ResourceWarning, match="nobody can read the subscription in .a"):
        all_closed()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it goes when the thread, or the loop, does
def test_a_thread_that_waits_keeps_its_subscription(manager: blocking.CommunityManager) -> None:
    community = manager.join(".a")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: next(community.subscribe()))
        wait_until(lambda: open_subscriptions(manager) == 1)
        gc.collect()
        community.publish(b"x")
        assert payload(waiting.result()) == b"x"
    wait_until(lambda: open_subscriptions(manager) == 0)
