"""A feed: a bounded queue that is filled in the event loop and never holds it up.

Whoever reads it does so at their own speed: tasks that iterate it, a coroutine callback (a task of
its own) or a plain callback (a thread of its own, so that it may block). What a callback raises is
logged and does not end the feed. `camcast.subscription` and `camcast.changes` are feeds; what drops
when the queue is full, and how the reader is told, is for their queues to say.

Several tasks may iterate one feed, and then each item goes to one of them. A task that finds the
queue empty waits in line. As long as a task waits, a task that asks for the next item joins the
line at its end, even if there are items. So the tasks take turns, however short their work on an
item is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from camcast.received import Gap, Lagged

_log = logging.getLogger(__name__)

_LOG_INTERVAL_SECONDS: Final = 1.0  # chosen: a callback that always raises fills no disk

_Added = TypeVar("_Added")
_Item = TypeVar("_Item")
_Queue = TypeVar("_Queue", bound="_HasItems")


class _HasItems(Protocol):
    def __bool__(self) -> bool: ...


class Feed(Generic[_Queue, _Item]):
    """A queue with its readers; iterate it with ``async for``, unless it has a callback.

    Readers and the callback get what `take` returns, None where the queue is empty. `on_close` is
    called when the feed is closed; what it adds is still handed out.
    """

    def __init__(
        self,
        on_close: Callable[[Any], None],
        queue: _Queue,
        callback: Callable[[Any], Awaitable[None] | None] | None,
        take: Callable[[], Any],
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"a callback is a function, and not {callback!r}")
        self.errors = 0
        """How often the callback has raised."""
        self.running: asyncio.Future[None] | None = None
        """With a callback: done when the callback's task or thread has ended."""
        self._on_close = on_close
        self._queue = queue
        self._callback = callback
        self._take = take
        self._closed = False
        self._log_after = 0.0
        self._loop = asyncio.get_running_loop()
        self._line: deque[asyncio.Future[None]] = deque()
        """A future for each task that waits, in the order in which they came."""
        self._lock = threading.Lock()  # for a thread, which takes what the loop puts in
        self._filled = threading.Condition(self._lock)
        self._threaded = callback is not None and not _is_coroutine_function(callback)
        if self._threaded:
            self.running = self._loop.create_future()
            # A daemon, because a callback that hangs must not keep the process from ending.
            threading.Thread(
                target=self._run_thread, name="camcast-subscriber", daemon=True
            ).start()
        elif callback is not None:
            self.running = self._loop.create_task(self._run_task())

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends.

        Called in another thread, such as a callback's, it ends a turn of the event loop later.
        """
        if self._closed:
            return
        if self._loop.is_running() and running_loop() is not self._loop:
            self._loop.call_soon_threadsafe(self.close)
            return
        self._on_close(self)
        with self._lock:
            self._closed = True
            self._filled.notify()
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        self._check_iterable()
        item: _Item | None = await self._next(self._take)
        if item is None:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _add(self, put: Callable[[_Added], None], item: _Added) -> None:
        if self._closed:
            return
        if self._threaded:
            with self._lock:
                put(item)
                self._filled.notify()
        else:
            put(item)
            self._wake()

    def _check_iterable(self) -> None:
        if self._callback is not None:
            raise RuntimeError("a subscription with a callback has nothing to iterate")

    # -- waiting -----------------------------------------------------------------------------

    async def _next(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Take the next item when it is this task's turn; None at the end of the subscription."""
        item = None
        if not self._line and ((item := take()) is not None or self._closed):
            return item
        if running_loop() is not self._loop:
            raise RuntimeError(
                "items come in the event loop of the manager: iterate there, or in camcast.blocking"
            )
        while item is None:
            turn = self._loop.create_future()
            self._line.append(turn)
            try:
                await turn
                item = take()
            finally:
                self._line.remove(turn)
                self._wake()
            if self._closed:
                break
        return item

    def _wake(self) -> None:
        """Tell the task that has waited for longest, if there is something for it."""
        line = self._line
        if line and not line[0].done() and (self._queue or self._closed):
            line[0].set_result(None)

    # -- callbacks ---------------------------------------------------------------------------

    async def _run_task(self) -> None:
        assert self._callback is not None
        callback, take = self._callback, self._take
        task = asyncio.current_task()
        assert task is not None
        while True:
            item = take()
            if item is None and (item := await self._next(take)) is None:
                return
            try:
                if isinstance(item, Gap):
                    self._report(item)
                else:
                    result = callback(item)
                    if result is not None:
                        await result
            except asyncio.CancelledError:
                if task.cancelling():
                    raise
                self._failed()  # something that the callback awaited was cancelled
            except (Exception, BaseExceptionGroup):
                self._failed()

    def _run_thread(self) -> None:
        self._hand_out()
        with suppress(RuntimeError):  # the loop has ended by now
            self._loop.call_soon_threadsafe(self._thread_ended)

    def _thread_ended(self) -> None:
        assert self.running is not None
        if not self.running.done():
            self.running.set_result(None)

    def _hand_out(self) -> None:
        assert self._callback is not None
        callback, take = self._callback, self._take
        while True:
            with self._lock:
                while (item := take()) is None:
                    if self._closed:
                        return
                    self._filled.wait()
            try:
                if isinstance(item, Gap):
                    self._report(item)
                elif inspect.iscoroutine(result := callback(item)):
                    result.close()
                    raise TypeError(f"{callback!r} made a coroutine: make it an `async def` itself")
            except BaseException:  # a SystemExit would end the thread in silence
                self._failed()

    def _report(self, gap: Gap) -> None:
        """Tell of items that the callback does not get."""
        if isinstance(gap, Lagged):
            _log.warning("a subscriber was too slow and missed %d events", gap.missed)
        else:
            _log.warning(
                "events %d to %d of publisher %s in %s can no longer be had",
                *(gap.first, gap.last, gap.publisher.hex()[:8], gap.topic),
            )

    def _failed(self) -> None:
        self.errors += 1
        now = time.monotonic()
        if now >= self._log_after:
            self._log_after = now + _LOG_INTERVAL_SECONDS
            _log.exception("a subscriber's callback raised (%d times so far)", self.errors)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def check_plain(name: str, call: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no plain function, since nobody would await its coroutine."""
    if not callable(call) or _is_coroutine_function(call):
        raise TypeError(f"{name} is a plain function, which is not awaited, and not {call!r}")


def _is_coroutine_function(callback: Callable[..., object]) -> bool:
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
