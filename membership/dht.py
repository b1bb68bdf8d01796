"""Tables straight from the overlay: the structured membership, V3 of the paper (000, 5.2.3).

"The structured overlay gives us directly both the topic and super-topic tables [...] dynamic and
uniform random membership tables [...] those have all the same size of ln N_t + c_t. We update
the membership tables at a time interval that is correlated to the subscription change
frequency."

Theory of operation
-------------------
The discovery answers a `seek` with members drawn (nearly) uniformly, and with an estimate of
N_t. The topic table holds ceil(ln N_t + c) of them.

*Joining.* A newcomer fills its table and greets each process in it. A greeted process puts the
newcomer into its own table, so that a newcomer is held at once, and need not wait until others look
it up.

*Places on request.* Who asks for a place, a newcomer or another, fills up a table that lacks
entries. Of a full one an eighth of the places is for who asks (`ASKED_SHARE`): a stranger takes
that of another that has asked, and whoever is none takes it `ASKED_SECONDS` after that has; a
look-up decides all others. Or a few processes that ask without end would own the tables: with a
random entry that made room for each, 8 of 40 members under one attacker had 47 % of the entries of
others' tables, for a message a second each. An entry that has asked is an asked one until a refresh
names it.

*Refreshing.* From time to time the whole table is drawn again: when the number of changes since the
last time (entries that fell silent or said goodbye, and greetings) is 2 · `STALE_SHARE` of the
table, so that half of that share is out of date on average. The interval follows the rate of
change, within [`REFRESH_SECONDS_MIN`, `REFRESH_SECONDS_MAX`].

*Checking.* The process's liveness service (`camcast.doors.liveness`) sends every process of the
table a heartbeat each `check_seconds`. A process that does not answer is suspect; if other
processes do not reach it either, it is dropped, and a look-up replaces it. Along with heartbeats
goes `Holding`, and a process that is removed to make room is told so (`Release`). Each process
knows which processes hold it, and can say goodbye to them when it leaves.

*A place for every process.* In-degrees are binomial, so that with a small c some process is in no
table (measured: 2.6 % of the members with c = 0) and receives nothing until another process draws
it. A process that fewer than `HELD_MIN` hold asks random members of its table for a place
(`Place`), until that many hold it; whoever nobody holds asks all of them, and at once.

*Processes that nobody can dial* are drawn by nobody, since the discovery cannot find them. Such a
process is held by those that it holds: it asks each process of its table for a place, and again
after each refresh. Whoever can be dialled holds these beside the entries that it draws, and draws
fewer of those, though never less than `DIALLED_SHARE` of a table; as no others send to them, they
come first in a fan-out, which has the same share of others beside them. It lets them go when they
release it, or no longer say that they hold it.

*Healing.* A process whose table is empty asks the discovery each `check_seconds`. Every
`probe_seconds` a process seeks one random member. A *stranger*, which the process has not met as a
holder or in its table, gets a place in the table, and is asked for one. Islands, which were
founded apart or were separated by a partition, hold each other after a probe or two; a process that
falls silent becomes a stranger again. In a community of up to `MET_MAX` members without islands all
have soon met, and probes change nothing; in a larger one probes replace entries as slowly as
refreshes do. When the discovery names strangers unasked, the table is refreshed at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import ceil, log
from typing import ClassVar, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import DIALLED_SHARE, PeerTable
from camcast.vocabulary.streams import jittered

PATIENCE: Final = 1.5  # chosen: periods until a process is suspect; the answer has come by then
HOLDING: Final = 30  # chosen: periods until a holder is forgotten; `Holding` comes in one of ten
TABLE_MAX: Final = 256  # chosen: bounds the table whatever the discovery estimates
IN_VIEW_MAX: Final = 256  # chosen: likewise for the known holders
# chosen: a process that one holder has released still has another while it asks for a place.
HELD_MIN: Final = 2
MET_MAX: Final = 256  # chosen: 25 kB; larger communities have tables of 11 and more


class Greeting(Message, tag=1, frozen=True):
    """A newcomer, whose table holds the receiver, asks for a place in the receiver's table."""


class Holding(Message, tag=2, frozen=True):
    """The receiver is in the sender's table; goes along with heartbeats."""


class Goodbye(Message, tag=3, frozen=True):
    """The sender leaves the community."""


class Release(Message, tag=4, frozen=True):
    """The receiver is not in the sender's table any more."""


class Place(Message, tag=5, frozen=True):
    """The sender asks the receiver for a place: too few hold it, or the two are strangers."""


DECODER: Final[Decoder[Message]] = Decoder(Greeting | Holding | Goodbye | Release | Place)


