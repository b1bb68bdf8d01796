"""One run of a blocking manager: an event loop in a thread, and the calls that threads make there.

Theory of operation
-------------------
A call is work for the loop, and a place where its result is left. The calling thread posts it and
waits for its `Moment`. There is no lock, for three callers would meet it again: a signal handler,
which runs between two instructions of the main thread; a `__del__`, which the garbage collector
runs in whichever thread allocates; and the interpreter's end, at which the threads of daemons stop
where they are. What threads share are queues, dictionaries and flags, of which each step is one for
Python. Two rules take the place of locks: who waits, first says so, then looks whether it has
happened already; who makes it happen, first sets the flag, then wakes those that wait.

Whatever interrupts a wait takes the call back: Ctrl-C, an exception that a signal handler raises, a
time limit. The call is then cancelled in the loop; if it has a result already, the result is
undone: an event goes back to the head of its queue. From the wait to the `return` in `call` there
is no instruction at which Python would run a signal handler outside of the `try`, and the first
step of its handler notes the call as abandoned, so that a second signal changes nothing.

The loop ends when it is told to (`stop`), or by itself, when application code cancels all its tasks
or exhausts memory; then every call that waits ends with an error. An exception that would end an
event loop, such as `SystemExit`, is logged, and the loop goes on: nobody waits for this thread.

Why not the blocking portal of anyio, which also runs a loop in a thread: its `call` waits in a
`concurrent.futures.Future` and abandons the work to itself when the wait is interrupted; it
refuses calls from its own loop only; `SystemExit` ends its loop; a fork and the end of the
interpreter are left to its user. To wrap it would take all of what is here.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from math import inf
from sys import is_finalizing
from time import monotonic
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar, cast
from weakref import WeakSet, finalize, ref

from camcast.app.lifetime import check_not_forked
from camcast.vocabulary.arguments import check_timeout
from camcast.vocabulary.errors import CamcastError, CommunityError
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.refused_threads import refused_threads_as

_log = Logger(__name__)

_T = TypeVar("_T")

# chosen: the loop takes a call back within a turn of milliseconds; a loop that application code
# blocks must not hold up a time limit or Ctrl-C for longer
TAKE_BACK_SECONDS: Final = 1.0
# chosen: the goodbyes have 1 s, callbacks 2 s (camcast.app.manager); a blocked loop is left then
EXIT_SECONDS: Final = 5.0

_here = threading.local()  # `run`: the LoopThread whose thread this is


class TimeLimit(CamcastError, TimeoutError):
    """A call that waited took longer than it was given."""


class timeout:  # as `asyncio.timeout`
    """Limit every wait of this thread in a ``with``, as `asyncio.timeout` does for tasks.

    A call that is not done when `seconds` have passed since the beginning of the ``with`` is taken
    back and raises `TimeoutError`; None is no limit. An inner limit cannot extend an outer one.

    Example:
        ::

            with blocking.timeout(5.0):
                soccer = manager.join(".soccer")
                soccer.publish(b"Goal!")
    """

    def __init__(self, seconds: float | None) -> None:
        check_timeout(seconds)
        self._seconds = inf if seconds is None else seconds
        self._outer: _Limits = None
        self._entered = False  # inside a `with`
        self.ends = inf

    def __enter__(self) -> Self:
        if self._entered:  # its own outer limit, it would never end
            raise CommunityError("this limit is in a `with` already: make another one")
        self._entered = True
        self.ends = monotonic() + self._seconds
        self._outer = _limits.get()
        _limits.set((ref(self), self._outer))
        return self

    def __exit__(self, *_: object) -> None:
        _limits.set(self._outer)
        self._entered = False


_Limits: TypeAlias = "tuple[ref[timeout], _Limits] | None"
_limits: ContextVar[_Limits] = ContextVar("limits", default=None)
"""The innermost limit and those around it. One whose ``with`` a signal handler's exception ended
before its first or after its last step is nobody's any more, and counts no more."""


def seconds_left(given: float | None = None) -> float | None:
    """Return for how long a call may wait, None for ever: as it is given, or as `timeout` says."""
    ends = inf if given is None else monotonic() + given
    limits = _limits.get()
    while limits is not None:
        limit, limits = limits
        if (one := limit()) is not None:
            ends = min(ends, one.ends)
    return None if ends == inf else max(ends - monotonic(), 0.0)


