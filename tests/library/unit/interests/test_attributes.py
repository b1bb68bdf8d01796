"""What an event says of itself on its way: decoded once at most, and only if need be."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.interests import attributes as event_attributes
from camcast.interests.attributes import (
    KNOWN_BYTES_MAX,
    KNOWN_MAX,
    EventAttributes,
    matches_by_topic,
)
from camcast.interests.interest import Interest, attributes_of
from camcast.vocabulary.events import Event, EventId, StreamId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import encode_event

A = Topic.parse(".a")


@attrs.frozen(slots=False)
class Quake:
    mag: float
    place: str


def event(payload: bytes, sequence: int = 1, *, typed: bool = False) -> Event:
    return Event(EventId(StreamId(bytes(24)), sequence), A, payload, typed=typed)


def test_a_typed_event_has_its_fields_without_its_class() -> None:
    sent = event(encode_event(Quake(7.8, "Gorkha")), typed=True)
    assert EventAttributes().of(sent) == {"mag": 7.8, "place": "Gorkha"}


@given(st.binary(max_size=30), st.booleans())
def test_any_payload_has_attributes_or_none(payload: bytes, typed: bool) -> None:
    assert isinstance(EventAttributes().of(event(payload, typed=typed)), dict)


@pytest.mark.parametrize("payload", [b'{"a": "\xff"}', b"\x92\x91\xa1a\x81\xa1a\xa1\xff", b"{" * 9])
def test_a_payload_that_is_no_text_has_none(payload: bytes) -> None:
    assert EventAttributes().of(event(payload)) == {}
    assert EventAttributes().of(event(payload, typed=True)) == {}


def test_an_event_is_decoded_once_and_only_if_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def decode(payload: bytes) -> object:
        decoded.append(payload)
        return attributes_of(payload)

    monkeypatch.setattr(event_attributes, "attributes_of", decode)
    attributes, quake = EventAttributes(), event(b'{"mag": 3}')
    for text in (".a", ".x and mag > 2", ". or .a and mag > 9", ".a.b and mag > 2"):
        attributes.match(Interest.parse(text), quake)
    assert not decoded
    assert attributes.match(Interest.parse(".a and mag > 2"), quake)
    assert not attributes.match(Interest.parse(".a and mag > 3"), quake)
    assert decoded == [quake.payload]


def test_two_payloads_under_one_identifier_are_read_each() -> None:
    """A filter must see the payload that its subscriber gets, whatever a publisher sends."""
    attributes = EventAttributes()
    for mag in (3, 9, 3):
        assert attributes.of(event(b'{"mag": %d}' % mag)) == {"mag": mag}


def test_memory_is_bounded() -> None:
    attributes = EventAttributes()
    for sequence in range(KNOWN_MAX + 5):
        attributes.of(event(b"", sequence))
    assert len(attributes._known) == KNOWN_MAX


def test_memory_is_bounded_where_payloads_are_large() -> None:
    """Decoded, each of these takes more than forty times its bytes."""
    attributes, payload = EventAttributes(), b'{"mag": 3, "all": [' + b"[]," * 30_000 + b"0]}"
    fitting = KNOWN_BYTES_MAX // len(payload)
    for sequence in range(fitting + 5):
        assert attributes.of(event(payload, sequence))["mag"] == 3
        assert len(attributes._known) <= fitting
    assert attributes.of(event(b'{"mag": "' + b"x" * KNOWN_BYTES_MAX + b'"}', 99))
    assert len(attributes._known) == 1
    attributes.of(event(b"", 100))
    attributes.of(event(b"", 101))
    assert len(attributes._known) == 2


texts = st.lists(
    st.sampled_from([".", ".a", ".a.b", ".x", ".a and mag > 3", ".x and mag > 3", "mag > 5"]),
    min_size=1,
    max_size=3,
).map(" or ".join)


@given(texts, st.sampled_from([".", ".a", ".a.b", ".x"]), st.integers(0, 9))
def test_matching_by_topic_agrees_with_the_interest(text: str, topic: str, mag: int) -> None:
    interest, at = Interest.parse(text), Topic.parse(topic)
    by_topic = matches_by_topic(interest, at)
    if by_topic is None:
        assert interest.matches(at, {"mag": 9})
        assert not interest.matches(at, {})
    else:
        assert interest.matches(at, {"mag": mag}) == by_topic
        assert interest.matches(at, {}) == by_topic
