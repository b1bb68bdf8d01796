"""Subscriptions: the events of a community, as a feed that an application reads.

The queue of a subscription is bounded (`camcast.inbox.received.DeliveryQueue`). The community puts
batches in and goes on. The subscriber takes them out at its own speed, whole or event by event
(`camcast.inbox.feed`). An event that the subscription's interest does not match never enters the
queue. When the queue is full, the chosen policy drops events, and the subscriber is told how many
it missed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from math import inf
from time import monotonic, time
from typing import Any, ClassVar, Final, Generic

from typing_extensions import override

from camcast.inbox.feed import Feed, Reader, running_loop
from camcast.inbox.past import Past
from camcast.inbox.position import REMEMBERED_MAX, Position, Progress
from camcast.inbox.received import (
    DeliveryQueue,
    Gap,
    Lagged,
    Overflow,
    Reach,
    Received,
    ReceivedBatch,
    with_value,
)
from camcast.interests.interest import Interest
from camcast.observe.stats import SubscriptionStats
from camcast.vocabulary.arguments import check_plain
from camcast.vocabulary.batches import Batch, Rank, rank_of
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E

QUEUE_LENGTH: Final = 4096  # chosen: a second of 4,000 events/s; 2 MB at 500 bytes an event
KEYS_MAX: Final = 1 << 16  # chosen: more than a community has last values (`LastValues`); 20 MB
QUEUE_BYTES: Final = 1 << 26  # chosen: 64 MiB, 4,096 events of 16 KiB

EventCallback = Callable[[Received[E]], Awaitable[None] | None]
BatchCallback = Callable[[ReceivedBatch[E]], Awaitable[None] | None]
LaggedCallback = Callable[[Lagged], None]
MissedCallback = Callable[[Missed], None]
ReachCallback = Callable[[Reach], None]


class EventFeed(Feed[DeliveryQueue[E]], Generic[E]):
    """The events that one subscriber gets, by its own interest."""

    _kind: ClassVar[str] = "subscription"

    def __init__(
        self,
        on_close: Callable[[EventFeed[E]], None],
        topic: Topic,
        callback: EventCallback[E] | None = None,
        *,
        on_batch: BatchCallback[E] | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        on_reach: ReachCallback | None = None,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: Interest | None = None,
        own: bool = True,
        latest: bool = False,
        on_dropped: Callable[[Received[E] | ReceivedBatch[E]], None] = lambda _: None,
    ) -> None:
        if callback is not None and on_batch is not None:
            raise ValueError("give a callback that takes events or one that takes batches")
        gaps = {"on_lagged": on_lagged, "on_missed": on_missed, "on_reach": on_reach}
        for name, call in gaps.items():
            if call is not None:
                check_plain(name, call)
                if callback is None and on_batch is None:
                    raise ValueError(
                        f"{name} goes with a callback: who iterates gets gaps as items"
                    )
        self.history_from = inf
        """It gets what was published from then on, by the loop's clock, though before this process
        became a member."""
        self.where = where
        """The interest that events have to match; None: all match."""
        self.own = own
        """Whether it gets what this process publishes."""
        self.done: Mapping[StreamId, int] = {}
        """Of these streams it gets nothing up to the number: `begin_at` has said so."""
        self._last: dict[tuple[Topic, bytes], Rank] | None = {} if latest else None
        """The last value of each key that it got, where it gets last values."""
        self._on_lagged = on_lagged
        self._on_missed = on_missed
        self._on_reach = on_reach
        self._past: Past[E] | None = None
        self._progress: Progress[E] = Progress(topic.group, time(), {})
        queue: DeliveryQueue[E] = DeliveryQueue(queue_length, queue_bytes, overflow, on_dropped)
        take: Callable[[], Received[E] | ReceivedBatch[E] | Gap | None] = (
            queue.take_event if on_batch is None else queue.take_batch
        )
        self.take_batch: Callable[[], ReceivedBatch[E] | Gap | None] = queue.take_batch
        """Takes the next batch or gap; None where the queue is empty."""
        super().__init__(on_close, queue, callback or on_batch, take, topic)
        if on_batch is None:
            self.opened = queue.opened

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self.queue.missed

    def begin_at(self, position: Position) -> None:
        """Leave out what is done at a position."""
        self.done = position.done
        self._progress = Progress(position.group, position.since, position.done)

    def hold_until(self, is_here: Callable[[], bool], since: Callable[[], float]) -> Past[E]:
        """Hold what comes until the past is here (`camcast.inbox.past`), and return what holds it.

        `is_here` says whether it is, and `since` how far back it goes.
        """
        self._past = Past(is_here, since, self._hand_over, self.queue.room)
        return self._past

    def _hand_over(self, reach: Reach, past: list[Received[E] | ReceivedBatch[E]]) -> None:
        self._past = None
        self.tell(reach)
        for delivery in past:
            self.put(delivery)

    @override
    def close(self) -> None:
        if self._past is not None:
            self._past.end()
        super().close()

    def position(self) -> bytes:
        """Return the position behind what was taken; see `Subscription.position`."""
        return self._progress.position([*self._held_aside(), *self.queue.waiting()]).encode()

    @property
    def latest(self) -> bool:
        """Whether it gets last values."""
        return self._last is not None

    def takes(self, batch: Batch) -> bool:
        """Say whether it gets an event with a key: with `latest`, none after a later one of it."""
        keyed = batch.keyed
        if self._last is None or keyed is None:
            return True
        place, rank = (batch.topic, keyed.key), rank_of(batch)
        if place in self._last and rank <= self._last[place]:
            return False
        self._last.pop(place, None)  # the key that was quiet for longest comes first
        self._last[place] = rank
        if len(self._last) > KEYS_MAX:
            del self._last[next(iter(self._last))]
        return True

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        queue = self.queue
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
        if self.done and (last := self.done.get(delivery.stream, 0)):
            first = delivery.sequence if isinstance(delivery, Received) else delivery.sequences[0]
            if first <= last:
                if isinstance(delivery, Received) or delivery.sequences[-1] <= last:
                    return
                later = (place for place, one in enumerate(delivery.sequences) if one > last)
                delivery = delivery.part(list(later))
        if self._past is not None:
            self._past.add(delivery)
            return
        last = delivery.sequence if type(delivery) is Received else delivery.sequences[-1]
        given = self._progress.given
        given[delivery.stream] = last, delivery.published
        if len(given) > REMEMBERED_MAX:
            self._progress.forget()
        if self._threaded or self._closed:
            self._add(self.queue.put, delivery)
        else:  # as `_add` does: spares a call
            self.queue.put(delivery)
            line = self._line
            if line and not line[0].done():
                line[0].set_result(None)

    def tell(self, missed: Missed | Reach) -> None:
        """Queue what can no longer be had, or how far back; called by the community."""
        self._add(self.queue.tell, missed)

    def _held_aside(self) -> Iterator[Received[E] | ReceivedBatch[E]]:
        """Yield what is on its way into the queue."""
        return (one for _, one in tuple(self._aside) if isinstance(one, Received | ReceivedBatch))

    @override
    def made(self, item: Any) -> Any:
        return with_value(item) if isinstance(item, Received) else item

    @override
    def _waiting(self) -> tuple[int, int]:
        return self.queue.events, self.queue.missed

    @override
    def _report(self, gap: Gap) -> None:
        if isinstance(gap, Missed) and self._on_missed is not None:
            self._on_missed(gap)
        elif isinstance(gap, Reach):
            if self._on_reach is not None:
                self._on_reach(gap)
        elif isinstance(gap, Lagged) and self._on_lagged is not None:
            self._on_lagged(gap)
        else:
            super()._report(gap)


class Subscription(Reader[EventFeed[E], Received[E] | Gap], Generic[E]):
    """A queue of received events; made by `Community.subscribe`, closed by `unsubscribe`.

    Iterate it with ``async for``, which yields `Received`, or iterate `batches`, which yields
    `ReceivedBatch`. Both yield `Lagged` where events were dropped because the queue was full,
    `Missed` for events that can no longer be had, and `Reach` before the past that was asked for.
    They end when the subscription is closed and empty. Several tasks may do so, and share the
    events. With a callback there is nothing to iterate; `on_lagged` and `on_missed` then tell
    (without them, a warning). To `close` it is the same as `Community.unsubscribe`. Without a
    callback it is also closed, with a `ResourceWarning`, when nobody holds it any more, and so
    nobody can read it.

    Example:
        ::

            async with community.subscribe() as subscription:
                async for item in subscription:
                    print(item)
    """

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._feed.missed

    @property
    def position(self) -> bytes:
        """How far this subscription has come: behind the last item that was taken.

        At most 4,096 bytes, for `subscribe(since=)`, in whichever process that is in the community:
        it gets what was published since, as far as members keep it, and nothing that was taken
        here. Of more than 145 publishers that have published within two minutes, some events come
        again. Clocks that differ by more than that make it lose events.
        """
        return self._feed.position()

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        return self._feed.stats()

    def batches(self) -> AsyncIterator[ReceivedBatch[E] | Gap]:
        """Iterate by the batch, as events travel: where there are many, cheaper than one by one."""
        self._feed.check_iterable()
        return _Batches(self, self._feed)

    @override
    async def __anext__(self) -> Received[E] | Gap:
        feed = self._feed
        queue = feed.queue
        if (  # spares the calls of `Reader` and `Feed`
            queue.opened
            and not queue.gap
            and not feed._line
            and feed._callback is None
            and monotonic() < feed._turn_after
            and running_loop() is feed.loop
        ):
            event = queue.opened.popleft()
            return with_value(event) if queue.undecoded else event
        return await super().__anext__()


class _Batches(Generic[E]):
    """Iterates a subscription by the batch."""

    def __init__(self, subscription: Subscription[E], feed: EventFeed[E]) -> None:
        self._subscription = subscription  # while this is iterated, somebody reads
        self._feed = feed

    def __aiter__(self) -> _Batches[E]:
        return self

    async def __anext__(self) -> ReceivedBatch[E] | Gap:
        feed = self._feed
        item: ReceivedBatch[E] | Gap | None = await feed.next(feed.take_batch)
        if item is None:
            raise StopAsyncIteration
        return item
