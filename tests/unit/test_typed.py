"""Topics and events from attrs classes (paper 000, 5.1)."""

from typing import Any

import attrs
import msgspec
import pytest

from camcast.typed import EventDecoder, TypedEventError, encode_event, super_topics_of, topic_of
from camcast.vocabulary.topics import ROOT, Topic


@attrs.frozen(slots=False)
class Sport:
    place: str


@attrs.frozen(slots=False)
class Soccer(Sport):
    goals: int


@attrs.frozen(slots=False)
class Outdoors:
    rain: bool


@attrs.frozen(slots=False)
class Golf(Sport, Outdoors):
    holes: int = 18


class Plain:
    pass


@attrs.frozen(slots=False)
class Mixed(Plain, Sport):
    pass


def test_the_path_follows_the_first_base_and_all_bases_are_super_topics() -> None:
    assert topic_of(Sport) == Topic.parse(".Sport")
    assert super_topics_of(Sport) == (ROOT,)
    assert topic_of(Golf) == Topic.parse(".Sport.Golf")
    assert super_topics_of(Golf) == (Topic.parse(".Sport"), Topic.parse(".Outdoors"))


def test_bases_that_are_no_attrs_classes_are_no_topics() -> None:
    assert topic_of(Mixed) == Topic.parse(".Sport.Mixed")
    assert super_topics_of(Mixed) == (Topic.parse(".Sport"),)


@pytest.mark.parametrize("wrong", [int, Plain, 7, "Sport"])
def test_what_is_no_attrs_class_is_no_topic(wrong: type) -> None:
    with pytest.raises(TypedEventError, match="is no topic: decorate"):
        topic_of(wrong)


def test_a_class_name_that_no_topic_can_have_is_refused() -> None:
    with pytest.raises(TypedEventError, match="cannot be a topic: level"):
        topic_of(attrs.make_class("A" * 65, []))


def test_events_survive_the_way_there_and_back() -> None:
    decoder = EventDecoder(Sport)
    for event in (Sport("Rome"), Soccer("Rome", 3), Golf(rain=True, place="Oban", holes=9)):
        assert decoder.decode(encode_event(event)) == event


def test_a_subclass_that_is_defined_later_is_found() -> None:
    decoder = EventDecoder(Sport)
    assert decoder.decode(encode_event(Sport("Rome"))) == Sport("Rome")
    later = attrs.make_class("Later", {"x": attrs.field(type=int)}, bases=(Sport,), frozen=True)
    event = later("Rome", 1)
    assert decoder.decode(encode_event(event)) == event


def test_an_unknown_subclass_becomes_the_nearest_known_base() -> None:
    payload = msgspec.msgpack.encode(
        ([".Sport.Soccer.Beach", ".Sport.Soccer", ".Sport"], {"place": "Rio", "goals": 1, "z": 0})
    )
    assert EventDecoder(Sport).decode(payload) == Soccer("Rio", 1)
    assert EventDecoder(Outdoors).decode(payload) == payload  # nothing known: the bytes


def test_fields_that_do_not_fit_a_class_may_fit_its_base() -> None:
    payload = msgspec.msgpack.encode(([".Sport.Soccer", ".Sport"], {"place": "Rio", "goals": "x"}))
    assert EventDecoder(Sport).decode(payload) == Sport("Rio")


@pytest.mark.parametrize("goals", [0, -1])
def test_a_validator_that_fails_at_what_a_stranger_sent_fails_nothing_else(goals: int) -> None:
    """The delivery of later events, for one: what it raises is the application's, not msgspec's."""

    def divide(_event: object, _field: object, value: int) -> None:
        if value < 0:
            raise LookupError("no such score")
        assert 90 / value

    ratio = attrs.field(type=int, validator=divide)
    cls = attrs.make_class("Ratio", {"goals": ratio}, bases=(Sport,), frozen=True)
    names = [".Sport.Ratio", ".Sport"]
    payload = msgspec.msgpack.encode((names, {"place": "Rio", "goals": goals}))
    assert EventDecoder(Sport).decode(payload) == Sport("Rio")
    assert EventDecoder(cls).decode(payload) == payload


@pytest.mark.parametrize(
    "payload", [b"", b"garbage", b"\xff" * 9, b"\x91" * 100_000, msgspec.msgpack.encode([[], 1])]
)
def test_what_is_no_typed_event_stays_bytes(payload: bytes) -> None:
    assert EventDecoder(Sport).decode(payload) == payload


def test_a_field_that_cannot_travel_is_refused() -> None:
    place: Any = object()
    with pytest.raises(TypedEventError, match="a Sport cannot be sent"):
        encode_event(Sport(place))
