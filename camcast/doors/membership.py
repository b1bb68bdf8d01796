"""The door of memberships: who is in my community (paper 000, 2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar

from attrs import field, frozen
from typing_extensions import override

from camcast.doors.liveness import Liveness, Watcher
from camcast.doors.options import build_options
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.size_estimate import Certified
from camcast.vocabulary.topics import Topic


class Membership(Watcher, ABC):
    """The members of a community, as one process knows them: one instance for both (000, 2.2).

    A synchronous state machine. Every input carries the time `now`, in seconds of a clock that
    never goes back; what a membership wants to happen it leaves in `MembershipContext.outlet`.
    It has no clock, no randomness but the context's, and no container whose order depends on a
    hash: runs are replayed to the byte. docs/plugs/membership.md has a whole one.
    """

    decoder: ClassVar[Decoder[Any]]
    """Decodes the messages that `receive` takes: one `Decoder` of all classes of messages, each a
    ``class Hello(Message, tag=1, frozen=True)`` with a tag of its own, even if it is the only one.
    """

    @abstractmethod
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """Join through these members; without any, found the community.

        Called at most once, with the discovery's first answer; an answer that could not be found
        out does not count. Afterwards the membership itself must ask for more: if the contacts do
        not answer, it tries others and calls `outlet.seek`, and a founder seeks from time to time,
        since other processes may have founded the community, too.
        """

    @abstractmethod
    def leave(self, now: float) -> None:
        """Tell the other members that this process leaves, so that they can repair their tables.

        It may be called before `join`, and a second call says nothing. The liveness service
        has stopped watching for the part by then. Messages still arrive at `receive`, since other
        members do not know yet; timers, findings and news of peers do not. A process that joins
        again gets another instance.
        """

    @abstractmethod
    def receive(self, source: Contact, message: Any, now: float) -> None:
        """Take a message from the same backend at another process; also before `join`.

        The decoder has checked its types and nothing else, and anybody may have sent it: clamp
        every number, cut every list, bound every table. Raise `MalformedError` for a message that
        no honest process sends; any other error is a bug of the membership, as in every verb
        (`camcast.doors.contained`).
        """

    @abstractmethod
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer: ``outlet.wake(seconds, "beat", 3)`` comes back as ``("beat", 3)``.

        Timers cannot be cancelled, so a timer may be out of date, and one of an unknown name must
        be harmless. None comes after `leave`.
        """

    @abstractmethod
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """Take an answer of the discovery after `join`; empty if it knows of no other member.

        Answers also come unasked, and empty ones for their `size`, the discovery's own estimate of
        N_t, if it has one. A `seek` stays without answer if the discovery could not find out who
        is there. Contacts may be dead, or known already, but are never this process.
        """

    def keep(self, contact: Contact, now: float) -> None:
        """Keep an explicit peer in the topic table, whatever other processes tell.

        The operator of this process has listed the peer, which has just answered at its address
        and is a member; `contacts_found` has named it before. By default `PeerTable.keep` notes
        it: a membership looks at `PeerTable.kept` before it removes a peer for any other reason
        than silence or a goodbye. One that overrides this verb holds the peer now, too, beside the
        others if there is no room. It is called again when the peer has been missing.
        """
        self.peers().keep(contact.peer)

    @property
    @abstractmethod
    def joined(self) -> bool:
        """Whether the process is a member: it has founded the community, or a member knows it."""

    @abstractmethod
    def peers(self) -> PeerTable:
        """Return the topic table (3.2.1), the same object for the life of the membership.

        Make it with ``PeerTable(context.watch)``: traces and disseminations learn of every change
        through `watch`. It must never hold this process itself.
        """

    def in_view(self) -> list[Contact] | None:
        """Return the in-view, the processes whose tables hold this one; None if it is not kept.

        A membership that returns one promises that tables and in-views agree while no process
        joins, leaves or fails.
        """
        return None

    def neighbours(self) -> list[Contact]:
        """Return the processes of the topic table and those known to hold this one, once each.

        A tree uses it, since both ends of a tree's link must know the link. By default the table
        and `in_view()`; a membership that learns otherwise which processes hold this one overrides
        it. Never returns this process.
        """
        known = {contact.peer: contact for contact in self.peers()}
        for holder in self.in_view() or ():
            known.setdefault(holder.peer, holder)
        return list(known.values())

    @abstractmethod
    @override
    def size(self) -> float:
        """Estimate N_t, this process included, at least 1."""


@frozen
class MembershipContext:
    """The arguments that a membership is made with."""

    topic: Topic
    rng: Random
    outlet: ControlOutlet
    liveness: Liveness
    """Watches the peers of the table, so that the membership sends no heartbeats of its own."""
    watch: Callable[[bool, Contact], None] | None = None
    """For `PeerTable`: called with True and a contact that has entered the topic table, or with
    False and one that has left it."""
    certified: Certified | None = None
    """For the size estimate; None where processes have no certificates."""

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self.outlet.me


@frozen
class Backend:
    """A choice of ``--membership``: who keeps the tables, and how strangers are found."""

    name: str
    """The name of its entry point in ``camcast.membership``."""
    keeper: Callable[[Any, Any], Membership]
    """Makes the membership of one community, from a `MembershipContext` and the options of the
    class `options`, which all communities of a process share."""
    options: type[Any]
    """An attrs class; its fields are the options that a user may set."""
    discovery: str
    """The name of the discovery, an entry point of ``camcast.overlays``."""
    expected_view: Callable[[Any, float], float]
    """The law of the view: takes the options and the size N of a community, and returns the mean
    size that topic tables should have. It is 0 for N = 1, never falls as N rises, and is at most
    N-1."""
    as_printed: Mapping[str, object] = field(factory=dict)
    """The options with which the backend does what its paper prints and no more
    (``--preset paper``)."""

    def parse_options(self, given: Mapping[str, object]) -> Any:
        """Build the options; `OptionError` names an unknown one or a wrong value."""
        return build_options(self.options, given, f"membership {self.name!r}")
