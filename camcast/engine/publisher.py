"""The publisher: gathers what this process publishes into batches, each in its stream.

An event gets its id at once. It leaves when its batch is closed: by the count of events, by the
size, by the end of the instant (`flush`), or at once in a group whose batches hold one event.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from attrs import define, field

from camcast.engine.guard.signing import Signing
from camcast.engine.intake import Intake
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.vocabulary.batches import BODY_BYTES_MAX, make_batch
from camcast.vocabulary.events import SEQUENCE_MAX, EventId, Receipt, StreamId, stream_id
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import BODY_FIXED_BYTES, check_payload

BUSY_EVENTS: Final = 10  # chosen: events of a stream in a second that make it busy; with fewer, the
# Haves of a tree, 40 a second and process, are more messages than the 5 copies an event it spares
BUSY_SECONDS: Final = 10.0  # chosen: a burst that pauses for so long finds its tree still there
# chosen: numbers reserved at a time; a process with a new stream a second asks again after an hour
NUMBERS_RESERVED: Final = 4096
STREAMS_MAX: Final = 256  # chosen: topics times kinds of events; beyond, the oldest idle one goes

ReserveNumbers = Callable[[int, int], int]
"""Returns the first number, at least the first argument, of a row as long as the second argument
says; no earlier start of this process has used these numbers for a stream."""


def by_clock(at_least: int, _count: int) -> int:
    """Reserve numbers for a process whose identity ends with it: all numbers are new."""
    return at_least


@define(eq=False)
class _Stream:
    """A stream of this process, with the batch that is open in it."""

    id: StreamId
    topic: Topic
    typed: bool
    upward_probability: float | None
    local_group: LocalGroup
    next: int = 1
    """The sequence number of the next event."""
    payloads: list[bytes] = field(factory=list)
    size: int = 0
    """The bytes of the body so far."""
    copies_now: tuple[int, int] = 0, 0
    """The peers and links, as they were when the batch was opened, for receipts."""
    second: float = -inf
    """When the second began in which `events` left."""
    events: int = 0
    busy_until: float = -inf

    def is_busy(self, count: int, now: float) -> bool:
        """Count events that leave now; say whether the stream is busy."""
        if now - self.second >= 1.0:
            self.second, self.events = now, 0
        self.events += count
        if self.events >= BUSY_EVENTS:
            self.busy_until = now + BUSY_SECONDS
        return now < self.busy_until


class Publisher:
    """The streams of one process, numbered from its start on or as `reserve` says.

    The first number is the start of the process in milliseconds since 1970.
    """

    def __init__(
        self,
        process: ProcessContext,
        intake: Intake,
        signing: Signing | None = None,
        reserve: ReserveNumbers = by_clock,
    ) -> None:
        self._me = process.me.peer
        self._intake = intake
        self._recorder = process.recorder
        self._signing = signing
        self._reserve = reserve
        self._clock = clock = process.clock
        # The next stream's number, and the first that is not reserved.
        self._number = self._reserved = round(1000 * clock.wall(clock.started))
        self._streams: dict[tuple[GroupId, bool, float | None], _Stream] = {}
        self._open: list[_Stream] = []

    def publish(
        self,
        local_group: LocalGroup,
        topic: Topic,
        payload: bytes,
        now: float,
        upward_probability: float | None,
        *,
        typed: bool,
    ) -> Receipt:
        """Publish an event in a group; raises `PayloadTooLargeError`, `NotAllowedError`."""
        check_payload(payload)
        key = topic.group, typed, upward_probability
        stream = self._streams.get(key)
        if stream is None or stream.next > SEQUENCE_MAX or stream.local_group is not local_group:
            stream = self._streams[key] = self._new_stream(
                topic, typed, upward_probability, local_group
            )
        size = 4 + len(payload)
        if stream.payloads and stream.size + size > BODY_BYTES_MAX:
            self._close(stream, now)
        if not stream.payloads:
            if self._signing is not None:
                self._signing.check_may_publish(topic, now)
            stream.size = BODY_FIXED_BYTES + len(topic.encoded)
            if local_group.batch_events_max > 1:
                peers, links = local_group.copies_now()
                stream.copies_now = peers, 0 if upward_probability == 0 else links
            self._open.append(stream)
        event = EventId(stream.id, stream.next)
        stream.payloads.append(payload)
        stream.size += size
        stream.next += 1
        peers, links = stream.copies_now
        if len(stream.payloads) >= local_group.batch_events_max:
            sent = self._close(stream, now)
            if local_group.batch_events_max == 1:
                peers, links = sent
        return Receipt(event, peers, links, later=local_group.dissemination.sends_later)

    def flush(self, now: float) -> None:
        """Close all batches: the instant is over."""
        while self._open:
            self._close(self._open[0], now)

    def leave(self, local_group: LocalGroup) -> None:
        """Forget the streams of a group that the process leaves, after a `flush`.

        Who joins again publishes in new streams.
        """
        left = [key for key, one in self._streams.items() if one.local_group is local_group]
        for key in left:
            del self._streams[key]

    def _new_stream(
        self,
        topic: Topic,
        typed: bool,
        upward_probability: float | None,
        local_group: LocalGroup,
    ) -> _Stream:
        if len(self._streams) >= STREAMS_MAX:
            idle = next((key for key, known in self._streams.items() if not known.payloads), None)
            if idle is not None:
                del self._streams[idle]
        if self._number == self._reserved:
            self._number = self._reserve(self._number, NUMBERS_RESERVED)
            self._reserved = self._number + NUMBERS_RESERVED
        self._number += 1
        made = stream_id(self._me, self._number - 1)
        return _Stream(made, topic, typed, upward_probability, local_group)

    def _close(self, stream: _Stream, now: float) -> tuple[int, int]:
        """Close the batch that is open in a stream, and accept it in its group."""
        self._open.remove(stream)
        payloads, stream.payloads = stream.payloads, []
        batch = make_batch(
            stream.id,
            stream.next - len(payloads),
            payloads,
            stream.topic,
            typed=stream.typed,
            upward_probability=stream.upward_probability,
            published=round(1000 * self._clock.wall(now)),
            since=now,
            busy=stream.local_group.dissemination.flags_busy and stream.is_busy(len(payloads), now),
        )
        if self._signing is not None:
            batch = self._signing.sign(batch)
        if self._recorder.on_batch is not None:
            self._recorder.on_batch(now, "publish", batch, stream.topic.name, ())
        sent = self._intake.publish(stream.local_group, batch, now)
        return sent.peers, sent.super_processes
