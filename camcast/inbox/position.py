"""Positions: how far a subscriber has come in a community, as bytes that any member understands.

Theory of operation
-------------------
A position names no place in a file, since every member has files of its own. It has a time and, of
each stream from which something was taken that is younger, the number of the last event: what was
published before that time is done, and so is each of these streams up to its number. All else is
still to come.

The time lies `BACK_SECONDS` before the latest event that was taken: an event that is so much late
still comes. Of more streams than `STREAMS_MAX` those are named that were at work last, so that
events of the others may come again, and none is lost.

Nothing is counted while events come, but for the last number of each stream: what of it still waits
in the queue is looked up when somebody asks for the position.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from heapq import nlargest
from math import floor
from struct import Struct, error
from typing import Final, Generic
from zlib import crc32

from attrs import field, frozen

from camcast.inbox.received import Received, ReceivedBatch
from camcast.vocabulary.events import STREAM_ID_BYTES, StreamId
from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId
from camcast.vocabulary.typed import E

POSITION_BYTES_MAX: Final = 4096  # chosen: it fits into a row, a cookie jar, an environment
_HEAD: Final = Struct(f">4s{GROUP_ID_BYTES}sQ")  # magic, community, milliseconds since 1970
_DONE: Final = Struct(f">{STREAM_ID_BYTES}sI")  # a stream, its last event that is done
_MAGIC: Final = b"CPO1"
_CHECKSUM_BYTES: Final = 4
STREAMS_MAX: Final = (POSITION_BYTES_MAX - _HEAD.size - _CHECKSUM_BYTES) // _DONE.size
# chosen: the retention unless somebody says otherwise; repair is done with an event by then
BACK_SECONDS: Final = 120.0
# chosen: far above the milliseconds in which positions and events name a time, so that what members
# count as published since that time may be older
ROUNDED_SECONDS: Final = 1.0
REMEMBERED_MAX: Final = 4096  # chosen: 1 MB; half of it is forgotten when it is full


@frozen
class Position:
    """How far a subscriber has come; `encode` makes bytes of it."""

    group: GroupId
    """The community."""
    since: float
    """All that was published before is done, in seconds since 1970."""
    done: Mapping[StreamId, int] = field(factory=dict)
    """Of these streams all up to the number is done."""

    def encode(self) -> bytes:
        """Return the position as at most `POSITION_BYTES_MAX` bytes."""
        data = _HEAD.pack(_MAGIC, self.group, floor(1000 * self.since))
        data += b"".join(_DONE.pack(*one) for one in self.done.items())
        return data + crc32(data).to_bytes(_CHECKSUM_BYTES)

    @classmethod
    def decode(cls, data: bytes, group: GroupId) -> Position:
        """Read a position in a community; raises `ValueError` for what is none, or elsewhere."""
        body = data[:-_CHECKSUM_BYTES]
        try:
            magic, of, since = _HEAD.unpack(body[: _HEAD.size])
            done = {
                StreamId(stream): last for stream, last in _DONE.iter_unpack(body[_HEAD.size :])
            }
        except error:
            magic, of, since, done = b"", b"", 0, {}
        good = magic == _MAGIC and data[len(body) :] == crc32(body).to_bytes(_CHECKSUM_BYTES)
        if not good or len(data) > POSITION_BYTES_MAX:
            raise ValueError(f"{len(data)} bytes are no position of a subscription, or damaged")
        if of != group:
            raise ValueError("the position is of a subscription to another topic")
        return cls(group, since / 1000, done)


class Progress(Generic[E]):
    """The events that one subscription was given, from a time on, in seconds since 1970."""

    def __init__(self, group: GroupId, since: float, done: Mapping[StreamId, int]) -> None:
        self._group = group
        self._since = since
        self.given = {stream: (last, since) for stream, last in done.items()}
        """The last number of each stream that was queued, and when it was published.

        Whoever queues writes it here itself, which spares a call an event, and calls `forget` when
        there are more than `REMEMBERED_MAX`.
        """

    def forget(self) -> None:
        """Forget half of the streams, those that were at work longest ago."""
        latest = nlargest(REMEMBERED_MAX // 2, self.given.items(), key=lambda one: one[1][1])
        self.given = dict(latest)

    def position(self, waiting: Iterable[Received[E] | ReceivedBatch[E]]) -> Position:
        """Return the position of whoever has taken everything but what is `waiting`."""
        now = time.time()
        given = {stream: (last, min(when, now)) for stream, (last, when) in self.given.items()}
        latest = max((when for _, when in given.values()), default=-BACK_SECONDS)
        since = max(latest - BACK_SECONDS, self._since)
        for one in waiting:
            since = min(since, one.published)  # also before `_since`, by another clock
            if one.stream in given:  # else it was forgotten, and is not named
                first = one.sequence if isinstance(one, Received) else one.sequences[0]
                last, when = given[one.stream]
                given[one.stream] = min(last, first - 1), when
        young = (
            (when, stream, last)
            for stream, (last, when) in given.items()
            if when >= since - ROUNDED_SECONDS
        )
        named = nlargest(STREAMS_MAX, young)
        return Position(self._group, since, {stream: last for _, stream, last in named})
