"""A membership in which everybody knows everybody: the smallest whole plug for CAMCAST.

A newcomer says Hello to its contacts, and each answers with the members that it knows; the
newcomer says Hello to those, too. The liveness service of the process then sends heartbeats to
everybody, so the traffic grows with N^2: right for some tens of processes. docs/plugs.md has the
rules that it keeps.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from attrs import field, frozen, validators

from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable

VIEW_MAX = 1000  # chosen: bounds the table, whatever strangers send; 1,000 heartbeats a period
MEMBERS_MAX = 100  # chosen: contacts in one message, some 5 kB


class Hello(Message, tag=1, frozen=True):
    """I am a member, or want to become one; tell me who else is."""


class Members(Message, tag=2, frozen=True):
    """The answer to `Hello`: some of those that I know."""

    contacts: tuple[Contact, ...]


class Bye(Message, tag=3, frozen=True):
    """I am no member any more."""


@frozen(kw_only=True)
class FullViewOptions:
    """What ``--set`` sets."""

    beat_seconds: float = field(default=1.0, validator=validators.gt(0))
    """Period of heartbeats. chosen: as SCAMP's"""
    suspect_after: int = field(default=5, validator=validators.ge(1))
    """Periods of silence until a peer is dropped. chosen: as SCAMP's"""
    seek_seconds: float = field(default=30.0, validator=validators.gt(0))
    """How often the discovery is asked for members unknown here: two communities that were
    founded apart become one by it. chosen: twice a minute"""


class FullView(Membership):
    """The view of one process in one community."""

    decoder = Decoder(Hello | Members | Bye)

    def __init__(self, context: MembershipContext, options: FullViewOptions) -> None:
        self._context, self._options = context, options
        self._view = PeerTable(context.watch)  # or no trace would hear of it
        beat_seconds = options.beat_seconds
        context.liveness.report_to(self, beat_seconds, options.suspect_after * beat_seconds)
        self._joined = self._leaving = self._asked = False
        self._next_seek = 0.0

    @property
    def joined(self) -> bool:
        """Whether somebody has answered, or nobody is there."""
        return self._joined

    def peers(self) -> PeerTable:
        """Return the view."""
        return self._view

    def size(self) -> float:
        """Return how many are known, this process included."""
        return len(self._view) + 1.0

    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """Say Hello to the contacts; without any, this process founds the community."""
        asked = list(contacts)
        self._joined = not asked
        self._next_seek = now + self._options.seek_seconds
        self._context.outlet.send(asked, Hello())
        self._context.outlet.wake(self._options.beat_seconds, "tick")

    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """Say Hello to whom this process does not know; if it asked and nobody is there, found.

        An answer that was not asked for may be empty: it comes for its `size`.
        """
        unknown = [contact for contact in contacts if contact.peer not in self._view]
        self._context.outlet.send(unknown, Hello())
        self._joined = self._joined or (self._asked and not unknown)
        self._asked = False

    def leave(self, now: float) -> None:
        """Say Bye to everybody."""
        self._leaving = True
        self._context.outlet.send(list(self._view), Bye())

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a message; nobody has looked at what it says, and it may come after `leave`."""
        if self._leaving:
            if not isinstance(message, Bye):  # or two leavers would say Bye to each other for ever
                self._context.outlet.send([source], Bye())
        elif isinstance(message, Bye):
            self._drop(source.peer)
        else:
            self._joined = True
            self._learn(source, now)
            if isinstance(message, Hello):
                known = self._view.sample(MEMBERS_MAX, self._context.rng, source.peer)
                self._context.outlet.send([source], Members(tuple(known)))
            elif isinstance(message, Members):
                unknown = [c for c in message.contacts[:MEMBERS_MAX] if c.peer not in self._view]
                self._context.outlet.send(unknown, Hello())  # known only once they answer

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Seek members that are unknown here; timers of other names are nobody's."""
        if name != ("tick",):
            return
        outlet, options = self._context.outlet, self._options
        if now >= self._next_seek or not self._view:  # nobody asks again for a membership
            self._next_seek, self._asked = now + options.seek_seconds, True
            outlet.seek(self._context.topic, 5)
        outlet.wake(options.beat_seconds, "tick")

    def peer_silent(self, contact: Contact, now: float) -> None:
        """Drop a peer that has been silent for too long."""
        self._drop(contact.peer)

    def _learn(self, contact: Contact, now: float) -> None:
        if contact.peer != self._context.me.peer and (
            contact.peer in self._view or len(self._view) < VIEW_MAX
        ):
            self._view.add(contact)
            self._context.liveness.watch(contact, now)

    def _drop(self, peer: PeerId) -> None:
        self._view.discard(peer)
        self._context.liveness.unwatch(peer)


BACKEND = Backend(
    name="full-view",
    keeper=FullView,
    options=FullViewOptions,
    discovery="gateways",
    expected_view=lambda options, size: min(size - 1, VIEW_MAX),
)