REFRESH_SECONDS_MIN: Final = 5.0  # chosen: a look-up mostly takes less than two
REFRESH_SECONDS_MAX: Final = 120.0  # chosen: probes replace as many entries in that time
STALE_SHARE: Final = 0.05  # chosen: of a table, out of date on average; half an entry of ten
# chosen: as often as a process asks that too few hold: places come free while it does
ASKED_SECONDS: Final = 2.0
ASKED_SHARE: Final = 1 / 8  # chosen: one of ten entries; f + 1/8 < 2 f where f = 1/7 are liars


@frozen(kw_only=True)
class DhtOptions:
    """The parameters of the tables. Raises `ValueError` for a value outside its range."""

    c: float = field(default=5.0, validator=[validators.ge(-10), validators.le(100)])
    """Tables hold ceil(ln N_t + c) processes. [CAMCAST 6.1.1] as for the fan-out"""

    check_seconds: float = field(default=2.0, validator=validators.gt(0))
    """Period of the checks. chosen: a crash is noticed within ten seconds, as in SCAMP."""

    probe_seconds: float = field(default=10.0, validator=validators.gt(0))
    """How often one random member is sought. chosen: islands merge within two such periods."""


def expected_view(options: DhtOptions, size: float) -> float:
    """Return ceil(ln N + c), at most N-1 (5.2.3)."""
    return min(size - 1, float(max(1, ceil(log(max(size, 1.0)) + options.c))))


