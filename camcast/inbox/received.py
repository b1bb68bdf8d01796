"""Received items: events, alone or in batches, and gaps; and the queue of these.

Theory of operation
-------------------
The queue of a subscription takes batches and gives events or batches, with gaps among them. It is
bounded in events and in bytes of payload. When it is full, its policy drops events:
whole batches first, then as many events of one batch as need be, so that the bounds hold to the
event. Where events were dropped, a `Lagged` stands in the queue and says how many. What repair
gave up is told by a `Missed`, and how far back the past goes by a `Reach`; neither is dropped.

A batch is taken apart when its first event is taken. Its other events are then *opened*: they still
count as queued, and may be dropped one by one. What is queued is in memory as its bytes, whatever
its values would take: the value of an event is made by `with_value`, after the event was taken and
outside of every lock, since the classes of an application may take their time. An event that came
alone and has no value but its payload is queued as it is, and a batch is made of it for consumers
of batches. Nothing here waits or locks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from enum import Enum
from itertools import accumulate, repeat
from typing import Any, Generic, final

import msgspec
from attrs import frozen
from typing_extensions import override

from camcast.vocabulary.arguments import check_type, check_whole
from camcast.vocabulary.batches import KEYED, Batch
from camcast.vocabulary.events import EventId, Missed, StreamId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E, E_co, Sent

_MILLISECONDS_PER_SECOND = 1000.0


@final
class Received(msgspec.Struct, Generic[E_co], frozen=True):  # a Struct: one is made an event
    """An event as a subscriber gets it.

    It is the event of number `sequence` of `stream`, which is what one publisher publishes on one
    topic. `topic` is at or below the one subscribed to. `value` is the payload, or, in the
    community of a class, the instance that it holds; a `Sent` where no class fits, and the payload
    where it is no typed event, since strangers may send anything. `hops` is the number of messages
    that brought it here, 0 for an event of this very process. `published` is the publisher's clock
    when it was published, in seconds since 1970; nobody checks that clock. `late` says that events
    which the publisher published later have been delivered before it (docs/reliability.md, Order).
    `key` is the key that it was published with, if any; an event that `deleted` its key has no
    payload (docs/reliability.md, Last values).

    Example:
        ::

            async for event in community.subscribe():
                print(event.id, event.topic, event.payload)
    """

    stream: StreamId
    sequence: int
    topic: Topic
    payload: bytes
    value: E_co | Sent | bytes
    hops: int
    published: float
    late: bool = False
    key: bytes | None = None
    deleted: bool = False

    @property
    def id(self) -> EventId:
        """The event's id, made when it is asked for: to make it costs as much as all the rest."""
        return EventId(self.stream, self.sequence)


@frozen
class Lagged:
    """A gap in a subscription: here `missed` events were dropped because the queue was full.

    Example:
        >>> Lagged(3).missed
        3
    """

    missed: int


@frozen
class Reach:
    """How far back the past goes that `subscribe(since=)` has asked for.

    Of what was published from the time `since` on, in seconds since 1970, some member keeps all
    that it has had: it says so itself. What was published before may be lost, also where `since=`
    has asked for it. It comes before the events of the past.

    Example:
        ::

            async for item in community.subscribe(since=8 * 3600):
                if isinstance(item, Reach):
                    print("nobody keeps what is older than", item.since)
    """

    since: float


Gap = Lagged | Missed | Reach
"""The items that a subscription yields in place of events that it does not get."""


