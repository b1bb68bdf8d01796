"""Batches: consecutive events of one stream, which travel as one record (docs/wire-format.md).

Theory of operation
-------------------
A publisher gathers the events that it publishes in one stream within one instant, and closes the
batch by its count, by its size, or at the end of the instant. A single event is a batch of one. No
process changes the *body* of a closed batch: the body is what is forwarded, stored, asked for again
and signed. The *head* before it is rewritten at every hop (`camcast.vocabulary.wire` describes
both). A received batch keeps the bytes of its body, and its payloads are copied out of them when
they are handed to a subscriber, since a slice would keep the whole body in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from struct import Struct
from struct import pack as _pack
from typing import Final, NamedTuple

import msgspec

from camcast.vocabulary import wire
from camcast.vocabulary.events import SEQUENCE_MAX, Event, EventId, StreamId, stream_id
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.topics import Topic, TopicError, decode_topic
from camcast.vocabulary.wire import MalformedError, OtherGrammarError

EVENTS_MAX: Final = 256  # chosen: events of a batch; two frames of events of 256 bytes
_SIGNATURE_BYTES: Final = 64
SIGNED_BYTES: Final = 8 + _SIGNATURE_BYTES
"""Certificate hash 8 and signature 64, which follow the payloads of a signed batch."""

AFTER_BYTES: Final = 16
"""Number of another stream 8, sequence number 4, milliseconds 4, which follow the payloads of a
batch that names the event before it (`After`)."""

_KEY_HEAD: Final = Struct("BB")
KEY_HEAD_BYTES: Final = _KEY_HEAD.size
"""Whether the key is deleted 1, and its length 1, before the key of a batch that has one."""

KEY_BYTES_MAX: Final = 255  # one byte has the length of a key

BODY_BYTES_MAX: Final = wire.FRAME_BYTES_MAX - 1024
"""The longest body of a batch of more than one event. chosen: its frame has room for the head and
for another record, such as a Herald or a heartbeat (some 100 bytes each)."""

_FIXED: Final = Struct(">24sIHBHQB")
_FLAGS_AT: Final = 30
_TOPIC_LENGTH_AT: Final = 41
_LENGTH: Final = Struct(">I")
_read_fixed: Final = _FIXED.unpack_from
_read_length: Final = _LENGTH.unpack_from
_READ_LENGTHS: Final = tuple(Struct(f">{count}I").unpack_from for count in range(EVENTS_MAX + 1))
"""Reads the lengths of so many payloads: to make the format each time takes half of the time."""
_UPWARD_SCALE: Final = 65535  # two bytes: p_sel to within 1e-5, finer than the paper's 0.01

TYPED: Final = 1
TREE: Final = 2
NOT_UPWARD: Final = 4
_UPWARD_SET: Final = 8
AFTER: Final = 16
KEYED: Final = 32
SIGNED: Final = 128
_KNOWN_FLAGS: Final = TYPED | TREE | NOT_UPWARD | _UPWARD_SET | AFTER | KEYED | SIGNED
_AFTER: Final = Struct(">QII")
_TAIL_BYTES: Final = tuple(
    bool(flags & SIGNED) * SIGNED_BYTES + bool(flags & AFTER) * AFTER_BYTES for flags in range(256)
)
"""How many bytes follow the payloads of a batch, by its flags."""
_FOUR_BYTES: Final = (1 << 32) - 1  # of milliseconds 49 days: nobody keeps an event for as long


class After(NamedTuple):
    """The event that a batch follows, of the other stream of its publisher and topic.

    A publisher has two streams of a topic at most: of events that climb, and of those that do not.
    """

    stream: StreamId
    sequence: int
    published: int
    """When it was published, in milliseconds since 1970 by the publisher's clock."""


class Keyed(NamedTuple):
    """The key of an event, whose last value members keep (docs/reliability.md, Last values)."""

    key: bytes
    """1 to `KEY_BYTES_MAX` bytes."""
    deleted: bool = False
    """Whether the event deletes the key; it has no payload then."""


Rank = tuple[int, StreamId, int]
"""The time of publication in ms since 1970, the stream, and the number of an event with a key: the
greatest is the key's last value."""


