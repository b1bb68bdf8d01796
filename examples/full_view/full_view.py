"""A membership in which everybody knows everybody: the smallest whole plug for CAMCAST.

A newcomer says Hello to its contacts, and each answers with the members that it knows; the
newcomer says Hello to those, too. The liveness service of the process then sends heartbeats to
everybody, so the traffic grows with N^2: right for some tens of processes. docs/plugs.md has the
rules that it keeps.
"""

from __future__ import annotations

from attrs import field, frozen, validators

from camcast.doors.membership import Backend, MembershipContext
from camcast.doors.table_membership import TableMembership
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message

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


class FullView(TableMembership):
    """The view of one process in one community."""

    decoder = Decoder(Hello | Members | Bye)
    goodbye = Bye()

    def __init__(self, context: MembershipContext, options: FullViewOptions) -> None:
        super().__init__(context, VIEW_MAX, options.beat_seconds, options.suspect_after)
        self._greeted: dict[PeerId, None] = {}
        """Those that were greeted in this period: all members name them."""

    def greeting(self, now: float) -> Hello:
        """Ask a contact for the other members."""
        return Hello()

    def tick(self, now: float) -> None:
        """Greet again whoever has not answered; the liveness service sends the heartbeats."""
        self._greeted.clear()

    def on_message(self, source: Contact, message: Hello | Members, now: float) -> None:
        """Take a message; nobody has looked at what it says."""
        self.hold(source, now)
        if isinstance(message, Hello):
            known = self._table.sample(MEMBERS_MAX, self._rng, source.peer)
            self._outlet.send([source], Members(tuple(known)))
        else:
            named = [c for c in message.contacts[:MEMBERS_MAX] if c.peer not in self._greeted]
            room = VIEW_MAX - len(self._greeted)  # strangers may name anybody
            unknown = [c for c in named if c.peer not in self._table][:room]
            self._greeted |= {contact.peer: None for contact in unknown}
            self._outlet.send(unknown, Hello())  # they are held only once they answer


BACKEND = Backend(
    name="full-view",
    keeper=FullView,
    options=FullViewOptions,
    discovery="gateways",
    expected_view=lambda options, size: min(size - 1, VIEW_MAX),
)