@final
class ReceivedBatch(msgspec.Struct, Generic[E_co], eq=False):  # a Struct: one is made a batch
    """Events of one stream that travelled together, as a subscriber gets them; at least one.

    Iterate it for its events, or take only what is needed: `payloads`, `values` and `ids` are made
    when they are asked for. `stream`, `topic`, `hops`, `published`, `late`, `key` and `deleted` are
    those of all its events, as in `Received`; an event with a key is alone. `sequences` are their
    numbers in the stream, and `size` the bytes of their payloads. Events that a full queue dropped,
    or that the subscription's interest does not match, are missing. All subscriptions of a
    community share one.

    Example:
        ::

            async for batch in community.subscribe().batches():
                if isinstance(batch, ReceivedBatch):
                    total += sum(map(len, batch.payloads))
    """

    stream: StreamId
    sequences: Sequence[int]
    topic: Topic
    hops: int
    published: float
    size: int
    _content: Batch | tuple[bytes, ...]
    """The holder of the payloads: the batch until they are copied out of it, then they themselves.
    One attribute, so that they are in memory once, and two threads may ask at the same time."""
    _decode: Callable[[bytes], E_co | Sent | bytes] | None = None
    late: bool = False
    key: bytes | None = None
    deleted: bool = False

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """The payloads of the events."""
        content = self._content
        if not isinstance(content, tuple):
            content = self._content = tuple(content.payloads())
        return content

    @property
    def values(self) -> tuple[E_co | Sent | bytes, ...]:
        """The payloads, or, in the community of a class, the instances that they hold.

        Decoded whenever they are asked for: an instance may take many times the memory of its
        payload, and the batch may still be in the queue of another subscription.
        """
        return self.payloads if self._decode is None else tuple(map(self._decode, self.payloads))

    @property
    def ids(self) -> list[EventId]:
        """The ids of the events."""
        return [EventId(self.stream, sequence) for sequence in self.sequences]

    def part(self, places: Sequence[int]) -> ReceivedBatch[E_co]:
        """Return the events at these places, in ascending order, as a batch of their own."""
        part = copy(self)
        payloads = self.payloads
        part.sequences = [self.sequences[place] for place in places]
        part._content = tuple(payloads[place] for place in places)
        part.size = sum(map(len, part._content))
        return part

    def __len__(self) -> int:
        return len(self.sequences)

    def __iter__(self) -> Iterator[Received[E_co]]:
        return self._events(self.values)

    def undecoded(self) -> Iterator[Received[E_co]]:
        """Iterate its events without values, which `with_value` makes."""
        if self._decode is None:
            return self._events(self.payloads)
        return self._events(repeat(_Undecoded(self._decode)))

    def _events(self, values: Iterable[Any]) -> Iterator[Received[E_co]]:
        same: list[repeat[Any]] = [repeat(self.hops), repeat(self.published)]
        if self.late or self.key is not None:  # seldom, and each column takes a tenth of the time
            same += [repeat(self.late), repeat(self.key), repeat(self.deleted)]
        return map(
            Received,
            repeat(self.stream),
            self.sequences,
            repeat(self.topic),
            self.payloads,
            values,
            *same,
        )

    @override
    def __repr__(self) -> str:
        return f"<ReceivedBatch of {len(self)} events, {self.size} bytes, in {self.topic}>"


def received_of(
    batch: Batch, decode: Callable[[bytes], E | Sent | bytes] | None = None
) -> Received[E] | ReceivedBatch[E]:
    """Return what subscribers get of a batch; `decode` makes values of its payloads.

    An event that came alone is returned as it is, if there is nothing to decode: with many
    publishers most do, and a batch that has to be taken apart again costs twice as much.
    """
    first, count, published = batch.first, batch.count, batch.published / _MILLISECONDS_PER_SECOND
    plain = not (batch.flags & KEYED or batch.late)  # nearly always: spares three columns
    if plain and count == 1 and decode is None:
        [payload] = batch.payloads()
        return Received(batch.stream, first, batch.topic, payload, payload, batch.hops, published)
    key, deleted = (None, False) if plain else batch.keyed or (None, False)
    if count == 1 and (decode is None or deleted):
        [payload] = batch.payloads()
        return Received(
            batch.stream,
            first,
            batch.topic,
            payload,
            payload,
            batch.hops,
            published,
            batch.late,
            key,
            deleted,
        )
    return ReceivedBatch(
        batch.stream,
        range(first, first + count),
        batch.topic,
        batch.hops,
        published,
        batch.size,
        batch,
        decode,
        batch.late,
        key,
        deleted,
    )


def batch_of(event: Received[E]) -> ReceivedBatch[E]:
    """Return an event that came alone, or was put back, as a batch."""
    value: Any = event.value
    decode: Callable[[bytes], Any] | None = None
    if type(value) is _Undecoded:
        decode = value.decode
    elif value is not event.payload:
        decode = lambda _payload: value  # noqa: E731  # it was made already
    return ReceivedBatch(
        event.stream,
        (event.sequence,),
        event.topic,
        event.hops,
        event.published,
        len(event.payload),
        (event.payload,),
        decode,
        event.late,
        event.key,
        event.deleted,
    )


@frozen
class _Undecoded:
    """Stands in the place of the value of an event that is not taken yet."""

    decode: Callable[[bytes], Any]


def with_value(event: Received[E]) -> Received[E]:
    """Give an event that was taken from a queue its value, and return the event."""
    undecoded: object = event.value
    if type(undecoded) is _Undecoded:  # then the event is this reader's own, and nobody has seen it
        msgspec.structs.force_setattr(event, "value", undecoded.decode(event.payload))
    return event


class Overflow(Enum):
    """The choice of the items that a full queue drops.

    Example:
        ::

            community.subscribe(queue_length=10, overflow=Overflow.DROP_NEWEST)
    """

    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"


TELLS_MAX = 1024  # chosen: 100 kB; holes are told as ranges, so that few are enough


