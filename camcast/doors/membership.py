"""The door of memberships: who is in my community (paper 000, 2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar

from attrs import frozen

from camcast.doors.options import build_options
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import Topic


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


@frozen
class MembershipContext:
    """What a membership is made with."""

    me: Contact
    topic: Topic
    rng: Random
    outlet: ControlOutlet
    watch: Callable[[bool, Contact], None] | None = None
    """For the topic table: told of every peer learned (True) or forgotten."""


@frozen
class Backend:
    """A choice of ``--membership``: who keeps the tables, and how strangers are found."""

    name: str
    keeper: Callable[[Any, Any], Membership]
    """Makes the membership of one community from a context (of the class `context`) and options
    (of the class `options`), which every community of a process shares."""
    options: type[Any]
    """An attrs class; its fields are the options that a user may set."""
    discovery: str
    """The name of the discovery, an entry point of ``camcast.overlays``."""
    expected_view: Callable[[Any, float], float]
    """The law of the view: from the options and the size N of a community to the mean size that
    topic tables should have. 0 for N = 1, never falls as N rises, and at most N-1."""
    context: type[MembershipContext] = MembershipContext
    """What memberships are made with; `camcast.doors.selective` has another."""

    def parse_options(self, given: Mapping[str, object]) -> Any:
        """Build the options; `OptionError` names an unknown one or a wrong value."""
        return build_options(self.options, given, f"membership {self.name!r}")
