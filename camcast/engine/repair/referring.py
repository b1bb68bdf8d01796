"""Referring: who knew the time before a newcomer is told of the others who did.

A newcomer takes nothing from before its time. So where only newcomers are between two older
members, neither is told what the other alone has. A newcomer *refers* such neighbours to each
other, each to one other in a ring, `REFER_SECONDS` after it became a member and again after twice
as long, until nothing is left in the stores that is older than the newcomer itself. In a quiet
community, where no tally differs, nobody is referred.

Who is referred to another sends it a `Compare`: the tallies of what was published in each second
(`camcast.engine.repair.agreement`). If these differ from its own, as far as it was a member or has
something of that second, the other tells all that it knows, and asks for the same. Each of the two
has *met* the other then: it refers others to it as if they were neighbours. So the older
members are connected through any number of newcomers: the youngest connects those older than
itself, then the next one.

*From below.* What climbed is lost above when all who got it die, as in one half of a partition. Who
said it below still keeps it, but may tell newcomers alone by then. So a newcomer refers older
members of the communities below, which told it something, to the oldest member of its own that it
knows, and these tell it what may have been lost (`camcast.engine.repair.upward`). No newcomer takes
what is older than itself: that would be all that is kept, for each newcomer.

*Hostile.* A `Referral` may name anybody, who is sent one `Compare`: four bytes a second of the
retention at most, and `REFERRALS_A_SECOND` of them. What a forged `Compare` draws, or a `Referral`
in the name of a super-process, is bounded by what may be said in `Have`s.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Final

from camcast.engine.rate import Rate
from camcast.engine.repair.agreement import Tally
from camcast.engine.repair.haves import Haves
from camcast.engine.repair.lateness import Lateness
from camcast.engine.repair.messages import UNKNOWN, Compare, Have, Referral
from camcast.engine.repair.shared import Shared
from camcast.engine.repair.upward import Upward
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import MalformedError

REFER_SECONDS: Final = 2.0  # chosen: by then the tallies of a neighbour were compared twice
ELDERS_MAX: Final = 8  # chosen: as many messages of 120 bytes; a view holds more, but not only one
MET_MAX: Final = 32  # chosen: several newcomers' rings
TELLERS_MAX: Final = 8  # chosen: all of a small community below, some of a large one
REFERRALS_A_SECOND: Final = 8  # chosen: the neighbours of one newcomer, all in the same second


class Referring:
    """Refers older members to each other, and compares with whom this process is referred to."""

    def __init__(
        self,
        shared: Shared,
        haves: Haves,
        upward: Upward,
        tally: Tally,
        lateness: Lateness,
        since_1970: float,
    ) -> None:
        self._shared = shared
        self._haves = haves
        self._upward = upward
        self._tally = tally
        self._lateness = lateness
        self._since_1970 = since_1970
        self._met: dict[PeerId, Contact] = {}
        self._tellers: dict[PeerId, tuple[Contact, GroupId]] = {}
        """Older members of communities below that told something since others were last referred,
        and their communities."""
        self._rate = Rate(REFERRALS_A_SECOND)

    def start(self) -> None:
        """Begin: this process has become a member."""
        self._shared.outlet.wake(REFER_SECONDS, "refer")

    def wake(self, now: float) -> None:
        """Refer the older neighbours to each other, while they may have something older."""
        shared = self._shared
        age = shared.seconds_a_member(now)
        if age >= shared.retention:
            return
        shared.outlet.wake(age, "refer")
        ring = shared.sample(self._elders(), ELDERS_MAX)
        if len(ring) > 1:
            for one, other in pairwise([*ring, ring[0]]):
                shared.outlet.send([one], Referral(other))
        tellers, self._tellers = self._tellers, {}
        eldest = self._eldest()
        if eldest is not None:
            for teller, group in tellers.values():
                shared.outlet.send([teller], Referral(eldest), group=group)

    def told_from_below(self, source: Contact, group: GroupId, have: Have, now: float) -> None:
        """Note who has told of streams from the community `group` below.

        Who tells of none that may have begun before this process's time is not noted: so nobody is
        referred in a community that has been quiet since.
        """
        age = self._shared.seconds_a_member(now)
        begun = (one[2] for one in have.streams)
        if age < min(have.member, self._shared.retention) and any(
            tenths == UNKNOWN or tenths > 10 * age for tenths in begun
        ):
            self._tellers.pop(source.peer, None)
            self._tellers[source.peer] = source, group
            if len(self._tellers) > TELLERS_MAX:
                del self._tellers[next(iter(self._tellers))]

    def take(self, source: Contact, referral: Referral, now: float) -> None:
        """Compare with a member that this process is referred to, if it is no neighbour.

        A super-process refers to an older one, which is told what may have been lost above.
        """
        shared, elder = self._shared, referral.elder
        if elder.peer == shared.context.me.peer or not self._rate.allows(now):
            return
        if self._upward.tell_elder(source, elder, now):
            return
        if any(one.peer == elder.peer for one in shared.context.membership.neighbours()):
            return
        self._meet(elder)
        since = int(self._since_1970 + max(shared.member_since, now - shared.retention))
        parts = self._tally.parts(since, self._lateness.second(self._since_1970, now))
        shared.outlet.send([elder], Compare(shared.seconds_a_member(now), since, parts))

    def compare(self, source: Contact, message: Compare, now: float) -> None:
        """Tell a member all if it knows something else of a time at which both could."""
        if not message.member >= 0:
            raise MalformedError("a Compare tells of a negative time")
        shared = self._shared
        self._meet(source)
        neighbour = shared.neighbour(source.peer)
        neighbour.hear_member(message.member, now)
        until = self._lateness.second(self._since_1970, now)
        member_since = int(self._since_1970 + shared.member_since)
        difference = self._tally.difference(message.parts, message.since, until, member_since)
        agreement = neighbour.agreement
        if agreement.hear(difference, until, now) and self._haves.send_full(
            source, now, reply=True
        ):
            agreement.tell(difference)

    def _meet(self, contact: Contact) -> None:
        self._met.pop(contact.peer, None)
        self._met[contact.peer] = contact
        if len(self._met) > MET_MAX:
            del self._met[next(iter(self._met))]

    def _eldest(self) -> Contact | None:
        """Return who has been a member for longest, as far as neighbours have said so."""
        shared = self._shared
        neighbours = {one.peer: one for one in shared.context.membership.neighbours()}
        older = [
            contact
            for peer, contact in (self._met | neighbours).items()
            if -inf < shared.neighbour(peer).member_since < shared.member_since
        ]
        return min(older, key=lambda one: shared.neighbour(one.peer).member_since, default=None)

    def _elders(self) -> list[Contact]:
        """Return those that may know something from before this process's time."""
        shared = self._shared
        neighbours = {
            contact.peer: contact
            for contact in shared.context.membership.neighbours()
            if shared.neighbour(contact.peer).agreement.differs
        }
        return [
            contact
            for peer, contact in (self._met | neighbours).items()
            if shared.neighbour(peer).member_since < shared.member_since
        ]