def check_may_wait(verb: str) -> None:
    """Raise `CommunityError` in the thread of any manager's loop, and when Python is ending."""
    if is_finalizing():
        raise CommunityError(f"{verb}() can no longer be carried out: the interpreter is ending")
    if run_here() is not None:
        raise CommunityError(
            f"{verb}() cannot wait in the event loop of a manager: make the coroutine callback a"
            f" plain function, or `await asyncio.to_thread({verb}, ...)` there"
        )


def run_here() -> LoopThread | None:
    """Return the run whose thread this is; None in any thread but that of a manager's loop."""
    return getattr(_here, "run", None)


class Moment:
    """The moment at which something happens, once; threads wait for it."""

    __slots__ = ("_waiting", "happened")

    def __init__(self) -> None:
        self.happened = False
        self._waiting: deque[threading.Lock] = deque()
        """One for each wait, which whoever wakes it releases; no two callers share one."""

    def happen(self) -> None:
        """Let it happen, and wake all that wait."""
        self.happened = True
        while self._waiting:
            self._waiting.popleft().release()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has happened; False if it has not within `seconds` (None: for ever)."""
        # No SimpleQueue: its `get` waits for ever when a signal handler runs beyond the limit.
        woken = threading.Lock()
        woken.acquire()
        self._waiting.append(woken)
        if not self.happened:
            woken.acquire(timeout=-1 if seconds is None else min(seconds, threading.TIMEOUT_MAX))
        return self.happened


class _Call(Moment, Generic[_T]):
    """Work for the loop, and what became of it."""

    __slots__ = ("error", "result", "task", "undo", "wanted", "work")

    def __init__(
        self, work: Callable[[], _T | Coroutine[Any, Any, _T]], undo: Callable[[_T], object] | None
    ) -> None:
        super().__init__()
        self.work = work
        self.undo = undo
        self.task: asyncio.Task[_T] | None = None
        self.wanted = True
        """Whether the caller waits; changed in the loop, or after it."""
        self.result: Any = None
        self.error: BaseException | None = None


class Runs(Protocol):
    """The object that runs in the loop: a manager of asyncio."""

    async def start(self) -> None:
        """Start, in the loop."""

    async def close(self) -> None:
        """Close, in the loop."""


class Keeps(Protocol):
    """A reader of a run, which keeps what was not read when the loop ends."""

    def keep_rest(self) -> None:
        """Take everything out of the queue; called in the loop's thread, after the loop."""


