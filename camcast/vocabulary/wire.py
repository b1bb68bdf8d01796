"""The wire format: frames of records, version 2.

Theory of operation
-------------------
A *frame* is one ZMTP message: the four bytes `FRAME_HEADER` (two of magic, the version, a
reserved zero), then any number of *records*. The transport joins whatever one loop turn
leaves for one address into a frame and knows nothing of the records in it.

A *record* starts with its length (4 bytes, of all that follows), its kind and its flags. An event
record carries a batch (`camcast.vocabulary.batches`): a head that is rewritten at every hop, and
a body that nobody changes::

    event     head: length 4 | kind 1 | flags 1 | hops 2 | age 2 | address length 1
              | group 8 | sender 16 | address
              body: publisher 16 | number 8 | first 4 | count 2 | flags 1 | upward 2 | published 8
              | topic length 1 | topic | [deleted 1 | key length 1 | key] | lengths 4 each
              | payloads
              | [number 8 | sequence 4 | milliseconds 4] | [certificate 8 | signature 64]
    control   length 4 | kind 1 | flags 1 | address length 1 | choice 1
              | group 8 | sender 16 | address | [mandate 80] | message (MessagePack)

Numbers are big-endian. `group` names the community in which this copy travels; the topic's
own name rides along because a member of a super-community may never have heard of it. The
address is the sender's and is there in upward messages only, so that a process that has left
the super-community can say so to a stranger who still links to it. `age` is the time since
publication in units of 10 ms, at most 655 s, as the processes on the way have counted it;
`published` is the publisher's own clock, in milliseconds since 1970. `upward` is p_sel in units of
1/65535.

Flags of a head: 1 repaired (the copy was asked for), 2 from another level (it climbed). Flags of a
body: 1 typed, 2 tree, 4 not upward, 8 `upward` is set, 16 the batch names the event of another
stream of its publisher that it comes after (`camcast.vocabulary.batches.After`), 32 the
only event has a key, which it may delete (`camcast.vocabulary.batches.Keyed`), 128 a
certificate's hash and a signature over the rest of the body stand at its end
(`camcast.security.signed_batches`). Flag of a control record: 1 a mandate follows the address, by
which others may pass the message on for its sender (`camcast.security.mandates`). The `choice` of a
record of a membership or a protocol stands for those of its sender (`camcast.vocabulary.choices`),
0 for unsaid: tags are small numbers, and mean other things in each membership.

A duplicate is recognised by group, stream, first and count alone, and nothing after them is looked
at before that; payloads are opaque and are copied as they are. A record of an unknown kind, with
an unknown flag in its head, or with a message of an unknown tag comes from a later release: it
alone is skipped and counted (`UnknownRecordError`). A record that is malformed otherwise is dropped
alone, too. Only where a length does not fit, nothing that follows can be found, and the rest of the
frame is dropped (`WrongLengthError`). Every record, of whatever kind, is at least as long as the
head of a control record, so that a frame of 32 KiB has at most 1,023 records to be looked at. A
frame of another version is refused as a whole. docs/wire-format.md has vectors, and says what a
later release may add.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.topics import GroupId

VERSION: Final = 2
FRAME_HEADER: Final = b"CM" + bytes((VERSION, 0))

# chosen: 16 to 64 events of 256 bytes a frame reach the full rate; 32 KiB holds twice
# that, and some 100 events of it keep the loop busy for half a millisecond.
FRAME_BYTES_MAX: Final = 1 << 15
"""Records are joined up to this size, the header's included; a larger one has its own frame."""

PAYLOAD_BYTES_MAX: Final = 1 << 20  # chosen: 1 MiB, the default limit of NATS
EVENT_BYTES_MAX: Final = 1 << 24
"""The longest payload that members may allow (`CommunitySettings.event_bytes_max`). One above
`PAYLOAD_BYTES_MAX` travels in pieces (`camcast.engine.repair.pieces`). chosen: four of them are as
many as a store keeps."""

