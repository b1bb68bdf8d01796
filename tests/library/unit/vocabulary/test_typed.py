"""Topics and events from classes (paper 000, 5.1)."""

import dataclasses
import datetime
import enum
import re
from abc import ABC
from typing import Any, ClassVar, Protocol

import attrs
import msgspec
import pytest

import camcast
from camcast.vocabulary.topics import ROOT, Topic, TopicError
from camcast.vocabulary.typed import (
    EventDecoder,
    Sent,
    TypedEventError,
    check_travels,
    encode_event,
    hierarchy_of,
    read_sent,
    super_topics_of,
    topic_of,
)


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


class Played(ABC):  # noqa: B024  # an interface need not have methods
    pass


class Priced(Protocol):
    price: float


@attrs.frozen(slots=False)
class Match(Played):
    price: float = 0.0


@attrs.frozen(slots=False)
class Final(Match, Priced):
    pass


def test_interfaces_are_topics_and_their_subscribers_get_what_derives_from_them() -> None:
    """ABC and Protocol themselves are none."""
    played, match, final = (
        Topic.parse(f".Played{rest}") for rest in ("", ".Match", ".Match.Final")
    )
    priced = Topic.parse(".Priced")
    assert hierarchy_of(Final) == {
        final: (match, priced),
        match: (played,),
        played: (ROOT,),
        priced: (ROOT,),
    }
    event = Final(3.0)
    for interface in (Played, Priced, Match):
        assert EventDecoder[Any](interface).decode(encode_event(event)) == event
    unknown = Sent((".Played.Match.Semi", ".Played.Match", ".Played"), {"price": 1.0})
    assert EventDecoder[Any](Priced).decode(encode_event(unknown)) == unknown
    assert EventDecoder[Any](Played).decode(encode_event(unknown)) == Match(1.0)


def test_bases_that_are_no_event_classes_are_no_topics() -> None:
    assert topic_of(Mixed) == Topic.parse(".Sport.Mixed")
    assert super_topics_of(Mixed) == (Topic.parse(".Sport"),)


@pytest.mark.parametrize("wrong", [int, Plain, 7, "Sport", msgspec.Struct])
def test_what_is_no_event_class_is_no_topic(wrong: type) -> None:
    with pytest.raises(TypedEventError, match="is no topic: make it an attrs class"):
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
    sent = Sent(
        (".Sport.Soccer.Beach", ".Sport.Soccer", ".Sport"), {"place": "Rio", "goals": 1, "z": 0}
    )
    assert EventDecoder(Outdoors).decode(payload) == read_sent(payload) == sent  # nothing known
    assert encode_event(sent) == payload


def test_fields_that_do_not_fit_a_class_may_fit_its_base() -> None:
    payload = msgspec.msgpack.encode(([".Sport.Soccer", ".Sport"], {"place": "Rio", "goals": "x"}))
    assert EventDecoder(Sport).decode(payload) == Sport("Rio")


@pytest.mark.parametrize("goals", [0, -1, -2])
def test_a_validator_that_fails_at_what_a_stranger_sent_fails_nothing_else(goals: int) -> None:
    """The delivery of later events, for one: what it raises is the application's, not msgspec's."""

    def divide(_event: object, _field: object, value: int) -> None:
        if value == -1:
            raise LookupError("no such score")
        if value == -2:
            raise BaseException("a panic of an extension in Rust")
        assert 90 / value

    ratio = attrs.field(type=int, validator=divide)
    cls = attrs.make_class("Ratio", {"goals": ratio}, bases=(Sport,), frozen=True)
    names = [".Sport.Ratio", ".Sport"]
    payload = msgspec.msgpack.encode((names, {"place": "Rio", "goals": goals}))
    assert EventDecoder(Sport).decode(payload) == Sport("Rio")
    assert EventDecoder(cls).decode(payload) == read_sent(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"\xff" * 9,
        b"\x91" * 100_000,
        msgspec.msgpack.encode([[], 1]),
        b"\x92\x90\x80",
    ],
)
def test_what_is_no_typed_event_stays_bytes(payload: bytes) -> None:
    assert EventDecoder(Sport).decode(payload) == payload


def test_a_field_that_cannot_travel_is_refused() -> None:
    place: Any = object()
    with pytest.raises(TypedEventError, match="a Sport cannot be sent"):
        encode_event(Sport(place))


@pytest.mark.parametrize("far", [2**64, -(2**63) - 1])
def test_a_number_that_is_too_large_is_refused(far: int) -> None:
    with pytest.raises(TypedEventError, match="a Soccer cannot be sent: "):
        encode_event(Soccer("Rome", far))


def test_what_holds_itself_is_refused() -> None:
    endless: Any = []
    endless.append(endless)
    with pytest.raises(TypedEventError, match="a Sport cannot be sent: "):
        encode_event(Sport(endless))


