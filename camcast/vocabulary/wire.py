"""The wire format: frames of records, version 1.

Theory of operation
-------------------
A *frame* is one ZeroMQ message: the four bytes `FRAME_HEADER` (two of magic, the version, a
reserved zero), then any number of *records*. The transport joins whatever one loop turn
leaves for one address into a frame and knows nothing of the records in it.

A *record* starts with its length (4 bytes, of all that follows), its kind and its flags::

    event     length 4 | kind 1 | flags 1 | hops 2 | upward 2 | topic length 1 | address length 1
              | group 8 | sender 16 | publisher 16 | epoch 8 | sequence 4
              | topic | address | payload
    control   length 4 | kind 1 | flags 1 | address length 1 | 0 1
              | group 8 | sender 16 | address | message (MessagePack)

Numbers are big-endian. `group` names the community in which this copy travels; the topic's
own name rides along because a member of a super-community may never have heard of it. The
address is the sender's and is there in upward messages only, so that a process that has left
the super-community can say so to a stranger who still links to it. An event's fixed part
alone is enough to recognise a duplicate, and nothing after it is looked at before that; a
payload is opaque and is copied as it is.

Room for what comes later: kinds 6 to 15 are kept for further parts of a node, flag bit 7 for "a
signature follows the payload". A record of an unknown kind or with a reserved flag is malformed
for this version: it is counted and dropped, and so is the rest of its frame, since nothing after a
malformed record can be trusted.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import GroupId, Topic, TopicError

VERSION: Final = 1
FRAME_HEADER: Final = b"CM" + bytes((VERSION, 0))

# [DESIGN, hot path] 16 to 64 events of 256 bytes a frame reach the full rate; 32 KiB holds twice
# that, and some 100 events of it keep the loop busy for half a millisecond.
FRAME_BYTES_MAX: Final = 1 << 15
"""Records are joined up to this size, the header's included; a larger one has its own frame."""

PAYLOAD_BYTES_MAX: Final = 1 << 20  # chosen: 1 MiB, the default limit of NATS

_EVENT: Final = Struct(">IBBHHBB8s16s16sQI")
_CONTROL_HEAD: Final = Struct(">BBBx8s16s")
_LENGTH: Final = Struct(">I")
EVENT_HEAD: Final = Struct(">I8x8s16x16sQI")
"""What identifies an event record: length, group, publisher, epoch, sequence. Read for every
copy, so the node unpacks it without a call in between."""
SENDER: Final = slice(20, 36)
"""Where the sender is in an event record."""
EVENT_HEADER_BYTES: Final = _EVENT.size
CONTROL_HEADER_BYTES: Final = _LENGTH.size + _CONTROL_HEAD.size
RECORD_BYTES_MAX: Final = EVENT_HEADER_BYTES + 255 + PAYLOAD_BYTES_MAX

_UPWARD_SET: Final = 1  # the event carries its own p_sel
_TYPED: Final = 2  # the payload is a typed event
_KNOWN_FLAGS: Final = _UPWARD_SET | _TYPED
_UPWARD_SCALE: Final = 65535  # two bytes: p_sel to within 1e-5, finer than the paper's 0.01
HOPS_MAX: Final = 65535

SEQUENCE_MAX: Final = (1 << 32) - 1  # four bytes: 50 days at 1,000 events/s, then a new epoch


class Kind(IntEnum):
    """What a record carries; the control kinds say which part of the receiver it is for."""

    EVENT = 0
    MEMBERSHIP = 1
    LINKS = 2
    DISCOVERY = 3
    PROTOCOL = 4
    LIVENESS = 5


_CONTROL_KINDS: Final = {int(kind): kind for kind in Kind if kind is not Kind.EVENT}


class MalformedError(ValueError):
    """Bytes that do not follow the format; the message says what was wrong."""


class ControlRecord(NamedTuple):
    """A decoded control record; `body` is the message, still in MessagePack."""

    kind: Kind
    group: GroupId
    sender: PeerId
    address: str
    body: bytes


class PayloadTooLargeError(ValueError):
    """A payload is larger than `PAYLOAD_BYTES_MAX`."""


def check_payload(payload: bytes) -> None:
    """Raise `PayloadTooLargeError` for a payload that does not fit into a record."""
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise PayloadTooLargeError(
            f"a payload of {len(payload):,} bytes is over the limit of {PAYLOAD_BYTES_MAX:,};"
            " split it, or publish a reference to it"
        )


