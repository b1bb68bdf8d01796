"""The super-topic table: finding super-processes and keeping in touch (000, Figures 5 and 6).

Theory of operation
-------------------
`SuperTopicTable` is one super-topic table of one community in one process; a topic with several
super-topics has one for each (3.6, `camcast.engine.ways_up`). It lives through two tasks of the
paper:

*Search* (FIND_SUPER_CONTACT, Figure 5). While no process of super(t) is known, the scope of
the search starts at super(t) and widens by one ancestor a timeout, never to the root at once.
Each step looks into the other tables of this process, asks the discovery, which is the paper's
"contact known", and sends REQ_CONTACT to some neighbours, who answer from their own tables or pass
it on while its TTL lasts (`SearchRelay`). An answer for a farther ancestor is
used, and the search goes on for the nearer levels only, at a growing pause; an answer for super(t)
ends it. The tables of one process that look for the same topics share one search, as they share the
questions of the upkeep (`camcast.engine.asked_lately`): what one has asked within the pause another
does not ask, and answers are given to all.

*Upkeep* (KEEP_TABLE_UPDATED, Figure 6). Periodically, with probability p_sel, a process asks its
super-processes whether they are still in their topic (`Ping`). Those of which nothing has arrived
since, in time, have failed; whatever arrives is a sign of life. The links *listen* to their
super-processes (`camcast.doors.liveness`), so that they learn of a death that another part of the
process has found; they do not watch them, for then heartbeats of all N_t processes of the community
would load the super-community, instead of checks by g of them. With τ or fewer alive it asks the
live ones for fresh ones, and now and then also when enough are alive (001, 4.2). A table without an
entry starts a search. For some periods, a super-process that failed does not come back by
hearsay, or dead processes would circulate: it is then asked itself, and its own
answer brings it back. In this way a process comes back that was named while it was still joining:
it answers once it has joined.

*Draws.* A table is to be a random choice of the super-community, or a few super-processes would
carry what climbs, and a crash of these would cut communities off. A neighbour's answer comes first,
and names what the neighbour knows; a table that came *by hearsay* is drawn again from the
first answer of the discovery, which names members at random. Other members that are named fill the
cold list. After it has linked, after a failure, and whenever a super-process names a member that is
new to it, a process draws its table from the cold list at pauses that double; later, with one check
in ten (001, 4.2: "even if available"). Each time it asks super-processes for others first, so that
the cold list follows those that join above: each is to be known as widely as older members, also
where an answer names few. A full cold list, in a community of more, is no such news. A cold one
replaces an entry only if it answers. A search, too, is answered by a sample of the table and of
those on the cold list that lived lately, never by the table itself.

*Farther up.* A super-process also names one contact of each ancestor farther up that it knows. So
the cold list has some of each, and a process whose whole super-community dies together with the
gateways links to the next ancestor that lives.

*Healing.* A *cold list* (`camcast.vocabulary.cold_list`) remembers who failed, who made room, and
whom a super-process named when there was no room. A table that lacks entries asks some of them each
period whether they live, and an empty one asks up to `NEW_PROCESSES` or z. One that answers comes
in, is asked in turn for others, and is pushed to the community, so that one survivor heals all. So
links come back after a partition between two levels, or a crash of all that a table had, also where
no gateway lives. Who says that it left the topic is forgotten. A process that was restarted at
an address takes the place of the one before. If it has kept its identity, it says that it has been
a member for less time than it is in the table: it counts as one that failed and came in again.

*Service.* An entry receives upward events from the moment it enters. It *serves* what climbed
before, too, if another that did was there until then, or once it has been there for long
enough to be told all that is kept. While no live entry serves, the table says since when
(`unserved_since`): since the last sign of life of the entries that failed.

What is learned is pushed once to a few members of the own community, who merge it. MERGE keeps the
entries, which live as far as is known, prefers nearer ancestors and keeps the size z. A process
known by hearsay never replaces an entry of the same level. A process that is said to have left the
topic is asked before it is forgotten (`Liveness.doubt`).

Readings of the paper (000): line 22 of Figure 5 writes t for super(t), line 31 must compare with
super(t); ``RAND() >= p_sel`` in Figure 6 is inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from math import inf
from random import Random
from typing import Final, Protocol

from attrs import define
from typing_extensions import override

from camcast.doors.liveness import Liveness, Watcher
from camcast.doors.membership import Membership
from camcast.engine.asked_lately import AskedLately
from camcast.engine.link_messages import (
    CONTACTS_MAX,
    SEARCH_BYTES,
    SEARCH_NEIGHBOURS,
    SEARCH_TTL,
    AnsContact,
    Gone,
    NewProcess,
    Ping,
    Pong,
    ReqContact,
    SuperProcesses,
)
from camcast.vocabulary.cold_list import COLD_MAX, Cold, ColdList
from camcast.vocabulary.happenings import HappeningKind
from camcast.vocabulary.hierarchy import Way
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.parameters import CommunitySettings, Tuning
from camcast.vocabulary.topics import GroupId, Topic

# chosen: a super-process that has not answered for so long has failed: six times the 95 %
# quantile of the round trips in the PlanetLab matrix, 325 ms
CHECK_TIMEOUT_SECONDS: Final = 2.0
NEW_PROCESSES: Final = 16  # chosen: to ask for: the cold list then outlives several crashes; 0.8 kB
FAILED_MAX: Final = 64  # chosen: several tables' worth of failed processes
FAILED_CHECKS: Final = 12  # chosen: a minute of checks; by then nobody else passes them on
PUSH_PEERS: Final = 3  # chosen: as many as z by default; what is pushed is not passed on
# chosen: the share of its pause after which a search asks again: timers need not be exact.
SEARCH_DUE: Final = 0.9
# chosen: after so long in the table an entry was told all; the last telling is after 8 s.
SERVES_SECONDS: Final = 10.0
# chosen: a process that is named while it is joining is a member some seconds later
STARTED_SECONDS: Final = 3.0
# chosen: the first at once, then after pauses that double, of 5 to 40 s by default: a community
# that changes for a minute is drawn from as a whole. Five times a dozen messages a process.
EARLY_DRAWS: Final = 5
# chosen: of eight, one lives with 83 % after a crash of four in five; of four, with 59 %
ANCESTOR_MAX: Final = 8
# chosen: who lived so lately may be named; the checks of its community find a death in this time
LIVED_SECONDS: Final = 30.0
ASKED_LATELY: Final = 0.5  # chosen: of a period, which is the shortest pause between two checks


@define
class _Entry:
    contact: Contact
    topic: Topic
    entered: float
    asked: float = -inf
    """When it was asked last whether it lives, by whichever table of this process."""
    lived: float = -inf
    """When it answered last."""


class KnownProcesses(Protocol):
    """The processes in all tables of this one, as a super-topic table asks for them."""

    def neighbours(self, wanted: int) -> list[Contact]:
        """Draw some of them."""

    def known(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return members of a community that are among them."""

    def is_super_process(self, peer: PeerId) -> bool:
        """Return whether a process is in one of the super-topic tables."""

    def remembers(self, table: SuperTopicTable, topic: Topic) -> None:
        """Note that a table holds or remembers a member of a topic."""

    def entered(self, table: SuperTopicTable, peer: PeerId) -> None:
        """Note that a super-process has entered a table."""

    def removed(self, table: SuperTopicTable, peer: PeerId) -> None:
        """Note that a super-process is in a table no more."""