class Batch(msgspec.Struct, frozen=True, gc=False):  # one is made for each first copy
    """Consecutive events of one stream on their way through the engine.

    `first` is the sequence number of the first of its `count` events. `hops` counts the messages
    that brought the batch to this process, 0 at the publisher. `upward_probability` overrides p_sel
    for its events (setUpwardProb). `published` is the time of publication by the publisher's clock,
    in milliseconds since 1970. The batch was `age` seconds old at the time `since` of this
    process's clock.
    """

    stream: StreamId
    first: int
    count: int
    topic: Topic
    flags: int
    upward_probability: float | None
    published: int
    body: bytes
    payloads_start: int
    """Where the payloads begin in `body`, right after their lengths."""
    hops: int = 0
    age: float = 0.0
    since: float = 0.0
    head_flags: int = 0
    """The flags in the head of the copy that came: `wire.REPAIRED`, `wire.OTHER_LEVEL`."""
    late: bool = False
    """Whether later events of the stream have been delivered to this process's subscribers."""

    @property
    def typed(self) -> bool:
        """Whether the payloads are typed events (`camcast.vocabulary.typed`)."""
        return bool(self.flags & TYPED)

    @property
    def id(self) -> EventId:
        """The id of the first event, which is that of a batch of one."""
        return EventId(self.stream, self.first)

    @property
    def size(self) -> int:
        """The bytes of all payloads together."""
        return len(self.body) - self.payloads_start - _TAIL_BYTES[self.flags]

    @property
    def is_long(self) -> bool:
        """Whether the batch is too long for a record, and travels in pieces."""
        return len(self.body) > wire.PAYLOAD_BYTES_MAX and self.size > wire.PAYLOAD_BYTES_MAX

    @property
    def after(self) -> After | None:
        """The event of another stream that the batch follows, if it names one."""
        if not self.flags & AFTER:
            return None
        start = self.payloads_start + self.size
        number, sequence, earlier = _AFTER.unpack_from(self.body, start)
        publisher = PeerId(self.stream[:PEER_ID_BYTES])
        return After(stream_id(publisher, number), sequence, self.published - earlier)

    @property
    def keyed(self) -> Keyed | None:
        """The key of the event, which is a batch of its own, if it has one."""
        if not self.flags & KEYED:
            return None
        start = wire.BODY_FIXED_BYTES + self.body[_TOPIC_LENGTH_AT]
        end = self.payloads_start - _LENGTH.size
        return Keyed(self.body[start + _KEY_HEAD.size : end], bool(self.body[start]))

    @property
    def certificate(self) -> bytes:
        """The hash of the certificate that a signed batch names; b"" of an unsigned one."""
        body = self.body
        return body[-SIGNED_BYTES:-_SIGNATURE_BYTES] if self.flags & SIGNED else b""

    @property
    def signature(self) -> bytes:
        """The signature of a signed batch; b"" of an unsigned one."""
        return self.body[-_SIGNATURE_BYTES:] if self.flags & SIGNED else b""

    @property
    def signed_part(self) -> bytes:
        """The bytes that a signed batch's signature covers: its topic's group, its body's hash."""
        return _signed_part(self.topic, memoryview(self.body)[:-_SIGNATURE_BYTES])

    def signed(self, certificate: bytes, sign: Callable[[bytes], bytes]) -> Batch:
        """Return this unsigned batch with its publisher's signature.

        `certificate` is the hash of the publisher's certificate; `sign` returns the signature of
        `signed_part`, 64 bytes.
        """
        body, flags = self.body, self.flags | SIGNED
        start = body[:_FLAGS_AT] + bytes((flags,)) + body[_FLAGS_AT + 1 :] + certificate
        signature = sign(_signed_part(self.topic, start))
        return msgspec.structs.replace(self, flags=flags, body=start + signature)

    def lengths(self) -> Sequence[int]:
        """Return the bytes of each payload."""
        return _lengths(self.body, self.payloads_start, self.count)

    def payloads(self) -> list[bytes]:
        """Return the payloads, each with memory of its own."""
        body, start = self.body, self.payloads_start
        if self.count == 1:
            return [body[start : len(body) - _TAIL_BYTES[self.flags]]]
        lengths = _lengths(body, start, self.count)
        return [body[start : (start := start + length)] for length in lengths]

    def events(self) -> Iterator[Event]:
        """Yield the events in the order of their publication."""
        typed = self.typed
        for sequence, payload in enumerate(self.payloads(), self.first):
            yield Event(
                EventId(self.stream, sequence),
                self.topic,
                payload,
                self.hops,
                typed,
                self.published,
            )

    def older(self, age: float, now: float) -> Batch:
        """Return this batch as one that was so many seconds old at a time."""
        return msgspec.structs.replace(self, age=age, since=now)

    def part(self, start: int, stop: int) -> Batch:
        """Return the events from sequence number `start` to before `stop` as a batch of their own.

        The part is for this process's subscribers alone: its body is not the publisher's.
        """
        return make_batch(
            self.stream,
            start,
            self.payloads()[start - self.first : stop - self.first],
            self.topic,
            typed=self.typed,
            upward_probability=self.upward_probability,
            published=self.published,
            hops=self.hops,
            since=self.since - self.age,
        )


def rank_of(batch: Batch) -> Rank:
    """Return the place of an event among all of its key."""
    return batch.published, batch.stream, batch.first


