"""The base of memberships that keep one table of peers and act once a period.

Theory of operation
-------------------
`TableMembership` does what every such membership would do by itself; a subclass decides which
peers are in the table.

*Joining.* The process asks the discovery's contacts one after the other with `greeting`, then the
discovery again (`camcast.doors.first_contacts`). It is a member once it holds a peer or has called
`become_member`, and founds the community if the discovery names nobody.

*Leaving.* It sends `goodbye` to the table, and answers every later message with it. A peer that
says goodbye is asked whether it has left (`Liveness.doubt`), since anybody can send a goodbye in
its name.

*Watching.* Every peer of the table gets heartbeats, or `watched` of them, each for a while: along
with heartbeats processes also compare which events they know. A peer that falls silent goes from
the table to a cold list (`camcast.vocabulary.cold_list`), and is greeted again from time to time.

*Processes that nobody can dial* are held by those alone that can be dialled, which would have no
room for them: they have places of their own in a table (at most 64, `Liveness.can_hold`). A table
has fewer other peers for them, though never less than `DIALLED_SHARE` of its size. With half of the
processes undialable a table is so a tenth larger on average.

*Explicit peers* (`Membership.keep`) are held beside the others if there is no room. A subclass puts
no others in their places.

*Foundings and partitions.* The discovery is asked for members every minute, and those that are not
in the table are met (`meet`): a community that was founded twice becomes one.

*The size.* `size` is the estimate of `camcast.vocabulary.size_estimate`, but at least the table and
this process. A membership whose table does not hold everybody sends `self._estimate.encode(now)` in
a message, and gives what it receives to `learn_size`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from math import ceil, inf
from typing import Any, ClassVar, Final

from typing_extensions import override

from camcast.doors.first_contacts import FirstContacts
from camcast.doors.membership import Membership, MembershipContext
from camcast.vocabulary.cold_list import ColdList
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.peers import DIALLED_SHARE, PeerTable
from camcast.vocabulary.size_estimate import SizeEstimate
from camcast.vocabulary.streams import jittered

PROBE_SECONDS: Final = 5.0  # chosen: as SCAMP; between two tries of the cold list
PROBED: Final = 3  # chosen: most of the cold list is dead; six are tried in ten seconds
WATCHED_PERIODS: Final = 5  # chosen: two that know different events tell each other within two

GONE_MAX: Final = 1000  # chosen: 100 kB; views of a thousand that end together are remembered


class TableMembership(Membership):
    """The base of memberships with one table; see the module's theory of operation.

    A subclass has a `decoder` and a `goodbye`, and overrides `greeting`, `on_message` and `tick`.
    It changes the table by `hold` and `drop` only.
    """

    goodbye: ClassVar[Message]
    """The message that says that its sender has left."""

    def __init__(
        self,
        context: MembershipContext,
        table_max: int,
        period_seconds: float,
        suspect_after: int = 3,
        watched: int | None = None,
    ) -> None:
        """Keep `table_max` peers, more if nobody can dial many of them.

        `tick` is called every `period_seconds`, jittered. Heartbeats have the same period: a peer
        that is silent for `suspect_after` periods is suspect. With `watched`, only so many peers of
        the table get heartbeats at a time.
        """
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._liveness = context.liveness
        self._liveness.report_to(self, period_seconds, suspect_after * period_seconds)
        self._table = PeerTable(context.watch)
        self._table_max, self._period_seconds, self._watched_max = (
            table_max,
            period_seconds,
            watched,
        )
        self._watched: dict[PeerId, int] = {}
        """The watched peers, each since which period; the earliest comes first."""
        self._contacts = FirstContacts(context.outlet, context.topic, self.greeting)
        self._estimate = SizeEstimate(context.me.peer, period_seconds, context.certified)
        self._cold = ColdList()
        self._gone: dict[PeerId, float] = {}
        """When peers fell silent or left, the earliest first; not those that are back."""
        self._period = 0
        """How many periods this process has been a member for."""
        self._next_probe = 0.0
        self._joined = self._leaving = False

    # -- what a subclass decides -------------------------------------------------------------

    @abstractmethod
    def greeting(self, now: float) -> Message:
        """Return the message that asks a contact to take this process in."""

    @abstractmethod
    def on_message(self, source: Contact, message: Any, now: float) -> None:
        """Take a message from another process, as `Membership.receive`; none after leaving."""

    @abstractmethod
    def tick(self, now: float) -> None:
        """Do what is due once a period; the first period begins as the process joins."""

    def meet(self, strangers: list[Contact], now: float) -> None:
        """Contact members that the discovery names and the table does not hold.

        By default each is greeted.
        """
        self._outlet.send(strangers, self.greeting(now))

    def try_again(self, contact: Contact, now: float) -> None:
        """Contact a process of the cold list, known by its address alone; by default greet it."""
        self._outlet.send([contact], self.greeting(now))

    # -- what a subclass calls ---------------------------------------------------------------

    @property
    def _me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self._outlet.me

    @property
    def _has_room(self) -> bool:
        """Whether the table has room for a peer that can be dialled."""
        attached = self._table.attached
        most = max(ceil(DIALLED_SHARE * self._table_max), self._table_max - attached)
        return len(self._table) - attached < most

    def _has_room_for(self, contact: Contact) -> bool:
        """Whether the table has room for this peer."""
        if contact.peer in self._table.kept:
            return True
        return self._has_room if contact.is_dialable else self._liveness.can_hold(contact)

    @property
    def _dialled(self) -> list[Contact]:
        """The peers that can be dialled, which compete for the places of the table."""
        return [contact for contact in self._table if contact.is_dialable]

    def hold(self, contact: Contact, now: float) -> bool:
        """Put a peer into the table if there is room, or renew its address; return if it is there.

        A process that holds a peer has joined, also while it still waits for a dead contact.
        """
        if contact.peer in (self._me.peer, UNKNOWN_PEER):
            return False
        if contact.peer not in self._table and not self._has_room_for(contact):
            return False
        if not self._liveness.can_hold(contact):
            return False
        self.become_member(now)
        self._cold.pop(contact.address)
        self._gone.pop(contact.peer, None)
        self._table.add(contact)
        if self._watched_max is None:
            self._liveness.watch(contact, now)
        return True

    def drop(self, peer: PeerId) -> None:
        """Remove a peer from the table; nothing happens if it is not there."""
        self._table.discard(peer)
        self._watched.pop(peer, None)
        self._liveness.unwatch(peer)

    def let_go(self, contact: Contact, now: float) -> None:
        """Drop a peer that has fallen silent or left, and remember that for `is_gone`.

        Also called for a process outside the table that says goodbye.
        """
        self.drop(contact.peer)
        self._gone.pop(contact.peer, None)
        if len(self._gone) >= GONE_MAX:
            del self._gone[next(iter(self._gone))]
        self._gone[contact.peer] = now

    def is_gone(self, peer: PeerId, since: float) -> bool:
        """Say whether a peer has fallen silent or left later than `since`, and is not back.

        What other processes knew of the peer then is out of date.
        """
        return self._gone.get(peer, -inf) >= since

    def become_member(self, now: float) -> None:
        """Become a member, since a member has answered or there is none to ask.

        Called again it changes nothing.
        """
        self._contacts.stop()
        if not self._joined:
            self._joined = True
            self._wake_next_period()

    def learn_size(self, source: Contact, sample: bytes, now: float) -> None:
        """Take the sample of the size estimate that a peer has sent; it may be anything."""
        self._estimate.note(source.peer, now)
        self._estimate.merge(sample, source, now)

    # -- what others read --------------------------------------------------------------------

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @override
    def peers(self) -> PeerTable:
        return self._table

    @override
    def size(self) -> float:
        """See `Membership`: the estimate, but at least the table and this process.

        An empty table is certain, and the estimate of earlier days is not.
        """
        held = len(self._table)
        return max(self._estimate.size, held + 1.0) if held else 1.0

    # -- inputs ------------------------------------------------------------------------------

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        self._estimate.refresh(now)
        known = list(contacts)
        if known:
            self._contacts.ask(known, now)
        else:
            self.become_member(now)

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: join through the contacts, or meet those that are not in the table."""
        found = [contact for contact in contacts if contact.peer not in self._table]
        if not self._joined:
            if found or not self._contacts.asking:  # an empty answer founds no second community
                self.join(found, now)
        elif found and not len(self._table):
            self._contacts.ask(found, now)
        elif found:
            self.meet(found, now)

    @override
    def keep(self, contact: Contact, now: float) -> None:
        super().keep(contact, now)
        self.hold(contact, now)

    @override
    def leave(self, now: float) -> None:
        """See `Membership`: say goodbye to the table."""
        if not self._leaving:
            self._leaving = True
            self._outlet.send(list(self._table), self.goodbye)

    @override
    def receive(self, source: Contact, message: Any, now: float) -> None:
        if self._leaving:
            if message != self.goodbye:  # or two leavers would say goodbye to each other for ever
                self._outlet.send([source], self.goodbye)
            return
        self._cold.pop(source.address)
        if message != self.goodbye:
            self.on_message(source, message, now)
        elif (known := self._table.get(source.peer)) is not None:
            self._liveness.doubt(known, now)
        else:
            self.let_go(source, now)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Membership`; a subclass with timers of its own gives this all other ones."""
        if name == ("tick",):
            self._begin_period(now)
        else:
            self._contacts.wake(name, now)

    @override
    def peer_silent(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop a peer that seems to be dead, and put it on the cold list."""
        self.let_go(contact, now)
        if not len(self._cold):
            self._next_probe = now + PROBE_SECONDS
        self._cold.put(contact, self._topic, now)

    @override
    def peer_gone(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop a peer that has left, and count it no longer."""
        self._estimate.forget(contact.peer, now)
        self.let_go(contact, now)

    # -- the period --------------------------------------------------------------------------

    def _wake_next_period(self) -> None:
        self._outlet.wake(jittered(self._period_seconds, self._rng), "tick")

    @property
    def _lonely(self) -> bool:
        """Whether this process asks the discovery more often."""
        return not len(self._table)

    @property
    def _lost(self) -> bool:
        """Whether this process knows nobody and joins again through the cold list."""
        return not len(self._table)

    def _begin_period(self, now: float) -> None:
        self._period += 1
        if self._watched_max is None:
            heard = self._liveness.heard
            self._estimate.vouch((contact.peer, heard(contact.peer)) for contact in self._table)
        self._estimate.refresh(now)
        self.tick(now)
        self._probe(now)
        self._contacts.seek_in_time(now, lonely=self._lonely)
        if self._watched_max is not None:
            self._watch_some(self._watched_max, now)
        self._wake_next_period()

    def _probe(self, now: float) -> None:
        """Try some processes of the cold list if it is time; a lost process joins through them."""
        if not len(self._cold) or now < self._next_probe:
            return
        self._next_probe = now + PROBE_SECONDS
        probed = [cold.contact for cold in self._cold.sample(PROBED, self._rng, now)]
        if self._lost:
            self._contacts.ask(probed, now)
        else:
            for contact in probed:
                self.try_again(contact, now)

    def _watch_some(self, most: int, now: float) -> None:
        """Watch some peers of the table, each for a while: a small table may never change."""
        others = [contact for contact in self._table if contact.peer not in self._watched]
        longest = next(iter(self._watched), None)
        if others and longest and self._period - self._watched[longest] >= WATCHED_PERIODS:
            del self._watched[longest]
            self._liveness.unwatch(longest)
        missing = max(0, most - len(self._watched))
        for contact in self._rng.sample(others, min(missing, len(others))):
            self._watched[contact.peer] = self._period
            self._liveness.watch(contact, now)