class SuperTopicTable(Watcher):
    """One super-topic table, searched and kept up; see the module's theory of operation."""

    def __init__(
        self,
        way: Way,
        tuning: Tuning,
        outlet: ControlOutlet,
        liveness: Liveness,
        rng: Random,
        membership: Membership,
        process: KnownProcesses,
        asked: AskedLately,
        number: int = 0,
        changed: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`membership` keeps the topic table; all tables of the process share one `asked`.

        Timers of the table come back by its `number`, which no other table of the community has
        had. The table calls `changed` whenever another level is the nearest.
        """
        self.way = way
        """The topics whose members the table may hold, the nearest first."""
        self.number = number
        self.covered = False
        """Whether another table serves the topics of this one (`camcast.engine.ways_up`)."""
        self._changed = changed
        self._tuning = tuning
        self._outlet = outlet
        self._liveness = liveness
        self._liveness.report_to(self, inf, inf)
        self._rng = rng
        self._membership = membership
        self._process = process
        self._asked = asked
        self._table: dict[PeerId, _Entry] = {}
        self._cold = ColdList()
        self._inherited: dict[str, None] = {}
        """The addresses of entries at which another process says that it is in the topic."""
        self._answers_until = -inf  # until when answers to the last question of a search are taken
        self._hearsay = True  # whether no answer of the discovery was drawn from since the search
        self._drawing = False  # whether the check under way ends in a draw
        self._drawn: dict[str, None] = {}
        """The addresses of cold ones that take the place of an entry if they answer."""
        self._checked = -inf  # when the table was last looked at
        self._drawn_at = -inf  # when the last draw began; later entries are part of it
        self._early_draws = 0  # how many draws are to be made by time
        self._next_draw = -inf
        self.failures = 0
        """How many super-processes have failed, or left their topic, so far."""
        self._failed: dict[tuple[PeerId, str], float] = {}
        """Until when a process counts as failed: in a topic that it has left, until it answers for
        that one; in all ("") if it was silent."""
        self._scope: list[Topic] = []
        self._pause = tuning.settings.search_seconds
        self._search_number = 0
        self._waited = 0.0  # the pause between the last two steps of the search
        self._nearest: tuple[Topic, list[Contact]] = (way.start, [])
        self._alone_since = inf
        self._served = -inf  # until when entries that have left the table served what climbs

    # -- what others read ----------------------------------------------------------------

    @property
    def super_topic(self) -> Topic:
        """The topic that the table is for."""
        return self.way.start

    @property
    def topics(self) -> Sequence[Topic]:
        """The topics whose members the table may hold, the nearest first."""
        return self.way.topics

    @property
    def stands_in(self) -> bool:
        """Whether the table is for a topic that others serve as long as they live."""
        return self.way.depth > 0

    def nearest(self) -> tuple[Topic, Sequence[Contact]]:
        """Return the nearest ancestor with live contacts, and those contacts."""
        return self._nearest

    def unserved_since(self, now: float) -> float:
        """Return since when upward messages may have reached no live super-process."""
        topic, _ = self._nearest
        entries = [entry for entry in self._table.values() if entry.topic == topic]
        return inf if any(self._serves(entry, now) for entry in entries) else self._served

    def linked_since(self) -> float:
        """Return when the oldest entry of the nearest ancestor came in; `inf` if there is none."""
        topic, _ = self._nearest
        entries = [entry.entered for entry in self._table.values() if entry.topic == topic]
        return min(entries, default=inf)

    def sample(self, group: GroupId, wanted: int) -> list[Contact]:
        """Draw members of a community from the table, and from those that lived lately."""
        entries = self._table.values()
        known = [entry.contact for entry in entries if entry.topic.group == group]
        known += self._cold.living(group, self._checked - LIVED_SECONDS)
        return self._rng.sample(known, min(wanted, len(known)))

    def ancestors(self) -> list[tuple[Topic, Contact]]:
        """Return a contact of each topic of which this table has a member, the latest of each."""
        named = {cold.topic: cold.living for cold in self._cold if cold.living is not None}
        entries = self._rng.sample(list(self._table.values()), len(self._table))
        named |= {entry.topic: entry.contact for entry in entries}
        return list(named.items())

    def alone_for(self, now: float) -> float:
        """Return for how many seconds no process above has been known; 0 while one is."""
        return 0.0 if self._nearest[1] else max(0.0, now - self._alone_since)

    @property
    def peers(self) -> Collection[PeerId]:
        """The processes in the table."""
        return self._table.keys()

    def remembers(self, group: GroupId) -> bool:
        """Return whether a member of a community is in the table or on the cold list."""
        entered = (entry.topic for entry in self._table.values())
        return any(one.group == group for one in (*entered, *(cold.topic for cold in self._cold)))

    def holds(self, peer: PeerId, topic: Topic) -> bool:
        """Return whether a process is in the table as a member of this topic."""
        entry = self._table.get(peer)
        return entry is not None and entry.topic == topic

    @property
    def searching(self) -> bool:
        """Whether a search for nearer super-processes is going on."""
        return bool(self._scope)

    @property
    def remembered(self) -> int:
        """How many super-processes beside those in the table could be asked."""
        return len(self._cold)

    @property
    def _parameters(self) -> CommunitySettings:
        return self._tuning.settings

    # -- inputs --------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Begin to search and to keep up the table."""
        self._alone_since = now
        if self.stands_in:
            self._start_later()
        else:
            self._start_search(now)
        self._outlet.wake(self._check_pause(), "check")

    def follow(self, way: Way, now: float) -> None:
        """Hold members of other topics from now on, beginning with the same one."""
        self.way = way
        for entry in [one for one in self._table.values() if one.topic not in way.topics]:
            self._shelve(entry, now, now)
        self._renew_nearest(now)

    def cover(self, covered: bool, now: float) -> None:
        """Rest while others serve the topics of this table; take up its work after that.

        A table that rests knows its super-processes as cold ones: it finds them again faster, and
        they are told what they may have missed.
        """
        if covered == self.covered:
            return
        self.covered = covered
        if covered:
            self._scope = []
            for entry in list(self._table.values()):
                self._shelve(entry, now, now)
            self._nearest = self.super_topic, []
        else:
            self._alone_since = now
            self._warm(now)
            self._start_later()

    def fit(self, now: float) -> None:
        """Fit the table to a z that has changed: shelve entries, or ask cold ones to come in."""
        while len(self._table) > self._parameters.z:
            level = min(entry.topic.level for entry in self._table.values())
            farthest = [entry for entry in self._table.values() if entry.topic.level == level]
            self._shelve(self._rng.choice(farthest), now, now)
        self._renew_nearest(now)
        self._warm(now)

    def close(self) -> None:
        """Let go of all super-processes: the community is no longer linked to the super-topic."""
        linked, self._scope = bool(self._table), []
        self._liveness.close()
        while self._table:
            peer, _ = self._table.popitem()
            self._process.removed(self, peer)
        if linked:
            self._outlet.report("unlinked", self.super_topic)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer: a step of the search, a check, or the verdict on a check."""
        match name:
            case ("start",):
                self._search_if_wanting(now)
            case ("search", number) if number == self._search_number and self._scope:
                self._widen()
                self._ask(now)
            case ("check",):
                self._check(now)
                self._outlet.wake(self._check_pause(), "check")
            case ("verdict",):
                self._verdict(now)

    def on_standstill(self, seconds: float) -> None:
        """Take answers for so much longer: this process did not read them meanwhile."""
        self._answers_until += seconds

    def contacts_found(self, topic: Topic, contacts: Iterable[Contact], now: float) -> None:
        """Take the discovery's answer; a table by hearsay is drawn again from it."""
        if topic not in self.topics:
            return
        found = list(contacts)
        if self.covered:
            self._remember(topic, found, now, living=True)
            return
        if self._hearsay and topic == self._nearest[0] and self._table:
            self._draw_from(topic, found, now)
        else:
            self._learn(topic, found, now)
        if topic == self._nearest[0] and len(found) >= self._parameters.z:
            self._hearsay = False
        self._remember(topic, found, now, living=True)

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take an answer of a super-process or a push of a peer."""
        if self.covered and not isinstance(message, AnsContact):
            return
        match message:
            case AnsContact(topic=name, contacts=contacts):
                topic, named = read_topic(name), contacts[: self._wanted]
                # That of any table: it names members of all ancestors, on whichever way.
                super_process = source.peer in self._table or self._process.is_super_process(
                    source.peer
                )
                if topic in self.topics and (super_process or now < self._answers_until):
                    self._learn(topic, named, now)
                    self._remember(topic, named, now, living=super_process)
            case SuperProcesses(topic=name, contacts=contacts, pushed=pushed):
                topic, named = read_topic(name), contacts[: self._wanted]
                if topic not in self.topics:
                    return
                if not (pushed or source.peer in self._table):
                    return  # an answer of one who was not asked
                if self._merge(topic, named, now):
                    self._settle(topic)
                    if not pushed:
                        self._push(topic)
                if not pushed:
                    if self._remember(topic, named, now, living=True):
                        self._draw_soon()
                elif topic == self._nearest[0]:
                    self._draw_at_next_check()
            case Pong():
                self._answered(source, message, now)
            case Gone(topic=name):
                self._gone(source, name, now)

    @override
    def peer_silent(self, contact: Contact, now: float) -> None:
        """See `Watcher`: another part of this process has found a super-process silent."""
        self._fail(self._table[contact.peer], now)
        self._renew_nearest(now)
        self._warm(now)
        self._search_if_wanting(now)

    def _answered(self, source: Contact, pong: Pong, now: float) -> None:
        """Take an answer: a cold super-process comes in, and is asked for others."""
        name = pong.topic
        self._failed.pop((source.peer, ""), None)
        self._failed.pop((source.peer, name), None)
        for entry in list(self._table.values()):
            if entry.contact.address == source.address:
                if entry.contact.peer == source.peer:
                    if entry.topic.name == name:
                        self._renew(entry, pong.member, now)
                    return
                self._inherited[source.address] = None
                self._doubt(entry, now)
        cold = self._cold.get(source.address)
        if cold is None or cold.topic.name != name or cold.topic not in self.topics:
            return
        if self._exchange(source, cold.topic, now):
            return
        if self._make_room(cold.topic, now):
            self._enter(source, cold.topic, now)
            self._renew_nearest(now)
            self._outlet.send([source], NewProcess(name, self._wanted))
            self._settle(cold.topic)
            self._push(cold.topic)

    def _exchange(self, source: Contact, topic: Topic, now: float) -> bool:
        """Let a cold one that answers take the place of an entry, if the table is being drawn."""
        if source.address not in self._drawn or len(self._table) < self._parameters.z:
            return False
        del self._drawn[source.address]
        entries = self._table.values()
        older = [one for one in entries if one.topic == topic and one.entered < self._drawn_at]
        if not older:
            return False
        self._shelve(self._rng.choice(older), now, now)
        self._enter(source, topic, now)
        self._renew_nearest(now)
        return True

    def _renew(self, entry: _Entry, seconds: float, now: float) -> None:
        """Take the answer of an entry, which may be another run of the same process by now."""
        if entry.asked <= entry.lived:
            return  # nobody has asked it: a forged answer counts once a check at most
        if now - seconds > entry.entered + STARTED_SECONDS:
            self.failures += 1
            self._note_served(entry, max(entry.entered, entry.lived))
            entry.entered = now
        entry.lived = now

    def _gone(self, source: Contact, name: str, now: float) -> None:
        """Doubt a process that is said to have left its topic, or to have lost its address."""
        for entry in list(self._table.values()):
            known = entry.contact
            if entry.topic.name == name and (
                known.peer == source.peer or known.address == source.address
            ):
                self._doubt(entry, now)
        cold = self._cold.get(source.address)
        if cold is not None and cold.topic.name == name:
            self._cold.pop(source.address)

    def _doubt(self, entry: _Entry, now: float) -> None:
        self._liveness.doubt(entry.contact, now, entry.topic.group)

    @override
    def peer_gone(self, contact: Contact, now: float) -> None:
        """See `Watcher`: forget a super-process that has left its topic."""
        entry = self._table.get(contact.peer)
        if entry is not None and entry.contact == contact:
            self._fail(entry, now, left=entry.topic.name)
            cold = self._cold.pop(contact.address)
            if contact.address in self._inherited and cold is not None:
                self._cold.put(contact, entry.topic, now)
                self._ping([cold])
            self._renew_nearest(now)
            self._search_if_wanting(now)
        self._inherited.pop(contact.address, None)

    # -- search: Figure 5 ----------------------------------------------------------------

    def _start_search(self, now: float) -> None:
        if not self._scope:
            self._scope = [self.super_topic]
            self._hearsay = True
            self._pause = self._waited = self._parameters.search_seconds
            self._ask(now)

    def _search_if_wanting(self, now: float) -> None:
        """Search unless a live process of super(t) itself is known."""
        topic, contacts = self._nearest
        if not self.covered and (not contacts or topic != self.super_topic):
            self._start_search(now)

    def _start_later(self) -> None:
        """Search once the topics nearer than that of this table were searched in vain."""
        self._outlet.wake(self.way.depth * self._parameters.search_seconds, "start")

    def _widen(self) -> None:
        """Add the next ancestor, unless one at least as near is known already (line 24)."""
        place = self.topics.index(self._scope[-1]) + 1
        wider = self.topics[place] if place < len(self.topics) else None
        topic, contacts = self._nearest
        if wider is not None and (not contacts or wider.level > topic.level):
            self._scope.append(wider)
        else:
            self._pause = min(2 * self._pause, self._parameters.search_seconds_max)

    def _ask(self, now: float) -> None:
        """Look into the other tables of this process; ask others unless one of those has."""
        due = SEARCH_DUE * self._waited
        for topic in list(self._scope):
            self._learn(topic, self._process.known(topic.group, self._parameters.z), now)
        if self._scope and self._asked.due(tuple(self._scope), due, now):
            self._outlet.report("searching", self._scope[-1])
            self._answers_until = now + CHECK_TIMEOUT_SECONDS
            for topic in self._scope:
                self._outlet.seek(topic, self._wanted)
            request = ReqContact(
                self._rng.randbytes(SEARCH_BYTES),
                tuple(topic.name for topic in self._scope),
                SEARCH_TTL,
            )
            self._outlet.send(self._process.neighbours(SEARCH_NEIGHBOURS), request)
        self._search_number += 1
        self._waited = self._pause
        self._outlet.wake(self._pause, "search", self._search_number)

    def _learn(self, topic: Topic, contacts: Iterable[Contact], now: float) -> None:
        """Take an answer to the search; only what is in the scope is of use."""
        if topic in self._scope and self._merge(topic, contacts, now):
            self._settle(topic)
            self._push(topic)

    def _settle(self, found: Topic) -> None:
        """Shrink the scope to what is still nearer than `found` (lines 31 to 35)."""
        self._scope = [topic for topic in self._scope if not topic.includes(found)]

    # -- upkeep: Figure 6 ----------------------------------------------------------------

    def _check_pause(self) -> float:
        # Jittered, so that a community that started together does not check together.
        return self._parameters.check_seconds * (0.5 + self._rng.random())

    def _check(self, now: float) -> None:
        if self.covered:
            return
        self._checked = now
        self._search_if_wanting(now)
        p_sel = self._parameters.selection_probability(self._membership.size())
        if not self._table:
            self._warm(now)
        elif (due := self._draw_is_due(now)) or self._rng.random() < p_sel:
            self._drawing = due or self._rng.random() < self._parameters.refresh_probability
            for entry in self._table.values():
                entry.asked = self._ask_entry(entry, Ping(entry.topic.name), now)
                if self._drawing:
                    self._ask_entry(entry, NewProcess(entry.topic.name, self._wanted), now)
            self._outlet.wake(CHECK_TIMEOUT_SECONDS, "verdict")

    def _verdict(self, now: float) -> None:
        silent = [e for peer, e in self._table.items() if self._liveness.heard(peer) < e.asked]
        for entry in silent:
            self._fail(entry, now)
        self._renew_nearest(now)
        if silent and self._table:
            self._push(self._nearest[0])
        asked = list(self._table.values())
        topic, nearest = self._nearest
        if len(asked) > self._parameters.tau:
            # The farther ones do not stand in for the nearest, of whom one may be a newcomer.
            asked = [entry for entry in asked if entry.topic == topic]
        if len(nearest) > self._parameters.tau:
            # Enough are alive; but whoever knows no others would have nobody when these fail.
            reserved = self._parameters.as_printed or len(self._cold)
            asked = [] if reserved else [self._rng.choice(asked)]
        for entry in asked if not self._drawing else ():
            self._ask_entry(entry, NewProcess(entry.topic.name, self._replacements), now)
        if self._drawing and self._table:
            self._draw(now)
        else:
            self._warm(now)
        self._search_if_wanting(now)

    def _draw(self, now: float) -> None:
        """Ask some of the cold list, to take the places of the entries of now if they answer."""
        drawn = self._cold.sample(self._parameters.z, self._rng, now, self._nearest[0].level)
        self._drawn_at, self._drawn = now, {}
        for cold in drawn:
            # One that another table of this process has just asked is left to that table.
            ping = Ping(cold.topic.name)
            if self._asked.due((cold.contact.address, ping), self._half_period, now):
                self._drawn[cold.contact.address] = None
                self._outlet.send([cold.contact], ping)

    def _draw_is_due(self, now: float) -> bool:
        """Say whether a draw is due after a change; if so, it counts as made."""
        if not self._early_draws or now < self._next_draw:
            return False
        self._next_draw = now + self._parameters.check_seconds * 2 ** (
            EARLY_DRAWS - self._early_draws
        )
        self._early_draws -= 1
        return True

    def _draw_soon(self) -> None:
        """Draw the table some times soon, since the community above or the way to it changes."""
        self._early_draws, self._next_draw = EARLY_DRAWS, -inf

    def _draw_at_next_check(self) -> None:
        """Draw the table once soon, since a member of the own community has met a change."""
        self._early_draws, self._next_draw = max(1, self._early_draws), -inf

    def _ask_entry(self, entry: _Entry, message: Message, now: float) -> float:
        """Ask a super-process unless a table of this process just has; say when it was asked."""
        question = entry.contact.address, message
        if self._asked.due(question, self._half_period, now):
            self._outlet.send([entry.contact], message)
        return self._asked.when(question)

    @property
    def _half_period(self) -> float:
        return ASKED_LATELY * self._parameters.check_seconds

    @property
    def _wanted(self) -> int:
        """How many super-processes are asked for, and read of one answer."""
        return min(CONTACTS_MAX, max(self._parameters.z, NEW_PROCESSES))

    @property
    def _replacements(self) -> int:
        """How many are asked for where few are alive; as printed z - τ (Figure 6, line 19)."""
        parameters = self._parameters
        return max(1, parameters.z - parameters.tau) if parameters.as_printed else self._wanted

    def _warm(self, now: float) -> None:
        """Ask cold processes, no farther than the nearest entries, whether they live.

        It asks as many as there is room for, counting entries that are farther as room; for a full
        table it asks one, if that is nearer. An empty table asks as many as an answer may name, of
        all topics: there may be one survivor among them, and each answer may be lost.
        """
        topic, contacts = self._nearest
        if not self._table:
            self._ping(self._cold.sample_evenly(self._wanted, self._rng, now))
            return
        count, level = self._parameters.z - len(contacts), topic.level
        if count <= 0 and topic != self.super_topic:
            count, level = 1, level + 1
        self._ping(self._cold.sample(max(count, 0), self._rng, now, level))

    def _ping(self, asked: Iterable[Cold]) -> None:
        for cold in asked:
            self._outlet.send([cold.contact], Ping(cold.topic.name))

    def _fail(self, entry: _Entry, now: float, *, left: str = "") -> None:
        """Move an entry to the cold list; for a while, only its own answer brings it back.

        One that has left its topic may be in another, above, and others may name it there.
        """
        peer = entry.contact.peer
        self.failures += 1
        self._shelve(entry, now, self._liveness.heard(peer))
        self._draw_soon()
        self._failed.pop((peer, left), None)
        if len(self._failed) >= FAILED_MAX:
            del self._failed[next(iter(self._failed))]
        pause = FAILED_CHECKS * self._parameters.check_seconds
        self._failed[peer, left] = inf if left else now + pause

    def _has_failed(self, peer: PeerId, topic: Topic, now: float) -> bool:
        return self._failed.get((peer, ""), now) > now or (peer, topic.name) in self._failed

    def _serves(self, entry: _Entry, until: float) -> bool:
        """Return whether this entry cannot be why an earlier event is missing above.

        It was there before another had left, or has been for long enough to be told all.
        """
        return entry.entered <= self._served or until - entry.entered >= SERVES_SECONDS

    def _note_served(self, entry: _Entry, until: float) -> None:
        """Note that an entry, alive `until` then, no longer receives upward events."""
        if entry.topic == self._nearest[0] and self._serves(entry, until):
            self._served = max(self._served, until)

    def _shelve(self, entry: _Entry, now: float, lived: float) -> None:
        """Move an entry to the cold list; `lived` is until when it is known to have lived."""
        self._note_served(entry, lived)
        del self._table[entry.contact.peer]
        self._process.removed(self, entry.contact.peer)
        self._liveness.unwatch(entry.contact.peer)
        self._cold.put(entry.contact, entry.topic, now, living=lived == now)

    def _push(self, topic: Topic) -> None:
        message = SuperProcesses(
            topic.name, tuple(self.sample(topic.group, self._wanted)), pushed=True
        )
        peers = self._membership.peers().sample(PUSH_PEERS, self._rng)
        self._outlet.send(peers, message)

    # -- MERGE ---------------------------------------------------------------------------

    def _merge(self, topic: Topic, contacts: Iterable[Contact], now: float) -> bool:
        """Merge some of what others say of `topic`; say whether the table changed.

        Those that failed lately are asked themselves, as many as there is room for.
        """
        changed = False
        doubted: dict[str, Cold] = {}
        for contact in self._shuffled(contacts):
            if self._has_failed(contact.peer, topic, now):
                cold = self._cold.get(contact.address)
                doubted[contact.address] = cold or Cold(contact, topic, now)
                continue
            entry = self._table.get(contact.peer)
            if topic.level > entry.topic.level if entry else self._make_room(topic, now):
                self._enter(contact, topic, now)
                changed = True
        if changed:
            self._renew_nearest(now)
        as_near = sum(entry.topic.level >= topic.level for entry in self._table.values())
        self._ping(list(doubted.values())[: self._parameters.z - as_near])
        return changed

    def _draw_from(self, topic: Topic, contacts: Iterable[Contact], now: float) -> None:
        """Let members of the nearest community that are named take the places of entries."""
        usable = [c for c in self._shuffled(contacts) if not self._has_failed(c.peer, topic, now)]
        drawn = {contact.peer: contact for contact in usable[: self._parameters.z]}
        older = [entry for peer, entry in self._table.items() if peer not in drawn]
        older.sort(key=lambda entry: entry.topic == topic)  # those farther up make room first
        for peer, contact in drawn.items():
            if peer in self._table:
                continue
            if len(self._table) >= self._parameters.z:
                self._shelve(older.pop(0), now, now)
            self._enter(contact, topic, now)
        self._renew_nearest(now)

    def _shuffled(self, contacts: Iterable[Contact]) -> list[Contact]:
        """Return contacts in random order, without those that can only be this process.

        Nor does it return those that this process can have no connection with.
        """
        me, can_hold = self._outlet.me, self._liveness.can_hold
        others = [
            c
            for c in contacts
            if c.peer not in (me.peer, b"") and c.address != me.address and can_hold(c)
        ]
        self._rng.shuffle(others)
        return others

    def _remember(
        self, topic: Topic, contacts: Iterable[Contact], now: float, *, living: bool
    ) -> bool:
        """Put those that are named and are not in the table on the cold list.

        Returns whether more members of the nearest community are known now. With `living`, whoever
        names them knows that they live. What is known for certain, or of a nearer topic, stays.
        """
        nearest, known = self._nearest
        most = ANCESTOR_MAX if known and topic.level < nearest.level else COLD_MAX
        self._process.remembers(self, topic)
        remembered = len(self._cold)
        for contact in self._shuffled(contacts):
            if contact.peer in self._table or self._has_failed(contact.peer, topic, now):
                continue
            cold = self._cold.get(contact.address)
            if cold is None or (living and cold.topic.level <= topic.level):
                self._cold.put(contact, topic, now, living=living, most=most)
        return topic == nearest and len(self._cold) > remembered

    def _enter(self, contact: Contact, topic: Topic, now: float) -> None:
        self._cold.pop(contact.address)
        if topic.level > self._nearest[0].level:
            for entry in self._table.values():
                self._note_served(entry, now)
        if contact.peer not in self._table:
            self._process.entered(self, contact.peer)
        self._process.remembers(self, topic)
        self._table[contact.peer] = _Entry(contact, topic, now)
        self._liveness.listen(contact, now)

    def _make_room(self, topic: Topic, now: float) -> bool:
        """Make room for a process of `topic`, if there is none, at the cost of a farther one."""
        if len(self._table) < self._parameters.z:
            return True
        farthest = min(self._table.values(), key=lambda entry: entry.topic.level)
        if farthest.topic.level < topic.level:
            self._shelve(farthest, now, now)
            return True
        return False

    def _renew_nearest(self, now: float) -> None:
        before, known = self._nearest
        alive = self._table.values()
        topic = max((entry.topic for entry in alive), key=lambda t: t.level, default=None)
        self._nearest = (
            (self.super_topic, [])
            if topic is None
            else (topic, [entry.contact for entry in alive if entry.topic == topic])
        )
        nearest, contacts = self._nearest
        if not contacts and known:
            self._alone_since = now
        if nearest != before or not known:
            self._hearsay = True
            self._draw_soon()
        if (nearest, len(contacts)) != (before, len(known)):
            kind: HappeningKind = "linked" if contacts else "unlinked"
            self._outlet.report(kind, nearest, len(contacts))
            self._changed(now)
