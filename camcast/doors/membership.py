"""The door of memberships: who is in my community (paper 000, 2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar

from attrs import field, frozen

from camcast.doors.liveness import Liveness, Watcher
from camcast.doors.options import build_options
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import Topic


class Membership(Watcher, ABC):
    """Who is in my community: one instance a process and community (paper 000, 2.2).

    A synchronous state machine. Every input carries the time `now`, in seconds of a clock that
    never goes back; what a membership wants to happen it leaves in `MembershipContext.outlet`.
    It has no clock, no randomness but the context's, and no container whose order depends on a
    hash: runs are replayed to the byte. docs/plugs.md has a whole membership, line by line.
    """

    decoder: ClassVar[Decoder[Any]]
    """Decodes the messages that `receive` takes: one `Decoder` of all classes of messages, each a
    ``class Hello(Message, tag=1, frozen=True)`` with a tag of its own, even if it is the only one.
    """

    @abstractmethod
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """Join through these members; with none, found the community.

        Called once, with the discovery's first answer. Nobody asks again for a membership: if the
        contacts do not answer, it tries others and asks for more with `outlet.seek`, and a
        founder seeks from time to time, since others may have founded the community, too.
        """

    @abstractmethod
    def leave(self, now: float) -> None:
        """Leave politely: tell the others, so that they can repair their tables.

        May come before the process has joined, and twice. Afterwards messages still arrive at
        `receive`, for the others do not know yet; timers do not.
        """

    @abstractmethod
    def receive(self, source: Contact, message: Any, now: float) -> None:
        """Take a message from the same backend at another process, also after `leave`.

        The decoder has checked its types and nothing else, and anybody may have sent it: clamp
        every number, cut every list, bound every table. Raise `MalformedError` for what cannot
        be; any other error is a bug of the membership.
        """

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer: ``outlet.wake(seconds, "beat", 3)`` comes back as ``("beat", 3)``.

        Timers cannot be cancelled, so one may be out of date, and one of an unknown name must be
        harmless. None comes after `leave`.
        """

    @abstractmethod
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """Take an answer of the discovery; empty if it knows of nobody.

        It need not be the answer to a `seek` of this membership: answers come unasked, too, and
        empty ones for their `size`, the discovery's own estimate of N_t, if it has one. Contacts
        may be dead, or known already.
        """

    @property
    @abstractmethod
    def joined(self) -> bool:
        """Whether the process is a member by now: a founder, or known to another member."""

    @abstractmethod
    def peers(self) -> PeerTable:
        """Return the topic table (3.2.1); the same object for the life of the membership.

        It was made with ``PeerTable(context.watch)``, through which traces and disseminations hear
        of every change, and never holds this process itself.
        """

    def holders(self) -> list[Contact] | None:
        """Return the in-view: who holds this process in its table; None if it keeps none.

        A membership that keeps one promises that tables and in-views agree while nobody joins,
        leaves or fails.
        """
        return None

    def neighbours(self) -> list[Contact]:
        """Return the topic table, and every process known to hold or check this one, once each.

        What a tree needs, whose links have two ends. By default the table and `holders()`; a
        membership that learns otherwise who holds this process overrides it. Never this process.
        """
        known = {contact.peer: contact for contact in self.peers()}
        for holder in self.holders() or ():
            known.setdefault(holder.peer, holder)
        return list(known.values())

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
    liveness: Liveness
    """Watches the peers of the table, so that the membership sends no heartbeats of its own."""
    watch: Callable[[bool, Contact], None] | None = None
    """For the topic table: told of every peer learned (True) or forgotten."""


@frozen
class Backend:
    """A choice of ``--membership``: who keeps the tables, and how strangers are found."""

    name: str
    """The name of its entry point in ``camcast.membership``."""
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
    as_printed: Mapping[str, object] = field(factory=dict)
    """The options with which it does what its paper prints, and no more (``--preset paper``)."""

    def parse_options(self, given: Mapping[str, object]) -> Any:
        """Build the options; `OptionError` names an unknown one or a wrong value."""
        return build_options(self.options, given, f"membership {self.name!r}")
