"""The publisher: gathers what this process publishes into batches, each in its stream.

An event gets its id at once. It leaves when its batch is closed: by the count of events, by the
size, by the end of the instant (`flush`), or at once in a group whose batches hold one event.

Where events are repaired, a topic has two streams at most, so that subscribers can tell the order
of publication: one of the events that climb, whatever their kinds, and one of those whose upward
probability is 0, which would be holes in the first for all communities above. The first batch of a
stream after an event of the other one names this event (`After`). A kind that changes closes the
batch before. Without repair, there is no order, and each kind has a stream of its own.
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
from camcast.vocabulary.batches import (
    AFTER_BYTES,
    BODY_BYTES_MAX,
    KEY_HEAD_BYTES,
    SIGNED_BYTES,
    After,
    Batch,
    Keyed,
    make_batch,
)
from camcast.vocabulary.events import SEQUENCE_MAX, EventId, Receipt, StreamId, stream_id
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import BODY_FIXED_BYTES, PAYLOAD_BYTES_MAX, check_payload

_log = Logger(__name__)

BUSY_EVENTS: Final = 10  # chosen: events of a stream in a second that make it busy; with fewer, the
# Haves of a tree, 40 a second and process, are more messages than the 5 copies an event it spares
BUSY_BYTES: Final = 4096  # chosen: so many bytes are as busy as an event; 40 kB/s want a tree
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


_Key = tuple[GroupId, bool] | tuple[GroupId, bool, float | None]
"""A stream's topic and whether its events never climb; without repair, their whole kind."""


