"""hpmcast's membership: everybody knows a few of everybody else, level by level (002, section 4).

Theory of operation
-------------------
A process has a table for every level (Figure 5). In that of level 1 a line is a neighbour, in
those above it is a subsystem with its R delegates, how many processes it has and what interests
them, by topic and attributes. All but the own lines come from others; one that cannot be, such as
of an interest that does not parse, is refused and counted.

*Stamps.* Every line has a time stamp. A process raises that of its own line in level 1 once a
period, "I am here". The process with the smallest address of a subsystem condenses the
subsystem's table and raises the stamp of the line that stands for it. A stamp that no longer
rises tells that nobody is there, on every level.

*Gossip-pull.* Once a period a process chooses a level at random and sends some processes of it
the stamps of all lines that they share; they answer with the lines of which they have newer ones
(4.2.1). Who hears of a line that it has not asks back. Events that are gossiped carry stamps,
too; with them there are fewer dedicated gossips.

*Joining.* A newcomer asks any process, and each that is asked passes it on to a delegate of the
lowest subsystem that it knows of the newcomer's, until one is a neighbour, or nobody is nearer.
That one answers with its view, in as many messages as it takes. The newcomer then greets all its
neighbours.

*Leaving.* A leaver tells some neighbours, who remove its line. *Failures.* A neighbour whose stamp
no longer rises is asked, and then removed (`camcast.research.systems.hpmcast.failure_detector`).

*Healing.* Two newcomers may found the same subsystem apart. The first of every group of level 1
visits it like a newcomer, once a period: its visit is passed on as a `Join` is, until it comes
back to its own group, or to neighbours that do not know it, who ask for what it knows. Now and
then every process asks the discovery for members and gossips to one that is not in its tables,
so that systems that were founded twice meet.

*Hostile peers.* A gossip of a few bytes asks for all lines that this process knows, and a join for
its whole view. It answers with `ANSWERS_A_PERIOD` messages of lines or stamps in a period, and
takes no notice of what asks for more: the next round of gossip, or of asking, makes up for it.

Readings: "timestamp [...] the last time the corresponding line of the table was updated" is a
number that its owner counts up, as clocks differ. Who condenses a table is not said: the first of
the delegates, here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from math import inf
from typing import ClassVar, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.first_contacts import CONTACTS_WANTED
from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.failure_detector import Silence
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.known_law import known_on_average
from camcast.research.systems.hpmcast.view import Line
from camcast.research.systems.hpmcast.view_messages import (
    DECODER,
    Ask,
    Gossip,
    Join,
    LineNews,
    Update,
    View,
    Visit,
    parts,
)
from camcast.research.systems.hpmcast.view_tables import AHEAD_MAX, Tables, write
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.streams import jittered

TARGETS: Final = 3  # chosen: gossips a period; with three levels one for each, on average
LEAVE_TELLS: Final = 5  # [hpmcast 4.2.1] "a subset of its lowest-level neighbors"; chosen: five
# chosen: a delegate of 1,000 processes gets some 20 gossips a period; 64 answers are at most 2 MiB.
ANSWERS_A_PERIOD: Final = 64
# chosen: by so much a process raises the stamp of its own line in a period over those that others
# tell of, so that it is believed as long as others hear of it once in 64 periods.
RISE_A_PERIOD: Final = AHEAD_MAX // 64
SEEK_SECONDS_MAX: Final = 15.0  # chosen: a lonely founder asks that often for others
SEEK_SECONDS: Final = 60.0  # chosen: bounds how long two foundings stay apart


@frozen(kw_only=True)
class HpmcastOptions(Hierarchy):
    """The hierarchy, and the parameters of its upkeep.

    Raises `ValueError` for a value outside its range. The protocols hpmcast and pmcast set the
    hierarchy (`Protocol.membership_options`).
    """

    gossip_seconds: float = field(default=1.0, validator=validators.gt(0))
    """Period of gossip and stamps. chosen: as the heartbeats of SCAMP"""

    suspect_after: int = field(default=5, validator=validators.ge(1))
    """Periods without a newer stamp until a neighbour is asked. chosen: as SCAMP's; a stamp takes
    three on average to spread among 100"""

    join_seconds: float = field(default=1.0, validator=validators.gt(0))
    """How long to wait for the answer to a join before asking another. chosen: three messages at
    the 95 % quantile of the PlanetLab delays"""


class HpmcastMembership(Membership):
    """The views of one process; see the module's theory of operation."""

    decoder: ClassVar[Decoder[Message]] = DECODER

    def __init__(self, context: MembershipContext, options: HpmcastOptions) -> None:
        self._me = context.me
        self._topic = context.topic
        self._rng = context.rng
        self._outlet = context.outlet
        self._interest = ProcessInterest(context.topic)  # until there is a dissemination
        self._options = options
        self._peers = PeerTable(context.watch)
        self._liveness = context.liveness
        self._liveness.report_to(self, inf, inf)
        self._farewells: dict[tuple[int, Address], tuple[LineNews, list[Contact]]] = {}
        """Lines that say that who they stood for is gone, and which of these may still answer."""
        self._tables = Tables(context.me, options)
        self._peers_version = 0
        self._joined = False
        self._leaving = False
        self._contacts: list[Contact] = []  # still to be asked while joining
        self._attempt = 0
        self._asking = False
        self._let_in_by: PeerId | None = None
        """The process whose view made this one a member in this period: more may come."""
        self._silence = Silence(options.gossip_seconds, options.suspect_after)
        self._answers_left = ANSWERS_A_PERIOD
        self._rise_left = RISE_A_PERIOD
        self._unanswered = 0
        self._along = 0  # gossips that went with events since the last tick
        self._next_seek = 0.0
        self._seek_pause = options.gossip_seconds

    # -- what others read ------------------------------------------------------------------

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @property
    def hierarchy(self) -> Hierarchy:
        """How the processes are arranged."""
        return self._tables.hierarchy

    @property
    def version(self) -> int:
        """Rises whenever what a table says changes."""
        return self._tables.version

    @property
    def refused(self) -> int:
        """How many lines of others were left out: they cannot be, or there was no room."""
        return self._tables.refused

    @property
    def unanswered(self) -> int:
        """How many gossips, joins and visits were left unanswered: too many in one period."""
        return self._unanswered

    def announce(self, interest: ProcessInterest) -> None:
        """Take the interest of this process, which its line announces to others."""
        self._interest = interest

    def table(self, level: int) -> Sequence[Line[Interest]]:
        """Return the table of a level from 1 to l, in the order of its branch addresses."""
        return self._tables.table(level)

    def contact(self, address: Address) -> Contact:
        """Return the contact of a process of the tables; `KeyError` if there is none."""
        return self._tables.contacts()[address]

    @override
    def peers(self) -> PeerTable:
        """Return everybody in the views; see `Membership`."""
        return self._peers

    @override
    def size(self) -> float:
        """See `Membership`: the counts of the topmost table, but no less than are known here."""
        counted = sum(line.processes for line in self._tables.table(self.hierarchy.depth))
        return float(max(counted, len(self._peers) + 1))

    # -- inputs: joining and leaving -------------------------------------------------------

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        self._contacts = list(contacts)
        if self._contacts:
            self._ask_next(now)
        else:
            self._become_member(now)

    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None:
        """See `Membership`: join through them, or meet one whom this process does not know."""
        found = [contact for contact in contacts if contact.peer not in self._peers]
        if not self._joined:
            if found or not self._asking:  # an empty answer while somebody is still being asked
                self.join(found, now)
        elif not self._leaving:
            self._gossip_to(found[:1])

    @override
    def leave(self, now: float) -> None:
        """Tell some neighbours, or else whoever is nearest, that this process is gone."""
        if self._leaving:
            return
        self._leaving = True
        if not self._joined:
            return
        tables = self._tables
        for level in range(1, self.hierarchy.depth + 1):
            at = branch(tables.address, level - 1)
            others = self._others(level)
            tables.bury(level, at, now)
            if others:
                chosen = self._rng.sample(others, min(LEAVE_TELLS, len(others)))
                entry = tables.entry(level, at)
                assert entry is not None
                self._outlet.send(chosen, Update((write(level, entry),)))
                return

    @override
    def receive(self, source: Contact, message: Message, now: float) -> None:
        if self._leaving:
            self._say_goodbye(source, message)
            return
        if not self._joined and not isinstance(message, View):
            if isinstance(message, Gossip) and not self._asking:
                self.join((source,), now)  # a member found it, though its search found nobody
            return
        near = self._tables.distance(source.peer)
        if near == 1 and (entry := self._tables.line_for(source.peer, 1)) and entry.line:
            entry.heard = now
        match message:
            case Gossip():
                answer = partial(self._on_gossip, source, message, near)
                if source in self._tables.contacts().values():
                    answer(now)
                else:
                    self._liveness.prove(source, now, answer)
            case Update(lines=lines):
                self._take(lines, now)
            case Join(line=line):
                if not self._passed_on(source, message, near):
                    self._liveness.prove(source, now, partial(self._let_in, source, line, near))
            case Visit(line=line):
                if not self._passed_on(source, message, near):
                    self._on_visit(source, line, near, now)
            case View(lines=lines):
                self._on_view(source, lines, near, now)
            case Ask():
                self._outlet.send([source], Update((self._own_news(),)))
        self._settle()

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("tick",) if not self._leaving:
                self._tick(now)
            case ("join", attempt) if attempt == self._attempt and not self._joined:
                self._ask_next(now)

    # -- joining ---------------------------------------------------------------------------

    def _ask_next(self, now: float) -> None:
        """Ask a contact, then two at once, then the discovery for others; as SCAMP does."""
        again = self._attempt > 0
        self._attempt += 1
        asked, self._contacts = self._contacts[: 1 + again], self._contacts[1 + again :]
        self._asking = bool(asked)
        if asked:
            self._put_own(now)
            self._outlet.send(asked, Join(self._own_news()))
            self._outlet.wake(self._options.join_seconds, "join", self._attempt)
        else:
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _passed_on(self, joiner: Contact, message: Join | Visit, near: int) -> bool:
        """Pass a message on to somebody nearer to whom it is from, if there is anybody."""
        entry = self._tables.line_for(joiner.peer, near)
        nearer = [] if entry is None else [c for c in entry.contacts if c.peer != joiner.peer]
        if near > 1 and nearer:
            self._outlet.send([self._rng.choice(nearer)], message, reply_to=joiner)
        return near > 1 and bool(nearer)

    def _let_in(self, newcomer: Contact, line: LineNews, near: int, now: float) -> None:
        """Tell a newcomer what there is to know; nobody is nearer to it (4.2.1, "Joining")."""
        if not self._may_answer():
            return
        if near == 1:
            self._take((line,), now)
        for part in parts(self._tables.news(near)):
            self._answers_left -= 1
            self._outlet.send([newcomer], View(part))

    def _may_answer(self) -> bool:
        """Say whether something may be answered in this period; an answer may have many parts."""
        if self._answers_left > 0:
            return True
        self._unanswered += 1
        return False

    def _on_visit(self, visitor: Contact, line: LineNews, near: int, now: float) -> None:
        """Ask a visitor about its part of the system, if this process has not heard of it."""
        entry = self._tables.line_for(visitor.peer, near)
        if (entry is None or entry.line is None) and self._may_answer():
            self._answers_left -= 1
            self._gossip_to([visitor])
            self._take((line,) if near == 1 else (), now)

    def _on_view(self, source: Contact, lines: Sequence[LineNews], near: int, now: float) -> None:
        """Take what a newcomer is told, and greet its neighbours: those of each part as it comes.

        Nobody else greets for a view, or anybody could have it send messages to thousands.
        """
        if self._joined and source.peer != self._let_in_by:
            self._take(lines, now)
            return
        known = dict.fromkeys(self._others(1))
        self._take(lines, now)
        newcomer = not self._joined
        if newcomer:
            self._let_in_by = source.peer
            self._become_member(now)
        greeted = [contact for contact in self._others(1) if contact not in known]
        self._outlet.send(greeted, Update((self._own_news(),)))
        if newcomer and near > 1:
            self._gossip_to([source])  # who then asks for the lines of this new subsystem

    def _become_member(self, now: float) -> None:
        if self._joined:
            return
        self._joined = True
        self._contacts.clear()
        self._silence.begin(now)
        self._vouch(now)
        self._settle()
        self._outlet.wake(self._pause(), "tick")

    def _say_goodbye(self, source: Contact, message: Message) -> None:
        """Tell who has not heard that this process is gone."""
        if isinstance(message, Gossip | Ask) and self._tables.distance(source.peer) == 1:
            self._outlet.send([source], Update((self._own_news(),)))

    # -- gossip ----------------------------------------------------------------------------

    def gossip_along(self, contacts: Sequence[Contact], now: float) -> None:
        """See `HierarchicalViews`; once a period, to no more than dedicated gossip would go."""
        if not self._along:
            chosen = contacts[: TARGETS - 1]
            self._along = len(chosen)
            self._gossip_to(chosen)

    def _gossip_to(self, contacts: Iterable[Contact]) -> None:
        """Send stamps of the tables that this process and each of these share."""
        stamps: dict[int, Gossip] = {}
        for contact in contacts:
            near = self._tables.distance(contact.peer)
            if near not in stamps:
                stamps[near] = Gossip(self._tables.stamps(near))
            self._outlet.send([contact], stamps[near])

    def _on_gossip(self, source: Contact, gossip: Gossip, near: int, _now: float) -> None:
        if not self._may_answer():
            return
        self._answers_left -= 1  # looking for lines is work, whether or not there are any
        if newer := self._tables.newer(gossip.stamps, near):
            for part in parts(newer):
                self._answers_left -= 1
                self._outlet.send([source], Update(part))
        for level, key, _ in gossip.stamps:
            at = self._tables.locate(level, key) if level >= near else None
            if at is not None and self._tables.entry(level, at) is None:
                self._gossip_to([source])
                return

    def _take(self, lines: Iterable[LineNews], now: float) -> None:
        """Take lines that are newer, but for those that only this process can know better."""
        tables = self._tables
        leads: dict[int, bool] = {1: True}  # asked once: lines that come change what is asked
        for news in lines:
            own = branch(tables.address, news.level - 1) if self._is_level(news.level) else None
            entry = None if own is None else tables.entry(news.level, own)
            if entry is not None and entry.key == news.key:
                if news.level not in leads:
                    leads[news.level] = tables.leads(news.level - 1)
                if leads[news.level]:
                    rise = min(news.stamp + 1 - entry.stamp, self._rise_left)
                    if news.stamp > entry.stamp and rise > 0:
                        entry.stamp += rise
                        self._rise_left -= rise
                    continue
            if not self._doubts(news, now):
                tables.take(news, now)

    def _doubts(self, news: LineNews, now: float) -> bool:
        """Ask the processes that a newer line declares gone, whoever has sent it."""
        at = None if news.contacts else self._tables.locate(news.level, news.key)
        entry = None if at is None else self._tables.entry(news.level, at)
        if at is None or entry is None or entry.line is None or news.stamp <= entry.stamp:
            return False
        self._farewells[news.level, at] = news, list(entry.contacts)
        for contact in entry.contacts:
            self._liveness.doubt(contact, now)
        return True

    @override
    def peer_gone(self, contact: Contact, now: float) -> None:
        """See `Watcher`: believe that a line is gone once none of its processes has answered."""
        for where, (news, left) in list(self._farewells.items()):
            if contact in left:
                left.remove(contact)
                if not left:
                    del self._farewells[where]
                    self._tables.take(news, now)
        self._settle()

    def _is_level(self, level: int) -> bool:
        return 1 <= level <= self.hierarchy.depth

    # -- the period ------------------------------------------------------------------------

    def _tick(self, now: float) -> None:
        self._silence.forgive_pause(self._tables, now)
        self._let_in_by = None
        self._answers_left = ANSWERS_A_PERIOD
        self._rise_left = RISE_A_PERIOD
        self._tables.read_on()
        self._vouch(now)
        self._remove_silent(now)
        self._gossip()
        self._visit()
        self._seek(now)
        self._settle()
        self._outlet.wake(self._pause(), "tick")

    def _pause(self) -> float:
        return jittered(self._options.gossip_seconds, self._rng)

    def _put_own(self, now: float) -> None:
        """Say "I am here", and what interests this process by now."""
        self._tables.put_own(self._me, self._interest.whole, now)

    def _own_news(self) -> LineNews:
        own = self._tables.entry(1, self._tables.address)
        assert own is not None, "who sends its line has one"
        return write(1, own)

    def _vouch(self, now: float) -> None:
        """Raise the stamps of the lines that are this process's to raise."""
        tables = self._tables
        self._put_own(now)
        for level in range(1, self.hierarchy.depth):
            if tables.leads(level):
                tables.vouch(level, now)

    def _remove_silent(self, now: float) -> None:
        """Remove who is gone, and ask who has not been heard of for long (6.1.3)."""
        self._silence.bury(self._tables, now)
        neighbours: list[Contact] = []
        delegates: list[Contact] = []
        for level, entry in self._silence.overdue(self._tables, now):
            (neighbours if level == 1 else delegates).append(self._rng.choice(entry.contacts))
        self._outlet.send(neighbours, Ask())
        self._gossip_to(delegates[:TARGETS])

    def _gossip(self) -> None:
        """Gossip to some processes of a random level (4.2.1)."""
        levels = [level for level in range(1, self.hierarchy.depth + 1) if self._others(level)]
        if levels:
            others = self._others(self._rng.choice(levels))
            wanted = max(1, TARGETS - self._along)
            self._gossip_to(self._rng.sample(others, min(wanted, len(others))))
        self._along = 0

    def _visit(self) -> None:
        """Look for neighbours that are not known here, as a newcomer would."""
        others = self._others(self.hierarchy.depth)
        if others and self._tables.leads(1):
            self._outlet.send([self._rng.choice(others)], Visit(self._own_news()))

    def _others(self, level: int) -> list[Contact]:
        """Return the other processes of the table of a level."""
        known = self._tables.contacts()
        return [
            known[one]
            for line in self._tables.table(level)
            for one in line.delegates
            if one != self._tables.address
        ]

    def _seek(self, now: float) -> None:
        """Ask the discovery for others: often when new or alone, then once a minute."""
        if not len(self._peers):
            self._seek_pause = min(self._seek_pause, SEEK_SECONDS_MAX)
        if now >= self._next_seek:
            self._next_seek = now + self._seek_pause
            self._seek_pause = min(2 * self._seek_pause, SEEK_SECONDS)
            self._outlet.seek(self._topic, CONTACTS_WANTED)

    def _settle(self) -> None:
        """Bring the table of peers up to date with the views."""
        if self._peers_version == self._tables.version:
            return
        self._peers_version = self._tables.version
        known = {contact.peer: contact for contact in self._tables.contacts().values()}
        known.pop(self._me.peer, None)
        for contact in [contact for contact in self._peers if contact.peer not in known]:
            self._peers.discard(contact.peer)
        for contact in known.values():
            if self._peers.get(contact.peer) != contact:
                self._peers.add(contact)


BACKEND = Backend(
    name="hpmcast",
    keeper=HpmcastMembership,
    options=HpmcastOptions,
    discovery="gateways",
    expected_view=lambda options, size: known_on_average(options, size),
)
"""The views of hpmcast (002, section 4), and pmcast's full view in a hierarchy of one level."""
