"""Subscriptions: how events reach the application without ever holding up the forwarding.

Each subscription has a bounded queue of its own. The node puts events in and goes on; the
subscriber takes them out at its own speed, in an ``async for``, in a coroutine callback (a
task) or in a plain callback (a thread of its own, so that it may block). An event that the
subscription's interest does not match never enters the queue. When the queue is full, the chosen
policy drops events, and the subscriber is told how many it missed. What a callback raises is logged
and does not end the subscription.
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
from enum import Enum
from typing import Final

import msgspec
from attrs import frozen

from camcast.interests.interest import Interest
from camcast.vocabulary.events import EventId
from camcast.vocabulary.topics import Topic

_log = logging.getLogger(__name__)

QUEUE_LENGTH: Final = 4096  # chosen: a second of 4,000 events/s; 2 MB at 500 bytes an event
_LOG_INTERVAL_SECONDS: Final = 1.0  # chosen: a callback that always raises fills no disk


class Received(msgspec.Struct, frozen=True):
    """An event as a subscriber gets it.

    `value` is the payload, or, in the community of a class, the instance that it holds.
    `topic` is the event's own, at or below the one subscribed to. `hops` is the number of
    messages that brought it here, 0 for an event of this very process.
    """

    id: EventId
    topic: Topic
    payload: bytes
    value: object
    hops: int


@frozen
class Lagged:
    """A gap in a subscription: here `missed` events were dropped because the queue was full."""

    missed: int


class Overflow(Enum):
    """What a full queue drops."""

    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"


EventCallback = Callable[[Received], Awaitable[None] | None]
LaggedCallback = Callable[[Lagged], None]


class Subscription:
    """A queue of received events; made by `Community.subscribe`, closed by `unsubscribe`.

    Iterate it with ``async for``, which yields `Received`, and `Lagged` where events were
    missed, and ends when the subscription is closed and empty. With a callback there is
    nothing to iterate; `on_lagged` then tells what was missed (without it, a warning).
    """

    def __init__(
        self,
        callback: EventCallback | None,
        on_lagged: LaggedCallback | None,
        queue_length: int,
        overflow: Overflow,
        on_close: Callable[[Subscription], None],
        where: Interest | None = None,
    ) -> None:
        if queue_length < 1:
            raise ValueError(f"a subscription's queue holds at least 1 event, not {queue_length}")
        self.missed = 0
        """How many events this subscription has dropped so far."""
        self.errors = 0
        """How often the callback has raised."""
        self.running: asyncio.Future[None] | None = None
        """With a callback: done when the callback's task or thread has ended."""
        self._callback = callback
        self._on_close = on_close
        self._on_lagged = on_lagged
        self._overflow = overflow
        self.where = where
        """The interest that events have to match; None: all match."""
        self._queue: deque[Received] = deque()
        self._length = queue_length
        self._unreported = 0
        self._closed = False
        self._log_after = 0.0
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.Condition()
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
        """Whether the subscription has ended; what is queued can still be read."""
        return self._closed

    def put(self, received: Received) -> None:
        """Queue an event, dropping by the policy; never waits.

        Called by the community, with the events that match `where`.
        """
        if self._closed:
            return
        if self._threaded:
            with self._lock:
                self._append(received)
                self._lock.notify()
        else:
            self._append(received)
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)

    def close(self) -> None:
        """End the subscription: what is queued is still handed out, then iteration ends.

        The same as `Community.unsubscribe`.
        """
        if self._closed:
            return
        with self._lock:
            self._closed = True
            self._lock.notify()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._on_close(self)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Received | Lagged:
        if self._callback is not None:
            raise RuntimeError("a subscription with a callback has nothing to iterate")
        return await self._next()

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _append(self, received: Received) -> None:
        if len(self._queue) >= self._length:
            self.missed += 1
            self._unreported += 1
            if self._overflow is Overflow.DROP_NEWEST:
                return
            self._queue.popleft()
        self._queue.append(received)

    async def _next(self) -> Received | Lagged:
        while True:
            item = self._take()
            if item is not None:
                return item
            if self._closed:
                raise StopAsyncIteration
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _take(self) -> Received | Lagged | None:
        """Take the next item; a gap is handed out at the place of the missing events."""
        if self._unreported and (self._overflow is Overflow.DROP_OLDEST or not self._queue):
            missed, self._unreported = self._unreported, 0
            return Lagged(missed)
        return self._queue.popleft() if self._queue else None

    # -- callbacks ---------------------------------------------------------------------------

    async def _run_task(self) -> None:
        assert self._callback is not None
        while True:
            item = self._take()
            if item is None:  # nothing queued, or closed
                try:
                    item = await self._next()
                except StopAsyncIteration:
                    return
            try:
                if isinstance(item, Lagged):
                    self._report(item)
                else:
                    result = self._callback(item)
                    if result is not None:
                        await result
            except Exception:
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
        while True:
            with self._lock:
                while (item := self._take()) is None:
                    if self._closed:
                        return
                    self._lock.wait()
            try:
                if isinstance(item, Lagged):
                    self._report(item)
                else:
                    self._callback(item)
            except Exception:
                self._failed()

    def _report(self, lagged: Lagged) -> None:
        if self._on_lagged is not None:
            self._on_lagged(lagged)
        else:
            _log.warning("a subscriber was too slow and missed %d events", lagged.missed)

    def _failed(self) -> None:
        self.errors += 1
        now = time.monotonic()
        if now >= self._log_after:
            self._log_after = now + _LOG_INTERVAL_SECONDS
            _log.exception("a subscriber's callback raised (%d times so far)", self.errors)


def _is_coroutine_function(callback: EventCallback) -> bool:
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