_EVENT_HEAD: Final = Struct(">IBBHHB8s16s")
_CONTROL_HEAD: Final = Struct(">BBBB8s16s")
_LENGTH: Final = Struct(">I")
_read_changing: Final = Struct(">5xBHH").unpack_from  # of an event's head: flags, hops, age
EVENT_START: Final = Struct(">I6xB8s16s24sIH")
"""The head of an event record without an address: length, address length, group, sender,
stream, first, count. Read for every copy, so the node unpacks it without a call in between."""
STREAM_START: Final = Struct(">24sIH")
"""Its end: where a body begins, which stands behind the address of a record that has one."""
EVENT_HEAD_BYTES: Final = _EVENT_HEAD.size
FLAGS: Final = 5
"""Where the flags of the head are in an event record."""
ADDRESS_LENGTH: Final = 10
"""Where the length of the address is in an event record."""
BODY_FLAGS: Final = STREAM_START.size
"""Where the flags of the body are in a body."""
BODY_FIXED_BYTES: Final = 42
"""The body of a batch up to its topic."""
CONTROL_HEADER_BYTES: Final = _LENGTH.size + _CONTROL_HEAD.size
CHOICE: Final = 7
"""Where the choice is in a control record."""
# An event with the longest address, topic and key, the name of another event, and a signature; or
# a message of repair with it, which names a topic beside.
RECORD_BYTES_MAX: Final = (
    EVENT_HEAD_BYTES
    + 255
    + BODY_FIXED_BYTES
    + 255
    + 257
    + 4
    + PAYLOAD_BYTES_MAX
    + 16
    + 72
    + 255
    + 16
)

REPAIRED: Final = 1
OTHER_LEVEL: Final = 2
_KNOWN_FLAGS: Final = REPAIRED | OTHER_LEVEL
MANDATED: Final = 1
MANDATE_BYTES: Final = 80  # a time and a number of 8 bytes each, and a signature of 64
HOPS_MAX: Final = 65535
_AGES_A_SECOND: Final = 100  # units of 10 ms: finer than a hop across the world
_AGE_MAX: Final = 65535
AGE_SECONDS_MAX: Final = _AGE_MAX / _AGES_A_SECOND
"""The age in the head of a batch that is as old, or older."""


class Kind(IntEnum):
    """The kind of a record; the control kinds say which part of the receiver it is for."""

    EVENT = 0
    MEMBERSHIP = 1
    LINKS = 2
    DISCOVERY = 3
    PROTOCOL = 4
    LIVENESS = 5
    REPAIR = 6
    SECURITY = 7


_EVENT: Final = int(Kind.EVENT)  # packed in half the time
_CONTROL_KINDS: Final = {int(kind): kind for kind in Kind if kind is not Kind.EVENT}


class MalformedError(CamcastError, ValueError):
    """Bytes that do not follow the format; the message says what was wrong."""


class WrongLengthError(MalformedError):
    """A record's length does not fit its frame: where the next record begins is not known."""


class OtherGrammarError(MalformedError):
    """A topic or an address is none by the grammar of this release; a later one may take it."""


class UnknownRecordError(MalformedError):
    """A record of a kind, with a flag in its head or with a tag that a later release may know."""


class ControlRecord(NamedTuple):
    """A decoded control record; `body` is the message, still in MessagePack."""

    kind: Kind
    group: GroupId
    sender: PeerId
    address: str
    mandate: bytes
    """Empty if there is none."""
    body: bytes


class PayloadTooLargeError(CamcastError, ValueError):
    """A payload is larger than its community allows."""


def check_payload(payload: bytes, bytes_max: int = PAYLOAD_BYTES_MAX) -> None:
    """Raise `PayloadTooLargeError` for a payload of more than so many bytes."""
    if len(payload) > bytes_max:
        raise PayloadTooLargeError(
            f"a payload of {len(payload):,} bytes is over the limit of {bytes_max:,};"
            " split it, or publish a reference to it"
        )


def event_head(
    body_bytes: int,
    hops: int,
    age: float,
    group: GroupId,
    sender: PeerId,
    address: str = "",
    flags: int = 0,
) -> bytes:
    """Return the head of a batch that arrives in community `group` after so many hops.

    `age` is in seconds since the publication. The body, of `body_bytes`, follows.
    """
    raw = address.encode() if address else b""
    ages = int(age * _AGES_A_SECOND)
    head = _EVENT_HEAD.pack(
        EVENT_HEAD_BYTES - 4 + len(raw) + body_bytes,
        _EVENT,
        flags,
        hops if hops < HOPS_MAX else HOPS_MAX,
        ages if ages < _AGE_MAX else _AGE_MAX,
        len(raw),
        group,
        sender,
    )
    return head + raw if raw else head


