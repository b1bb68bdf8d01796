"""Asking: what is missing, who has said to have it, and the `Want`s to them.

What is missing shows in two ways here. A received batch leaves a hole below it, which is asked for
after `REORDER_SECONDS`, since n+1 often overtakes n, and later where processes are short of CPU
(`camcast.engine.repair.told.Lateness`). And another process tells, in a `Have`, of what is not
known here. `MissingRanges` has a drawing of a stream.

*Giving up.* A hole that is older than the retention, or that three neighbours have passed and keep
nothing of ten seconds after it was noticed, is told to the subscribers as `Missed`, and not asked
for again (`GivingUp`). Above all that came two neighbours must have passed it, after the retention.
A neighbour that never had it says nothing of those who are cut off and may bring it: only one that
had it, and keeps it no more, shows that it is too old. What is given up does not count as known, so
that an event which comes all the same is delivered: a forged jump makes a false `Missed` at worst,
and silences nobody. What was published before this process became a member is not missed; the age
of a stream, which `Have` tells, says so, and each batch that is older: all that its publisher said
before it is older as well. What seems to be from just after that time may be from before, since no
age counts the ways of the messages that tell it: that is not told either.

*Liars.* Another process may tell of events that never were. Such streams take places of their
teller's share (`camcast.vocabulary.share.Places`), and none of those that are kept for holes below
what came: these are shared by publishers where events are signed, whoever passes them on. A
*promise* is broken by a process that is asked twice for what it told of and sends nothing: it makes
way for others that told of the same. A stream of which nothing ever came, and of which only broken
promises speak, is forgotten after `GIVE_UP_SECONDS`, and any other of which nothing came after the
retention. A neighbour that has such a stream tells of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from attrs import define, field

from camcast.doors.repair import RepairWatcher
from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.history import History
from camcast.engine.repair.messages import NONCE_SECONDS, UNKNOWN, Held, Wanted
from camcast.engine.repair.offers import Fetching
from camcast.engine.repair.pieces import Refusals
from camcast.engine.repair.refused import RefusedEvents
from camcast.engine.repair.told import (
    FULL_SECONDS,
    JOINING_SECONDS,
    OLDER_SECONDS,
    REORDER_SECONDS,
    RepairContext,
)
from camcast.engine.repair.upward import News
from camcast.engine.store import published_at
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, Missed, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.penalties import BROKEN_PROMISE
from camcast.vocabulary.share import Places

ASK_SECONDS: Final = REORDER_SECONDS
MISSING_MAX: Final = 4096  # chosen: the streams of a minute of partition at 60 new ones a second
AGAIN_SECONDS: Final = 1.0  # chosen: an answer is on its way for less, but at an overloaded peer
# chosen: between two questions to one holder. At 30 % loss, where half of them have no answer,
# nothing of 60,000 streams is missing after 40 s. With 4 s between the questions it was one in 260.
AGAIN_SECONDS_MAX: Final = 2.0
VAIN_QUESTIONS: Final = 2  # chosen: at 30 % loss one in four honest processes is silent twice
BROKEN_MAX: Final = 8  # chosen: more than are asked, so that as many liars do not take turns
FULL_NOTICE_SECONDS: Final = 60.0  # chosen: as `camcast.vocabulary.minute_log`
HOLDERS_MAX: Final = 3  # chosen: who told first; a round of asking tries them all
PASSED_BY: Final = 3  # chosen: one may have joined late, two may have been cut off together
# chosen: after the retention, of what is above all that came: one alone may have invented it
SPEAKERS_MIN: Final = 2
RANGES_MAX: Final = 64  # chosen: ranges of one stream in a message, as many as a process keeps
# chosen: for questions and answers that take two seconds each, as with `REORDER_SECONDS_MAX`
OLDER_SECONDS_MAX: Final = 4.0
GIVE_UP_SECONDS: Final = 10.0  # chosen: by then what a partition held back is there


@define
class Holder:
    """A process that has told what it holds of a stream."""

    contact: Contact
    nonce: bytes
    below: str
    """The topic of its community, if that is below this one; else empty."""
    held: Held
    kept: float
    """For how many seconds it keeps all bodies."""
    heard: float
    """When it told so; its nonce is as old."""
    since: float = inf
    """From when on it may be asked for everything, whoever was a member then."""
    younger: float = 0.0
    """By how many seconds, at most, it takes this process for younger than it is: what it keeps of
    these it does not offer."""
    asked: float = -inf
    """When it was asked last with this nonce, or another that was good."""
    vain: int = 0
    """How often in a row it was asked before that, and sent nothing until it was asked again."""


class Passed(NamedTuple):
    """A neighbour of the own community that misses nothing of a stream up to some number."""

    below: int
    """It misses and offers nothing below this number."""
    keeps_none_below: int
    """Below this number it keeps nothing from this process's time; 0 while it has not said so."""
    begun: float
    """When the stream's first event was published; infinitely long ago if it does not know."""
    kept: float
    """Since when it keeps all bodies."""


