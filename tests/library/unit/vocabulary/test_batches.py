"""Batches: what was published comes back, from anywhere in a frame, and garbage is refused."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from camcast.vocabulary import batches, wire
from camcast.vocabulary.batches import After, Batch, Keyed, decode_body, make_batch
from camcast.vocabulary.events import SEQUENCE_MAX, EventId, StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError

STREAMS = st.binary(min_size=24, max_size=24).map(StreamId)
LEVELS = st.text("abz019_-+ß漢", min_size=1, max_size=8)
TOPICS = st.lists(LEVELS, max_size=6).map(lambda levels: Topic(tuple(levels)))
PAYLOADS = st.lists(st.binary(max_size=40), min_size=1, max_size=6)
TOPIC = Topic.parse(".a")
STREAM = stream_id(PeerId(b"P" * 16), 7)
ONE = make_batch(STREAM, 1, [b"goal"], TOPIC).body


def decode(body: bytes) -> Batch:
    return decode_body(body, 0, len(body))


@given(
    *(STREAMS, st.integers(1, SEQUENCE_MAX - 5), PAYLOADS, TOPICS, st.booleans()),
    *(st.none() | st.floats(0, 1), st.integers(0, 2**64 - 1), st.binary(max_size=9)),
)
def test_a_batch_comes_back_from_anywhere_in_a_frame(
    stream: StreamId,
    first: int,
    payloads: list[bytes],
    topic: Topic,
    typed: bool,  # hypothesis gives it by position
    upward: float | None,
    published: int,
    before: bytes,
) -> None:
    body = make_batch(
        *(stream, first, payloads, topic),
        typed=typed,
        upward_probability=upward,
        published=published,
    ).body
    frame, start = before + body + b"next", len(before)
    batch = decode_body(frame, start, start + len(body), 3, 0.5, 10.0)
    assert batch.body == body
    assert (batch.stream, batch.first, batch.count) == (stream, first, len(payloads))
    assert (batch.topic, batch.typed, batch.published) == (topic, typed, published)
    assert (batch.hops, batch.age, batch.since) == (3, 0.5, 10.0)
    assert batch.payloads() == payloads
    assert list(batch.lengths()) == [len(payload) for payload in payloads]
    assert batch.size == sum(map(len, payloads))
    if upward is None:
        assert batch.upward_probability is None
    else:
        assert batch.upward_probability == pytest.approx(upward, abs=1e-5)
        assert bool(batch.flags & batches.NOT_UPWARD) is (upward == 0)
    for number, event in enumerate(batch.events()):
        assert event.id == EventId(stream, first + number)
        assert (event.topic, event.payload, event.hops) == (topic, payloads[number], 3)
        assert (event.typed, event.published) == (typed, published)


@given(PAYLOADS, st.data())
def test_a_part_is_what_was_published_in_it(payloads: list[bytes], data: st.DataObject) -> None:
    batch = decode(make_batch(STREAM, 5, payloads, TOPIC, typed=True).body)
    start = data.draw(st.integers(5, 4 + len(payloads)))
    stop = data.draw(st.integers(start + 1, 5 + len(payloads)))
    part = batch.part(start, stop)
    assert list(part.events()) == list(batch.events())[start - 5 : stop - 5]


def test_a_payload_that_is_kept_does_not_keep_its_batch() -> None:
    body = make_batch(STREAM, 1, [b"small", bytes(30_000)], TOPIC).body
    batch = decode(body)
    kept = batch.payloads()[0]
    assert not any(referred is batch.body for referred in gc.get_referents(kept))
    assert type(kept) is bytes


def test_a_signed_batch_is_carried_and_its_signature_is_no_payload() -> None:
    body = bytearray(ONE) + b"C" * 8 + b"S" * 64
    body[30] |= batches.SIGNED
    batch = decode(bytes(body))
    assert (batch.payloads(), batch.size) == ([b"goal"], 4)
    assert batch.body == body


@pytest.mark.parametrize("payloads", [[b"goal"], [b"goal", b"", b"miss"]])
def test_a_batch_names_the_event_of_another_stream_that_it_follows(payloads: list[bytes]) -> None:
    """Behind the payloads, under the signature; one that names none has no byte more."""
    after = batches.After(stream_id(PeerId(STREAM[:16]), 77), 5, 1_000_250)
    plain = make_batch(STREAM, 1, payloads, TOPIC, published=1_000_400)
    made = make_batch(STREAM, 1, payloads, TOPIC, published=1_000_400, after=after)
    signed = made.signed(b"C" * 8, lambda _: b"S" * 64)
    for batch in (made, decode(made.body), signed, decode(signed.body)):
        assert (batch.after, batch.payloads()) == (after, payloads)
        assert batch.size == sum(map(len, payloads))
    assert decode(signed.body).certificate == b"C" * 8
    assert signed.signed_part != plain.signed(b"C" * 8, lambda _: b"S" * 64).signed_part
    assert len(made.body) == len(plain.body) + batches.AFTER_BYTES
    assert decode(plain.body).after is None
    for length in range(len(made.body)):
        with pytest.raises(MalformedError):
            decode(made.body[:length])


def test_a_batch_cut_at_any_byte_is_malformed() -> None:
    body = make_batch(STREAM, 1, [b"goal", b"", b"miss"], TOPIC).body
    for length in range(len(body)):
        with pytest.raises(MalformedError):
            decode(body[:length])
    with pytest.raises(MalformedError, match="lengths"):
        decode(body + b"!")


def test_the_reserved_flag_of_a_body_is_refused() -> None:
    with pytest.raises(MalformedError, match="reserved flags"):
        decode(ONE[:30] + bytes([64]) + ONE[31:])


@pytest.mark.parametrize(
    ("first", "count"), [(0, 1), (1, 0), (SEQUENCE_MAX, 2), (1, batches.EVENTS_MAX + 1), (1, 65535)]
)
def test_a_batch_of_none_or_too_many_is_malformed(first: int, count: int) -> None:
    numbers = first.to_bytes(4) + count.to_bytes(2)
    body = ONE[:24] + numbers + ONE[30:45] + bytes(4 * count)
    with pytest.raises(MalformedError, match="events from number"):
        decode(body)


@pytest.mark.parametrize("name", [b"soccer", b".a..b", b".a b", b".\xff", b"", b".a" * 33])
def test_a_wrong_topic_is_malformed(name: bytes) -> None:
    body = ONE[:41] + bytes([len(name)]) + name + ONE[44:]
    with pytest.raises(MalformedError, match="topic"):
        decode(body)


@pytest.mark.parametrize("mebibytes", [1, 16])
def test_the_limit_of_a_payload(mebibytes: int) -> None:
    """In a record a mebibyte, in pieces sixteen."""
    limit = mebibytes << 20
    largest = bytes(limit)
    wire.check_payload(largest, limit)
    with pytest.raises(wire.PayloadTooLargeError, match=f"{limit + 1:,} bytes is over the limit"):
        wire.check_payload(largest + b"!", limit)
    batch = make_batch(STREAM, 1, [largest], TOPIC)
    assert batch.is_long is (mebibytes > 1)
    assert decode_body(batch.body, 0, len(batch.body), payload_bytes_max=limit).size == limit
    body = make_batch(STREAM, 1, [largest + b"!"], TOPIC).body
    with pytest.raises(MalformedError, match="over the limit"):
        decode_body(body, 0, len(body), payload_bytes_max=limit)


@given(st.binary(max_size=200))
@example(bytes(200))
@example(b"\xff" * 200)
@settings(max_examples=500)
def test_random_bytes_are_a_batch_or_malformed(garbage: bytes) -> None:
    for body in (garbage, ONE[:28] + garbage, ONE[:42] + garbage):
        with suppress(MalformedError):
            assert decode(body).body == body


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("keyed", "payload"), [(Keyed(b"roof"), b"21"), (Keyed(b"k", True), b"")])
def test_a_key_is_read_from_the_body(keyed: Keyed, payload: bytes, signed: bool) -> None:
    after = After(STREAM, 3, 0)
    made = make_batch(STREAM, 4, [payload], TOPIC, published=1, keyed=keyed, after=after)
    if signed:
        made = made.signed(bytes(8), lambda _: bytes(64))
    batch = decode(made.body)
    assert batch.keyed == made.keyed == keyed
    assert batch.payloads() == [payload]
    assert batch.size == len(payload)
    assert batch.after == after
    assert decode(make_batch(STREAM, 1, [payload], TOPIC).body).keyed is None


@pytest.mark.parametrize(
    "body",
    [
        make_batch(STREAM, 1, [b"a", b"b"], TOPIC, keyed=Keyed(b"k")).body,  # which nobody makes
        make_batch(STREAM, 1, [b"a"], TOPIC, keyed=Keyed(b"")).body,
        make_batch(STREAM, 1, [b"a"], TOPIC, keyed=Keyed(b"k", True)).body,
        make_batch(STREAM, 1, [b"a"], TOPIC, keyed=Keyed(b"k")).body[:-3],
        make_batch(STREAM, 1, [b""], TOPIC, keyed=Keyed(b"k")).body[: 42 + len(TOPIC.encoded) + 1],
    ],
)
def test_a_key_that_cannot_be_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError):
        decode(body)
