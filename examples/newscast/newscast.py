"""Newscast: each period two processes put their views together, and both keep the freshest.

Source: M. Jelasity, W. Kowalczyk, M. van Steen, "Newscast computing", technical report IR-CS-006,
Vrije Universiteit Amsterdam, 2003. A view has `view` descriptors of processes, each with the time
at which its process made it. Descriptors of dead processes grow old and fall out of all views. The
base class joins, leaves, watches the peers of the view, and estimates the size of the community.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from attrs import field, frozen, validators

from camcast.doors.membership import Backend, MembershipContext
from camcast.doors.table_membership import TableMembership
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.wire import MalformedError

VIEW_MAX = 100  # chosen: bounds a message at some 6 kB
AGE_MAX = 3600.0  # chosen: seconds; older descriptors are stale with any options

Items = tuple[tuple[Contact, float], ...]
"""Descriptors, each with its age in seconds."""


class Exchange(Message, tag=1, frozen=True):
    """The sender's view; it asks for the receiver's, and carries a sample of the size estimate."""

    items: Items
    sample: bytes


class Answer(Message, tag=2, frozen=True):
    """The view of the process that was asked, as it was before the exchange."""

    items: Items
    sample: bytes


class Bye(Message, tag=3, frozen=True):
    """The sender has left the community."""


@frozen(kw_only=True)
class NewscastOptions:
    """The options: ``--set view=30``."""

    view: int = field(default=20, validator=[validators.ge(2), validators.le(VIEW_MAX)])
    """Descriptors in a view. [Newscast: 20 in most experiments]"""
    cycle_seconds: float = field(default=1.0, validator=validators.gt(0))
    """The period of exchanges. chosen: as SCAMP's heartbeats"""
    stale_cycles: int = field(default=10, validator=validators.ge(2))
    """Periods after which a descriptor is dropped. chosen: a random process is exchanged with once
    a period on average, so that a live one is older with probability e^-10"""


class Newscast(TableMembership):
    """The view of one process in one community."""

    decoder = Decoder(Exchange | Answer | Bye)
    goodbye = Bye()

    def __init__(self, context: MembershipContext, options: NewscastOptions) -> None:
        super().__init__(context, options.view, options.cycle_seconds, watched=5)
        self._stale_seconds = options.stale_cycles * options.cycle_seconds
        self._born: dict[PeerId, float] = {}  # by the clock of this process

    def greeting(self, now: float) -> Exchange:
        """Ask for the contact's view."""
        return Exchange(self._items(now), self._estimate.encode(now))

    def tick(self, now: float) -> None:
        """Exchange views with a random peer; one that does not answer grows old."""
        partner = self._table.choose(self._rng)
        if partner is not None:
            self._outlet.send([partner], self.greeting(now))

    def on_message(self, source: Contact, message: Exchange | Answer, now: float) -> None:
        """Answer, and keep the freshest of both views."""
        if any(not 0.0 <= age <= AGE_MAX for _, age in message.items):
            raise MalformedError("a descriptor has an impossible age")
        if isinstance(message, Exchange):
            answer = Answer(self._items(now), self._estimate.encode(now))
            self._outlet.send([source], answer)
        self.learn_size(source, message.sample, now)
        self._merge([*message.items[:VIEW_MAX], (source, 0.0)], now)

    def drop(self, peer: PeerId) -> None:
        """Forget the descriptor with the peer."""
        super().drop(peer)
        self._born.pop(peer, None)

    def _items(self, now: float) -> Items:
        return tuple((c, min(AGE_MAX, now - self._born[c.peer])) for c in self._table)

    def _merge(self, items: Iterable[tuple[Contact, float]], now: float) -> None:
        fresh: dict[PeerId, tuple[float, Contact]] = {}
        for contact, age in (*self._items(now), *items):
            peer, born = contact.peer, now - age
            stale = age > self._stale_seconds or self.is_gone(peer, born)
            if not stale and born > fresh.get(peer, (-inf, contact))[0]:
                fresh[peer] = (born, contact)
        fresh.pop(self._me.peer, None)
        kept = sorted(fresh.values(), key=lambda item: (-item[0], item[1].peer))
        del kept[self._table_max :]
        for contact in [c for c in self._table if fresh.get(c.peer) not in kept]:
            self.drop(contact.peer)
        for born, contact in kept:
            if self.hold(contact, now):
                self._born[contact.peer] = born


BACKEND = Backend(
    name="newscast",
    keeper=Newscast,
    options=NewscastOptions,
    discovery="gateways",
    expected_view=lambda options, size: min(size - 1, options.view),
)