@define(eq=False)
class MissingRanges:
    """The missing ranges of one stream, as far as this process knows, and who may have them.

    The sequence numbers of a stream, as `KnownRanges` (``known``) and this object share them::

        1           low   bounds[0] bounds[1]      bounds[2]  stop = bounds[3]        below
        |============|.......|=========|..............|=========|- - - - - - - - - - - ->|
                         ^before                ^floor                   passed by a neighbour
        === known   ... missing   - - - nothing is known here; only a neighbour's `Have` tells of it

        low     everything below it is settled; all `bounds` are above it
        bounds  start and stop of each range that is known above `low`; `stop` is the last of them
        before  what is missing below it was published before this process became a member:
                nobody is told of it as `Missed`
        floor   what is missing below it is given up, or from before that time: it is asked for no
                more. `before` and `floor` lie anywhere between 1 and `stop`, each for itself
        below   a neighbour (`Passed`) misses and offers nothing below it

    While nothing of the stream is known here, `MissingRanges.before` stands for the first two.
    """

    since: float
    """Since when the lowest number that is missing now is missing, or something above all known."""
    due: float
    """When it is asked for next."""
    sender: Contact | None = None
    """The neighbour that sent what is above a hole: it is asked first."""
    holders: list[Holder] = field(factory=list)
    broken: dict[PeerId, None] = field(factory=dict)
    """The processes that told of it and sent nothing when they were asked; the latest last."""
    passed: dict[PeerId, Passed] = field(factory=dict)
    before: int = 1
    """Below this number, a stream of which nothing is known is from before this process's time."""
    asked: int = 0
    """How often it was asked for since something came last."""
    older_seconds: float = OLDER_SECONDS
    """By how much longer than its membership this process asks for it."""
    lowest: int = 0
    """The lowest number that was missing when that was last looked at; 0 before."""
    hole: int = 0
    """The same number if it has surely been missing `since`, as it is below a known one; else 0."""

    def add_holder(self, holder: Holder, *, offers: bool) -> bool:
        """Add what another process holds, in place of what it told before.

        `offers` says whether something is missing of that. Returns whether there is somebody to
        ask at once: one who was not known, or whose nonce was too old to be answered.
        """
        peer = holder.contact.peer
        before = next((one for one in self.holders if one.contact.peer == peer), None)
        self.holders = [one for one in self.holders if one is not before]
        if offers:
            self.holders.append(holder)
            self.holders.sort(key=lambda one: one.contact.peer not in self.broken)
            del self.holders[:-HOLDERS_MAX]
        if before is not None:
            holder.vain = before.vain
            if holder.heard - before.heard < NONCE_SECONDS:
                holder.asked = before.asked
        if not holder.below:
            _, offered, begun, bounds = holder.held
            below = min(bounds[0], offered) if offered else bounds[0]
            earlier = self.passed.get(peer)
            none_below = below
            if holder.younger > 0:  # then it may keep what it does not offer
                none_below = earlier.keeps_none_below if earlier else 0
                older = self.older_seconds + holder.younger + OLDER_SECONDS
                self.older_seconds = min(older, OLDER_SECONDS_MAX)
            # Kept as a time, for an age would be too small when it is looked at.
            begun_at = -inf if begun == UNKNOWN else holder.heard - begun / 10
            if earlier is not None and earlier.begun > -inf:
                # An age that lay in a queue makes it younger than it is.
                begun_at = earlier.begun if begun == UNKNOWN else min(begun_at, earlier.begun)
            self.passed[peer] = Passed(below, none_below, begun_at, holder.heard - holder.kept)
        return offers and self.asked > 0 and holder.asked == -inf

    def look(self, known: KnownRanges | None, now: float) -> None:
        """See whether what was missing first has come: a stream that flows always lacks some."""
        if known is not None:
            holes = known.holes()
            lowest = holes[0][0] if holes else known.stop
            if lowest > self.lowest:
                if self.lowest:
                    self.since = now
                self.hole = lowest if holes and self.since == now else 0
                self.lowest = lowest

    def fills_hole(self, batch: Batch) -> bool:
        """Say whether a batch has the number that has been missing `since`, for sure."""
        return batch.first <= self.hole < batch.first + batch.count

    def next_holder(self) -> Holder:
        """Return the one of the holders who was not asked for the longest time."""
        return min(self.holders, key=lambda one: one.asked)

    def break_promise(self, holder: Holder) -> None:
        """Ask a holder no more that was asked in vain, until it tells of the stream again."""
        self.holders.remove(holder)
        self.broken.pop(holder.contact.peer, None)
        self.broken[holder.contact.peer] = None
        if len(self.broken) > BROKEN_MAX:
            del self.broken[next(iter(self.broken))]

    def add_question(self, now: float) -> None:
        """Count a question for it; once all holders were asked, each is asked half as often."""
        holders = max(1, len(self.holders))
        pause = min(AGAIN_SECONDS * 2 ** (self.asked // holders), AGAIN_SECONDS_MAX)
        self.due = now + max(AGAIN_SECONDS, pause / holders)
        self.asked += 1

    def add_answer(self, now: float) -> None:
        """Count an answer: more is on its way."""
        self.asked = 1
        self.due = now + AGAIN_SECONDS

    def missing_here(self, known: KnownRanges | None) -> list[tuple[int, int]]:
        """Return what is missing, whoever may have it, as (start, stop)."""
        holes = [] if known is None else known.holes()
        if not holes:  # then nothing is known of what follows, but that a neighbour has passed it
            passed = max((one.below for one in self.passed.values()), default=0)
            start = self.before if known is None else known.floor
            if start < passed:
                whole = [(start, passed)]
                holes = whole if known is None else known.missing(start, passed - start)
        return holes

    def is_answered_by(self, peer: PeerId) -> bool:
        """Say whether a neighbour has offered all that it keeps from this process's time."""
        passed = self.passed.get(peer)
        return passed is not None and passed.keeps_none_below > 0

    def out_of_reach(self, neighbours: int) -> int:
        """Return the number below which nobody offers anything; there are so many neighbours."""
        needed = max(1, min(PASSED_BY, neighbours))
        passed = sorted((one.keeps_none_below for one in self.passed.values()), reverse=True)
        return passed[needed - 1] if len(passed) >= needed else 0


def check_held(held: Held) -> bool:
    """Say whether a `Held` of a peer makes sense: its numbers ascend, and are in their range."""
    _, offered, begun, bounds = held
    return (
        bool(bounds)
        and len(bounds) % 2 == 1
        and len(bounds) <= 2 * RANGES_MAX + 1
        and bounds[0] >= 1
        and bounds[-1] <= SEQUENCE_MAX + 1
        and (len(bounds) == 1 or all(one < other for one, other in pairwise(bounds)))
        and 0 <= offered <= SEQUENCE_MAX
        and begun >= UNKNOWN
    )


def missing_of(
    held: Held, known: KnownRanges | None, below: int = SEQUENCE_MAX + 1
) -> list[tuple[int, int]]:
    """Return what of the offered events `below` a number is not known here, as (start, stop)."""
    _, offered, _, bounds = held
    if not offered:
        return []
    least = offered if known is None else max(offered, known.floor)
    missing: list[tuple[int, int]] = []
    for start, stop in ranges_of(bounds):
        start, stop = max(start, least), min(stop, below)
        if start < stop:
            missing += [(start, stop)] if known is None else known.missing(start, stop - start)
    return missing


def ranges_of(bounds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a `Held` as (start, stop)."""
    if bounds[0] > 1:
        yield 1, bounds[0]
    yield from zip(bounds[1::2], bounds[2::2], strict=True)


def flat(ranges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return (start, stop) ranges one after the other, as a `Wanted` has them."""
    return tuple(number for one in ranges for number in one)[: 2 * RANGES_MAX]


class GivingUp:
    """Gives up what can no longer be had, and reports it as `Missed`."""

    def __init__(
        self,
        context: RepairContext,
        news: News,
        history: History,
        tell_missed: Callable[[Missed], None],
        refusals: Refusals,
    ) -> None:
        self.told_missed = 0
        """The events that were given up, and of which subscribers were told."""
        self._context = context
        self._news = news
        self._history = history
        self._tell_missed = tell_missed
        self._refusals = refusals

    def look(
        self,
        stream: StreamId,
        missing: MissingRanges,
        known: KnownRanges | None,
        neighbours: int,
        offered: int,
        now: float,
    ) -> None:
        """Report the events that can no longer be had, and do not ask for them again.

        The lowest that somebody offers is the number `offered`.
        """
        self._skip_older(missing, known, now)
        out_of_reach = self._out_of_reach(missing, known, neighbours, offered, now)
        if out_of_reach <= (1 if known is None else known.floor):
            return
        # A neighbour that keeps everything since before this process was a member would have
        # offered it.
        member, passed = self._context.member_since, missing.passed.values()
        lived_longer = all(one.kept > member for one in passed)
        joined = member + JOINING_SECONDS
        # An age leaves out the ways: each neighbour that knows when the stream began takes it for
        # younger than it is, and the earliest of these times is the closest.
        begun = min((one.begun for one in passed if one.begun > -inf), default=-inf)
        in_my_time = lived_longer and begun > joined
        if known is None:
            if not in_my_time:
                return
            me = self._context.community.me.peer
            known = self._context.streams.introduce(stream, me, now)
            if known is None:
                return
        start = max(known.floor, known.before)
        for first, stop in known.missing(start, out_of_reach - start):
            # A hole right after what is surely older may be older, too, and so may its rest.
            if in_my_time or (lived_longer and first > known.older):
                self._report(stream, first, stop)
            elif first <= known.older:
                known.older = max(known.older, stop)
        known.floor = out_of_reach
        self._news.add_change(stream, known, now)

    def give_up_holes(self, stream: StreamId, known: KnownRanges, now: float) -> None:
        """Report what is missing below what is known, since there is no room to ask for it."""
        start = max(known.floor, known.before)
        for first, stop in known.missing(start, known.stop - start):
            self._report(stream, first, stop)
        known.floor = known.stop
        self._news.add_change(stream, known, now)

    def _report(self, stream: StreamId, first: int, stop: int) -> None:
        for start, end in self._refusals.untold(stream, [(first, stop)]):
            self.told_missed += end - start
            self._tell_missed(Missed(stream, self._context.community.group, start, end - 1))

    def older(self, missing: MissingRanges, known: KnownRanges | None, now: float) -> int:
        """Return the number below which a stream is from before this process's time; 1 if unknown.

        A neighbour shows it, of a stream of which nothing is known, or not the beginning. Where
        history is asked for, nothing is too old.
        """
        if self._history.asked(now) or (known and (known.low > 1 or not known.bounds)):
            return 1
        # A neighbour that keeps all from before this process's time offers what is not older. If it
        # lacks that, another may offer it.
        member = self._context.member_since
        longer = [one for one in missing.passed.values() if one.kept <= member]
        before = max((one.keeps_none_below for one in longer), default=1)
        offers = (missing_of(one.held, known) for one in missing.holders)
        return min([before, *(offered[0][0] for offered in offers if offered)])

    def _skip_older(self, missing: MissingRanges, known: KnownRanges | None, now: float) -> None:
        """Ask for nothing from before this process's time, unless an archive is to have it."""
        if self._history.archived_seconds:
            return
        before = self.older(missing, known, now)
        if known is None:
            missing.before = max(missing.before, before)
        elif known.bounds:
            known.floor = max(known.floor, min(before, known.bounds[0]))

    def _out_of_reach(
        self,
        missing: MissingRanges,
        known: KnownRanges | None,
        neighbours: int,
        offered: int,
        now: float,
    ) -> int:
        """Return the number below which nothing can be had; 0 if all may still come."""
        waited, below = now - missing.since, 0
        if waited > self._context.retention and not self.is_coming(missing, now):
            passed = missing.out_of_reach(min(neighbours, SPEAKERS_MIN))
            below = max(passed, 1 if known is None else known.stop)
        # Where history is asked for, more may be offered.
        is_recent = known is not None and missing.lowest >= known.before
        asks_back = self._history.asked(now) or (self._history.archived_seconds and not is_recent)
        if waited > GIVE_UP_SECONDS and not asks_back:
            below = max(below, min(missing.out_of_reach(neighbours), offered))
        return below

    def is_coming(self, missing: MissingRanges, now: float) -> bool:
        """Say whether one who offers more sends something: much history takes its time."""
        return any(
            now - self._context.neighbour(one.contact.peer).brought <= self._context.retention
            for one in missing.holders
        )


class Asking:
    """Asks for what this process lacks of one community's streams."""

    def __init__(
        self, context: RepairContext, giving_up: GivingUp, history: History, fetching: Fetching
    ) -> None:
        self.wants_sent = 0
        """The `Want`s to other processes."""
        self.missing: dict[StreamId, MissingRanges] = {}
        self._told: Places[PeerId, StreamId] = Places(MISSING_MAX)
        """Those of the missing streams that others told of, and that have no hole here."""
        self._holes: Places[PeerId, StreamId] = Places(MISSING_MAX)
        """The others, by those who fill them (`RepairContext.filler`)."""
        self._unplaced = 0  # the streams without room since that was reported
        self._reported = -inf  # when it was
        self.watcher = RepairWatcher()
        self._context = context
        self._giving_up = giving_up
        self._history = history
        self._fetching = fetching
        self._lateness = context.lateness
        self._refused = RefusedEvents()
        self._asking = False  # whether a timer for asking is set

    def add_batch(self, batch: Batch, missing: MissingRanges, source: PeerId, now: float) -> None:
        """Add a batch, which `source` sent, of a stream of which something was missing."""
        stream = batch.stream
        if stream in self._told and self._context.streams.known[stream].bounds:
            self._told.leave(stream)  # a hole has a place beside those of what others tell
            if not self._place(stream, source, now):
                del self.missing[stream]
                return
        # What others had to ask for is as old as it says, what lay in queues seems younger.
        if missing.fills_hole(batch) and published_at(batch) > missing.since:
            self._lateness.add(now - missing.since, now)

    def add_hole(self, stream: StreamId, source: PeerId, now: float) -> None:
        """Begin to ask for what is missing below a batch that `source` sent."""
        if self._place(stream, source, now):
            self._begin(stream, now, self._context.community.membership.peers().get(source))

    def _place(self, stream: StreamId, source: PeerId, now: float) -> bool:
        """Give a stream with a hole a place, and say whether it has one.

        The holes of the stream that gets none, or has to give its own, are given up.
        """
        lost = self._holes.take(self._context.filler(stream, source), stream)
        if lost is None:
            return True
        self._note_unplaced(now)
        if (known := self._context.streams.known.get(lost)) is not None:
            self._giving_up.give_up_holes(lost, known, now)
        if lost == stream:
            return False
        del self.missing[lost]
        return True

    def older(self, stream: StreamId, now: float) -> int:
        """Return the number below which a stream is from before this process's time; 1 if unknown.

        That is what the neighbours show who have answered so far: another may still offer more.
        """
        missing = self.missing.get(stream)
        if missing is None:
            return 1
        return self._giving_up.older(missing, self._context.streams.known.get(stream), now)

    def add_repaired(self, stream: StreamId, source: PeerId, now: float) -> None:
        """Add an answer: a batch of a stream came from `source` that was asked for."""
        self._context.neighbour(source).brought = now
        missing = self.missing.get(stream)
        if missing is not None:
            missing.add_answer(now)
            missing.broken.pop(source, None)

    def has_asked(self, stream: StreamId, peer: PeerId) -> bool:
        """Say whether a process was asked for something of a stream that it offers."""
        missing = self.missing.get(stream)
        holders = () if missing is None else missing.holders
        return any(one.contact.peer == peer and one.asked > -inf for one in holders)

    def add_refused(self, batch: Batch, source: PeerId) -> None:
        """Add a batch that `source` sent and this process does not believe."""
        self._refused.add(batch.stream, batch.first, batch.count, source)

    def forgive(self) -> None:
        """Ask for what was refused once more, since the clock was set."""
        self._refused.clear()

    def _missing_of(
        self, holder: Holder, known: KnownRanges | None, below: int = SEQUENCE_MAX + 1
    ) -> list[tuple[int, int]]:
        """Return what a holder offers and has not sent in vain, as (start, stop)."""
        ranges = missing_of(holder.held, known, below)
        ranges = self._fetching.refusals.without(StreamId(holder.held[0]), ranges)
        return self._refused.without(StreamId(holder.held[0]), ranges, holder.contact.peer)

    def add_holder(self, holder: Holder, now: float) -> None:
        """Add what another process holds of a stream."""
        stream = StreamId(holder.held[0])
        me = self._context.community.me.peer
        if len(stream) != STREAM_ID_BYTES:
            return
        context = self._context
        known = context.streams.known.get(stream)
        if stream[:PEER_ID_BYTES] == me:
            # With an archive, what an earlier run has published may be missing; without, what this
            # one has, if its machine was set back to a snapshot: the publisher looks at that.
            is_later = known is not None and holder.held[3][-1] > known.stop
            if not is_later and (known or not self._history.archived_seconds):
                return
        if known is None and (archived := context.retained.known(stream)) is not None:
            if not missing_of(holder.held, archived):
                return
            filler = context.filler(stream, holder.contact.peer)
            known = context.streams.introduce(stream, filler, now)
        missing = self.missing.get(stream)
        offers = bool(self._missing_of(holder, known))
        if missing is None:
            passed_all = holder.held[3][0]  # an event kept nowhere shows in this alone
            behind = not holder.below and (known is None or known.misses_below(passed_all))
            if not offers and not behind:
                return
            lost = self._told.take(self._context.teller(holder.contact.peer), stream)
            if lost is not None:
                self._note_unplaced(now)
                if lost == stream:
                    return
                del self.missing[lost]
            missing = self._begin(stream, now)
            neighbour = self._context.neighbour(holder.contact.peer)
            neighbour.agreement.pause = FULL_SECONDS  # it had something to tell
        stop = holder.held[3][-1]
        if known is None or stop > known.stop:
            self.watcher.told(stream, stop, holder.contact, holder.below, now)
        if missing.add_holder(holder, offers=offers):
            missing.due = now  # those before may be silent
            self._ask_after(0.0)

    def _begin(self, stream: StreamId, now: float, sender: Contact | None = None) -> MissingRanges:
        """Begin to ask for what is missing of a stream."""
        due = now + self._lateness.reorder_seconds(now)
        missing = self.missing[stream] = MissingRanges(now, due, sender)
        missing.look(self._context.streams.known.get(stream), now)
        self._ask_after(ASK_SECONDS)
        return missing

    def _forget(self, stream: StreamId) -> None:
        del self.missing[stream]
        self._told.leave(stream)
        self._holes.leave(stream)

    def _note_unplaced(self, now: float) -> None:
        """Count a stream that found no room, or had to give its place; report it once a minute."""
        self._unplaced += 1
        if now - self._reported >= FULL_NOTICE_SECONDS:
            self._reported = now
            self._context.outlet.report("repair_full", count=self._unplaced)
            self._unplaced = 0

    def _ask_after(self, seconds: float) -> None:
        if not self._asking:
            self._asking = True
            self._context.outlet.wake(seconds, "ask")

    def on_standstill(self, seconds: float, now: float) -> None:
        """Give nothing up for the time in which this process could read no answer."""
        for missing in self.missing.values():
            missing.since = min(now, missing.since + seconds)

    def wake(self, now: float) -> None:
        """Ask for what is missing and due, each stream of one process; give up what nobody has."""
        self._asking = False
        neighbours = self._context.community.membership.neighbours()
        # Until it could be given up, though nobody keeps it as long: else it is never told.
        asked_for = max(self._context.retention, GIVE_UP_SECONDS)
        asked: dict[tuple[Contact, bytes, str], list[Wanted]] = {}
        since: dict[tuple[Contact, bytes, str], float] = {}
        older: dict[tuple[Contact, bytes, str], float] = {}
        for stream, missing in list(self.missing.items()):
            if missing.due > now:
                continue
            known = self._context.streams.known.get(stream)
            missing.look(known, now)
            offered = self._lowest_offered(stream, missing, known)
            self._giving_up.look(stream, missing, known, len(neighbours), offered, now)
            known = self._context.streams.known.get(stream)
            missing.holders = [one for one in missing.holders if self._missing_of(one, known)]
            self._drop_liars(missing, known, now)
            patience = self.watcher.patience(stream, missing.since, now)
            awaited = SEQUENCE_MAX + 1 if known is None or patience <= 0 else known.stop
            if known is None and self._is_invented(missing, now, asked_for):
                self._forget(stream)
                continue
            holder = missing.next_holder() if missing.holders else None
            offered_here = [] if holder is None else self._missing_of(holder, known, awaited)
            waited = now - missing.since
            ranges = self._fetching.without(stream, offered_here, waited)
            if offered_here and not ranges:
                continue  # the one that offered it to be fetched was asked, and the next will be
            if holder is not None and ranges:
                holder.vain, holder.asked = self._vain(holder), now
                key = holder.contact, holder.nonce, holder.below
                since[key] = min(holder.since, since.get(key, inf))
            elif holder is not None and known is not None and not known.holes():
                continue  # with patience, which the next look need not have any more
            elif now - missing.since > asked_for or not (ranges := missing.missing_here(known)):
                self._forget(stream)
                continue
            elif not (ranges := self._fetching.without(stream, ranges, waited)):
                continue
            elif neighbours:
                contact = missing.sender
                if missing.asked or contact is None:
                    silent = [one for one in neighbours if not missing.is_answered_by(one.peer)]
                    contact = self._context.community.rng.choice(silent or neighbours)
                ranges = self._refused.without(stream, ranges, contact.peer)
                key = contact, b"", ""
            else:
                continue  # nobody can be asked for now
            if not ranges:
                missing.due = now + AGAIN_SECONDS_MAX  # it was refused, and is given up in time
                continue
            asked.setdefault(key, []).append((stream, flat(ranges)))
            older[key] = max(missing.older_seconds, older.get(key, 0.0))
            missing.add_question(now)
        for key, wanted in asked.items():
            seconds = max(
                self._context.seconds_a_member(now) + older[key], now - since.get(key, inf)
            )
            self._send_want(*key, wanted, seconds, now)
        if self.missing:
            self._ask_after(ASK_SECONDS)

    def _lowest_offered(
        self, stream: StreamId, missing: MissingRanges, known: KnownRanges | None
    ) -> int:
        """Return the lowest number that somebody offers who has not been asked for it in vain."""
        honest = (one for one in missing.holders if self._vain(one) < VAIN_QUESTIONS)
        offered = (ranges[0][0] for one in honest if (ranges := self._missing_of(one, known)))
        return min(offered, default=SEQUENCE_MAX + 1)

    def _vain(self, holder: Holder) -> int:
        """Return how often in a row a holder was asked until now, and sent nothing that it told of.

        What it has sent of other streams counts as well: it may be asked for more than it can send.
        """
        brought = self._context.neighbour(holder.contact.peer).brought
        return 0 if brought >= holder.asked else holder.vain + 1

    def _drop_liars(self, missing: MissingRanges, known: KnownRanges | None, now: float) -> None:
        """Drop the holders that were asked in vain, as long as others are left to be asked.

        The last of a stream of which nothing ever came is dropped in time as well, but for one of
        a community below: it tells of its events once, and nobody here can tell of them instead.
        """
        late = known is None and now - missing.since > GIVE_UP_SECONDS
        for one in [one for one in missing.holders if self._vain(one) >= VAIN_QUESTIONS]:
            if len(missing.holders) > 1 or (late and not one.below):
                missing.break_promise(one)
                self._context.outlet.report("promise_broken", count=1)
                self._context.penalise(one.contact.peer, BROKEN_PROMISE, now)

    def _is_invented(self, missing: MissingRanges, now: float, asked_for: float) -> bool:
        """Say whether a stream of which nothing ever came is to be taken for a lie."""
        waited = now - missing.since
        if missing.holders:
            return waited > asked_for and not self._giving_up.is_coming(missing, now)
        return bool(missing.broken) and len(missing.passed) <= 1 and waited > GIVE_UP_SECONDS

    def _send_want(
        self,
        contact: Contact,
        nonce: bytes,
        below: str,
        wanted: Sequence[Wanted],
        seconds: float,
        now: float,
    ) -> None:
        self.wants_sent += 1
        if not below:
            seconds += self._history.asked_back(now)
        self._context.send_want(contact, nonce, below, wanted, seconds)