class DeliveryQueue(Generic[E]):
    """Events and batches in the order of their arrival, within the two bounds.

    `on_dropped` is called with what is dropped.
    """

    def __init__(
        self,
        events_max: int,
        bytes_max: int,
        overflow: Overflow,
        on_dropped: Callable[[Received[E] | ReceivedBatch[E]], None] = lambda _: None,
    ) -> None:
        check_whole("queue_length", events_max)
        check_whole("queue_bytes", bytes_max)
        check_type("overflow", overflow, Overflow, "an Overflow, such as Overflow.DROP_OLDEST")
        if events_max < 1:
            raise ValueError(f"a subscription's queue holds at least 1 event, not {events_max}")
        if bytes_max < 1:
            raise ValueError(f"a subscription's queue holds at least 1 byte, not {bytes_max}")
        self.opened: deque[Received[E]] = deque()
        """Of the batch that was opened last, the events that are still queued, without values."""
        self.undecoded = False
        """Whether the opened events, and the event that was taken last, have values to be made."""
        self.gap = 0
        """How many events were dropped before everything that is queued, and not reported yet."""
        self.missed = 0
        """How many events were dropped so far."""
        self.events_max = events_max
        self.bytes_max = bytes_max
        self._overflow = overflow
        self._on_dropped = on_dropped
        self._unopened: deque[Received[E] | ReceivedBatch[E] | Gap] = deque()
        """The items after the opened events, with gaps that DROP_NEWEST made or `put_back` has."""
        self._told: deque[Missed | Reach] = deque()
        """The gaps that stood before events which DROP_OLDEST has dropped: before `_unopened`."""
        self._events = 0  # in `_unopened`
        self._tells = 0  # notices in `_told` and `_unopened`
        self._bytes = 0  # in `_unopened`
        self._opened_batch: ReceivedBatch[E] | None = None
        self._opened_bytes = 0  # in `opened`, or more: who takes an event from there leaves it

    def __bool__(self) -> bool:
        return bool(self.opened or self._told or self._unopened or self.gap)

    @property
    def events(self) -> int:
        """How many events are queued."""
        return self._events + len(self.opened)

    @property
    def bytes(self) -> int:
        """How many bytes their payloads have."""
        # A copy, which is one step for Python's threads: one may take events meanwhile.
        return self._bytes + sum(len(event.payload) for event in self.opened.copy())

    @property
    def room(self) -> tuple[int, int]:
        """How many more events, and bytes of their payloads, surely fit in, without a count."""
        opened = self._opened_bytes if self.opened else 0
        return self.events_max - self.events, self.bytes_max - self._bytes - opened

    def put(self, delivery: Received[E] | ReceivedBatch[E]) -> None:
        """Add an event or a batch; if that is too much, drop events by the policy."""
        self._unopened.append(delivery)
        if type(delivery) is Received:  # `isinstance` takes five times as long to say no
            self._events += 1
            self._bytes += len(delivery.payload)
        else:
            self._events += len(delivery.sequences)
            self._bytes += delivery.size
        if (  # `_over`, inlined
            self._events + len(self.opened) > self.events_max
            or self._bytes + self._opened_bytes > self.bytes_max
        ):
            self._opened_bytes = sum(len(event.payload) for event in self.opened)
            if self._overflow is Overflow.DROP_OLDEST:
                self._drop_oldest()
            elif self._over():
                self._drop_newest(delivery)

    def tell(self, missed: Missed | Reach) -> None:
        """Add what the subscriber is told of what it cannot get; it counts as no event.

        Beyond `TELLS_MAX` that are not taken yet, it is told as a number alone.
        """
        if self._tells < TELLS_MAX or isinstance(missed, Reach):
            self._tells += 1
            self._unopened.append(missed)
        else:
            count = missed.last - missed.first + 1
            self.gap += count
            self.missed += count

    def take_event(self) -> Received[E] | Gap | None:
        """Remove and return the next event or gap; None if there is nothing.

        `with_value` makes the value of an event.
        """
        if self.gap:
            return self._take_gap()
        if not self.opened:
            if not (self._unopened or self._told):
                self._opened_batch, self.undecoded = None, False
                return None
            taken = self._take_unopened() if self._told else self._take_queued()
            if type(taken) is not ReceivedBatch:
                self._opened_batch = None  # a waiting subscriber keeps no payload in memory
                self.undecoded = type(taken) is Received and type(taken.value) is _Undecoded
                return taken
            self._open(taken)
        return self.opened.popleft()

    def take_batch(self) -> ReceivedBatch[E] | Gap | None:
        """Remove and return the next batch, the rest of an opened one, or a gap; None if empty."""
        if self.gap:
            return self._take_gap()
        if not self.opened:
            taken = self._take_unopened()
            return batch_of(taken) if isinstance(taken, Received) else taken
        return self._take_opened()

    def waiting(self) -> Iterator[Received[E] | ReceivedBatch[E]]:
        """Yield the events and batches that are queued, as they were when this was called."""
        # Copies, each one step for Python's threads: one may take events meanwhile.
        queued = [*self.opened.copy(), *self._unopened.copy()]
        return (one for one in queued if not isinstance(one, Gap))

    def put_back(self, taken: Received[E] | ReceivedBatch[E] | Gap) -> None:
        """Put an item that was taken back in front of everything; nothing is dropped for it."""
        self._unopened.extendleft(reversed(self._told))
        self._told.clear()
        if self.opened:
            rest = self._take_opened()
            self._unopened.appendleft(rest)
            self._count(rest, 1)
        if self.gap:
            self._unopened.appendleft(self._take_gap())
        self._unopened.appendleft(taken)
        if isinstance(taken, Missed | Reach):
            self._tells += 1
        elif not isinstance(taken, Lagged):
            self._count(taken, 1)

    def _over(self) -> bool:
        """Whether there is more than the bounds allow, as far as `_opened_bytes` tells."""
        return (
            self._events + len(self.opened) > self.events_max
            or self._bytes + self._opened_bytes > self.bytes_max
        )

    def _count(self, delivery: Received[E] | ReceivedBatch[E], sign: int) -> None:
        """Note that a delivery is among the unopened (1), or is no more (-1)."""
        if isinstance(delivery, Received):
            self._events += sign
            self._bytes += sign * len(delivery.payload)
        else:
            self._events += sign * len(delivery.sequences)
            self._bytes += sign * delivery.size

    def _take_opened(self) -> ReceivedBatch[E]:
        """Remove and return the opened events that are left, of which there is one at least."""
        assert self._opened_batch is not None
        count, left = len(self._opened_batch), len(self.opened)
        self.opened.clear()
        return self._opened_batch.part(range(count - left, count))

    def _take_gap(self) -> Lagged:
        lagged, self.gap = Lagged(self.gap), 0
        return lagged

    def _take_unopened(self) -> Received[E] | ReceivedBatch[E] | Gap | None:
        """Remove and return what comes after the opened events."""
        if self._told:
            self._tells -= 1
            return self._told.popleft()
        return self._take_queued()

    def _take_queued(self) -> Received[E] | ReceivedBatch[E] | Gap | None:
        if not self._unopened:
            return None
        taken = self._unopened.popleft()
        if type(taken) is Received:
            self._events -= 1
            self._bytes -= len(taken.payload)
        elif type(taken) is ReceivedBatch:
            self._events -= len(taken.sequences)
            self._bytes -= taken.size
        elif not isinstance(taken, Lagged):
            self._tells -= 1
        return taken

    def _open(self, batch: ReceivedBatch[E]) -> None:
        self._opened_batch = batch
        self.undecoded = batch._decode is not None
        self.opened.extend(batch.undecoded())
        self._opened_bytes = batch.size

    def _drop_oldest(self) -> None:
        missed = 0
        while self._over():
            if self.opened:
                event = self.opened.popleft()
                self._opened_bytes -= len(event.payload)
                missed += 1
                self._on_dropped(event)
                continue
            oldest = self._take_queued()
            if isinstance(oldest, Received):
                missed += 1
                self._on_dropped(oldest)
                continue
            if isinstance(oldest, Missed | Reach):
                self._told.append(oldest)
                self._tells += 1
                continue
            if isinstance(oldest, Lagged):  # it was put back, and counted before
                self.gap += oldest.missed
                continue
            assert oldest is not None
            if self._over():
                missed += len(oldest)
                self._on_dropped(oldest)
            else:  # a part of it fits
                self._open(oldest)
        self.gap += missed
        self.missed += missed

    def _drop_newest(self, newest: Received[E] | ReceivedBatch[E]) -> None:
        self._unopened.pop()
        self._count(newest, -1)
        gap = 1
        dropped = newest
        if isinstance(newest, ReceivedBatch):
            room = self.events_max - self.events
            bytes_left = self.bytes_max - self._bytes - self._opened_bytes
            sizes = accumulate(len(payload) for payload in newest.payloads[:room])
            fitting = sum(size <= bytes_left for size in sizes)
            gap = len(newest) - fitting
            if fitting:
                part = newest.part(range(fitting))
                self._unopened.append(part)
                self._count(part, 1)
                dropped = newest.part(range(fitting, len(newest)))
        self.missed += gap
        self._on_dropped(dropped)
        if self._unopened and isinstance(last := self._unopened[-1], Lagged):
            gap += last.missed
            self._unopened.pop()
        self._unopened.append(Lagged(gap))
