"""Feeds: how events reach the application without ever holding up the forwarding.

A *feed* is a bounded queue that is filled in the event loop and never holds it up. Whoever fills it
holds the feed until it is closed; the application holds a `Reader`. Readers take items at their own
speed: tasks that iterate it, a coroutine callback (a task of its own) or a plain callback (a thread
of its own, so that it may block). What a callback raises is logged and does not end the feed. The
queue decides what is dropped when it is full, and how the reader learns of it.

A feed without a callback is closed, with a `ResourceWarning`, when its last `Reader` is garbage:
nobody can read it any more. A task that waits for an item is held by the feed's line, and holds the
reader itself. A feed whose callback's task was cancelled, by an application that cancels all tasks,
or has ended itself by a `GeneratorExit`, is closed as well.

Several tasks may iterate one feed, and then each item goes to one of them. A task that finds the
queue empty waits in line. As long as a task waits, a task that asks for the next item joins the
line at its end, even if there are items. The tasks take turns, however short their work on an
item is.

A task that takes items which are there already, one after the other, gives the event loop a turn
every `TURN_SECONDS`: timeouts strike, and the process goes on forwarding. What is made for an item,
an instance of an event class, is made when the item was taken, outside of every lock.

The thread of a plain callback shares the queue with the event loop. The loop never waits for that
thread: what is to be queued while the thread has the queue's lock is put aside, and the thread asks
the loop to queue it. The thread waits for the loop only as long as the loop puts an item in. No
other call takes the lock, so that a signal handler, or a `__del__` that the garbage collector runs
in one of the two, never waits for itself.

A callback that does not return hears of nothing more, not even of what its full queue drops. The
loop looks at each callback every `LOOK_SECONDS`, and logs one that has been at an item for as long.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import warnings
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from time import monotonic
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeVar

from camcast.inbox.own_exceptions import is_for_task
from camcast.inbox.received import Gap, Lagged, Received
from camcast.inbox.step import here
from camcast.observe.failure_log import INTERVAL_SECONDS, FailureLog
from camcast.vocabulary.arguments import (
    is_coroutine_function,
    is_generator_function,
    is_left_to_do,
    refuse_copy,
)
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.events import Missed
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.printable import shown
from camcast.vocabulary.refused_threads import refused_threads_as
from camcast.vocabulary.topics import Topic

_log = Logger(__name__)

# chosen: as long as a frame waits for others at most; a twentieth of what a heartbeat may be late
TURN_SECONDS: Final = 0.005

# chosen: to look at the clock for each item takes a tenth of what a short callback takes with all
# that is around it. Where so little time has passed since the last look, the next items go without
# one: at a steady pace a turn is half as long again at most.
UNTIMED_ITEMS: Final = 15
BRIEF_SECONDS: Final = 0.00015

# chosen: ten times as long as a callback has when its manager closes
LOOK_SECONDS: Final = 10.0

running_loop: Final = asyncio._get_running_loop
"""Returns the event loop that runs in this thread; None if there is none."""

_Added = TypeVar("_Added")
_Feed = TypeVar("_Feed", bound="Feed[Any]")
_Item = TypeVar("_Item")
_Queue = TypeVar("_Queue", bound="_HasItems")


class _HasItems(Protocol):
    gap: int
    """How many were dropped before everything that is queued, and not told of yet."""

    @property
    def undecoded(self) -> bool: ...

    def __bool__(self) -> bool: ...

    def put_back(self, taken: Any, /) -> None: ...


class Feed(Generic[_Queue]):
    """A queue with those that read it: tasks by a `Reader`, or a callback.

    Readers and the callback get what `take` returns, None where the queue is empty. `on_close` is
    called when the feed is closed; what it adds is still handed out. `topic` is the community's,
    for logs. Raises `TypeError` for a callback that is no function, or a generator function, and
    `CommunityError` where the system has no thread for it.
    """

    _kind: ClassVar[str]
    """The kind of items, for the warning of an abandoned feed."""

    def __init__(
        self,
        on_close: Callable[[Any], None],
        queue: _Queue,
        callback: Callable[[Any], Awaitable[None] | None] | None,
        take: Callable[[], Any],
        topic: Topic,
    ) -> None:
        if callback is not None:
            _check_callback(callback)
        self.running: asyncio.Future[None] | None = None
        """With a callback: done when the callback's task or thread has ended."""
        self._on_close = on_close
        self.queue = queue
        self._callback = callback
        self.take = take
        self._closed = False
        self._topic = topic
        self._failures = FailureLog()
        self._gaps_after = 0.0
        self._lagged = self._gone = 0  # since the last warning
        self.opened: deque[Any] = deque()
        """The queue's first items behind its gap, if a coroutine callback may take them itself."""
        self._at_work_since = inf
        """When the callback, or `_report`, was called with its last item."""
        self._look_handle: asyncio.TimerHandle | None = None
        self._turn_after = monotonic() + TURN_SECONDS
        self.loop = asyncio.get_running_loop()
        self._process = os.getpid()
        self._line: deque[asyncio.Future[None]] = deque()
        """A future for each task that waits, in the order in which they came."""
        self._lock = threading.Lock()
        """Held by a callback's thread while it takes, by the loop while it puts in."""
        self._aside: deque[tuple[Callable[[Any], None], Any]] = deque()
        """With a thread: what is not yet in the queue, each with the method that puts it there."""
        self._filled: SimpleQueue[None] = SimpleQueue()
        self._idle = False
        """Whether the callback's thread waits at `_filled`, or will after one more look."""
        self._threaded = callback is not None and not is_coroutine_function(callback)
        if self._threaded:
            self.running = self.loop.create_future()
            # A daemon, because a callback that hangs must not keep the process from ending.
            thread = threading.Thread(
                target=self._run_thread, name="camcast-subscriber", daemon=True
            )
            with refused_threads_as(_no_thread):
                thread.start()
        elif callback is not None:
            self.running = self.loop.create_task(self._run_task())
            self.running.add_done_callback(self._task_ended)
        if callback is not None:
            self._look_later()

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._failures.count

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends.

        Called in the event loop, or when that is closed.
        """
        if not self._closed:
            self._on_close(self)
            self._on_close = lambda _: None  # whoever reads the rest holds no community
            self._closed = True
            if self._look_handle is not None:
                self._look_handle.cancel()
            self._wake_thread()
            self._wake()

    def abandon(self) -> None:
        """Close a feed that has no callback, and that nobody can read any more.

        Called by the garbage collector, which runs in any thread, and in the middle of anything
        that the event loop does.
        """
        if self._closed or self._callback is not None or os.getpid() != self._process:
            return
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self.close)
            warnings.warn(
                f"nobody can read the {self._kind} in {self._topic} any more, and it is closed:"
                " close it yourself, or use `async with`",
                ResourceWarning,
                stacklevel=3,
                source=self,  # tracemalloc then shows where it was made
            )

    def _add(self, put: Callable[[_Added], None], item: _Added) -> None:
        if self._closed:
            return
        if self._threaded:
            self._aside.append((put, item))
            self._put_aside()
        else:
            put(item)
            self._wake()

    def put_back(self, taken: Any) -> None:
        """Put an item that was taken back to the head of the queue: nobody got it after all.

        Called in the event loop, for a feed without a callback.
        """
        self.queue.put_back(taken)
        self._wake()

    def take_now(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Take the next item, if there is one and no task waits for it; else return None."""
        return None if self._line else take()

    def made(self, item: Any) -> Any:
        """Make of what was taken what a reader gets; called outside of the lock.

        A callback's item is made only if the queue says that what was taken last is `undecoded`.
        """
        return item

    def check_iterable(self) -> None:
        """Raise `CommunityError` if there is a callback, which gets all items."""
        if self._callback is not None:
            raise CommunityError("a subscription with a callback has nothing to iterate")

    def _check_loop(self) -> None:
        """Raise `CommunityError` in another event loop; any may read the rest of a closed feed."""
        if not self._closed and running_loop() is not self.loop:
            raise CommunityError(
                "items come in the event loop of the manager: iterate there, or in"
                " camcast.app.blocking"
            )

    # -- waiting -----------------------------------------------------------------------------

    async def next(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Take the next item when it is this task's turn; None at the end of the subscription."""
        self._check_loop()
        if monotonic() >= self._turn_after:
            await self._give_turn()
        if not self._line and ((item := take()) is not None or self._closed):
            return item
        return await self._wait(take)

    async def _wait(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Wait in the line until something is there; None at the end of the subscription."""
        item = None
        while item is None:
            turn = self.loop.create_future()
            self._line.append(turn)
            try:
                await turn
                self._turn_after = monotonic() + TURN_SECONDS
                item = take()
            finally:
                self._line.remove(turn)
                self._wake()
            if self._closed:
                break
        return item

    async def _give_turn(self) -> None:
        """Give the event loop a turn; the next is due in a while."""
        await asyncio.sleep(0)
        self._turn_after = monotonic() + TURN_SECONDS

    def _wake(self) -> None:
        """Tell the task that has waited for longest, if there is something for it."""
        line = self._line
        if line and not line[0].done() and (self.queue or self._closed):
            line[0].set_result(None)

    # -- callbacks ---------------------------------------------------------------------------

    async def _run_task(self) -> None:
        assert self._callback is not None
        callback, take, queue, opened = self._callback, self.take, self.queue, self.opened
        untimed, before = 0, -inf
        while True:
            if untimed:
                untimed -= 1
            else:
                now = monotonic()
                if now >= self._turn_after:
                    await self._give_turn()
                    now = monotonic()
                untimed = UNTIMED_ITEMS if now - before < BRIEF_SECONDS else 0
                before = self._at_work_since = now
            if opened and not queue.gap:  # spares the call of `take`
                item = opened.popleft()
            elif (item := take()) is None:
                if self._closed or (item := await self._wait(take)) is None:
                    self._log_gaps()
                    return
                untimed, self._at_work_since = 0, monotonic()
            try:
                # Most are events: to tell one from the gaps takes a third of the time.
                if type(item) is not Received and isinstance(item, Gap):
                    self._report(item)
                else:
                    result = callback(self.made(item) if queue.undecoded else item)
                    if result is not None:
                        await result
            except SystemExit as error:
                if threading.current_thread() is threading.main_thread():
                    raise
                self._failed(error)  # it would end nothing but the event loop
            except BaseException as error:  # such as a panic of an extension in Rust
                if is_for_task(error):
                    raise
                self._failed(error)

    def _task_ended(self, task: asyncio.Future[None]) -> None:
        """Close a feed of which the task was ended: nobody takes what comes any more."""
        if self._closed:
            return
        error = None if task.cancelled() else task.exception()
        if error is None:
            _log.info("the callback %s in %s was cancelled", self._name(), self._topic)
        elif not isinstance(error, SystemExit | KeyboardInterrupt):  # which end the program
            self._failed(error)
        self.close()

    def _run_thread(self) -> None:
        self._hand_out()
        if not self._is_forked():
            with suppress(RuntimeError):  # the loop has ended by now
                self.loop.call_soon_threadsafe(self._thread_ended)

    def _is_forked(self) -> bool:
        """Say whether this is a child that the callback has forked.

        All events are the parent's. The thread ends, and with it the child, whose only one it is.
        """
        return _this.process != self._process

    def _thread_ended(self) -> None:
        assert self.running is not None
        if not self.running.done():
            self.running.set_result(None)

    def _hand_out(self) -> None:
        assert self._callback is not None
        callback = self._callback
        while True:
            item = self._wait_in_thread()
            if item is None:
                self._log_gaps()
                return
            self._at_work_since = monotonic()
            try:
                if isinstance(item, Gap):
                    self._report(item)
                elif is_left_to_do(
                    result := callback(self.made(item) if self.queue.undecoded else item)
                ):
                    if inspect.iscoroutine(result):
                        result.close()
                    raise TypeError(
                        f"{callback!r} returned {result!r}, which nobody awaits or iterates: make"
                        " it an `async def` itself"
                    )
            except BaseException as error:  # a SystemExit would end the thread in silence
                if self._is_forked():
                    raise
                self._failed(error)
            if self._is_forked():
                return

    def _wait_in_thread(self) -> Any:
        """Wait for the next item of a plain callback; None at the end."""
        while True:
            with self._lock:
                ended = self._closed and not self._aside  # looked at later, it would miss items
                item = self.take()
            if self._aside:  # it came meanwhile
                with suppress(RuntimeError):  # the loop has ended by now
                    self.loop.call_soon_threadsafe(self._put_aside)
            if item is not None or ended:
                return item
            if self._idle:
                self._filled.get()
            else:
                self._idle = True  # and look once more: what comes from now on wakes this thread

    def _put_aside(self) -> None:
        """Queue what was put aside; if the thread takes an item just now, it calls this again."""
        while self._aside and self._lock.acquire(blocking=False):
            try:
                while self._aside:
                    put, item = self._aside.popleft()
                    put(item)
            finally:
                self._lock.release()
        self._wake_thread()

    def _wake_thread(self) -> None:
        if self._idle:
            self._idle = False
            self._filled.put(None)

    def _report(self, gap: Gap) -> None:
        """Log items that the callback does not get: once a second at most, added up."""
        if isinstance(gap, Lagged):
            self._lagged += gap.missed
        elif isinstance(gap, Missed):
            self._gone += gap.last - gap.first + 1
        if monotonic() >= self._gaps_after:
            self._log_gaps()

    def _log_gaps(self) -> None:
        """Log how many items the callback did not get since this was logged last."""
        self._gaps_after = monotonic() + INTERVAL_SECONDS
        lagged, self._lagged = self._lagged, 0
        gone, self._gone = self._gone, 0
        name = self._name()
        if lagged:
            _log.warning(
                "slow_subscriber: the callback %s in %s missed %d of what came",
                *(name, self._topic, lagged),
            )
        if gone:
            _log.warning(
                "the callback %s in %s misses %d events that can no longer be had",
                *(name, self._topic, gone),
            )

    def _look_later(self) -> None:
        self._look_handle = self.loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Log the callback, once, if it has been at the same item for so long."""
        self._look_later()
        seconds = monotonic() - self._at_work_since
        if seconds >= LOOK_SECONDS and not (self._line or self._idle):
            _log.warning(
                "slow_subscriber: the callback %s in %s has not returned for %.0f s: %d items wait"
                " for it, %d were dropped, and it hears of neither",
                *(self._name(), self._topic, seconds, *self._waiting()),
            )
            self._at_work_since = inf

    def _waiting(self) -> tuple[int, int]:
        """Return how many items are queued, and how many the full queue has dropped."""
        raise NotImplementedError

    def _failed(self, error: BaseException) -> None:
        said = f"the callback {self._name()} in {self._topic} raised"
        self._failures.take(said, error, monotonic())

    def _name(self) -> str:
        return getattr(self._callback, "__qualname__", None) or shown(self._callback)


class Reader(Generic[_Feed, _Item]):
    """The reading end of a feed; iterate it with ``async for``, unless it has a callback.

    When the last reference to it is gone, a feed without a callback is closed.
    """

    def __init__(self, feed: _Feed) -> None:
        self._feed = feed

    __reduce_ex__ = refuse_copy

    def __del__(self) -> None:
        self._feed.abandon()

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._feed.errors

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._feed.closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends.

        Called in another thread, such as a callback's, or in the midst of a step of the process, as
        in a `__del__` or a signal handler, it ends a turn of the event loop later.
        """
        loop = self._feed.loop
        if loop.is_running() and (here.steps.in_step or running_loop() is not loop):
            loop.call_soon_threadsafe(self.close)
        else:
            self._feed.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        feed = self._feed
        feed.check_iterable()
        item: _Item | None = await feed.next(feed.take)
        if item is None:
            raise StopAsyncIteration
        made: _Item = feed.made(item)
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class _ThisProcess:
    """The process, known without a system call, which would cost as much as a short callback."""

    def __init__(self) -> None:
        self.look()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.look)

    def look(self) -> None:
        self.process = os.getpid()


_this: Final = _ThisProcess()


def _no_thread(why: str) -> CommunityError:
    return CommunityError(f"the callback cannot have a thread: {why}")


def _check_callback(callback: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no function, or one that would never run."""
    if not callable(callback):
        raise TypeError(f"a callback is a function, and not {shown(callback)}")
    if is_generator_function(callback):
        raise TypeError(
            f"{callback!r} has a `yield`: nobody would iterate it, and it would never run"
        )
