"""Containment: which verbs it has, what it lets pass, and what it takes for an answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

import pytest

from camcast.doors.contained import ANSWERS, Containment, PlugError, answer_of, verbs_of
from camcast.doors.discovery import Discovery
from camcast.doors.dissemination import Dissemination
from camcast.doors.liveness import PIECE_BYTES_MAX, Watcher
from camcast.doors.membership import Membership
from camcast.doors.repair import RepairWatcher
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError

TOPIC = Topic.parse(".x")
CONTACT = Contact(PeerId(b"1" * 16), "tcp://127.0.0.1:7001")
DOORS = (Membership, Dissemination, Discovery, Watcher, RepairWatcher)


class Large(Message, tag=1, frozen=True):
    text: bytes


def plug_of(door: type[Any], **verbs: Any) -> Any:
    """Return a plug in which each abstract verb does nothing, and the verbs that are given."""
    table = PeerTable()
    members: dict[str, Any] = dict.fromkeys(getattr(door, "__abstractmethods__", ()), None)
    for name in members:
        members[name] = lambda self, *_, **__: None
    if door is Membership:
        members |= {"peers": lambda self: table, "decoder": Decoder(Large)}
    return type("Plug", (door,), members | verbs)()


def contained(door: type[Any], **verbs: Any) -> tuple[Any, list[PlugError]]:
    errors: list[PlugError] = []
    containment = Containment("membership 'm'", TOPIC, errors.append)
    return containment.contain(door, plug_of(door, **verbs)), errors


def calling(door: type[Any], verb: str) -> Callable[[Any], Any]:
    """Return what calls a verb with an argument for each parameter, or reads it."""
    static = inspect.getattr_static(door, verb)
    if isinstance(static, property):
        return lambda plug: getattr(plug, verb)
    arguments: list[Any] = [[] for name in inspect.signature(static).parameters if name != "self"]
    return lambda plug: getattr(plug, verb)(*arguments)


CASES = [
    (door, verb)
    for door in DOORS
    for verb in verbs_of(door)
    if (door, verb) != (Membership, "peers")
]


class UnshownError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "error",
    [RuntimeError("boom"), SystemExit(3), UnshownError(), PlugError("p", "v", "", "")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(("door", "verb"), CASES)
def test_what_a_verb_raises_is_reported_once(
    door: type[Any], verb: str, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    static = inspect.getattr_static(door, verb)
    made = property(fail) if isinstance(static, property) else fail
    plug, errors = contained(door, **{verb: made})
    calling(door, verb)(plug)
    [reported] = errors
    if isinstance(error, PlugError):
        assert reported is error
    else:
        assert reported.__cause__ is error
        assert (reported.plug, reported.verb, reported.topic) == ("membership 'm'", verb, ".x")
        assert str(reported).startswith(f"membership 'm' failed in `{verb}` for .x: ")


async def coroutine(*_: object, **__: object) -> bool:
    return True


def generator(*_: object, **__: object) -> Iterator[None]:
    yield


@pytest.mark.parametrize("left", [coroutine, generator])
@pytest.mark.parametrize(("door", "verb"), CASES)
def test_a_verb_that_leaves_its_work_to_do_has_failed(
    door: type[Any], verb: str, left: Callable[..., Any]
) -> None:
    """Nobody awaits or iterates it, so it would never run, or its object be true for False."""
    lists = ("neighbours", "in_view", "first_hop", "first_contacts", "contact_addresses")
    if left is generator and verb in (*lists, "announced"):
        return  # as good a list as any, of which the elements are judged
    static = inspect.getattr_static(door, verb)
    plug, errors = contained(
        door, **{verb: property(left) if isinstance(static, property) else left}
    )
    assert calling(door, verb)(plug) is not True
    assert [error.verb for error in errors] == [verb]


@pytest.mark.parametrize(("door", "verb"), CASES)
def test_a_verb_that_answers_something_has_an_answer_for_when_it_fails(
    door: type[Any], verb: str
) -> None:
    static = inspect.getattr_static(door, verb)
    function: Any = static.fget if isinstance(static, property) else static
    if inspect.signature(function).return_annotation != "None":
        assert any(verb in ANSWERS.get(base, {}) for base in door.__mro__)
    assert callable(answer_of(door, verb).judge)


@pytest.mark.parametrize(
    "size", [nan, inf, -inf, -1, 0.99, None, "7", [3.0], 10**400], ids=lambda size: repr(size)[:9]
)
@pytest.mark.parametrize("door", [Membership, Watcher])
def test_an_estimate_is_a_finite_number_of_1_or_more(door: type[Any], size: object) -> None:
    plug, errors = contained(door, size=lambda self: size)
    assert plug.size() == 1.0
    assert [error.verb for error in errors] == ["size"]


@pytest.mark.parametrize(
    ("door", "verb", "answer", "instead"),
    [
        (Membership, "neighbours", [CONTACT, "tcp://127.0.0.1:7001"], []),
        (Membership, "neighbours", None, []),
        (Membership, "in_view", [7], None),
        (Dissemination, "disseminate", 3, None),
        (Dissemination, "copies_now", -1, []),
        (Dissemination, "copies_now", nan, []),
        (Dissemination, "first_hop", (each for each in ["nobody"]), []),
        (RepairWatcher, "patience", nan, 0.0),
        (RepairWatcher, "patience", inf, 0.0),
        (Discovery, "state", None, "degraded"),
        (Discovery, "first_contacts", ["tcp://127.0.0.1:7001"], ()),
        (Discovery, "contact_addresses", [CONTACT], ()),
        (Discovery, "announced", [CONTACT], ()),
        (Discovery, "announced", None, ()),
        (Watcher, "heartbeat", b"bytes", None),
        (Watcher, "heartbeat", Large(bytes(PIECE_BYTES_MAX)), None),
    ],
)
def test_a_wrong_answer_is_an_error_and_not_handed_on(
    door: type[Any], verb: str, answer: object, instead: object
) -> None:
    static = inspect.getattr_static(door, verb)
    made: Any = property(lambda self: answer) if isinstance(static, property) else None
    plug, errors = contained(door, **{verb: made or (lambda self, *_: answer)})
    got = calling(door, verb)(plug)
    assert (got == instead) if verb != "disseminate" else (got.peers == 0)
    [error] = errors
    assert "it answered " in str(error)


def test_what_a_verb_is_told_to_raise_passes_and_so_does_ctrl_c() -> None:
    def refuse(self: object, *_: object) -> None:
        raise MalformedError("an age of -1")

    def interrupt(self: object, *_: object) -> None:
        raise KeyboardInterrupt

    def taken(self: object, *_: object) -> None:
        raise OSError("in use")

    plug, errors = contained(Membership, receive=refuse, wake=interrupt, leave=refuse)
    with pytest.raises(MalformedError):
        plug.receive(CONTACT, None, 0.0)
    with pytest.raises(KeyboardInterrupt):
        plug.wake((), 0.0)
    discovery, _ = contained(Discovery, open=taken)
    with pytest.raises(OSError, match="in use"):
        discovery.open(None, 0.0)
    assert errors == []
    plug.leave(0.0)
    assert [error.verb for error in errors] == ["leave"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"peers": lambda self: []},
        {"peers": lambda self: 1 / 0},
        {"decoder": None},
    ],
)
def test_a_membership_without_a_table_or_a_decoder_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlugError, match=r"membership 'm' failed in `__init__` for \.x: "):
        contained(Membership, **wrong)


def test_what_is_made_is_of_its_door() -> None:
    containment = Containment("discovery 'd'", None, lambda _: None)
    with pytest.raises(
        PlugError, match="discovery 'd' failed in `__init__`: TypeError: None is no"
    ):
        containment.contain(Discovery, None)


def test_a_contained_plug_is_the_plug_to_all_but_its_callers() -> None:
    plug, _ = contained(Membership, own=7)
    assert plug.own == 7
    assert isinstance(plug, Membership)
    assert plug.peers() is plug.peers()


def test_a_membership_whose_estimate_is_wrong_has_the_size_of_its_table() -> None:
    plug, _ = contained(Membership, size=lambda self: nan)
    plug.peers().add(CONTACT)
    assert plug.size() == 2.0
