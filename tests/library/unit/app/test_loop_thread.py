"""A run of a loop in a thread: what is abandoned is undone, and late calls end with an error."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from camcast import CommunityError
from camcast.app import loop_thread
from camcast.app.loop_thread import LoopThread, Moment


class Interrupted(Exception):
    """Raised by a signal handler."""


class Nothing:
    """A manager that does nothing."""

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.fixture
def run() -> Iterator[LoopThread]:
    run = LoopThread(Nothing())
    run.start()
    yield run
    run.stop()
    run.ended.wait()


class Stubborn:
    """Work that returns something when it is cancelled."""

    def __init__(self) -> None:
        self.begun = Moment()
        self.undone: list[str] = []

    async def work(self) -> str:
        try:
            self.begun.happen()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done all the same"
        raise AssertionError

    def call(self, run: LoopThread, wait: Callable[..., bool]) -> object:
        """Make the call; its caller waits by `wait` as soon as the work has begun."""

        def wait_from_then_on(moment: Moment, seconds: float | None = None) -> bool:
            self.begun.wait()
            return wait(moment, seconds)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop_thread._Call, "wait", wait_from_then_on)
            return run.call("wait", self.work, undo=self.undone.append, seconds=0.01)


def wait_and_raise(*_: object) -> bool:
    raise Interrupted


def test_what_is_done_although_it_was_cancelled_is_undone(run: LoopThread) -> None:
    stubborn = Stubborn()
    with pytest.raises(Interrupted):
        stubborn.call(run, wait_and_raise)
    assert stubborn.undone == ["done all the same"]


def test_a_result_that_comes_with_the_limit_is_returned(run: LoopThread) -> None:
    stubborn = Stubborn()
    assert stubborn.call(run, Moment.wait) == "done all the same"
    assert stubborn.undone == []


def test_calls_that_come_while_the_loop_ends_begin_nothing(run: LoopThread) -> None:
    """Between the end of the manager and that of the loop, and after both."""
    begun: list[str] = []
    call: loop_thread._Call[None] = loop_thread._Call(lambda: begun.append("late"), None)
    ended = asyncio.Event()

    async def close() -> None:
        loop = asyncio.get_running_loop()
        assert run._main is not None
        run._main.add_done_callback(lambda _: loop.call_soon(run._begin, call))
        ended.set()

    run._manager.close = close  # type: ignore[method-assign]  # to act between the two ends
    run.stop()
    run.ended.wait()
    assert call.wait(0)
    assert begun == []
    with pytest.raises(CommunityError, match="was closed"):
        run.call("late", lambda: begun.append("late"))
    assert ended.is_set()


def test_a_stop_that_was_interrupted_half_way_is_made_good_by_the_next(run: LoopThread) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "post", wait_and_raise)
        with pytest.raises(Interrupted):
            run.stop()
    assert run.stopping
    assert not run.ended.wait(0)
    run.stop()
    assert run.ended.wait()


def test_a_signal_in_the_start_of_the_thread_comes_through() -> None:
    """Python then fails to clean up after a thread that runs already, and says `KeyError`."""

    def start(thread: threading.Thread) -> None:
        try:
            raise Interrupted
        except Interrupted:
            raise KeyError(thread)  # noqa: B904  # as Python does

    run = LoopThread(Nothing())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(Interrupted):
            run.start()
    run.stop()
    assert run.ended.wait(0)


def test_the_run_that_follows_is_made_once() -> None:
    first = LoopThread(Nothing())
    second = first.successor()
    assert first.successor() is second
    third = second.successor()
    assert first.last() is second.last() is third.last() is third


def test_who_is_told_that_the_loop_was_closed_finds_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a reader would take the error for its own, and not what the loop has left."""
    run, begun, raised = LoopThread(Nothing()), Moment(), Moment()
    end, found = LoopThread._end, list[bool]()

    def end_late(of: LoopThread) -> None:
        raised.wait(0.2)  # without the wait for the end, the caller raises in this time
        end(of)

    async def work() -> bool:
        begun.happen()
        return await asyncio.Event().wait()

    def wait() -> None:
        with pytest.raises(CommunityError, match="closed in the meantime"):
            run.call("wait", work, undo=found.append)
        found.append(run.ended.happened)
        raised.happen()

    monkeypatch.setattr(LoopThread, "_end", end_late)
    run.start()
    waiting = threading.Thread(target=wait)
    waiting.start()
    begun.wait()
    run.stop()
    waiting.join()
    assert found == [True]
