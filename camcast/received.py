"""What a subscriber gets: events, alone or in the batches that they travelled in, and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import repeat
from typing import Generic

import msgspec
from attrs import frozen

from camcast.typed import E, E_co, Sent
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId, Missed, StreamId
from camcast.vocabulary.topics import Topic

_MILLISECONDS_PER_SECOND = 1000.0


class Received(msgspec.Struct, Generic[E_co], frozen=True):  # a Struct: one is made an event
    """An event as a subscriber gets it.

    It is the event of number `sequence` of `stream`, which is what one publisher publishes on one
    topic. `topic` is at or below the one subscribed to. `value` is the payload, or, in the
    community of a class, the instance that it holds; a `Sent` where no class fits, and the payload
    where it is no typed event, since strangers may send anything. `hops` is the number of messages
    that brought it here, 0 for an event of this very process. `published` is the publisher's clock
    when it was published, in seconds since 1970; nobody checks that clock.
    """

    stream: StreamId
    sequence: int
    topic: Topic
    payload: bytes
    value: E_co | Sent | bytes
    hops: int
    published: float

    @property
    def id(self) -> EventId:
        """The event's id, made when it is asked for: to make it costs as much as all the rest."""
        return EventId(self.stream, self.sequence)


@frozen
class Lagged:
    """A gap in a subscription: here `missed` events were dropped because the queue was full."""

    missed: int


Gap = Lagged | Missed
"""What a subscription yields in place of events that it does not get."""


class ReceivedBatch(msgspec.Struct, Generic[E_co], eq=False):  # a Struct: one is made a batch
    """Events of one stream that travelled together, as a subscriber gets them; at least one.

    Iterate it for its events, or take only what is needed: `payloads`, `values` and `ids` are made
    when they are asked for. `stream`, `topic`, `hops` and `published` are those of all its events,
    as in `Received`; `sequences` are their numbers in the stream, and `size` the bytes of their
    payloads. Events that a full queue dropped, or that the subscription's interest does not match,
    are missing. All subscriptions of a community share one.
    """

    stream: StreamId
    sequences: Sequence[int]
    topic: Topic
    hops: int
    published: float
    size: int
    _content: Batch | tuple[bytes, ...]
    """What holds the payloads: the batch until they are copied out of it, then they themselves.
    One attribute, so that they are in memory once, and two threads may ask at the same time."""
    _decode: Callable[[bytes], E_co | Sent | bytes] | None = None

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """What the events carry."""
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
        return map(
            Received,
            repeat(self.stream),
            self.sequences,
            repeat(self.topic),
            self.payloads,
            self.values,
            repeat(self.hops),
            repeat(self.published),
        )

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
    if count == 1 and decode is None:
        [payload] = batch.payloads()
        return Received(batch.stream, first, batch.topic, payload, payload, batch.hops, published)
    return ReceivedBatch(
        batch.stream,
        range(first, first + count),
        batch.topic,
        batch.hops,
        published,
        batch.size,
        batch,
        decode,
    )


def batch_of(event: Received[E]) -> ReceivedBatch[E]:
    """Return an event that came alone as a batch."""
    return ReceivedBatch(
        event.stream,
        (event.sequence,),
        event.topic,
        event.hops,
        event.published,
        len(event.payload),
        (event.payload,),
    )
