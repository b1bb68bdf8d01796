"""Subscriptions: how events reach the application without ever holding up the forwarding.

Each subscription has a bounded queue of its own (`camcast.delivery_queue`). The community puts
batches in and goes on. The subscriber takes them out at its own speed, whole or event by event, in
an ``async for``, in a coroutine callback (a task) or in a plain callback (a thread of its own, so
that it may block). An event that the subscription's interest does not match never enters the queue.
When the queue is full, the chosen policy drops events, and the subscriber is told how many it
missed. What a callback raises is logged and does not end the subscription.

Several tasks may iterate one subscription, and then each event goes to one of them. A task that
finds the queue empty waits in line. As long as a task waits, a task that asks for the next event
joins the line at its end, even if there are events. So the tasks take turns, however short their
work on an event is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from attrs import frozen

from camcast.delivery_queue import DeliveryQueue, Overflow
from camcast.interests.interest import Interest
from camcast.received import Gap, Lagged, Received, ReceivedBatch
from camcast.vocabulary.events import Missed

_log = logging.getLogger(__name__)

QUEUE_LENGTH: Final = 4096  # chosen: a second of 4,000 events/s; 2 MB at 500 bytes an event
QUEUE_BYTES: Final = 1 << 26  # [issue 13, 4] 64 MiB: so many events of 16 KiB
_LOG_INTERVAL_SECONDS: Final = 1.0  # chosen: a callback that always raises fills no disk

EventCallback = Callable[[Received], Awaitable[None] | None]
BatchCallback = Callable[[ReceivedBatch], Awaitable[None] | None]
LaggedCallback = Callable[[Lagged], None]
MissedCallback = Callable[[Missed], None]

_Item = TypeVar("_Item")


@frozen(kw_only=True)
class SubscriptionStats:
    """The queue of one subscription."""

    where: str | None
    """The interest that events have to match; None: all match."""
    queued_events: int
    queued_events_max: int
    queued_bytes: int
    queued_bytes_max: int
    missed: int
    """Events that were dropped because the queue was full."""
    errors: int
    """How often the callback has raised."""


class Subscription:
    """A queue of received events; made by `Community.subscribe`, closed by `unsubscribe`.

    Iterate it with ``async for``, which yields `Received`, or iterate `batches`, which yields
    `ReceivedBatch`. Both yield `Lagged` where events were dropped because the queue was full, and
    `Missed` for events that can no longer be had, and end when the subscription is closed and
    empty. Several tasks may do so, and share the events. With a callback there is nothing to
    iterate; `on_lagged` and `on_missed` then tell (without them, a warning).
    """

    def __init__(
        self,
        on_close: Callable[[Subscription], None],
        callback: EventCallback | None = None,
        *,
        on_batch: BatchCallback | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: Interest | None = None,
        own: bool = True,
    ) -> None:
        if callback is not None and on_batch is not None:
            raise ValueError("give a callback that takes events or one that takes batches")
        self.errors = 0
        """How often the callback has raised."""
        self.running: asyncio.Future[None] | None = None
        """With a callback: done when the callback's task or thread has ended."""
        self.wants_history = False
        """Whether it gets what was published before this process became a member."""
        self.where = where
        """The interest that events have to match; None: all match."""
        self.own = own
        """Whether it gets what this process publishes."""
        self._queue = DeliveryQueue(queue_length, queue_bytes, overflow)
        self._on_close = on_close
        self._on_lagged = on_lagged
        self._on_missed = on_missed
        self._closed = False
        self._log_after = 0.0
        self._loop = asyncio.get_running_loop()
        self._line: deque[asyncio.Future[None]] = deque()
        """A future for each task that waits, in the order in which they came."""
        self._callback: Callable[[Any], Awaitable[None] | None] | None = callback or on_batch
        self._take: Callable[[], Received | ReceivedBatch | Gap | None] = (
            self._queue.take_event if on_batch is None else self._queue.take_batch
        )
        """How the callback's task or thread takes what it hands to the callback."""
        self._lock = threading.Lock()  # for a thread, which takes what the loop puts in
        self._filled = threading.Condition(self._lock)
        self._threaded = self._callback is not None and not _is_coroutine_function(self._callback)
        if self._threaded:
            self.running = self._loop.create_future()
            # A daemon, because a callback that hangs must not keep the process from ending.
            threading.Thread(
                target=self._run_thread, name="camcast-subscriber", daemon=True
            ).start()
        elif self._callback is not None:
            self.running = self._loop.create_task(self._run_task())

    @property
    def closed(self) -> bool:
        """Whether the subscription has ended; what is queued can still be read."""
        return self._closed

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._queue.missed

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        queue = self._queue
        with self._lock:
            return SubscriptionStats(
                where=None if self.where is None else str(self.where),
                queued_events=queue.events,
                queued_events_max=queue.events_max,
                queued_bytes=queue.bytes,
                queued_bytes_max=queue.bytes_max,
                missed=queue.missed,
                errors=self.errors,
            )

    def put(self, delivery: Received | ReceivedBatch) -> None:
        """Queue an event that came alone, or a batch, dropping by the policy; never waits.

        Called by the community, with the events that match `where`.
        """
        self._add(self._queue.put, delivery)

    def tell(self, missed: Missed) -> None:
        """Queue what can no longer be had; called by the community."""
        self._add(self._queue.tell, missed)

    def close(self) -> None:
        """End the subscription: what is queued is still handed out, then iteration ends.

        The same as `Community.unsubscribe`.
        """
        if self._closed:
            return
        self._on_close(self)  # which may still put in what this process has published
        with self._lock:
            self._closed = True
            self._filled.notify()
        self._wake()

    def batches(self) -> AsyncIterator[ReceivedBatch | Gap]:
        """Iterate by the batch, as events travel: where there are many, cheaper than one by one."""
        self._check_iterable()
        return _Batches(self)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Received | Gap:
        self._check_iterable()
        queue = self._queue
        if queue.opened and not queue.gap and not self._line:  # as `_next` does, without its calls
            return queue.opened.popleft()
        item: Received | Gap | None = await self._next(queue.take_event)
        if item is None:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _add(self, put: Callable[[_Item], None], item: _Item) -> None:
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

    async def _next(self, take: Callable[[], _Item | None]) -> _Item | None:
        """Take the next item when it is this task's turn; None at the end of the subscription."""
        item = None
        if not self._line and ((item := take()) is not None or self._closed):
            return item
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
        if self._line and (self._queue or self._closed) and not self._line[0].done():
            self._line[0].set_result(None)

    # -- callbacks ---------------------------------------------------------------------------

    async def _run_task(self) -> None:
        assert self._callback is not None
        callback, take = self._callback, self._take
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
                else:
                    callback(item)
            except Exception:
                self._failed()

    def _report(self, gap: Gap) -> None:
        if isinstance(gap, Missed):
            if self._on_missed is not None:
                self._on_missed(gap)
            else:
                _log.warning(
                    "events %d to %d of publisher %s in %s can no longer be had",
                    *(gap.first, gap.last, gap.publisher.hex()[:8], gap.topic),
                )
        elif self._on_lagged is not None:
            self._on_lagged(gap)
        else:
            _log.warning("a subscriber was too slow and missed %d events", gap.missed)

    def _failed(self) -> None:
        self.errors += 1
        now = time.monotonic()
        if now >= self._log_after:
            self._log_after = now + _LOG_INTERVAL_SECONDS
            _log.exception("a subscriber's callback raised (%d times so far)", self.errors)


class _Batches:
    """Iterates a subscription by the batch."""

    def __init__(self, subscription: Subscription) -> None:
        self._next = subscription._next
        self._take = subscription._queue.take_batch

    def __aiter__(self) -> _Batches:
        return self

    async def __anext__(self) -> ReceivedBatch | Gap:
        item: ReceivedBatch | Gap | None = await self._next(self._take)
        if item is None:
            raise StopAsyncIteration
        return item


def _is_coroutine_function(callback: Callable[..., object]) -> bool:
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
