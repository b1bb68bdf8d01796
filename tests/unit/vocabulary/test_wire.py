"""The wire format: round trips, garbage, and golden bytes that notice a change of format."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from camcast.vocabulary import wire
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import ControlRecord, Kind, MalformedError

PEERS = st.binary(min_size=16, max_size=16).map(PeerId)
GROUPS = st.binary(min_size=8, max_size=8).map(GroupId)
LEVELS = st.text("abz019_-+ß漢", min_size=1, max_size=8)
TOPICS = st.lists(LEVELS, max_size=6).map(lambda levels: Topic(tuple(levels)))
ADDRESSES = st.sampled_from(["", "tcp://127.0.0.1:7000", "tcp://[2001:db8::1]:65535"])
EVENTS = st.builds(
    Event,
    id=st.builds(EventId, PEERS, st.integers(0, 2**64 - 1), st.integers(0, wire.SEQUENCE_MAX)),
    topic=TOPICS,
    payload=st.binary(max_size=300),
    upward_probability=st.none() | st.floats(0, 1),
    typed=st.booleans(),
)
EVENT = Event(
    EventId(PeerId(b"P" * 16), 7, 9), Topic.parse(".soccer.italy"), b"goal", 0, 0.5, typed=True
)
GROUP, SENDER = GroupId(b"group-id"), PeerId(b"S" * 16)
ADDRESS = "tcp://127.0.0.1:7000"


def decode(record: bytes) -> Event | ControlRecord:
    """Decode a record that is long enough for its header, which the node checks for events."""
    if record[4] != Kind.EVENT:
        return wire.decode_control(record, 0, wire.control_end(record, 0))
    wire.sender_address(record, 0)
    return wire.decode_event(record, 0, len(record))


@given(EVENTS, st.integers(0, 100_000), GROUPS, PEERS, ADDRESSES, st.binary(max_size=9))
def test_an_event_comes_back_from_anywhere_in_a_frame(
    event: Event, hops: int, group: GroupId, sender: PeerId, address: str, before: bytes
) -> None:
    record = wire.encode_event(event, hops, group, sender, address)
    frame, start = before + record + b"next", len(before)
    head = wire.EVENT_HEAD.unpack_from(frame, start)
    assert head == (len(record) - 4, group, *event.id)
    assert wire.sender(frame, start) == sender
    end = start + len(record)
    assert wire.sender_address(frame, start) == address
    back = wire.decode_event(frame, start, end)
    expected = replace(event, hops=min(hops, 65535), upward_probability=back.upward_probability)
    assert back == expected
    if event.upward_probability is None:
        assert back.upward_probability is None
    else:
        assert back.upward_probability == pytest.approx(event.upward_probability, abs=1e-5)


@given(
    st.sampled_from([Kind.MEMBERSHIP, Kind.LINKS, Kind.DISCOVERY]),
    *(GROUPS, PEERS, ADDRESSES, st.binary(max_size=300), st.binary(max_size=9)),
)
def test_a_control_record_comes_back(
    kind: Kind, group: GroupId, sender: PeerId, address: str, body: bytes, before: bytes
) -> None:
    record = wire.encode_control(wire.control_head(kind, group, sender, address), body)
    frame = before + record + b"next"
    end = wire.control_end(frame, len(before))
    assert end == len(before) + len(record)
    back = wire.decode_control(frame, len(before), end)
    assert back == (kind, group, sender, address, body)


EVENT_RECORD = wire.encode_event(EVENT, 3, GROUP, SENDER, ADDRESS)
CONTROL_RECORD = wire.encode_control(
    wire.control_head(Kind.LINKS, GROUP, SENDER, ADDRESS), b"\x92\x05\xa1."
)


def test_golden_bytes_of_version_1() -> None:
    """A change here is a change of format: raise VERSION and write a changelog entry."""
    assert wire.FRAME_HEADER.hex(" ") == "43 4d 01 00"  # CM, version 1, reserved 0
    assert EVENT_RECORD.hex(" ") == (
        "00 00 00 61 "  # 97 bytes follow
        "00 03 "  # an event; its own p_sel, typed
        "00 03 80 00 "  # 3 hops; p_sel = 0x8000/0xffff
        "0d 14 "  # 13 bytes of topic, 20 of address
        "67 72 6f 75 70 2d 69 64 "  # group
        "53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 53 "  # sender
        "50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 50 "  # publisher
        "00 00 00 00 00 00 00 07 00 00 00 09 "  # epoch, sequence
        "2e 73 6f 63 63 65 72 2e 69 74 61 6c 79 "  # .soccer.italy
        "74 63 70 3a 2f 2f 31 32 37 2e 30 2e 30 2e 31 3a 37 30 30 30 "  # the sender's address
        "67 6f 61 6c"  # goal
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
            wire.control_end(CONTROL_RECORD[:length], 0)


def test_a_control_record_whose_length_denies_its_parts_is_malformed() -> None:
    shortest = wire.CONTROL_HEADER_BYTES + len(ADDRESS) - 4
    too_long = (len(CONTROL_RECORD) - 3, 2**31, 2**32 - 1)
    for length in (*range(shortest), *too_long):
        with pytest.raises(MalformedError):
            decode(length.to_bytes(4, "big") + CONTROL_RECORD[4:])


def test_an_event_cut_within_its_topic_or_address_is_malformed() -> None:
    payload_start = len(EVENT_RECORD) - len(EVENT.payload)
    for length in range(wire.EVENT_HEADER_BYTES, payload_start):
        with pytest.raises(MalformedError):
            decode(EVENT_RECORD[:length])
    whole = decode(EVENT_RECORD[:payload_start])
    assert isinstance(whole, Event)
    assert whole.payload == b""


@given(st.binary(min_size=wire.EVENT_HEADER_BYTES, max_size=200))
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
def test_reserved_flags_of_an_event_are_refused(flags: int) -> None:
    with pytest.raises(MalformedError, match="reserved flags"):
        decode(EVENT_RECORD[:5] + bytes([flags]) + EVENT_RECORD[6:])


@pytest.mark.parametrize("kind", range(len(Kind), 256))
def test_kinds_of_a_later_version_are_refused(kind: int) -> None:
    with pytest.raises(MalformedError, match="unknown kind"):
        decode(CONTROL_RECORD[:4] + bytes([kind]) + CONTROL_RECORD[5:])


@pytest.mark.parametrize("flags", [1, 2, 128, 255])
def test_a_control_record_has_no_flags(flags: int) -> None:
    with pytest.raises(MalformedError, match="flags"):
        decode(CONTROL_RECORD[:5] + bytes([flags]) + CONTROL_RECORD[6:])


@pytest.mark.parametrize("name", [b"soccer", b".a..b", b".a b", b".\xff", b"", b".a" * 33])
def test_a_wrong_topic_is_malformed(name: bytes) -> None:
    record = bytearray(wire.encode_event(replace(EVENT, topic=Topic(())), 1, GROUP, SENDER))
    record[10] = len(name)
    record[wire.EVENT_HEADER_BYTES : wire.EVENT_HEADER_BYTES + 1] = name
    record[:4] = (len(record) - 4).to_bytes(4, "big")
    with pytest.raises(MalformedError, match="topic"):
        decode(bytes(record))


def test_the_limit_of_a_payload_is_one_mebibyte() -> None:
    largest = bytes(1 << 20)
    wire.check_payload(largest)
    assert decode(wire.encode_event(replace(EVENT, payload=largest), 1, GROUP, SENDER)) == replace(
        EVENT, payload=largest, hops=1, upward_probability=0x8000 / 0xFFFF
    )
    with pytest.raises(wire.PayloadTooLargeError, match="1,048,577 bytes is over the limit"):
        wire.check_payload(largest + b"!")
    with pytest.raises(MalformedError, match="over the limit"):
        decode(wire.encode_event(replace(EVENT, payload=largest + b"!"), 1, GROUP, SENDER))
