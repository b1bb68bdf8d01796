"""Tables straight from the overlay: the structured membership, V3 of the paper (000, 5.2.3).

"The structured overlay gives us directly both the topic and super-topic tables [...] dynamic and
uniform random membership tables [...] those have all the same size of ln N_t + c_t. We update
the membership tables at a time interval that is correlated to the subscription change
frequency."

Theory of operation
-------------------
The discovery answers a `seek` with members drawn (nearly) uniformly, and with an estimate of
N_t. The topic table holds ceil(ln N_t + c) of them.

*Joining.* A newcomer fills its table and greets each process in it; who is greeted puts it into
its own table, in place of a random entry if that is full. So a newcomer is reachable at once,
by as many as it reaches itself, and need not wait for the others to look it up. A random
entry makes room, so tables stay uniform among those who are there.

*Refreshing.* From time to time the whole table is drawn anew: when as many changes were seen
since the last time as make a share 2 · `stale_share` of the table (entries that fell silent or
said goodbye, and greetings), so that it is out of date by half of that on average. So the
interval follows the rate of change by itself, within [refresh_seconds_min, refresh_seconds_max].

*Checking.* The process's liveness service (`camcast.doors.liveness`) sends every process of the
table a heartbeat each `check_seconds`. One that does not answer is suspect, and dropped and
replaced by a look-up if other processes do not reach it either. Along with a heartbeat goes
`Holding`, and a process that makes room for another is told so (`Release`). So each process knows
who holds it, and can say goodbye when it leaves.

*A place for everybody.* In-degrees are binomial, so that with a small c some process is in no table
(measured: 2.6 % of the members with c = 0) and receives nothing until somebody draws it. So a
process that fewer than `HELD_MIN` hold asks random members of its table for a place (`Place`),
until that many hold it.

*Healing.* A table that is empty asks the discovery as often as it checks. Every `probe_seconds` the
process seeks one random member. A *stranger*, which it has not met as a holder or in its table,
gets a place, and is asked for one. So islands, which were founded apart or lost each other in a
partition, hold each other after a probe or two; whoever falls silent is a stranger again. In a
community without islands everybody has met soon, up to `MET_MAX` members, and probes change
nothing; in a larger one they draw a table anew as slowly as refreshes do. When the discovery names
strangers unasked, since it has just learned of them, the table is refreshed at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import ceil, log
from typing import ClassVar, Final

from attrs import field, frozen, validators

from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable

PATIENCE: Final = 1.5  # chosen: periods until a process is suspect; the answer has come by then
HOLDING: Final = 30  # chosen: periods that a holder's word lasts; it comes in one of ten
TABLE_MAX: Final = 256  # chosen: bounds the table whatever the discovery estimates (G5)
HOLDERS_MAX: Final = 256  # chosen: likewise, of those to say goodbye to
HELD_MIN: Final = 2
# chosen: while a process that a holder has released asks for another, it still has one.
MET_MAX: Final = 256  # chosen: 25 kB; larger communities have tables of 11 and more


class Greeting(Message, tag=1, frozen=True):
    """I am new here, and you are in my table: put me into yours."""


class Holding(Message, tag=2, frozen=True):
    """You are in my table; goes along with the heartbeats to the table."""


class Goodbye(Message, tag=3, frozen=True):
    """I leave the community."""


class Release(Message, tag=4, frozen=True):
    """You are not in my table any more."""


class Place(Message, tag=5, frozen=True):
    """Put me into your table: too few hold me, or you and I have never met."""


DECODER: Final[Decoder[Message]] = Decoder(Greeting | Holding | Goodbye | Release | Place)


@frozen(kw_only=True)
class DhtOptions:
    """The parameters of the tables. Raises `ValueError` for a value outside its range."""

    c: float = field(default=5.0, validator=[validators.ge(-10), validators.le(100)])
    """Tables hold ceil(ln N_t + c) processes. [CAMCAST 6.1.1], like the fan-out's"""

    check_seconds: float = field(default=2.0, validator=validators.gt(0))
    """Period of the checks. chosen: a crash is noticed within ten seconds, as in SCAMP."""

    refresh_seconds_min: float = field(default=5.0, validator=validators.gt(0))
    """Shortest time between two refreshes. chosen: a look-up takes up to two seconds."""

    refresh_seconds_max: float = field(default=120.0, validator=validators.gt(0))
    """Longest time. chosen: as many entries change in it as by probes in a large community."""

    probe_seconds: float = field(default=10.0, validator=validators.gt(0))
    """How often one random member is sought. chosen: islands are one within two such periods."""

    stale_share: float = field(default=0.05, validator=[validators.gt(0), validators.le(1)])
    """Share of a table that may be out of date. chosen: half an entry of ten."""

    def __attrs_post_init__(self) -> None:
        if self.refresh_seconds_max < self.refresh_seconds_min:
            raise ValueError(
                f"refresh_seconds_max={self.refresh_seconds_max} is below"
                f" refresh_seconds_min={self.refresh_seconds_min}"
            )


