"""Subscriptions: how events reach the application without ever holding up the forwarding.

A subscription is a feed (`camcast.feed`) with a bounded queue (`camcast.delivery_queue`). The
community puts batches in and goes on. The subscriber takes them out at its own speed, whole or
event by event. An event that the subscription's interest does not match never enters the queue.
When the queue is full, the chosen policy drops events, and the subscriber is told how many it
missed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Generic

from attrs import frozen

from camcast.delivery_queue import DeliveryQueue, Overflow
from camcast.feed import Feed, check_plain
from camcast.interests.interest import Interest
from camcast.received import Gap, Lagged, Received, ReceivedBatch
from camcast.typed import E
from camcast.vocabulary.events import Missed

QUEUE_LENGTH: Final = 4096  # chosen: a second of 4,000 events/s; 2 MB at 500 bytes an event
QUEUE_BYTES: Final = 1 << 26  # [issue 13, 4] 64 MiB: so many events of 16 KiB

EventCallback = Callable[[Received[E]], Awaitable[None] | None]
BatchCallback = Callable[[ReceivedBatch[E]], Awaitable[None] | None]
LaggedCallback = Callable[[Lagged], None]
MissedCallback = Callable[[Missed], None]


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


class Subscription(Feed[DeliveryQueue[E], Received[E] | Gap], Generic[E]):
    """A queue of received events; made by `Community.subscribe`, closed by `unsubscribe`.

    Iterate it with ``async for``, which yields `Received`, or iterate `batches`, which yields
    `ReceivedBatch`. Both yield `Lagged` where events were dropped because the queue was full, and
    `Missed` for events that can no longer be had, and end when the subscription is closed and
    empty. Several tasks may do so, and share the events. With a callback there is nothing to
    iterate; `on_lagged` and `on_missed` then tell (without them, a warning). To `close` it is the
    same as `Community.unsubscribe`.
    """

    def __init__(
        self,
        on_close: Callable[[Subscription[E]], None],
        callback: EventCallback[E] | None = None,
        *,
        on_batch: BatchCallback[E] | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: Interest | None = None,
        own: bool = True,
        on_dropped: Callable[[Received[E] | ReceivedBatch[E]], None] = lambda _: None,
    ) -> None:
        if callback is not None and on_batch is not None:
            raise ValueError("give a callback that takes events or one that takes batches")
        for name, call in (("on_lagged", on_lagged), ("on_missed", on_missed)):
            if call is not None:
                check_plain(name, call)
                if callback is None and on_batch is None:
                    raise ValueError(
                        f"{name} goes with a callback: who iterates gets gaps as items"
                    )
        self.wants_history = False
        """Whether it gets what was published before this process became a member."""
        self.where = where
        """The interest that events have to match; None: all match."""
        self.own = own
        """Whether it gets what this process publishes."""
        self._on_lagged = on_lagged
        self._on_missed = on_missed
        queue: DeliveryQueue[E] = DeliveryQueue(queue_length, queue_bytes, overflow, on_dropped)
        take: Callable[[], Received[E] | ReceivedBatch[E] | Gap | None] = (
            queue.take_event if on_batch is None else queue.take_batch
        )
        super().__init__(on_close, queue, callback or on_batch, take)

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

    def put(self, delivery: Received[E] | ReceivedBatch[E]) -> None:
        """Queue an event that came alone, or a batch, dropping by the policy; never waits.

        Called by the community, with the events that match `where`.
        """
        self._add(self._queue.put, delivery)

    def tell(self, missed: Missed) -> None:
        """Queue what can no longer be had; called by the community."""
        self._add(self._queue.tell, missed)

    def batches(self) -> AsyncIterator[ReceivedBatch[E] | Gap]:
        """Iterate by the batch, as events travel: where there are many, cheaper than one by one."""
        self._check_iterable()
        return _Batches(self)

    async def __anext__(self) -> Received[E] | Gap:
        queue = self._queue
        if queue.opened and not queue.gap and not self._line:  # spares the calls of `Feed`
            self._check_iterable()
            return queue.opened.popleft()
        return await super().__anext__()

    def _report(self, gap: Gap) -> None:
        if isinstance(gap, Missed) and self._on_missed is not None:
            self._on_missed(gap)
        elif isinstance(gap, Lagged) and self._on_lagged is not None:
            self._on_lagged(gap)
        else:
            super()._report(gap)


class _Batches(Generic[E]):
    """Iterates a subscription by the batch."""

    def __init__(self, subscription: Subscription[E]) -> None:
        self._next = subscription._next
        self._take = subscription._queue.take_batch

    def __aiter__(self) -> _Batches[E]:
        return self

    async def __anext__(self) -> ReceivedBatch[E] | Gap:
        item: ReceivedBatch[E] | Gap | None = await self._next(self._take)
        if item is None:
            raise StopAsyncIteration
        return item
