"""The doors of the core: what may be plugged in, and how a plug is found by its name.

A membership backend is an entry point in the group ``camcast.membership`` that names a
`Backend`; a discovery is one in ``camcast.overlays`` that names a `Discovery` class. Our own
use the same doors as a third party's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

import attrs
from attrs import Factory, field, frozen

from camcast.identity import Contact
from camcast.messages import Decoder, Message
from camcast.outbox import Finding, Outlet
from camcast.peers import PeerTable
from camcast.process_interest import ProcessInterest
from camcast.topics import GroupId, Topic


class UnknownPlugError(LookupError):
    """No plug has this name; the message lists those that are installed."""

    def __str__(self) -> str:
        return str(self.args[0])


class OptionError(ValueError):
    """A plug does not know an option, or refuses its value."""


class Membership(ABC):
    """Who is in my community: one instance a process and community (paper 000, 2.2).

    A synchronous state machine. Every input carries the time `now` in seconds of a clock
    that never goes back; wishes go to the outlet it was made with.
    """

    decoder: ClassVar[Decoder[Any]]
    """Decodes the messages that `receive` takes; a backend's messages are its own affair."""

    @abstractmethod
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """Join through these members; with none, found the community."""

    @abstractmethod
    def leave(self, now: float) -> None:
        """Leave politely, so that the others can repair their tables."""

    @abstractmethod
    def receive(self, source: Contact, message: Any, now: float) -> None:
        """Take a message from the same backend at another member."""

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was asked for through the outlet."""

    @abstractmethod
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """Take the answer to a `seek`; empty if the discovery knows nobody.

        `size` is the discovery's own estimate of N_t, if it has one.
        """

    @property
    @abstractmethod
    def joined(self) -> bool:
        """Whether the process is a member by now."""

    @abstractmethod
    def peers(self) -> PeerTable:
        """Return the topic table (3.2.1); the same object for the life of the membership."""

    def holders(self) -> list[Contact] | None:
        """Return the in-view: who holds this process in its table; None if it keeps none.

        A membership that keeps one promises that tables and in-views agree while nobody joins,
        leaves or fails.
        """
        return None

    @abstractmethod
    def size(self) -> float:
        """Estimate N_t, this process included, at least 1."""

    @abstractmethod
    def expected_view(self, size: float) -> float:
        """Return the mean size that the topic table should have in a community of `size`."""


@frozen
class MembershipContext:
    """What a membership is made with."""

    me: Contact
    topic: Topic
    rng: Random
    outlet: Outlet
    interest: ProcessInterest = field(
        default=Factory(lambda self: ProcessInterest(self.topic), takes_self=True)
    )
    """What this process wants through the group; changes as it subscribes."""
    watch: Callable[[bool, Contact], None] | None = None
    """For the topic table: told of every peer learned (True) or forgotten."""


@frozen
class Backend:
    """A choice of ``--membership``: who keeps the tables, and how strangers are found."""

    name: str
    keeper: Callable[[MembershipContext, Any], Membership]
    """Makes the membership of one community from its context and options."""
    options: type[Any]
    """An attrs class; its fields are the options that a user may set."""
    discovery: str
    """The name of the discovery, an entry point of ``camcast.overlays``."""

    def parse_options(self, given: Mapping[str, object]) -> Any:
        """Build the options; `OptionError` names an unknown one or a wrong value."""
        return build_options(self.options, given, f"membership {self.name!r}")


class KnownMembers(Protocol):
    """What a node can say of a community from its own tables."""

    def __call__(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return up to `wanted` members, itself included if it is one."""


@frozen
class DiscoveryContext:
    """What a discovery is made with."""

    me: Contact
    rng: Random
    outlet: Outlet
    known: KnownMembers
    gateways: Mapping[Topic, tuple[str, ...]]
    """Configured first contacts, by topic; a topic's serve its subtopics too."""
    answer: Callable[[Finding], None]
    """Takes an answer at any time, from a discovery with a transport of its own; the others
    answer through the outlet."""
    remember: Path | None = None
    """A file that keeps contacts from one run to the next; None: nothing is kept."""
    port_required: bool = False
    """Whether somebody chose the port of `me`, and may have told others: a discovery with a
    transport of its own then listens at the port of that number, or does not `open`."""


class Discovery(ABC):
    """How strangers are found; one instance a process. Answers go to `outlet.found`.

    A discovery that speaks through the node's own pipes sets `decoder` and overrides
    `receive`. One that has a transport of its own needs neither; it overrides `open` and
    `close`, and gives its answers to `DiscoveryContext.answer`.
    """

    decoder: ClassVar[Decoder[Any] | None] = None

    async def open(self) -> None:  # noqa: B027  # most have nothing to open
        """Begin to listen, before anything is announced or sought. Raises `OSError`."""

    async def close(self) -> None:  # noqa: B027  # likewise
        """End: no task, timer or socket of it is left behind."""

    @property
    def state(self) -> str:
        """How it is, in a word for people: ``connected``, ``alone`` or ``degraded``."""
        return "connected"

    @abstractmethod
    def announce(self, topic: Topic, now: float) -> None:
        """Make this process findable as a member of a community, until `withdraw`."""

    @abstractmethod
    def withdraw(self, topic: Topic, now: float) -> None:
        """Stop being findable as a member."""

    @abstractmethod
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """Look for members; the answer is a `Finding`, also when there are none."""

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer that was asked for through the outlet."""

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """Take a message from another process's discovery."""
        raise AssertionError("a discovery without a decoder receives nothing")


DiscoveryFactory = Callable[[DiscoveryContext], Discovery]

MEMBERSHIP_GROUP = "camcast.membership"
OVERLAY_GROUP = "camcast.overlays"


def _plug(group: str, kind: str, name: str) -> Any:
    known = entry_points(group=group)
    for entry in known:
        if entry.name == name:
            return entry.load()
    names = ", ".join(sorted(entry.name for entry in known)) or "none"
    raise UnknownPlugError(f"unknown {kind} {name!r}; installed: {names}")


def find_backend(name: str) -> Backend:
    """Return the membership backend of this name; `UnknownPlugError` lists the known ones."""
    backend = _plug(MEMBERSHIP_GROUP, "membership", name)
    assert isinstance(backend, Backend), f"entry point {name!r} is not a Backend"
    return backend


def find_discovery(name: str) -> DiscoveryFactory:
    """Return the discovery of this name; `UnknownPlugError` lists the known ones."""
    factory: DiscoveryFactory = _plug(OVERLAY_GROUP, "discovery", name)
    return factory


_READERS: dict[Any, tuple[Callable[[str], object], str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
}


_PLAIN: dict[Any, Any] = {int: int, float: int | float, bool: bool}


def build_options(options: type[Any], given: Mapping[str, object], owner: str) -> Any:
    """Build an attrs class from names and values, which may be text from a command line."""
    fields = attrs.fields_dict(attrs.resolve_types(options))
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise OptionError(f"{owner} has no option {name!r}; it has: {known}")
        kind = fields[name].type
        if isinstance(value, str) and kind in _READERS:
            read, wanted = _READERS[kind]
            try:
                value = read(value)
            except (ValueError, KeyError):
                raise OptionError(
                    f"option {name!r} of {owner} takes {wanted}, not {value!r}"
                ) from None
        elif kind in _PLAIN and (
            not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind is not bool)
        ):
            raise OptionError(
                f"option {name!r} of {owner} takes {_READERS[kind][1]}, not {value!r}"
            )
        values[name] = value
    try:
        return options(**values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: {error.args[0] if error.args else error}") from error