class AsArray(msgspec.Struct, array_like=True):
    place: str


@dataclasses.dataclass
class Initial:
    place: dataclasses.InitVar[str]


@attrs.frozen
class OneOfTwo:
    event: Sport | Outdoors


@attrs.frozen
class Unknown:
    place: "Nowhere"  # type: ignore[name-defined]  # noqa: F821  # as it is below TYPE_CHECKING


@attrs.frozen
class NoAttribute:
    seats: ClassVar[int]
    name: str
    place: "datetime.nowhere"  # type: ignore[name-defined]  # no such name is the case


@attrs.frozen
class NoSyntax:
    place: "1 +"  # type: ignore[valid-type]  # noqa: F722


class Names(enum.Enum):
    NAME = "name"
    NUMBER = 2


@attrs.frozen
class OfNames(Sport):
    names: list[Names]


NAMES = {
    AsArray: "",
    Initial: "",
    OneOfTwo: f"event: {__name__}.Sport | {__name__}.Outdoors: ",
    Unknown: "place: Nowhere: ",
    NoAttribute: "place: datetime.nowhere: ",
    NoSyntax: "place: 1 +: ",
    OfNames: "names: list[",
}


@pytest.mark.parametrize("cls", NAMES)
def test_a_class_of_which_no_event_can_be_made_is_refused_by_field_and_type(cls: type) -> None:
    expected = f"events of class {cls.__name__} cannot be received: {NAMES[cls]}"
    with pytest.raises(TypedEventError, match=re.escape(expected)):
        EventDecoder(cls)
    if cls is not AsArray:  # which msgspec reads, but not as named fields
        with pytest.raises(TypedEventError, match=re.escape(expected)):
            check_travels(cls)


@dataclasses.dataclass
class Reading:
    celsius: float
    note: str = ""


class Renamed(msgspec.Struct, rename="camel"):
    sea_level: int


@dataclasses.dataclass
class Indoors(Reading):
    room: str = "hall"


@pytest.mark.parametrize("event", [Reading(3.5, "x"), Renamed(7), Indoors(20.0, room="attic")])
def test_dataclasses_and_structs_are_events_as_attrs_classes_are(event: Any) -> None:
    cls = type(event)
    assert EventDecoder(cls).decode(encode_event(event)) == event
    assert topic_of(Indoors).name == ".Reading.Indoors"
    assert topic_of(Renamed).name == ".Renamed"


def declared(name: str, *, version: int | None = None, **fields: Any) -> type:
    """Make a class of these fields, as another program might have it, with a declared topic."""
    made = attrs.make_class("Any", {n: attrs.field(**f) for n, f in fields.items()}, frozen=True)
    return camcast.topic(name, version=version)(made)


def test_a_declared_topic_is_the_class_s_and_its_subclasses_stand_below_it() -> None:
    old = declared(".plant.reading", version=1, celsius={"type": float})
    new = declared(".plant.reading", version=2, kelvin={"type": float})
    assert topic_of(old) == Topic.parse(".plant.reading.v1")
    assert super_topics_of(new) == (Topic.parse(".plant.reading"),)
    below = attrs.make_class("Roof", {}, bases=(old,))
    assert topic_of(below) == Topic.parse(".plant.reading.v1.Roof")
    assert super_topics_of(below) == (topic_of(old),)
    moved = camcast.topic(".roof")(attrs.make_class("Roof", {}, bases=(old,)))
    assert super_topics_of(moved) == (ROOT, topic_of(old))


def test_an_event_of_another_version_comes_without_its_class() -> None:
    old = declared(".plant.reading", version=1, celsius={"type": float})
    new = declared(".plant.reading", version=2, kelvin={"type": float})
    payload = encode_event(new(280.0))
    assert EventDecoder(old).decode(payload) == Sent((".plant.reading.v2",), {"kelvin": 280.0})


def test_fields_come_and_go() -> None:
    """Left out if the receiver lacks them, and defaults if they were not sent."""
    value, with_default = {"type": float}, {"type": str, "default": "?"}
    few = declared(".plant", celsius=value)
    more = declared(".plant", celsius=value, site=with_default)
    other = declared(".plant", celsius=value, needed={"type": int})
    assert EventDecoder(few).decode(encode_event(more(3.0, "roof"))) == few(3.0)
    assert EventDecoder(more).decode(encode_event(few(3.0))) == more(3.0, "?")
    assert EventDecoder(other).decode(encode_event(few(3.0))) == Sent((".plant",), {"celsius": 3.0})


def test_a_topic_that_cannot_be_declared_is_refused() -> None:
    with pytest.raises(TopicError, match="the root is the topic of no class"):
        camcast.topic(".")
    with pytest.raises(ValueError, match="no version 0"):
        camcast.topic(".a", version=0)
    with pytest.raises(TypedEventError, match="is no topic: make it an attrs class"):
        camcast.topic(".a")(Plain)