def expected_view(options: DhtOptions, size: float) -> float:
    """Return ceil(ln N + c), at most N-1 (5.2.3)."""
    return min(size - 1, float(max(1, ceil(log(max(size, 1.0)) + options.c))))


class DhtTable(Membership):
    """The topic table of one community of one process; see the module's theory of operation."""

    decoder: ClassVar[Decoder[Message]] = DECODER

    def __init__(self, context: MembershipContext, options: DhtOptions) -> None:
        self._me = context.me
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._options = options
        self._table = PeerTable(context.watch)
        self._liveness = context.liveness
        period = options.check_seconds
        self._liveness.report_to(self, period, PATIENCE * period)
        self._holders: dict[PeerId, tuple[Contact, float]] = {}  # and when each last said so
        self._met: dict[PeerId, None] = {}
        """Who has been in the table or a holder, and did not fall silent; the oldest first."""
        self._probed = False  # whether the answer to a probe is to come
        self._next_probe = 0.0
        self._size = 1.0
        self._joined = False
        self._leaving = False
        self._changes = 0  # seen since the last refresh
        self._refreshed = 0.0
        self._patience = 0.0  # until a refresh without any change
        self._refreshing = False

    # -- what others read ------------------------------------------------------------------

    @property
    def joined(self) -> bool:
        """See `Membership`."""
        return self._joined

    def peers(self) -> PeerTable:
        """Return the topic table; see `Membership`."""
        return self._table

    def neighbours(self) -> list[Contact]:
        """See `Membership`: the table, and who said of late that it holds this process."""
        known = {contact.peer: contact for contact in self._table}
        for peer, (contact, _) in self._holders.items():
            known.setdefault(peer, contact)
        return list(known.values())

    def size(self) -> float:
        """See `Membership`: the discovery's estimate, but never less than is known here."""
        return max(self._size, len(self._table) + 1.0)

    # -- inputs: joining and leaving -------------------------------------------------------

    def join(self, contacts: Iterable[Contact], now: float) -> None:
        """See `Membership`."""
        self._joined = True
        self._refreshed = now
        self._patience = self._options.refresh_seconds_min * self._jitter()
        self._next_probe = now + self._options.probe_seconds * self._jitter()
        for contact in contacts:
            self._enter(contact, now)
        self._outlet.send(list(self._table), Greeting())
        self._seek()  # contacts are few, and say nothing of the size
        self._outlet.wake(self._options.check_seconds * self._jitter(), "check")

    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: refresh the table, or fill it up."""
        found = [contact for contact in contacts if contact.peer != self._me.peer]
        if size is not None:
            before, self._size = self._wanted, max(1.0, size)
            if self._joined and not found and self._wanted > before and self._missing:
                self._seek()  # the size came after the first contacts
        if not self._joined:
            self.join(found, now)
            return
        probed, self._probed = self._probed, False
        # One contact without a size is the answer to a probe, whatever else was asked.
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
            self._admit(strangers[0], now)
            self._outlet.send(strangers[:1], Place())
            if not probed:
                self._changes += len(strangers)

    def leave(self, now: float) -> None:
        """Say goodbye to the table, and to every process that holds this one."""
        self._leaving = True
        self._forget_former_holders(now)
        self._outlet.send(self.neighbours(), Goodbye())

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """See `Membership`."""
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
                self._changes += 1
                self._size += 1.0  # until the next look-up says better
                self._take_in(source, now)
            case Place():
                self._take_in(source, now)
            case Release():
                self._forget_holder(source.peer)
                self._ask_for_a_place()
            case Goodbye():
                for known in self.neighbours():
                    if known.peer == source.peer:
                        self._liveness.doubt(known, now)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Membership`."""
        if name == ("check",) and not self._leaving:
            self._check(now)
            self._outlet.wake(self._options.check_seconds * self._jitter(), "check")

    def peer_silent(self, contact: Contact, now: float) -> None:
        """See `Watcher`: drop a process that is gone; the next check looks for others."""
        self._lose(contact.peer)

    def all_silent(self, now: float) -> None:
        """See `Watcher`: look for others in place of a table that may be dead."""
        self._refreshing = True
        self._seek()

    def heartbeat(self, contact: Contact, now: float) -> Holding | None:
        """See `Watcher`."""
        return Holding() if contact.peer in self._table else None

    # -- the table -------------------------------------------------------------------------

    @property
    def _wanted(self) -> int:
        """The size the table should have: ceil(ln N_t + c), of those there are."""
        return max(1, min(TABLE_MAX, round(expected_view(self._options, self.size()))))

    @property
    def _missing(self) -> int:
        return max(0, self._wanted - len(self._table))

    def _enter(self, contact: Contact, now: float) -> None:
        if contact.peer != self._me.peer and len(self._table) < TABLE_MAX:
            self._table.add(contact)
            self._meet(contact.peer)
            self._liveness.watch(contact, now)

    def _admit(self, newcomer: Contact, now: float) -> None:
        """Put a newcomer in, in place of a random entry if the table is full."""
        others = [one for one in self.neighbours() if one.peer != newcomer.peer]
        self._size = max(self._size, len(others) + 2.0)  # with the newcomer and this process
        if newcomer.peer not in self._table and not self._missing:
            evicted = self._table.choose(self._rng)
            if evicted is not None:
                self._release(evicted, now)
        self._enter(newcomer, now)

    def _take_in(self, source: Contact, now: float) -> None:
        """Put in who asks for it, and say so; who asks holds this process."""
        self._held_by(source, now)
        self._admit(source, now)
        self._outlet.send([source], Holding())

    def _release(self, contact: Contact, now: float) -> None:
        """Hold a process that is there no more, and say so."""
        self._table.discard(contact.peer)
        if contact.peer in self._holders:
            self._liveness.listen(contact, now)
        else:
            self._liveness.unwatch(contact.peer)
        self._outlet.send([contact], Release())

    def _lose(self, peer: PeerId) -> None:
        """Forget a process that is gone: it may be met again."""
        if peer in self._table:
            self._changes += 1
            self._size = max(1.0, self._size - 1.0)
        self._table.discard(peer)
        self._holders.pop(peer, None)
        self._met.pop(peer, None)
        self._liveness.unwatch(peer)

    def _meet(self, peer: PeerId) -> None:
        self._met.pop(peer, None)
        if len(self._met) >= MET_MAX:
            del self._met[next(iter(self._met))]
        self._met[peer] = None

    def _replace(self, found: list[Contact], now: float) -> None:
        """Draw the table anew; what a look-up did not bring is filled from the old entries."""
        self._changes, self._refreshed = 0, now
        self._patience = self._options.refresh_seconds_max * self._jitter()
        if not found:
            return
        kept = {contact.peer: contact for contact in found[: self._wanted]}
        old = self._table.sample(len(self._table), self._rng)
        self._rng.shuffle(old)
        for contact in old:
            if len(kept) < self._wanted:
                kept.setdefault(contact.peer, contact)
        for contact in old:
            if contact.peer not in kept:
                self._release(contact, now)
        for contact in kept.values():
            self._enter(contact, now)

    def _refresh_is_due(self, now: float) -> bool:
        """Say whether enough has changed, or enough time passed, since the last refresh."""
        elapsed, options = now - self._refreshed, self._options
        changed = self._changes >= max(1.0, 2 * options.stale_share * len(self._table))
        return elapsed >= self._patience or (changed and elapsed >= options.refresh_seconds_min)

    # -- the period ------------------------------------------------------------------------

    def _jitter(self) -> float:
        # A tenth up or down, so that processes that started together drift apart.
        return 0.9 + 0.2 * self._rng.random()

    def _seek(self) -> None:
        # A seek of one is a probe, and says nothing of the size.
        self._outlet.seek(self._topic, max(2, self._wanted))

    def _check(self, now: float) -> None:
        self._forget_former_holders(now)
        self._ask_for_a_place()
        if self._refresh_is_due(now):
            self._refreshing = True
            self._seek()
        elif self._missing:
            self._seek()
        elif now >= self._next_probe:
            self._next_probe = now + self._options.probe_seconds * self._jitter()
            self._probed = True
            self._outlet.seek(self._topic, 1)

    # -- who holds this process --------------------------------------------------------------

    def _held_by(self, contact: Contact, now: float) -> None:
        peer = contact.peer
        if peer not in self._holders and len(self._holders) >= HOLDERS_MAX:
            return
        self._holders[peer] = (contact, now)
        self._meet(peer)
        if peer not in self._table:
            self._liveness.listen(contact, now)

    def _forget_holder(self, peer: PeerId) -> None:
        if self._holders.pop(peer, None) is not None and peer not in self._table:
            self._liveness.unwatch(peer)

    def _forget_former_holders(self, now: float) -> None:
        lately = now - HOLDING * self._options.check_seconds
        for peer, (_, when) in list(self._holders.items()):
            if when < lately:
                self._forget_holder(peer)

    def _ask_for_a_place(self) -> None:
        """Ask one more member to hold this process if too few do.

        Tables of two and three give everybody one place; two may be more than there are.
        """
        if len(self._holders) < min(HELD_MIN, max(1, self._wanted // 2)):
            others = [contact for contact in self._table if contact.peer not in self._holders]
            if others:
                self._outlet.send([self._rng.choice(others)], Place())


BACKEND = Backend(
    name="dht",
    keeper=DhtTable,
    options=DhtOptions,
    discovery="kademlia",
    expected_view=expected_view,
)