def make_batch(
    stream: StreamId,
    first: int,
    payloads: Sequence[bytes],
    topic: Topic,
    *,
    typed: bool = False,
    upward_probability: float | None = None,
    published: int = 0,
    hops: int = 0,
    since: float = 0.0,
    busy: bool = False,
    after: After | None = None,
    keyed: Keyed | None = None,
) -> Batch:
    """Return a batch of these payloads, which were published at the time `since`.

    The batch names the event that it comes `after`; one that is `keyed` has one payload. A `busy`
    stream has so many events that a tree
    pays for it (`camcast.protocols.tree`).
    """
    flags = (TYPED if typed else 0) | (TREE if busy else 0) | (0 if after is None else AFTER)
    upward, count, name = 0, len(payloads), topic.encoded
    if upward_probability is not None:
        flags |= _UPWARD_SET if upward_probability else _UPWARD_SET | NOT_UPWARD
        upward = round(upward_probability * _UPWARD_SCALE)
    key = b""
    if keyed is not None:
        flags |= KEYED
        key = _KEY_HEAD.pack(keyed.deleted, len(keyed.key)) + keyed.key
    fixed = _FIXED.pack(stream, first, count, flags, upward, published, len(name))
    if count == 1:
        body = fixed + name + key + _LENGTH.pack(len(payloads[0])) + payloads[0]
    else:
        body = b"".join((fixed, name, _pack(f">{count}I", *map(len, payloads)), *payloads))
    if after is not None:
        earlier = min(max(0, published - after.published), _FOUR_BYTES)
        number = int.from_bytes(after.stream[PEER_ID_BYTES:])
        body += _AFTER.pack(number, after.sequence, earlier)
    return Batch(
        stream,
        first,
        count,
        topic,
        flags,
        upward_probability,
        published,
        body,
        len(fixed) + len(name) + len(key) + 4 * count,
        hops,
        0.0,
        since,
    )


def decode_body(
    frame: bytes,
    start: int,
    end: int,
    hops: int = 0,
    age: float = 0.0,
    now: float = 0.0,
    head_flags: int = 0,
    payload_bytes_max: int = wire.EVENT_BYTES_MAX,
) -> Batch:
    """Decode and check the body between `start` and `end`; raises `MalformedError`."""
    if end - start < wire.BODY_FIXED_BYTES:
        raise MalformedError("an event record is shorter than its fixed part")
    stream, first, count, flags, upward, published, topic_length = _read_fixed(frame, start)
    if flags & ~_KNOWN_FLAGS:
        raise MalformedError(f"an event record has the reserved flags {flags:#x}")
    if not count or count > EVENTS_MAX or not first or first + count - 1 > SEQUENCE_MAX:
        raise MalformedError(f"an event record has {count} events from number {first} on")
    topic_start = start + wire.BODY_FIXED_BYTES
    topic_end = topic_start + topic_length
    payloads_start = topic_end + 4 * count
    if flags & KEYED:
        payloads_start += _key_bytes(frame, topic_end, end, count)
    rest = end - payloads_start - _TAIL_BYTES[flags]
    if rest < 0:
        raise MalformedError("an event record is shorter than its topic and lengths")
    if count == 1:  # in half the time of the general case
        (longest,) = _read_length(frame, payloads_start - 4)
        total = longest
    else:
        lengths = _lengths(frame, payloads_start, count)
        total = sum(lengths)
        longest = max(lengths) if total > payload_bytes_max else 0
    if total != rest:
        raise MalformedError("the lengths of an event record's payloads do not fit it")
    if flags & KEYED and longest and frame[topic_end]:
        raise MalformedError("an event that deletes a key has a payload")
    if longest > payload_bytes_max:
        raise MalformedError("an event's payload is over the limit")
    try:
        topic = decode_topic(frame[topic_start:topic_end])
    except (TopicError, UnicodeDecodeError) as error:
        raise OtherGrammarError(f"an event's topic is wrong: {error}") from error
    return Batch(
        stream,
        first,
        count,
        topic,
        flags,
        upward / _UPWARD_SCALE if flags & _UPWARD_SET else None,
        published,
        frame[start:end],
        payloads_start - start,
        hops,
        age,
        now,
        head_flags,
    )


def _key_bytes(frame: bytes, start: int, end: int, count: int) -> int:
    """Return how many bytes a key takes that stands behind a topic; raises `MalformedError`."""
    if count != 1 or end - start < _KEY_HEAD.size:
        raise MalformedError("an event record with a key has no room for it, or several events")
    deleted, length = frame[start], frame[start + 1]
    if deleted > 1 or not length:
        raise MalformedError(f"an event record has a key of {length} bytes and flags {deleted:#x}")
    return _KEY_HEAD.size + length


def _signed_part(topic: Topic, unsigned: bytes | memoryview) -> bytes:
    """Return what is signed of a body, of which `unsigned` is all but the signature.

    A hash of the body, since Ed25519 takes four times as long as SHA-256 to read 32 KiB.
    """
    return topic.group + sha256(unsigned).digest()


def _lengths(frame: bytes, payloads_start: int, count: int) -> Sequence[int]:
    """Read the lengths that stand before the payloads."""
    return _READ_LENGTHS[count](frame, payloads_start - 4 * count)


assert _FIXED.size == wire.BODY_FIXED_BYTES
assert _AFTER.size == AFTER_BYTES
