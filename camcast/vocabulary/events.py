"""Events, the streams that they belong to, and what a publisher learns at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, NewType

import msgspec
from attrs import frozen
from typing_extensions import override

from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.topics import Topic

StreamId = NewType("StreamId", bytes)
"""Names a stream: what one publisher publishes on one topic, or of that what never climbs. Without
repair, each kind of events is a stream (typed or not, an upward probability of its own or none).
Sixteen bytes of publisher, eight of number."""

STREAM_ID_BYTES: Final = PEER_ID_BYTES + 8
SEQUENCE_MAX: Final = (1 << 32) - 1  # four bytes: 50 days at 1,000 events/s, then a new stream


def stream_id(publisher: PeerId, number: int) -> StreamId:
    """Return the id of a publisher's stream of this number."""
    return StreamId(publisher + number.to_bytes(8))


class EventId(NamedTuple):
    """Names an event by its stream and its sequence number in the stream, which counts from 1.

    A publisher draws the numbers of its streams from a counter that begins at its start time in
    milliseconds, so that a restarted process does not repeat earlier ids. A process that
    keeps its identity over restarts also keeps the counter in a file, since its clock may be set
    back (`camcast.live.profiles.stream_numbers`).

    Example:
        ::

            seen: set[EventId] = {event.id for event in batch}
    """

    stream: StreamId
    sequence: int

    @property
    def publisher(self) -> PeerId:
        """The process that published the event."""
        return PeerId(self.stream[:PEER_ID_BYTES])

    @property
    def number(self) -> int:
        """The stream's number among those of its publisher."""
        return int.from_bytes(self.stream[PEER_ID_BYTES:])

    @override
    def __str__(self) -> str:
        return event_name(self.stream, self.sequence)


# chosen: a trace names an event once for each of its copies, some 20; 1 MB for all nodes of a loop
@lru_cache(maxsize=4096)
def event_name(stream: StreamId, sequence: int) -> str:
    """Return what `str` makes of an event's identifier."""
    number = int.from_bytes(stream[PEER_ID_BYTES:])
    return f"{stream[:PEER_ID_BYTES].hex()}-{number}-{sequence}"


def parse_event_id(text: str) -> EventId:
    """Read an identifier as `EventId` writes it; raises `ValueError`."""
    publisher, *numbers = text.split("-")
    try:
        number, sequence = map(int, numbers)
        event = EventId(stream_id(PeerId(bytes.fromhex(publisher)), number), sequence)
        if len(event.stream) == STREAM_ID_BYTES and str(event) == text:
            return event
    except (ValueError, OverflowError):
        pass
    raise ValueError(
        f"{text!r} is no event: one is named PUBLISHER-STREAM-NUMBER, as `camcast subscribe`"
        ' prints it as "id"'
    )


class Event(msgspec.Struct, frozen=True, gc=False):  # a Struct, because one is made for each
    """One event of a batch: the paper's E_j^t (2.1, 5.3.2.1).

    `hops` counts the messages that brought the event to this process (0 at the publisher), the
    paper's round number. `typed` says that the payload is a typed event
    (`camcast.vocabulary.typed`). `published` is the time of publication by the publisher's clock,
    in milliseconds since 1970.
    """

    id: EventId
    topic: Topic
    payload: bytes
    hops: int = 0
    typed: bool = False
    published: int = 0


NO_EVENT: Final = EventId(StreamId(bytes(24)), 0)
"""The id in the receipt of an event that was not accepted and so has no number."""


@frozen
class Missed:
    """Events that this process has missed for good: no process that it asked has them.

    They have the sequence numbers `first` to `last` of `stream`. They were missed in the community
    of `topic`; the stream's own topic is `topic` or below it.

    Example:
        ::

            async for item in community.subscribe():
                if isinstance(item, Missed):
                    print("lost:", item.last - item.first + 1)
    """

    stream: StreamId
    topic: Topic
    first: int
    last: int

    @property
    def publisher(self) -> PeerId:
        """The process that published them."""
        return PeerId(self.stream[:PEER_ID_BYTES])


class Receipt(msgspec.Struct, frozen=True):
    """The answer of publish(): to how many processes the event leaves at the end of the instant.

    `accepted` is False for an event that was dropped because the peers take events more slowly
    than they are published: it is sent to no process, and its id is `NO_EVENT`.

    `peers` counts the members of the publisher's own community that get a copy. `links` counts the
    known super-processes, some of which get an upward message. Copies are best effort. For a
    process that knows no other, both are 0 and the event reaches none. `confirmed` counts the other
    members that have said that they hold the event, where `publish` was to wait for them.
    `refusing` counts the members that have said, in the last ten minutes, that they take no event
    of this length (`CommunitySettings.event_bytes_max`); it is 0 up to 1 MiB.

    Example:
        ::

            receipt = await community.publish(b"Goal!")
            if not receipt.accepted:
                print("too fast for the peers")
    """

    id: EventId
    peers: int
    links: int
    accepted: bool = True
    later: bool = False
    """Whether the protocol sends the event later, to processes that it has not chosen yet."""
    confirmed: int = 0
    refusing: int = 0