def read_event_head(frame: bytes, start: int) -> tuple[int, int, float]:
    """Return the flags, hops, and age in seconds; `UnknownRecordError` for unknown flags."""
    flags, hops, age = _read_changing(frame, start)
    if flags & ~_KNOWN_FLAGS:
        raise UnknownRecordError(f"the head of an event record has the unknown flags {flags:#x}")
    return flags, hops, age / _AGES_A_SECOND


def version_1_sender(frame: bytes) -> PeerId | None:
    """Return the sender of a version 1 frame, from its first record; None if the frame is cut.

    In that version the sender of an event stood after 20 bytes, that of a control record after 16.
    """
    start = len(FRAME_HEADER) + (16 if frame[len(FRAME_HEADER) + 4 :][:1].strip(b"\0") else 20)
    sender = frame[start : start + PEER_ID_BYTES]
    return PeerId(sender) if len(sender) == PEER_ID_BYTES else None


def event_sender(frame: bytes, start: int) -> PeerId:
    """Return the sender of an event record."""
    return PeerId(frame[start + _EVENT_HEAD.size - PEER_ID_BYTES : start + _EVENT_HEAD.size])


def event_address(frame: bytes, start: int) -> str:
    """Return the sender's address in an event record, empty if it carries none."""
    address_start = start + EVENT_HEAD_BYTES
    return frame[address_start : address_start + frame[start + ADDRESS_LENGTH]].decode(
        "ascii", "replace"
    )


def version_of(frame: bytes) -> int | None:
    """Return the version of a frame of another version than this one; None for anything else."""
    version = frame[2] if len(frame) >= len(FRAME_HEADER) else VERSION
    return version if frame.startswith(FRAME_HEADER[:2]) and version != VERSION else None


def record_end(frame: bytes, start: int) -> int:
    """Return where the record at `start` ends; `WrongLengthError` if it does not fit."""
    end = start + 4 + int.from_bytes(frame[start : start + 4])
    if end > len(frame) or end - start < CONTROL_HEADER_BYTES:
        raise WrongLengthError("a record's length does not fit its frame")
    return end


def control_head(
    kind: Kind,
    group: GroupId,
    sender: PeerId,
    address: str,
    mandate: bytes = b"",
    choice: int = 0,
) -> bytes:
    """Return what is between the length and the body of a control record from `address`."""
    raw = address.encode()
    flags = MANDATED if mandate else 0
    return _CONTROL_HEAD.pack(kind, flags, len(raw), choice, group, sender) + raw + mandate


def encode_control(head: bytes, body: bytes) -> bytes:
    """Encode a control record; `head` is from `control_head`, and the same for many of them."""
    return _LENGTH.pack(len(head) + len(body)) + head + body


def decode_control(frame: bytes, start: int, end: int) -> ControlRecord:
    """Decode the control record at `start`; the body stays encoded.

    Raises `MalformedError`, for a kind or flags that are not known `UnknownRecordError`.
    """
    head_start = start + _LENGTH.size
    head_end = start + CONTROL_HEADER_BYTES + frame[head_start + 2]
    body_start = head_end + MANDATE_BYTES if frame[head_start + 1] & MANDATED else head_end
    head = _read_head(frame[head_start:head_end])  # first, as an unknown kind may have no address
    if body_start > end:
        raise MalformedError("a control record is shorter than its address and its mandate")
    # A plain call to make a NamedTuple takes as long as all the rest.
    return tuple.__new__(ControlRecord, (*head, frame[head_end:body_start], frame[body_start:end]))


# chosen: 16,384 heads, some 6 MB: more than a process has peers that send it control messages. A
# bound, because peers feed this table; what is malformed is not remembered.
@lru_cache(maxsize=16_384)
def _read_head(head: bytes) -> tuple[Kind, GroupId, PeerId, str]:
    """Read a control record's head, which all records share that one process sends for one part."""
    kind, flags, _, _, group, sender = _CONTROL_HEAD.unpack_from(head)
    control_kind = _CONTROL_KINDS.get(kind)
    if kind == _EVENT:
        raise MalformedError("an event record is shorter than its fixed part")
    if flags & ~MANDATED or control_kind is None:
        raise UnknownRecordError(f"a record has the unknown kind {kind} or flags {flags:#x}")
    try:
        address = head[_CONTROL_HEAD.size :].decode("ascii")
    except UnicodeDecodeError as error:
        raise MalformedError("a control record's address is not ASCII") from error
    return control_kind, GroupId(group), PeerId(sender), address


assert EVENT_START.size == EVENT_HEAD_BYTES + STREAM_START.size