class LoopThread:
    """A run of a manager, from `start` until its loop has ended; after it comes `successor`."""

    def __init__(self, manager: Runs) -> None:
        self.process: int | None = None
        """The process in which it was started; None: it was not, yet."""
        self.started = Moment()
        """Happens when calls are taken, or when it is certain that none ever will be."""
        self.ended = Moment()
        self.stopping = False
        self.readers: WeakSet[Keeps] = WeakSet()
        """Changed in the loop."""
        self._manager = manager
        self._error: BaseException | None = None
        """Why it did not start, or what ended it."""
        self._places = deque([None])  # taken by the thread that serves
        self._serving = False  # calls are, or were, taken
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._calls: dict[_Call[Any], None] = {}
        """Those that wait; in no set, since `popitem` and `pop` are one step each."""
        self._abandoned: deque[_Call[Any]] = deque()

    def successor(self) -> LoopThread:
        """Return the run that follows, made by whoever asks first."""
        following = vars(self).setdefault("_successor", LoopThread(self._manager))
        return cast("LoopThread", following)

    def last(self) -> LoopThread:
        """Return the last of the runs that follow this one, or this."""
        run = self
        while (following := vars(run).get("_successor")) is not None:
            run = following
        return run

    # -- in any thread -----------------------------------------------------------------------

    def start(self) -> None:
        """Start the loop and wait until it takes calls; raises what kept it from that.

        `CommunityError` if Python starts no thread.

        Another thread, or a signal handler, may stop it meanwhile; to the caller that comes after.
        """
        if not self.started.happened:
            self.process = os.getpid()
            # A daemon, because a script that forgets to close must end all the same. Two callers
            # may each start a thread, of which one serves: a signal handler cannot wait for a
            # thread that the call below it was about to start.
            thread = threading.Thread(target=self._run, name="camcast", daemon=True)
            try:
                # At the limit of the system; or, on some Python 3.12, while the interpreter ends.
                with refused_threads_as(_no_loop):
                    thread.start()
            except KeyError as error:  # Python's own, at a signal handler's exception in `start`
                raise error.__context__ or error from None
            if not self.started.wait(seconds_left()):
                raise TimeLimit("start() took longer than it was given")
        if not self._serving and self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Tell the loop to end; `ended` happens when it has. For a run that was started.

        A signal may interrupt it half-way: whoever waits for the end calls it again.
        """
        self.stopping = True
        try:
            self._places.pop()
        except IndexError:
            self.post(self._stop_serving)
        else:  # no thread serves yet, and now none will
            self._end()

    def post(self, work: Callable[..., object], *args: object) -> bool:
        """Have the loop call something, without waiting; say whether it was told."""
        loop = self._loop
        if loop is None or is_finalizing():
            return False
        try:
            loop.call_soon_threadsafe(work, *args)
        except RuntimeError:
            if not loop.is_closed():
                raise  # a signal handler's
            return False
        return True

    def post_work(self, work: Callable[[], object]) -> None:
        """Have the loop call something, and run the coroutine that it returns, without waiting."""
        self.post(self._begin, _Call(work, None))

    def is_running(self) -> bool:
        """Say whether calls are taken."""
        return self._serving and not self.ended.happened

    def is_here(self) -> bool:
        """Say whether this is the thread of the loop, which still runs."""
        return run_here() is self and not self.ended.happened

    def check(self, verb: str) -> None:
        """Raise `CommunityError` if no call can be made, in this thread or at all."""
        self.check_not_forked()
        check_may_wait(verb)
        if not self.is_running():
            raise self.not_running()

    def check_not_forked(self) -> None:
        """Raise `CommunityError` in a child that was forked while the loop ran."""
        if self.process is not None and not self.ended.happened:
            check_not_forked(self.process)

    def not_running(self) -> CommunityError:
        """Return the error of a call that comes too early or too late."""
        if self.process is None:
            return CommunityError("the manager is not running: use `with`, or call start()")
        if not self.ended.happened:
            return CommunityError("the manager is not running: it is starting in another thread")
        if self.stopping:
            return CommunityError("the manager is not running: it was closed; start() starts it")
        error = CommunityError(
            "the manager is not running: its event loop ended by itself; start() starts it again"
        )
        error.__cause__ = self._error
        return error

    def call(
        self,
        verb: str,
        work: Callable[[], _T | Coroutine[Any, Any, _T]],
        *,
        undo: Callable[[_T], object] | None = None,
        finish: Callable[[_T], Any] | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Call something in the loop, wait, and return what it, or its coroutine, returns.

        If the wait is interrupted, or longer than `seconds` or what `timeout` says, the call is
        cancelled, and `undo` is called in the loop with the result if there is one already.
        `finish` makes of the result what is returned; it is called in this thread.
        """
        self.check(verb)
        limit = seconds_left(seconds)
        call = _Call(work, undo)
        try:
            self._calls[call] = None
            self.post(self._begin, call)
            if self.ended.happened:
                self._end_calls()
            if not call.wait(limit):
                self.post(self._cancel, call)
                if not call.wait(TAKE_BACK_SECONDS) or _is_cancelled(call.error):
                    raise TimeLimit(f"{verb}() took longer than it was given")
            if call.error is None:
                result = call.result
                return result if finish is None else finish(result)
        except BaseException:
            self._abandoned.append(call)  # the first step: a second signal cannot prevent it
            self._take_call_back(call)
            raise
        error, call.error = call.error, None
        try:
            if _is_cancelled(error):  # the loop is ending: who goes on finds it ended
                self.ended.wait(EXIT_SECONDS if limit is None else min(limit, EXIT_SECONDS))
                raise _closed()
            raise error
        finally:
            del error, call  # which would keep each other

    def _take_call_back(self, call: _Call[Any]) -> None:
        """Wait until an abandoned call is taken back, unless the loop is held up."""
        done = Moment()
        if self.post(self._take_back_and_tell, call, done) and not is_finalizing():
            done.wait(TAKE_BACK_SECONDS)
        if self.ended.happened:
            self._take_back()

    # -- in the loop -------------------------------------------------------------------------

    def _begin(self, call: _Call[_T]) -> None:
        self._take_back()
        if call.happened:  # taken back before it began
            return
        if self._main is None or self._main.done():  # nobody would run a task to its end
            self._cancel(call)
            return
        try:
            work = call.work()
            if not inspect.iscoroutine(work):
                call.result = work
                self._finish(call)
                return
            call.task = asyncio.get_running_loop().create_task(work)
            call.task.add_done_callback(partial(self._done, call))
        except BaseException as error:
            call.error = error
            self._finish(call)

    def _done(self, call: _Call[_T], task: asyncio.Task[_T]) -> None:
        if task.cancelled():
            call.error = asyncio.CancelledError()
        elif (error := task.exception()) is not None:
            call.error = error
        else:
            call.result = task.result()
        self._finish(call)

    def _finish(self, call: _Call[Any]) -> None:
        self._calls.pop(call, None)
        if not call.wanted:
            _undo(call)
        call.happen()
        self._take_back()

    def _cancel(self, call: _Call[Any]) -> None:
        if call.task is not None:
            call.task.cancel()
        elif not call.happened:
            call.error = asyncio.CancelledError()
            self._finish(call)

    def _take_back(self) -> None:
        """Cancel what was abandoned, and undo what was done for nobody; also after the loop."""
        while self._abandoned:
            call = self._abandoned.popleft()
            call.wanted = False
            if call.happened:
                _undo(call)
            else:
                self._cancel(call)

    def _take_back_and_tell(self, call: _Call[Any], done: Moment) -> None:
        self._take_back()
        if call.task is None or call.happened:
            done.happen()
        else:
            call.task.add_done_callback(lambda _: done.happen())

    def _stop_serving(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        if not self._serving and self._main is not None:
            self._main.cancel()

    async def _serve(self) -> None:
        if self.stopping:
            return
        await self._manager.start()
        self._serving = True
        self.started.happen()
        try:
            if not self.stopping:
                await self._stop.wait()
        finally:
            await self._manager.close()

    # -- the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        _here.run = self
        try:
            self._places.pop()
        except IndexError:  # another thread serves, or none is to
            return
        _running[self] = None
        _goodbye.append(finalize(LoopThread, _say_goodbye))
        _goodbye.popleft().detach()
        try:
            with asyncio.Runner() as runner:
                loop = runner.get_loop()
                self._main = loop.create_task(self._serve())
                self._loop = loop
                _run_to_the_end(loop, self._main)
        except asyncio.CancelledError:
            if not self.stopping:
                self._error = CommunityError("all tasks of the event loop were cancelled")
        except BaseException as error:
            self._error = error
        finally:
            _running.pop(self, None)
            self._end()

    def _end(self) -> None:
        self._take_back()
        for reader in self.readers:
            reader.keep_rest()
        self.ended.happen()
        self.started.happen()
        self._end_calls()
        self._take_back()  # what was abandoned before it could be seen that this has ended

    def _end_calls(self) -> None:
        while self._calls:
            with suppress(KeyError):  # another thread does the same
                call, _ = self._calls.popitem()
                if not call.happened:
                    call.error = asyncio.CancelledError()
                    call.happen()


def _run_to_the_end(loop: asyncio.AbstractEventLoop, main: asyncio.Task[None]) -> None:
    """Run a loop until its main task is done, whatever application code raises in it."""
    while not main.done() and not loop.is_closed():
        try:
            loop.run_until_complete(main)
        except BaseException:
            if main.done():
                raise
            _log.exception("an application raised this in the event loop, which goes on")


def _undo(call: _Call[Any]) -> None:
    """Undo what a call has done that nobody waits for any more, if it has succeeded."""
    if call.error is None and call.undo is not None:
        call.undo(call.result)


def _is_cancelled(error: BaseException | None) -> bool:
    return isinstance(error, asyncio.CancelledError)


def _closed() -> CommunityError:
    return CommunityError("the manager was closed in the meantime")


_running: dict[LoopThread, None] = {}
"""The runs whose threads are at it; in no set, as the calls of a run."""


def _say_goodbye() -> None:
    """Close the managers that are still running when the interpreter ends."""
    until = monotonic() + EXIT_SECONDS
    runs = [run for run in list(_running) if run.process == os.getpid()]
    for run in runs:
        run.stop()
    for run in runs:
        run.ended.wait(max(0.0, until - monotonic()))


_goodbye: deque[finalize[..., type[LoopThread]]] = deque([finalize(LoopThread, _say_goodbye)])
"""The call of `_say_goodbye` at the interpreter's end. Finalizers run in the order that is the
reverse of their making: this one, made anew at each start, before those of the sinks of traces,
and all of them after the functions that were registered with `atexit` since this import."""


def _no_loop(why: str) -> CommunityError:
    return CommunityError(f"the manager cannot start its event loop: {why}")