def encode_event(
    event: Event, hops: int, group: GroupId, sender: PeerId, address: str = ""
) -> bytes:
    """Encode a copy of an event that arrives in community `group` after so many hops."""
    topic = event.topic.encoded
    flags = _TYPED if event.typed else 0
    upward = 0
    if event.upward_probability is not None:
        flags |= _UPWARD_SET
        upward = round(event.upward_probability * _UPWARD_SCALE)
    publisher, epoch, sequence = event.id
    return (
        _EVENT.pack(
            EVENT_HEADER_BYTES - 4 + len(topic) + len(address) + len(event.payload),
            Kind.EVENT,
            flags,
            min(hops, HOPS_MAX),
            upward,
            len(topic),
            len(address),
            group,
            sender,
            publisher,
            epoch,
            sequence,
        )
        + topic
        + address.encode()
        + event.payload
    )


def control_end(frame: bytes, start: int) -> int:
    """Return where the control record at `start` ends; `MalformedError` if it does not fit."""
    end = start + 4 + int.from_bytes(frame[start : start + 4])
    if end > len(frame) or end - start < CONTROL_HEADER_BYTES:
        raise MalformedError("a record's length does not fit its frame")
    return end


def decode_event(frame: bytes, start: int, end: int) -> Event:
    """Decode the event record between `start` and `end`, of which `EVENT_HEAD` was read."""
    _, _, flags, hops, upward, topic_length, address_length, _, _, publisher, epoch, sequence = (
        _EVENT.unpack_from(frame, start)
    )
    if flags & ~_KNOWN_FLAGS:
        raise MalformedError(f"an event record has the reserved flags {flags:#x}")
    topic_start = start + EVENT_HEADER_BYTES
    topic_end = topic_start + topic_length
    payload_start = topic_end + address_length
    if payload_start > end:
        raise MalformedError("an event record is shorter than its topic and address")
    if end - payload_start > PAYLOAD_BYTES_MAX:
        raise MalformedError("an event's payload is over the limit")
    try:
        topic = Topic.decode(frame[topic_start:topic_end])
    except (TopicError, UnicodeDecodeError) as error:
        raise MalformedError(f"an event's topic is wrong: {error}") from error
    return Event(
        EventId(PeerId(publisher), epoch, sequence),
        topic,
        frame[payload_start:end],
        hops,
        upward / _UPWARD_SCALE if flags & _UPWARD_SET else None,
        bool(flags & _TYPED),
    )


def sender(frame: bytes, start: int) -> PeerId:
    """Return who sent the event record at `start`."""
    return PeerId(frame[start + SENDER.start : start + SENDER.stop])


def sender_address(frame: bytes, start: int) -> str:
    """Return the sender's address in a decoded event record, empty if it carries none."""
    topic_length, address_length = frame[start + 10], frame[start + 11]
    address_start = start + EVENT_HEADER_BYTES + topic_length
    return frame[address_start : address_start + address_length].decode("ascii", "replace")


def control_head(kind: Kind, group: GroupId, sender: PeerId, address: str) -> bytes:
    """Return what is between the length and the body of a control record from `address`."""
    raw = address.encode()
    return _CONTROL_HEAD.pack(kind, 0, len(raw), group, sender) + raw


def encode_control(head: bytes, body: bytes) -> bytes:
    """Encode a control record; `head` is from `control_head`, and the same for many of them."""
    return _LENGTH.pack(len(head) + len(body)) + head + body


def decode_control(frame: bytes, start: int, end: int) -> ControlRecord:
    """Decode the control record at `start`; the body stays encoded."""
    head_start = start + _LENGTH.size
    body_start = start + CONTROL_HEADER_BYTES + frame[head_start + 2]
    if body_start > end:
        raise MalformedError("a control record is shorter than its address")
    # A plain call to make a NamedTuple takes as long as all the rest.
    return tuple.__new__(
        ControlRecord, (*_read_head(frame[head_start:body_start]), frame[body_start:end])
    )


# chosen: 16,384 heads, some 6 MB: more than a process has peers that send it control messages. A
# bound, because peers feed this table; what is malformed is not remembered.
@lru_cache(maxsize=16_384)
def _read_head(head: bytes) -> tuple[Kind, GroupId, PeerId, str]:
    """Read a control record's head, which all records share that one process sends for one part."""
    kind, flags, _, group, sender = _CONTROL_HEAD.unpack_from(head)
    control_kind = _CONTROL_KINDS.get(kind)
    if flags or control_kind is None:
        raise MalformedError(f"a record has the unknown kind {kind} or flags {flags:#x}")
    try:
        address = head[_CONTROL_HEAD.size :].decode("ascii")
    except UnicodeDecodeError as error:
        raise MalformedError("a control record's address is not ASCII") from error
    return control_kind, GroupId(group), PeerId(sender), address


assert EVENT_HEAD.size == EVENT_HEADER_BYTES
