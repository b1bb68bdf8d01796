"""Containment: whatever a plug raises or answers, the rest of its process goes on.

The node holds no plug itself, but a *contained* one: an object with the verbs of the plug's door,
each of which calls the plug's verb, judges its answer, and turns whatever the plug raises into a
`PlugError`. The error goes to one place, which counts it, and the caller gets a harmless answer.
The verbs are found by reflection on the class of the door, so a verb that is added to a door is
contained from its first day. All else of a contained plug, such as its class, is the plug's own.

What the docstring of a verb tells a plug to raise passes (`_RAISES`), and so does
`KeyboardInterrupt`, which comes from the person who runs the process and may strike anywhere. Any
other `BaseException`, such as the `SystemExit` of a ``sys.exit()``, is an error of the plug: a plug
may not end the process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from math import inf
from numbers import Real
from typing import Any, Final, TypeVar, cast

from attrs import frozen
from typing_extensions import override

from camcast.doors.discovery import Announced, Discovery, FirstContact
from camcast.doors.dissemination import Dissemination, Sent
from camcast.doors.liveness import PIECE_BYTES_MAX, Watcher
from camcast.doors.membership import Membership
from camcast.doors.repair import RepairWatcher
from camcast.vocabulary.arguments import is_left_to_do
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message, encode
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.printable import shown
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError

DoorT = TypeVar("DoorT")
ResultT = TypeVar("ResultT")


class PlugError(CamcastError, RuntimeError):
    """A plug raised, or answered what it may not; ``__cause__`` is what it raised.

    A running process counts and logs the error, and goes on. The error is raised where the process
    cannot go on without the plug: by `join` for a membership or protocol that cannot be made, by
    `start` for such a discovery, and in virtual networks, so that a test sees it.
    """

    def __init__(self, plug: str, verb: str, topic: str, why: str) -> None:
        where = f" for {topic}" if topic else ""
        super().__init__(f"{plug} failed in `{verb}`{where}: {why}")
        self.plug = plug
        """The kind and the name of the plug, such as "membership 'scamp'"."""
        self.verb = verb
        """The verb of the door that failed."""
        self.topic = topic
        """The topic of the group that the verb was for; empty if it was for no group."""


@frozen
class Containment:
    """Contains one plug: in one group of one process, or for the whole process."""

    plug: str
    """The kind and the name of the plug."""
    topic: Topic | None
    """The topic of the group; None for the plug of a whole process."""
    failed: Callable[[PlugError], None]
    """Takes each error. What it raises passes through the verb."""

    def make(self, verb: str, call: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Call what the process cannot do without; raises `PlugError`, and errors of CAMCAST."""
        try:
            return call(*arguments)
        except (CamcastError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise self._error(verb, error, arguments) from error

    def contain(self, door: type[Any], plug: DoorT) -> DoorT:
        """Return a plug, contained; raises `PlugError` if it lacks what its door asks for."""
        return cast(DoorT, self.make("__init__", _contain, door, plug, self))

    def callback(self, verb: str, call: Callable[[float], None]) -> Callable[[float], None]:
        """Return a function of the plug, contained, that a verb of ours was called with."""
        return partial(self._call, verb, call)

    def _call(self, verb: str, call: Callable[[float], None], now: float) -> None:
        try:
            call(now)
        except BaseException as error:
            self.on_error(verb, error)

    def on_error(self, verb: str, error: BaseException, arguments: Sequence[object] = ()) -> None:
        """Report what the plug raised, unless it passes; called while it is handled."""
        if isinstance(error, (KeyboardInterrupt, *_RAISES.get(verb, ()))):
            raise
        if not isinstance(error, PlugError):  # else `failed` has raised it for another plug
            made = self._error(verb, error, arguments)
            made.__cause__, error = error, made
        self.failed(error)

    def _error(self, verb: str, error: BaseException, arguments: Iterable[object]) -> PlugError:
        topics = (one for one in (self.topic, *arguments) if isinstance(one, Topic))
        topic = next((topic.name for topic in topics), "")
        wrong = isinstance(error, _WrongAnswer)
        why = str(error) if wrong else f"{type(error).__name__}: {shown(error, str)}"
        return PlugError(self.plug, verb, topic, why)


def plug_of(contained: Any) -> Any:
    """Return a plug itself, that may be contained; for tests that look inside."""
    return contained._plug if issubclass(type(contained), _Contained) else contained


_RAISES: Final[Mapping[str, tuple[type[Exception]]]] = {
    "receive": (MalformedError,),
    "open": (OSError,),
}
"""By verb, the errors that a plug is told to raise; the callers of these verbs expect them."""


class _WrongAnswer(Exception):
    """A plug's verb has answered what its door does not allow."""


def _refuse(answer: object, wanted: str) -> _WrongAnswer:
    if inspect.iscoroutine(answer):
        answer.close()  # else Python warns that nobody awaits it
    return _WrongAnswer(f"it answered {answer!r:.100}, and not {wanted}")


# -- answers ---------------------------------------------------------------------------------


@frozen
class _Answer:
    """The rule for the answers of one verb."""

    judge: Callable[[Any], Any]
    """Returns the answer as callers get it, or raises `_WrongAnswer`."""
    instead: Callable[..., Any]
    """Takes the contained plug and the verb's arguments; returns the answer of a verb that
    failed."""
    plain: str = "False"
    """An expression that is true of the usual `answer`, which then spares the call of `judge`."""


def _a_kind(kind: Any, wanted: str) -> Callable[[Any], Any]:
    def judge(answer: Any) -> Any:
        if not isinstance(answer, kind):
            raise _refuse(answer, wanted)
        return answer

    return judge


def _a_number(least: float, wanted: str) -> Callable[[Any], Any]:
    def judge(answer: Any) -> Any:
        if not (isinstance(answer, int | Real) and least <= float(answer) < inf):
            raise _refuse(answer, wanted)
        return answer

    return judge


def _contacts(answer: Any) -> list[Contact]:
    contacts = list(_iterated(answer))
    for contact in contacts:
        if not isinstance(contact, Contact):
            raise _refuse(contact, "a Contact")
    return contacts


def _heartbeat(answer: Any) -> Message | None:
    if answer is None:
        return None
    if not isinstance(answer, Message) or len(encode(answer)) > PIECE_BYTES_MAX:
        raise _refuse(answer, f"None or a Message of {PIECE_BYTES_MAX} bytes")
    return answer


def _all_of_a_kind(kind: type[Any], noun: str) -> Callable[[Any], tuple[Any, ...]]:
    judge = _a_kind(kind, noun)
    return lambda answer: tuple(judge(one) for one in _iterated(answer))


def _iterated(answer: Any) -> Iterable[Any]:
    if not isinstance(answer, Iterable):
        raise _refuse(answer, "a list")
    return answer


def _done(answer: Any) -> Any:
    """Return whatever a verb has answered, unless its work is left to do."""
    if is_left_to_do(answer):
        raise _refuse(answer, "at once: nobody awaits or iterates a verb, so it must be plain")
    return answer


def _flag(answer: Any) -> bool:
    return bool(_done(answer))


_NOTHING: Final = _Answer(_done, lambda *_: None, "answer is None")
_PLAIN_SIZE: Final = "answer.__class__ is float and 1.0 <= answer < inf"
_size: Final = _a_number(1.0, "a finite number of 1 or more")

ANSWERS: Final[Mapping[type[Any], Mapping[str, _Answer]]] = {
    Watcher: {
        "size": _Answer(_size, lambda _: 1.0, _PLAIN_SIZE),
        "heartbeat": _Answer(_heartbeat, lambda *_: None),
    },
    Membership: {
        "size": _Answer(_size, lambda contained: 1.0 + len(contained.peers()), _PLAIN_SIZE),
        "joined": _Answer(_flag, lambda _: False, "answer is True"),
        "in_view": _Answer(
            lambda answer: None if answer is None else _contacts(answer), lambda _: None
        ),
        "neighbours": _Answer(_contacts, lambda contained: list(contained.peers())),
    },
    Dissemination: {
        "disseminate": _Answer(
            _a_kind(Sent, "a Sent"), lambda *_: Sent(), "answer.__class__ is Sent"
        ),
        "copies_now": _Answer(
            _a_number(0, "a number of copies"),
            lambda _, known: known,
            "answer.__class__ is int and answer >= 0",
        ),
        "first_hop": _Answer(_contacts, lambda _, peers: peers),
    },
    RepairWatcher: {
        "patience": _Answer(_a_number(-inf, "a number of seconds below infinity"), lambda *_: 0.0),
    },
    Discovery: {
        "state": _Answer(_a_kind(str, "a text"), lambda _: "degraded"),
        "first_contacts": _Answer(_all_of_a_kind(FirstContact, "a FirstContact"), lambda _: ()),
        "contact_addresses": _Answer(_all_of_a_kind(str, "a text"), lambda _: ()),
        "announced": _Answer(_all_of_a_kind(Announced, "an Announced"), lambda *_: ()),
        "contacts_silent": _Answer(_flag, lambda *_: False),
    },
}
"""By door, the verbs that answer something; `tests/library/unit/doors` finds one that lacks."""


def answer_of(door: type[Any], verb: str) -> _Answer:
    """Return what a verb of a door may answer."""
    for base in door.__mro__:
        if verb in (answers := ANSWERS.get(base, {})):
            return answers[verb]
    return _NOTHING


# -- the contained plugs ---------------------------------------------------------------------


class _Contained:
    """A plug behind its door; the classes of doors add the verbs."""

    __slots__ = ("_containment", "_plug")

    def __init__(self, plug: Any, containment: Containment) -> None:
        self._plug = plug
        self._containment = containment

    @property  # type: ignore[misc]  # nobody sets it
    @override
    def __class__(self) -> type[Any]:
        return type(self._plug)


class _Open(_Contained):
    """A contained plug of which others may use what is not in the door."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plug, name)


class _ContainedMembership(_Open):
    """A membership, of which one object is the topic table for life: it is asked for once."""

    __slots__ = ("_table",)

    def __init__(self, plug: Membership, containment: Containment) -> None:
        super().__init__(plug, containment)
        _check_decoder(plug.decoder)
        table = plug.peers()
        if not isinstance(table, PeerTable):
            raise TypeError(f"`peers` has answered {table!r}, and not a PeerTable")
        self._table = table

    def peers(self) -> PeerTable:
        return self._table


class _ContainedDiscovery(_Open):
    """A discovery, which needs no decoder if nothing is said to it."""

    __slots__ = ()

    def __init__(self, plug: Discovery, containment: Containment) -> None:
        super().__init__(plug, containment)
        if plug.decoder is not None:
            _check_decoder(plug.decoder)


class _ContainedDissemination(_Contained):
    """A dissemination, likewise. It is on the way of every event: `__getattr__` would cost more."""

    __slots__ = ()

    def __init__(self, plug: Dissemination, containment: Containment) -> None:
        super().__init__(plug, containment)
        if plug.decoder is not None:
            _check_decoder(plug.decoder)


_BASES: Final[Mapping[type[Any], type[_Contained]]] = {
    Membership: _ContainedMembership,
    Dissemination: _ContainedDissemination,
    Discovery: _ContainedDiscovery,
}


def _check_decoder(decoder: object) -> None:
    if not isinstance(decoder, Decoder):
        raise TypeError(f"`decoder` is {decoder!r}, and not a Decoder")


def verbs_of(door: type[Any]) -> list[str]:
    """Return the verbs of a door, its properties included, in alphabetical order."""
    public = [name for name in dir(door) if not name.startswith("_")]
    static = {name: inspect.getattr_static(door, name) for name in public}
    return [
        name for name, one in static.items() if inspect.isfunction(one) or isinstance(one, property)
    ]


def _contain(door: type[Any], plug: Any, containment: Containment) -> _Contained:
    if not isinstance(plug, door):
        raise TypeError(f"{plug!r} is no {door.__name__}")
    contained = _class_for(door)  # type: ignore[arg-type]  # for mypy, no class has a hash
    return contained(plug, containment)


@cache
def _class_for(door: type[object]) -> type[_Contained]:
    base = _BASES.get(door, _Contained)
    members: dict[str, Any] = {"__slots__": ()}
    for verb in verbs_of(door):
        if not hasattr(base, verb):
            members[verb] = _contain_verb(door, verb)
    for name in (one for base_door in door.__mro__ for one in inspect.get_annotations(base_door)):
        if name not in members and not name.startswith("_"):
            members[name] = _contain_field(name)
    return type(f"Contained{door.__name__}", (base,), members)


_VERB: Final = """
def {verb}(self{parameters}):
    try:
        answer = self._plug.{verb}{call}
        return answer if {plain} else judge(answer)
    except BaseException as error:
        self._containment.on_error({verb!r}, error, ({arguments}))
        return instead(self, {arguments})
"""
"""A contained verb. It is written out, as `attrs` does it, with the parameters of the door's: one
that takes any costs three times as much, and some are called with every event."""


def _contain_verb(door: type[object], verb: str) -> Any:
    static, answer = inspect.getattr_static(door, verb), answer_of(door, verb)
    read = isinstance(static, property)
    names = [] if read else list(inspect.signature(static).parameters)[1:]
    arguments = "".join(f"{name}, " for name in names)
    source = _VERB.format(
        verb=verb,
        plain=answer.plain,
        parameters="".join(f", {name}" for name in names),
        call="" if read else f"({arguments})",
        arguments=arguments,
    )
    space = {"judge": answer.judge, "instead": answer.instead, "Sent": Sent, "inf": inf}
    exec(source, space)
    made: Any = space[verb]
    if read:
        return property(made)
    made.__defaults__ = static.__defaults__
    return made


def _contain_field(name: str) -> property:
    space: dict[str, Any] = {}
    exec(f"def {name}(self):\n    return self._plug.{name}", space)
    return property(space[name])
