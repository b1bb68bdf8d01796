"""The wire format: round trips, garbage, and golden bytes that notice a change of format."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import ControlRecord, Kind, MalformedError, UnknownRecordError

PEERS = st.binary(min_size=16, max_size=16).map(PeerId)
GROUPS = st.binary(min_size=8, max_size=8).map(GroupId)
ADDRESSES = st.sampled_from(["", "tcp://127.0.0.1:7000", "tcp://[2001:db8::1]:65535"])
BODY = make_batch(
    stream_id(PeerId(b"P" * 16), 7),
    9,
    [b"goal", b""],
    Topic.parse(".soccer.italy"),
    typed=True,
    upward_probability=0.5,
    published=1_700_000_000_000,
).body
GROUP, SENDER = GroupId(b"group-id"), PeerId(b"S" * 16)
ADDRESS = "tcp://127.0.0.1:7000"


def event_record(body: bytes = BODY, hops: int = 3, age: float = 0.5, address: str = "") -> bytes:
    return wire.event_head(len(body), hops, age, GROUP, SENDER, address) + body


def decode(record: bytes) -> Batch | ControlRecord:
    """Decode a record that is long enough for its fixed part, which the intake checks."""
    if record[4] != Kind.EVENT:
        return wire.decode_control(record, 0, wire.record_end(record, 0))
    flags, hops, age = wire.read_event_head(record, 0)
    start = wire.EVENT_HEAD_BYTES + record[10]
    return decode_body(record, start, len(record), hops, age, head_flags=flags)


@given(st.integers(0, 100_000), st.floats(0, 1e4), GROUPS, PEERS, ADDRESSES, st.binary(max_size=9))
def test_the_head_of_an_event_is_read_anywhere_in_a_frame(
    hops: int, age: float, group: GroupId, sender: PeerId, address: str, before: bytes
) -> None:
    record = wire.event_head(len(BODY), hops, age, group, sender, address) + BODY
    frame, start = before + record + b"next", len(before)
    length, address_bytes, *who = wire.EVENT_START.unpack_from(frame, start)[:4]
    assert (length, address_bytes, who) == (len(record) - 4, len(address), [group, sender])
    body_start = start + wire.EVENT_HEAD_BYTES + address_bytes
    assert wire.STREAM_START.unpack_from(frame, body_start) == (BODY[:24], 9, 2)
    if not address:  # nearly always: one look is enough
        assert wire.EVENT_START.unpack_from(frame, start)[4:] == (BODY[:24], 9, 2)
    assert wire.event_sender(frame, start) == sender
    assert wire.event_address(frame, start) == address
    flags, read_hops, read_age = wire.read_event_head(frame, start)
    assert flags == 0
    assert read_hops == min(hops, 65535)
    assert read_age == pytest.approx(min(age, 655.35), abs=0.01)


@given(
    st.sampled_from([Kind.MEMBERSHIP, Kind.LINKS, Kind.DISCOVERY]),
    *(GROUPS, PEERS, ADDRESSES, st.binary(max_size=300), st.binary(max_size=9)),
    st.one_of(st.just(b""), st.binary(min_size=80, max_size=80)),
)
def test_a_control_record_comes_back(
    kind: Kind,
    group: GroupId,
    sender: PeerId,
    address: str,
    body: bytes,
    before: bytes,
    mandate: bytes,
) -> None:
    record = wire.encode_control(wire.control_head(kind, group, sender, address, mandate), body)
    frame = before + record + b"next"
    end = wire.record_end(frame, len(before))
    assert end == len(before) + len(record)
    back = wire.decode_control(frame, len(before), end)
    assert back == (kind, group, sender, address, mandate, body)


EVENT_RECORD = event_record(address=ADDRESS)
CONTROL_RECORD = wire.encode_control(
    wire.control_head(Kind.LINKS, GROUP, SENDER, ADDRESS), b"\x92\x05\xa1."
)


def test_golden_bytes_of_version_2() -> None:
    """A change here is a change of format: raise VERSION and write a changelog entry."""
    assert wire.FRAME_HEADER.hex(" ") == "43 4d 02 00"  # CM, version 2, reserved 0
    assert EVENT_RECORD.hex(" ") == (
        "00 00 00 76 "  # 118 bytes follow
        "00 00 "  # an event; no flags
        "00 03 00 32 14 "  # 3 hops; 50 times 10 ms old; 20 bytes of address
        "67 72 6f 75 70 2d 69 64 "  # group
        "53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 "  # sender
        "74 63 70 3a 2f 2f 31 32 37 2e 30 2e 30 2e 31 3a 37 30 30 30 "  # the sender's address
        "50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 "  # publisher
        "00 00 00 00 00 00 00 07 "  # number of the stream
        "00 00 00 09 00 02 "  # from its event 9 on, two
        "09 80 00 "  # typed, p_sel is set: 0x8000/0xffff
        "00 00 01 8b cf e5 68 00 "  # published
        "0d 2e 73 6f 63 63 65 72 2e 69 74 61 6c 79 "  # .soccer.italy
        "00 00 00 04 00 00 00 00 "  # lengths
        "67 6f 61 6c"  # goal, and nothing
    )
    assert CONTROL_RECORD.hex(" ") == (
        "00 00 00 34 "  # 52 bytes follow
        "02 00 14 00 "  # links, no flags, 20 bytes of address, 0
        "67 72 6f 75 70 2d 69 64 "  # group
        "53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 "  # sender
        "74 63 70 3a 2f 2f 31 32 37 2e 30 2e 30 2e 31 3a 37 30 30 30 "  # its address
        "92 05 a1 2e"  # Ping('.') in MessagePack
    )


def test_a_control_record_cut_at_any_byte_is_malformed() -> None:
    for length in range(len(CONTROL_RECORD)):
        with pytest.raises(MalformedError):
            wire.record_end(CONTROL_RECORD[:length], 0)


def test_a_control_record_whose_length_denies_its_parts_is_malformed() -> None:
    shortest = wire.CONTROL_HEADER_BYTES + len(ADDRESS) - 4
    too_long = (len(CONTROL_RECORD) - 3, 2**31, 2**32 - 1)
    for length in (*range(shortest), *too_long):
        with pytest.raises(MalformedError):
            decode(length.to_bytes(4, "big") + CONTROL_RECORD[4:])


def test_an_event_cut_anywhere_in_its_body_is_malformed() -> None:
    for length in range(wire.EVENT_HEAD_BYTES + len(ADDRESS), len(EVENT_RECORD)):
        with pytest.raises(MalformedError):
            decode(EVENT_RECORD[:length])
    assert isinstance(decode(EVENT_RECORD), Batch)


@given(st.binary(min_size=wire.EVENT_HEAD_BYTES, max_size=200))
@example(bytes(200))
@example(b"\xff" * 200)
@settings(max_examples=500)
def test_random_bytes_are_a_record_or_malformed(garbage: bytes) -> None:
    length = (len(garbage) - 4).to_bytes(4, "big")
    for kind in range(5):
        for record in (garbage, length + bytes([kind, 0]) + garbage[6:]):
            with suppress(MalformedError):
                decode(record)


@pytest.mark.parametrize("flags", [bit for bit in range(256) if bit & ~3])
def test_other_flags_of_a_head_are_unknown(flags: int) -> None:
    with pytest.raises(UnknownRecordError, match="unknown flags"):
        decode(EVENT_RECORD[:5] + bytes([flags]) + EVENT_RECORD[6:])


@pytest.mark.parametrize("version", [0, 1, 3, 255])
def test_another_version_is_named(version: int) -> None:
    assert wire.version_of(b"CM" + bytes([version, 0]) + EVENT_RECORD) == version
    assert wire.version_of(wire.FRAME_HEADER + EVENT_RECORD) is None
    for garbage in (b"", b"CM", b"XX" + bytes([version, 0])):
        assert wire.version_of(garbage) is None


@pytest.mark.parametrize("kind", range(len(Kind), 256))
def test_kinds_of_a_later_version_are_refused(kind: int) -> None:
    with pytest.raises(MalformedError, match="unknown kind"):
        decode(CONTROL_RECORD[:4] + bytes([kind]) + CONTROL_RECORD[5:])


@pytest.mark.parametrize("flags", [2, 3, 128, 255])
def test_a_control_record_has_one_flag(flags: int) -> None:
    room = bytes(wire.MANDATE_BYTES)
    with pytest.raises(MalformedError, match="flags"):
        decode(_longer(CONTROL_RECORD[:5] + bytes([flags]) + CONTROL_RECORD[6:] + room))


def test_a_mandate_that_is_cut_is_refused() -> None:
    with pytest.raises(MalformedError, match="mandate"):
        decode(CONTROL_RECORD[:5] + b"\1" + CONTROL_RECORD[6:])


def _longer(record: bytes) -> bytes:
    return (len(record) - 4).to_bytes(4) + record[4:]
