"""Coroutines of a discovery as tasks of a loop: what blocks, runs in a thread of its own."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Hashable

import pytest

from camcast.live.live_waiting import LiveWaiting
from camcast.vocabulary.clock import Clock
from tests.patience import eventually, live


@live
async def test_outcomes_and_errors_come_under_their_names() -> None:
    outcomes: dict[tuple[Hashable, ...], object] = {}
    waiting = LiveWaiting(Clock(), outcomes.__setitem__)

    async def work(text: str) -> int:
        await waiting.sleep(0.0)
        return await waiting.call(int, text)

    waiting.start(work("7"), "seven")

    async def leave() -> None:
        raise SystemExit(3)

    waiting.start(work("seven"), "wrong", 2)
    waiting.start(leave(), "left")
    assert outcomes == {}
    await eventually(lambda: len(outcomes) == 3)
    assert "SystemExit(3)" in str(outcomes["left",])
    assert outcomes["seven",] == 7
    assert isinstance(outcomes["wrong", 2], ValueError)


@live
async def test_a_system_without_threads_is_no_fault_of_a_discovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes: dict[tuple[Hashable, ...], object] = {}
    waiting = LiveWaiting(Clock(), outcomes.__setitem__)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        waiting.start(waiting.call(int, "7"), "called")
        waiting.start(waiting.look_up("tcp://localhost:7000"), "looked up")
        await eventually(lambda: len(outcomes) == 2)
    assert [getattr(one, "errno", None) for one in outcomes.values()] == [errno.EAGAIN] * 2


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class PanicError(BaseException):
    """What an extension raises that is no `Exception`, such as a panic of one in Rust."""


class UnshownError(PanicError):
    """An exception that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "kind", [PanicError, UnshownError, StopIteration, SystemExit, asyncio.CancelledError]
)
@pytest.mark.parametrize("where", ["coroutine", "thread"])
@live
async def test_what_is_no_exception_is_an_outcome_too(
    kind: type[BaseException], where: str
) -> None:
    """Else the discovery would wait for it for ever: nobody has cancelled the task."""
    outcomes: dict[tuple[Hashable, ...], object] = {}
    waiting = LiveWaiting(Clock(), outcomes.__setitem__)

    def fail() -> None:
        raise kind("no more")

    async def work() -> None:
        if where == "thread":
            await waiting.call(fail)
        fail()

    waiting.start(work(), "work")
    await eventually(lambda: bool(outcomes))
    assert isinstance(outcomes["work",], RuntimeError)
    assert kind.__name__ in str(outcomes["work",])


@live
async def test_what_blocks_stops_neither_the_loop_nor_the_close() -> None:
    blocked, outcomes = threading.Event(), dict[tuple[Hashable, ...], object]()
    waiting = LiveWaiting(Clock(), outcomes.__setitem__)
    waiting.start(waiting.call(blocked.wait), "blocked")
    await asyncio.sleep(0)  # the loop turns
    await waiting.drain(0.01)
    waiting.close()
    await waiting.drain(1.0)
    assert outcomes == {}  # a cancelled coroutine has no outcome
    blocked.set()


@live
async def test_the_wall_clock_is_the_processes_own() -> None:
    loop = asyncio.get_running_loop()
    waiting = LiveWaiting(Clock(loop.time(), 1000.0), lambda *_: None)
    assert waiting.wall() == pytest.approx(1000.0, abs=60.0)
