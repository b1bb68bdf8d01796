"""History: events from before this process became a member, for older members and on demand.

*History.* `subscribe(since=30.0)` asks for it: what neighbours still keep goes to the asking
subscription only, is marked as known, is never announced and never climbs (`History`). Two
neighbours are asked, and then two others until one keeps enough, `ASKED_MAX` at most; who does not
answer is asked again, for `HISTORY_SECONDS`. What others say counts for nothing. An answer is the
`Have` that goes as far back as it was asked to. If those who answer keep less, since their
retention or their memory ends earlier and not their membership, that is reported (`history_short`).
A process with an archive needs what was published since the latest event that its archive has, and
takes what is older as it is offered.

*Referring.* A newcomer takes nothing from before its time. Where only newcomers are between two
older members, neither is told what the other alone has. A newcomer *refers* such neighbours to each
other, each to one other in a ring, `REFER_SECONDS` after it became a member and again after twice
as long, until nothing is left in the stores that is older than the newcomer itself. In a quiet
community, where no tally differs, nobody is referred.

A process that is referred to another sends it a `Compare`: the tallies of what was published in
each second (`camcast.engine.repair.told`). If these differ from its own, as far as it was a member
or has something of that second, the other tells all that it knows, and asks for the same. Each of
the two has *met* the other then: it refers others to it as if they were neighbours. The older
members are connected through any number of newcomers: the youngest connects those older than
itself, then the next one.

*From below.* What climbed is lost above when all who got it die, as in one half of a partition. Who
said it below still keeps it, but may tell newcomers alone by then. A newcomer refers older
members of the communities below, which told it something, to the oldest member of its own that it
knows, and these tell it what may have been lost (`camcast.engine.repair.upward`). No newcomer takes
what is older than itself: that would be all that is kept, for each newcomer.

*Hostile.* A `Referral` may name anybody, who is sent one `Compare`: four bytes a second of the
retention at most, and `REFERRALS_A_SECOND` of them. What a forged `Compare` draws, or a `Referral`
in the name of a super-process, is bounded by what may be said in `Have`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Final

from camcast.engine.repair.messages import UNKNOWN, Compare, Have, Referral
from camcast.engine.repair.told import (
    REORDER_SECONDS,
    Haves,
    RepairContext,
    Tally,
)
from camcast.engine.repair.upward import TOLD_AT_ONCE, Upward
from camcast.engine.store import published_at
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.token_buckets import each_second
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import MalformedError

HISTORY_SECONDS: Final = 10.0  # chosen: so long answers are taken for the history asked for
ANSWERED_SECONDS: Final = 2.0  # chosen: six times the slowest round trip of the PlanetLab matrix
ASKED_MAX: Final = 8  # chosen: each answers with all that it knows of the time
ASKED_BACK_MAX: Final = 32  # chosen: those, and some of all who ask others when a community starts
# chosen: what came before a process stopped may still have been repaired for so long
# (docs/reliability.md, What is promised)
LATE_SECONDS: Final = 10.0
_ROUNDING_SECONDS: Final = 1e-3  # chosen: above the rounding of two subtractions of times
REFER_SECONDS: Final = 2.0  # chosen: by then the tallies of a neighbour were compared twice
ELDERS_MAX: Final = 8  # chosen: as many messages of 120 bytes; a view holds more, but not only one
MET_MAX: Final = 32  # chosen: several newcomers' rings
TELLERS_MAX: Final = 8  # chosen: all of a small community below, some of a large one
REFERRALS_A_SECOND: Final = 8  # chosen: the neighbours of one newcomer, all in the same second


class History:
    """Asks neighbours for what is older than this process's membership."""

    def __init__(self, context: RepairContext, haves: Haves) -> None:
        self._context = context
        self._haves = haves
        self._seconds = 0.0  # before the membership, for subscriptions
        self._until = -inf
        self._asked_at = -inf
        self._needed = 0.0
        """The age of the oldest event that has to be asked for."""
        self._kept = self._young = 0.0
        """The most that answers name as kept: of members that had more, and of those that had not.
        """
        self._peers: dict[PeerId, float] = {}
        """The neighbours that were asked: for how many seconds, 0 once they have answered."""
        self._reach = inf
        """Since when some neighbour keeps events, or its archive, by what they answered."""
        self._lacks = False
        """Whether the archive may lack something, since nobody told of all it may have missed."""
        self._timer = 0  # the number of the timer for a look at the answers; those before are void
        self.is_open = False
        """Whether answers are awaited, or others are still to be asked."""

    def asked(self, now: float) -> float:
        """Return for how many seconds before the membership history is asked for now, or 0."""
        return self._seconds if now < self._until else 0.0

    @property
    def archived_seconds(self) -> float:
        """How far back the archive wants all there is; 0 without one."""
        return self._context.retained.archived_seconds

    def asked_back(self, now: float) -> float:
        """Return how far back from the membership events are asked for, if they are offered."""
        return max(self.asked(now), self.archived_seconds)

    def wants(self, batch: Batch, now: float) -> bool:
        """Whether a batch from before the membership is for a subscription that asked for it."""
        oldest = self._context.member_since - self._seconds - REORDER_SECONDS
        if now >= self._until or published_at(batch) < oldest:
            return False
        self._until = max(self._until, now + HISTORY_SECONDS)  # much of it takes its time
        return True

    def on_standstill(self, seconds: float) -> None:
        """Take answers for history for so much longer: this process did not read them meanwhile."""
        self._until += seconds
        self._asked_at += seconds

    def start(self, now: float) -> None:
        """Ask, now that this process is a member, for what was wanted before."""
        if self._seconds or self.archived_seconds:
            self._ask(now)

    def fetch(self, seconds: float, now: float) -> list[Batch]:
        """Return what is kept here of the last `seconds`, and ask others for the rest.

        The rest arrives as batches that this `wants`.
        """
        context = self._context
        kept = {
            (batch.stream, batch.first): batch
            for stream, known in context.streams.known.items()
            for batch in context.store.batches(StreamId(stream), 1, known.stop, now - seconds)
            if known.knows(batch.first, batch.count)
        }
        for batch in context.retained.history(now - seconds, now):
            kept.setdefault((batch.stream, batch.first), batch)
        joined = context.member_since
        before = seconds if joined == inf else seconds - (now - joined)
        if before > 0:
            self._seconds = max(self._seconds, before)
            if joined < inf:
                self._ask(now)
        return sorted(kept.values(), key=published_at)

    def on_have(self, source: PeerId, have: Have, now: float) -> None:
        """Note how much a neighbour keeps, and that it has answered, if it was asked."""
        if source not in self._peers:
            return  # whoever was not asked may say anything
        if now < self._until and have.kept < have.member - REORDER_SECONDS:
            self._kept = max(self._kept, have.kept)
        elif now < self._until:
            self._young = max(self._young, have.kept)
        asked = self._peers[source]
        if self.is_open and asked and abs(have.reach - asked) < _ROUNDING_SECONDS:
            self._peers[source] = 0.0
            self._reach = min(self._reach, now - max(have.kept, have.archived))
            if not any(self._peers.values()):
                self._look(now)

    def on_question(self, source: Contact, now: float) -> None:
        """Ask back a member that asks for history, if the archive may lack what it alone has."""
        peers = self._peers
        if self._lacks and source.peer not in peers and len(peers) < ASKED_BACK_MAX:
            if not self.is_open:
                self.is_open, self._asked_at = True, now
            self._put([source], now)

    def reach(self, now: float) -> float:
        """Return since when events are kept: here, or by a neighbour that has said so."""
        context = self._context
        kept = context.retained.seconds_kept(context.retention, now)
        own = max(min(context.seconds_a_member(now), kept), context.retained.archive_goes_back(now))
        return min(self._reach, now - own)

    def wake(self, number: int, now: float) -> None:
        """Ask others, or those who have not answered, unless what is needed is kept somewhere."""
        if self.is_open and number == self._timer:
            self._look(now)

    def _look(self, now: float) -> None:
        """Ask others if the neighbours that were asked keep too little; report it in the end."""
        enough = max(self._kept, self._young) >= self._needed - REORDER_SECONDS
        if not enough and now - self._asked_at < HISTORY_SECONDS and self._ask_neighbours(now):
            return
        self.is_open = False
        self._lacks = not enough and self.archived_seconds > 0
        if not enough and self._seconds and self._young < self._kept:
            self._context.outlet.report("history_short", count=round(self._kept))

    def _ask(self, now: float) -> None:
        """Ask for it from now on, as if nothing had been asked for before."""
        context = self._context
        for known in context.streams.known.values():
            known.lift_floor()  # it lies at the first event that came, or where answers ended
        self._until = now + HISTORY_SECONDS
        self._asked_at = now
        self._kept = self._young = 0.0
        lacking = min(self.archived_seconds, context.retained.quiet_seconds(now) + LATE_SECONDS)
        self._needed = max(self.asked(now), lacking) + now - context.member_since
        self._peers.clear()
        self._reach = inf
        self._lacks = self.archived_seconds > 0
        self.is_open = True
        self._ask_neighbours(now)

    def _ask_neighbours(self, now: float) -> bool:
        """Ask two neighbours that were not asked yet, or else have not answered.

        Return whether there is anybody to wait for; a process meets most of its neighbours in the
        moments after it has become a member.
        """
        context, peers = self._context, self._peers
        neighbours = context.community.membership.neighbours()
        unasked = [one for one in neighbours if one.peer not in peers]
        silent = [one for one in neighbours if peers.get(one.peer)]
        asked = context.sample(unasked if len(peers) < ASKED_MAX else [], TOLD_AT_ONCE)
        asked = asked or context.sample(silent, TOLD_AT_ONCE)
        if not asked and now - self._asked_at >= ANSWERED_SECONDS:
            return False
        self._put(asked, now)
        return True

    def _put(self, contacts: Sequence[Contact], now: float) -> None:
        """Put the question for history to members, and look at the answers after a while."""
        seconds = self.asked_back(now) + now - self._context.member_since
        self._timer += 1
        self._context.outlet.wake(ANSWERED_SECONDS, "history", self._timer)
        for contact in contacts:
            self._peers[contact.peer] = seconds
            self._haves.send(contact, (), now, history=seconds)