class DhtTable(Membership):
    """The topic table of one community of one process; see the module's theory of operation."""

    decoder: ClassVar[Decoder[Message]] = DECODER

    def __init__(self, context: MembershipContext, options: DhtOptions) -> None:
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._options = options
        self._table = PeerTable(context.watch)
        self._liveness = context.liveness
        period = options.check_seconds
        self._liveness.report_to(self, period, PATIENCE * period)
        self._in_view: dict[PeerId, tuple[Contact, float]] = {}  # and when each last said so
        self._asked: dict[PeerId, float] = {}
        """The entries that have asked for their places, and that no refresh has named since, and
        when each did."""
        self._met: dict[PeerId, None] = {}
        """The processes that have been in the table or holders, and are not known to be gone; the
        one met longest ago comes first."""
        self._asked_for_a_place = False
        """Whether a place was asked for since the last check: that may cost another process its
        own, which then asks in turn."""
        self._probed = False  # whether a probe is not answered yet
        self._next_probe = 0.0
        self._size = 1.0
        self._joined = False
        self._leaving = False
        self._changes = 0  # since the last refresh
        self._refreshed = 0.0
        self._patience = 0.0  # seconds from one refresh to the next if nothing changes
        self._refreshing = False

    # -- what others read ------------------------------------------------------------------

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @override
    def peers(self) -> PeerTable:
        """Return the topic table; see `Membership`."""
        return self._table

    @override
    def neighbours(self) -> list[Contact]:
        """See `Membership`: the table, and the processes that lately said they hold this one."""
        known = {contact.peer: contact for contact in self._table}
        for peer, (contact, _) in self._in_view.items():
            known.setdefault(peer, contact)
        return list(known.values())

    @override
    def size(self) -> float:
        """See `Membership`: the discovery's estimate, but at least the table and this process.

        An empty table is certain, and the estimate of earlier days is not.
        """
        return self._estimated if len(self._table) else 1.0

    @property
    def _estimated(self) -> float:
        return max(self._size, len(self._table) + 1.0)

    # -- inputs: joining and leaving -------------------------------------------------------

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """See `Membership`; also called when a member writes to this process before that."""
        first, self._joined = not self._joined, True
        self._refreshed = now
        self._patience = jittered(REFRESH_SECONDS_MIN, self._rng)
        self._next_probe = now + jittered(self._options.probe_seconds, self._rng)
        for contact in contacts:
            self._enter(contact, now)
        self._outlet.send(list(self._table), Greeting())
        self._seek()  # contacts are few, and come without a size
        if first:
            self._wake_next_check()

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: refresh the table, or fill it up."""
        found = list(contacts)
        if size is not None:
            before, self._size = self._wanted, max(1.0, size)
            if not found and self._wanted > before and self._missing:
                self._seek()  # the size came after the first contacts
        probed, self._probed = self._probed, False
        # A single contact without a size answers a probe, whatever other seeks are under way.
        if self._refreshing and (size is not None or len(found) != 1):
            self._refreshing = False
            self._replace(found, now)
            return
        fresh = [contact for contact in found if contact.peer not in self._table]
        missing = self._missing
        for contact in fresh[:missing]:
            self._enter(contact, now)
        self._outlet.send(fresh[:missing], Greeting())
        strangers = [c for c in fresh[missing:] if c.peer not in self._met]
        if strangers:
            self._admit(strangers[0], self._drawn, now)
            self._outlet.send(strangers[:1], Place())
            if not probed:
                self._changes += len(strangers)

    @override
    def keep(self, contact: Contact, now: float) -> None:
        super().keep(contact, now)
        if contact.peer not in self._table:
            self._enter(contact, now)
            self._outlet.send([contact], Place())

    @override
    def leave(self, now: float) -> None:
        """Say goodbye to the table and to every process that holds this one."""
        if self._leaving:
            return
        self._leaving = True
        self._forget_former_holders(now)
        self._outlet.send(self.neighbours(), Goodbye())

    @override
    def receive(self, source: Contact, message: Message, now: float) -> None:
        if self._leaving:
            if not isinstance(message, Goodbye):
                self._outlet.send([source], Goodbye())
            return
        if not self._joined and not isinstance(message, Goodbye | Release):
            self.join((), now)  # it is in the table of a member, though its search found nobody
        match message:
            case Holding():
                self._held_by(source, now)
            case Greeting():
                if source.peer not in self._met:
                    self._changes += 1
                    self._size += 1.0  # until the next look-up brings an estimate
                self._take_in(source, now)
            case Place():
                self._take_in(source, now)
            case Release():
                self._forget_holder(source.peer)
                if not (self._asked_for_a_place and self._in_view):
                    self._ask_for_a_place()
            case Goodbye():
                for known in self.neighbours():
                    if known.peer == source.peer:
                        self._liveness.doubt(known, now)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        if name == ("check",) and not self._leaving:
            self._check(now)
            self._wake_next_check()

    @override
    def peer_silent(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop a dead process; the next check looks for another one."""
        self._lose(contact.peer)

    @override
    def all_silent(self, now: float) -> None:
        """See `Watcher`: draw the table again, since all its processes may be dead."""
        self._refreshing = True
        self._seek()

    @override
    def heartbeat(self, contact: Contact, now: float) -> Holding | None:
        return Holding() if contact.peer in self._table else None

    # -- the table -------------------------------------------------------------------------

    @property
    def _wanted(self) -> int:
        """The size that the table should have: ceil(ln N_t + c), at most N_t - 1."""
        return max(1, min(TABLE_MAX, round(expected_view(self._options, self._estimated))))

    @property
    def _drawn(self) -> list[Contact]:
        """The entries that the discovery may find, too, explicit peers left out."""
        kept = self._table.kept
        return [one for one in self._table if one.is_dialable and one.peer not in kept]

    @property
    def _drawn_wanted(self) -> int:
        """How many entries are to be drawn, beside the processes that nobody can dial."""
        attached = self._table.attached
        return max(ceil(DIALLED_SHARE * self._wanted), self._wanted - attached)

    @property
    def _missing(self) -> int:
        return max(0, self._drawn_wanted - len(self._drawn))

    def _enter(self, contact: Contact, now: float) -> None:
        if not self._liveness.can_hold(contact):
            return
        if contact.peer != self._outlet.me.peer and len(self._table) < TABLE_MAX:
            self._table.add(contact)
            self._table.pin(contact.peer, pinned=not contact.is_dialable)
            self._meet(contact.peer)
            self._liveness.watch(contact, now)

    def _admit(self, newcomer: Contact, places: list[Contact], now: float) -> None:
        """Put a newcomer in, in place of a random one of these entries if the table is full."""
        others = [one for one in self.neighbours() if one.peer != newcomer.peer]
        self._size = max(self._size, len(others) + 2.0)  # with the newcomer and this process
        makes_room = newcomer.is_dialable and newcomer.peer not in self._table
        if makes_room and not self._missing:
            if not places:
                return
            self._release(places[int(self._rng.random() * len(places))], now)
        self._enter(newcomer, now)

    def _take_in(self, source: Contact, now: float) -> None:
        """Put a process that asks for a place into the table, and say so; it holds this one."""
        is_stranger, is_new = source.peer not in self._met, source.peer not in self._table
        self._held_by(source, now)
        asked = [one for one in self._drawn if one.peer in self._asked]
        if len(asked) < max(1, int(ASKED_SHARE * self._drawn_wanted)):
            places = [one for one in self._drawn if one.peer not in self._asked]
        else:
            before = now if is_stranger else now - ASKED_SECONDS
            places = [one for one in asked if self._asked[one.peer] <= before]
        self._admit(source, places, now)
        if source.peer in self._table:
            if is_new and source.is_dialable:
                self._asked[source.peer] = now
            self._outlet.send([source], Holding())

    def _release(self, contact: Contact, now: float) -> None:
        """Remove a process from the table, and tell it."""
        self._asked.pop(contact.peer, None)
        self._table.discard(contact.peer)
        if contact.peer in self._in_view:
            self._liveness.listen(contact, now)
        else:
            self._liveness.unwatch(contact.peer)
        self._outlet.send([contact], Release())

    def _lose(self, peer: PeerId) -> None:
        """Forget a process that is gone; if it comes back it is a stranger."""
        self._changes += peer in self._table
        if peer in self._table or peer in self._in_view:
            self._size = max(1.0, self._size - 1.0)
        self._asked.pop(peer, None)
        self._table.discard(peer)
        self._in_view.pop(peer, None)
        self._met.pop(peer, None)
        self._liveness.unwatch(peer)

    def _meet(self, peer: PeerId) -> None:
        self._met.pop(peer, None)
        if len(self._met) >= MET_MAX:
            del self._met[next(iter(self._met))]
        self._met[peer] = None

    def _replace(self, found: list[Contact], now: float) -> None:
        """Replace the table by members that a look-up found, and fill it up with old entries."""
        self._changes, self._refreshed = 0, now
        self._patience = jittered(REFRESH_SECONDS_MAX, self._rng)
        if not found:
            return
        kept = {contact.peer: contact for contact in found[: self._drawn_wanted]}
        for peer in kept:
            self._asked.pop(peer, None)
        sampled = self._table.sample(len(self._table), self._rng)
        drawn = {contact.peer: contact for contact in self._drawn}
        old = [contact for contact in sampled if contact.peer in drawn]
        self._rng.shuffle(old)
        old.sort(key=lambda one: one.peer in self._asked)  # what was drawn comes first
        for contact in old:
            if len(kept) < self._drawn_wanted:
                kept.setdefault(contact.peer, contact)
        if not self._outlet.me.is_dialable:
            new = [contact for contact in kept.values() if contact.peer not in self._in_view]
            self._outlet.send(new, Place())
        for contact in old:
            if contact.peer not in kept:
                self._release(contact, now)
        for contact in kept.values():
            self._enter(contact, now)

    def _refresh_is_due(self, now: float) -> bool:
        """Say whether enough has changed, or enough time passed, since the last refresh."""
        elapsed = now - self._refreshed
        changed = self._changes >= max(1.0, 2 * STALE_SHARE * len(self._table))
        return elapsed >= self._patience or (changed and elapsed >= REFRESH_SECONDS_MIN)

    # -- the period ------------------------------------------------------------------------

    def _wake_next_check(self) -> None:
        self._outlet.wake(jittered(self._options.check_seconds, self._rng), "check")

    def _seek(self) -> None:
        # A seek of one is a probe, and says nothing of the size.
        self._outlet.seek(self._topic, max(2, self._wanted))

    def _check(self, now: float) -> None:
        self._forget_former_holders(now)
        self._asked_for_a_place = False
        self._ask_for_a_place()
        if self._refresh_is_due(now):
            self._refreshing = True
            self._seek()
        elif self._missing:
            self._seek()
        elif now >= self._next_probe:
            self._next_probe = now + jittered(self._options.probe_seconds, self._rng)
            self._probed = True
            self._outlet.seek(self._topic, 1)

    # -- who holds this process --------------------------------------------------------------

    def _held_by(self, contact: Contact, now: float) -> None:
        peer = contact.peer
        if peer not in self._in_view and len(self._in_view) >= IN_VIEW_MAX:
            return
        if not self._liveness.can_hold(contact):
            return
        self._in_view[peer] = (contact, now)
        self._meet(peer)
        if peer not in self._table:
            self._liveness.listen(contact, now)

    def _forget_holder(self, peer: PeerId) -> None:
        holder, _ = self._in_view.pop(peer, (None, 0.0))
        if holder is None:
            return
        if not holder.is_dialable:
            self._table.discard(peer)
        if peer not in self._table:
            self._liveness.unwatch(peer)

    def _forget_former_holders(self, now: float) -> None:
        lately = now - HOLDING * self._options.check_seconds
        for peer, (_, when) in list(self._in_view.items()):
            if when < lately:
                self._forget_holder(peer)

    def _ask_for_a_place(self) -> None:
        """Ask one more member to hold this process if too few do, all of the table if nobody does.

        One holder is enough where tables have two or three entries: all members together may not
        have places for two. A process that nobody can dial wants as many as it holds.
        """
        enough = min(HELD_MIN, max(1, self._wanted // 2))
        if len(self._in_view) < (enough if self._outlet.me.is_dialable else len(self._table)):
            others = [contact for contact in self._table if contact.peer not in self._in_view]
            if others:
                self._asked_for_a_place = True
                asked = [self._rng.choice(others)] if self._in_view else others
                self._outlet.send(asked, Place())


BACKEND = Backend(
    name="dht",
    keeper=DhtTable,
    options=DhtOptions,
    discovery="kademlia",
    expected_view=expected_view,
)