@define(eq=False)
class _Stream:
    """A stream of this process, with the batch that is open in it."""

    id: StreamId
    topic: Topic
    local_group: LocalGroup
    typed: bool = False
    """Of the open batch, as `upward_probability`."""
    upward_probability: float | None = None
    after: After | None = None
    """The last event of the topic's other stream that a batch has named."""
    names_after: bool = False
    """Whether the open batch names it."""
    keyed: Keyed | None = None
    """The key of the only event of the open batch."""
    published: int = 0
    """When the last batch was published, in milliseconds since 1970."""
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
    """As many as were published, or more by their bytes (`BUSY_BYTES`)."""
    busy_until: float = -inf

    def is_busy(self, count: int, size: int, now: float) -> bool:
        """Count events that leave now, in so many bytes; say whether the stream is busy."""
        if now - self.second >= 1.0:
            self.second, self.events = now, 0
        self.events += max(count, size // BUSY_BYTES)
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
        self._first = self._number
        self._log = MinuteLog()
        intake.on_own_name = self._on_own_name
        self._streams: dict[_Key, _Stream] = {}
        self._ended: dict[_Key, _Stream] = {}
        """The streams before those of now, until the first batch of these has named their last
        event: subscribers get one after the other."""
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
        keyed: Keyed | None = None,
    ) -> Receipt:
        """Publish an event in a group.

        Raises `PayloadTooLargeError`, `NotAllowedError` and `RateExceededError`.

        One that is `keyed` leaves at once, in a batch of its own: a batch is kept and signed whole.
        """
        ordered = local_group.repair is not None
        if len(payload) > PAYLOAD_BYTES_MAX:  # with a key, it is kept and compared whole
            pieces = ordered and keyed is None
            settings = local_group.context.parameters
            check_payload(payload, settings.event_bytes_max if pieces else PAYLOAD_BYTES_MAX)
        key: _Key = topic.group, typed, upward_probability
        if ordered:
            key = topic.group, upward_probability == 0
        stream = self._streams.get(key)
        if stream is None or stream.next > SEQUENCE_MAX or stream.local_group is not local_group:
            stream = self._streams[key] = self._new_stream(topic, local_group)
        size = 4 + len(payload)
        closes = bool(stream.payloads) and (
            stream.size + size > BODY_BYTES_MAX
            or stream.typed is not typed
            or stream.upward_probability != upward_probability
            or keyed is not None
        )
        if self._signing is not None:
            opens = closes or not stream.payloads
            self._signing.spend(topic, size + opens * _share_of_batch(topic, keyed), now)
        if closes:
            self._close(stream, now)
        if not stream.payloads:
            if self._signing is not None:
                self._signing.check_may_publish(topic, now)
            stream.typed, stream.upward_probability = typed, upward_probability
            stream.keyed = keyed
            other = None
            if ordered:
                other = self._ended.pop(key, None)
                if other is None:
                    other = self._streams.get((topic.group, upward_probability != 0))
            self._follow(stream, other, now)
            stream.size = BODY_FIXED_BYTES + len(topic.encoded) + AFTER_BYTES * stream.names_after
            if local_group.batch_events_max > 1:
                peers, links = local_group.copies_now()
                stream.copies_now = peers, 0 if upward_probability == 0 else links
            self._open.append(stream)
        event = EventId(stream.id, stream.next)
        stream.payloads.append(payload)
        stream.size += size
        stream.next += 1
        peers, links = stream.copies_now
        if keyed is not None or len(stream.payloads) >= local_group.batch_events_max:
            sent = self._close(stream, now)
            if local_group.batch_events_max == 1:
                peers, links = sent
        later, refusing = local_group.dissemination.sends_later, 0
        if len(payload) > PAYLOAD_BYTES_MAX and local_group.repair is not None:
            refusing = local_group.repair.refusing(len(payload), now)
        return Receipt(event, peers, links, later=later, refusing=refusing)

    def flush(self, now: float) -> None:
        """Close all batches: the instant is over."""
        while self._open:
            self._close(self._open[0], now)

    def on_clock_set(self, seconds: float, now: float) -> None:
        """Begin all streams anew if the clock was set forward, with numbers from its new time on.

        The machine may have been set back to a snapshot: what this process published after that
        moment, in new streams and in those of now, has numbers that it does not know of, and they
        are below the time.
        """
        if seconds > 0:
            self._begin_anew(self._reserved, now)
            for ended in self._ended.values():  # its age counts, by the clock of now
                ended.published += round(1000 * seconds)

    def _on_own_name(self, batch: Batch, now: float) -> None:
        """Take a batch in this process's name that this process has not published.

        An earlier run of this process has lower numbers. Else another process has its key, or this
        one's memory or its file of numbers was set back: its own streams begin anew, beyond. Where
        nothing is signed, anybody may have made the batch, so that they do once a minute at most.
        """
        number = EventId(batch.stream, batch.first).number
        if number < self._first:
            return
        signed = self._signing is not None
        is_due = self._log.due("own name", now)
        if is_due:
            self._recorder.counters.key_conflicts += signed
            _log.warning(
                "events came in the name of this process that it did not publish (stream %d): %s,"
                " or its machine was set back to a snapshot%s (logged once a minute)",
                number,
                "another process has its key" if signed else "somebody forges them",
                "; give each process a key of its own" if signed else "",
            )
        if (is_due or signed) and any(
            stream.id == batch.stream for stream in self._streams.values()
        ):
            self._begin_anew(number + 1, now)

    def _begin_anew(self, number: int, now: float) -> None:
        """Publish in new streams from now on, with numbers from this one on."""
        self.flush(now)
        self._ended, self._streams = self._streams, {}
        wall = round(1000 * self._clock.wall(now))
        self._number = self._reserved = max(self._reserved, number, wall)

    def leave(self, local_group: LocalGroup) -> None:
        """Forget the streams of a group that the process leaves, after a `flush`.

        Who joins again publishes in new streams.
        """
        for streams in (self._streams, self._ended):
            for key in [key for key, one in streams.items() if one.local_group is local_group]:
                del streams[key]

    def _follow(self, stream: _Stream, other: _Stream | None, now: float) -> None:
        """Let the batch that is opened in a stream name the last event of the other one, if new."""
        stream.names_after = False
        if other is None or other.local_group is not stream.local_group:
            return
        if other.payloads:
            self._close(other, now)
        before, last = stream.after, other.next - 1
        if last and (before is None or (before.stream, before.sequence) != (other.id, last)):
            stream.after = After(other.id, last, other.published)
            stream.names_after = True

    def _new_stream(self, topic: Topic, local_group: LocalGroup) -> _Stream:
        if len(self._streams) >= STREAMS_MAX:
            idle = next((key for key, known in self._streams.items() if not known.payloads), None)
            if idle is not None:
                del self._streams[idle]
        if self._number == self._reserved:
            self._number = self._reserve(self._number, NUMBERS_RESERVED)
            self._reserved = self._number + NUMBERS_RESERVED
        self._number += 1
        made = stream_id(self._me, self._number - 1)
        return _Stream(made, topic, local_group)

    def _close(self, stream: _Stream, now: float) -> tuple[int, int]:
        """Close the batch that is open in a stream, and accept it in its group."""
        self._open.remove(stream)
        payloads, stream.payloads = stream.payloads, []
        before, stream.published = stream.published, round(1000 * self._clock.wall(now))
        values, keyed = stream.local_group.last_values, stream.keyed
        settings = stream.local_group.context.parameters
        if keyed is not None and values is not None:
            stream.published = values.date(stream.topic, keyed.key, stream.published, before)
        batch = make_batch(
            stream.id,
            stream.next - len(payloads),
            payloads,
            stream.topic,
            typed=stream.typed,
            upward_probability=stream.upward_probability,
            published=stream.published,
            since=now,
            after=stream.after if stream.names_after else None,
            keyed=keyed,
            busy=stream.local_group.dissemination.flags_busy
            and (stream.is_busy(len(payloads), stream.size, now) or settings.spread == "tree"),
        )
        if self._signing is not None:
            batch = self._signing.sign(batch)
        if self._recorder.on_batch is not None:
            self._recorder.on_batch(now, "publish", batch, stream.topic.name, ())
        sent = self._intake.publish(stream.local_group, batch, now)
        return sent.peers, sent.super_processes


def _share_of_batch(topic: Topic, keyed: Keyed | None) -> int:
    """Return the bytes of a signed batch beside its payloads, at most."""
    key = 0 if keyed is None else KEY_HEAD_BYTES + len(keyed.key)
    return BODY_FIXED_BYTES + len(topic.encoded) + AFTER_BYTES + key + SIGNED_BYTES