class Referring:
    """Refers older members to each other, and compares with whom this process is referred to."""

    def __init__(
        self,
        context: RepairContext,
        haves: Haves,
        upward: Upward,
        tally: Tally,
    ) -> None:
        self._context = context
        self._haves = haves
        self._upward = upward
        self._tally = tally
        self._lateness = context.lateness
        self._clock = context.clock
        self._met: dict[PeerId, Contact] = {}
        self._tellers: dict[PeerId, tuple[Contact, GroupId]] = {}
        """Older members of communities below that told something since others were last referred,
        and their communities."""
        self._rate = each_second(REFERRALS_A_SECOND)

    def start(self) -> None:
        """Begin: this process has become a member."""
        self._context.outlet.wake(REFER_SECONDS, "refer")

    def wake(self, now: float) -> None:
        """Refer the older neighbours to each other, while they may have something older."""
        context = self._context
        age = context.seconds_a_member(now)
        if age >= context.retention:
            return
        context.outlet.wake(age, "refer")
        ring = context.sample(self._elders(), ELDERS_MAX)
        if len(ring) > 1:
            for one, other in pairwise([*ring, ring[0]]):
                context.outlet.send([one], Referral(other))
        tellers, self._tellers = self._tellers, {}
        eldest = self._eldest()
        if eldest is not None:
            for teller, group in tellers.values():
                context.outlet.send([teller], Referral(eldest), group=group)

    def on_have_from_below(self, source: Contact, group: GroupId, have: Have, now: float) -> None:
        """Add a process that has told of streams from the community `group` below.

        A process that tells of none that may have begun before this process's time is not added:
        nobody is referred in a community that has been quiet since.
        """
        age = self._context.seconds_a_member(now)
        begun = (one[2] for one in have.streams)
        if age < min(have.member, self._context.retention) and any(
            tenths == UNKNOWN or tenths > 10 * age for tenths in begun
        ):
            self._tellers.pop(source.peer, None)
            self._tellers[source.peer] = source, group
            if len(self._tellers) > TELLERS_MAX:
                del self._tellers[next(iter(self._tellers))]

    def on_referral(self, source: Contact, referral: Referral, now: float) -> None:
        """Compare with a member that this process is referred to, if it is no neighbour.

        A super-process refers to an older one, which is told what may have been lost above.
        """
        context, elder = self._context, referral.elder
        if elder.peer == context.community.me.peer or not self._rate.take(now):
            return
        if self._upward.tell_elder(source, elder, now):
            return
        if any(one.peer == elder.peer for one in context.community.membership.neighbours()):
            return
        self._meet(elder)
        since = int(self._clock.wall(max(context.member_since, now - context.retention)))
        parts = self._tally.parts(since, self._lateness.second(self._clock, now))
        context.outlet.send([elder], Compare(context.seconds_a_member(now), since, parts))

    def on_compare(self, source: Contact, message: Compare, now: float) -> None:
        """Tell a member all if it knows something else of a time at which both could."""
        if not message.member >= 0:
            raise MalformedError("a Compare tells of a negative time")
        context = self._context
        self._meet(source)
        neighbour = context.neighbour(source.peer)
        neighbour.add_membership(message.member, now)
        until = self._lateness.second(self._clock, now)
        member_since = int(self._clock.wall(context.member_since))
        difference = self._tally.difference(message.parts, message.since, until, member_since)
        agreement = neighbour.agreement
        if agreement.add_difference(difference, until, now) and self._haves.send_full(
            source, now, reply=True
        ):
            agreement.add_telling(difference)

    def _meet(self, contact: Contact) -> None:
        self._met.pop(contact.peer, None)
        self._met[contact.peer] = contact
        if len(self._met) > MET_MAX:
            del self._met[next(iter(self._met))]

    def _eldest(self) -> Contact | None:
        """Return who has been a member for longest, as far as neighbours have said so."""
        context = self._context
        neighbours = {one.peer: one for one in context.community.membership.neighbours()}
        older = [
            contact
            for peer, contact in (self._met | neighbours).items()
            if -inf < context.neighbour(peer).member_since < context.member_since
        ]
        return min(older, key=lambda one: context.neighbour(one.peer).member_since, default=None)

    def _elders(self) -> list[Contact]:
        """Return those that may know something from before this process's time."""
        context = self._context
        neighbours = {
            contact.peer: contact
            for contact in context.community.membership.neighbours()
            if context.neighbour(contact.peer).agreement.differs
        }
        return [
            contact
            for peer, contact in (self._met | neighbours).items()
            if context.neighbour(peer).member_since < context.member_since
        ]
