"""Repair: every live, connected member gets every event, or is told which it cannot.

Theory of operation
-------------------
Infect and die misses e^(-c) of a community, and what is published through a partition or a pause
misses half of it. `Repair` is the part of one community in one process that finds out what is
missing, and asks for it. It needs two messages most of all, over streams with ranges
(`camcast.engine.repair.messages`): `Have` tells what its sender knows of some streams, and from
which number on it keeps the bodies; `Want` asks for ranges, and is answered by the batches as they
were published, flagged as repaired. Nothing that a `Have` says counts as known: a forged one costs
a question.

*What is missing* shows in three ways. A received batch leaves a hole below it
(`camcast.engine.repair.asking`). The *news* tell of the streams that have changed
(`camcast.engine.repair.upward.News`). And a heartbeat carries a *tally*, a hash of what its sender
knows of a few seconds ago and before (`camcast.engine.repair.told`): one that differs twice running
makes the *full* `Have`, in pages, which the other side answers with its own. A difference that
three full `Have`s did not remove is accepted: a newcomer never learns the older past. Therefore
newcomers refer older members to each other (`camcast.engine.repair.history`).

Inside a community, a batch that was asked for is delivered, kept and announced, and not pushed.
What is told to the communities above (`camcast.engine.repair.upward`) is pushed there, and climbs
on. Events that nobody keeps are given up (`camcast.engine.repair.asking`), and what is older than
the membership is had on demand only (`camcast.engine.repair.history`). Of each key the last value
is kept beyond that (`camcast.engine.repair.last_values`), and compared by itself
(`camcast.engine.repair.comparing`).

*Hostile.* A process that asks without having received a `Have` gets no batch
(`camcast.engine.repair.answering`), and everything that is said and remembered is bounded.

*An event* that came in order, of a stream that has changed lately, passes this module and the
stream's tally in `camcast.engine.repair.told`, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from heapq import nlargest
from math import inf
from typing import Final

from typing_extensions import override

from camcast.doors.contained import Containment
from camcast.doors.repair import Repairs, RepairWatcher
from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.answering import STREAMS_A_MESSAGE_MAX, Answering, SendAgain
from camcast.engine.repair.asking import Asking, GivingUp, Holder, check_held
from camcast.engine.repair.catching_up import CatchingUp
from camcast.engine.repair.comparing import Comparing, ValuesContext
from camcast.engine.repair.confirming import Confirming
from camcast.engine.repair.history import History, Referring
from camcast.engine.repair.hold_back import HoldBack
from camcast.engine.repair.meeting import Meeting
from camcast.engine.repair.messages import (
    ArchiveHours,
    Compare,
    Have,
    Heard,
    Nonces,
    Piece,
    PiecesWanted,
    Referral,
    TooLong,
    Want,
)
from camcast.engine.repair.offers import Fetching, Offering
from camcast.engine.repair.pieces import Refusals
from camcast.engine.repair.told import (
    CLIMBING_SECONDS,
    FULL_SECONDS,
    HASH_BYTES,
    JOINING_SECONDS,
    REORDER_SECONDS,
    Haves,
    RepairContext,
    Tally,
)
from camcast.engine.repair.upward import News, Upward
from camcast.engine.store import published_at
from camcast.vocabulary.batches import KEYED, NOT_UPWARD, Batch
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import OTHER_LEVEL, MalformedError

HEIRS: Final = 3  # chosen: one that lives among them at 80 % dead, half the time
LATE_SECONDS: Final = 3.0  # chosen: by then the news were told, to four neighbours


class Repair(Repairs):
    """One community's repair in one process; see the module's theory of operation."""

    def __init__(
        self,
        context: RepairContext,
        nonces: Nonces,
        send_again: SendAgain,
        tell_missed: Callable[[Missed], None],
        containment: Containment,
        hold_back: HoldBack | None = None,
        values: ValuesContext | None = None,
    ) -> None:
        self._context = context
        self._hold_back = hold_back
        self.confirming = Confirming(context)
        """Asks other members whether they hold events of this process."""
        self._containment = containment
        self._haves = haves = Haves(context, nonces)
        self.comparing = None if values is None else Comparing(context, values, haves, nonces)
        """Keeps the last values of keys; None where a process has events for others only."""
        self._meeting = Meeting(context, haves)
        self._upward = Upward(context, haves)
        self._news = News(context, haves, self._upward)
        self._history = History(context, haves)
        self._refusals = refusals = Refusals(context, tell_missed)
        self._giving_up = GivingUp(context, self._news, self._history, tell_missed, refusals)
        self._offering = Offering(context, haves)
        self._fetching = Fetching(context, refusals)
        self._asking = Asking(context, self._giving_up, self._history, self._fetching)
        self._catching_up = CatchingUp(context, self._history, self._asking)
        self._answering = Answering(context, haves, nonces, send_again, self._offering)
        self._send_again = send_again
        self._clock = context.clock
        self._lateness = context.lateness
        self._tally = Tally(context.retention)
        self._referring = Referring(context, haves, self._upward, self._tally)
        self._changed = -inf  # when the tally last did
        self.whole: tuple[Batch, PeerId] | None = None
        """The long batch of which the last piece has come, and who sent it, for the intake."""

    # -- what others read ------------------------------------------------------------------

    @property
    def haves_sent(self) -> int:
        """The pages of `Have`s to other processes."""
        return self._haves.sent

    @property
    def wants_sent(self) -> int:
        """The `Want`s to other processes."""
        return self._asking.wants_sent

    @property
    def told_missed(self) -> int:
        """The events that were given up, and of which subscribers were told."""
        return self._giving_up.told_missed + self._refusals.told_missed

    def tally(self, second: int) -> bytes:
        """Return the tally up to a second, for heartbeats; empty if nothing is known."""
        tally = self._tally.until(second)
        return tally.to_bytes(HASH_BYTES) if tally else b""

    def is_changing(self, now: float) -> bool:
        """Whether something came within the retention, so that neighbours may lack it."""
        return now - self._changed < self._context.retention

    @property
    def incomplete_streams(self) -> int:
        """How many streams something is asked for of."""
        return len(self._asking.missing)

    def holes(self) -> int:
        """Count the ranges that are missing in these, as far as the streams are known here."""
        known = map(self._context.streams.known.get, self._asking.missing)
        return sum(len(one.holes()) for one in known if one is not None)

    def expects(self, stream: StreamId) -> bool:
        """Whether something of this stream was asked for in this community."""
        missing = self._asking.missing.get(stream)
        return missing is not None and missing.asked > 0

    def is_history(self, batch: Batch) -> bool:
        """Whether a batch was published before this process became a member.

        Its age and the time under its signature have to say so. Nobody signs the age, and what is
        history is marked as known without being delivered: whoever passes a batch on could make
        others swallow it. A publisher's clock may be behind, which the age makes good for.
        """
        since = self._context.member_since - REORDER_SECONDS
        return published_at(batch) < since and batch.published < 1000 * self._clock.wall(since)

    def seconds_back(self, now: float) -> float:
        """Return how long ago an event may have been published that is asked for now."""
        asked = self._context.seconds_a_member(now) + self._history.asked_back(now)
        return max(self._context.retention, asked + REORDER_SECONDS)

    def history_seconds(self, now: float) -> float:
        """Return how long ago, at most, events were published that are wanted as history; or 0."""
        asked = self._history.asked_back(now)
        return asked and asked + self._context.seconds_a_member(now)

    def has_past(self, now: float) -> bool:
        """Say whether what neighbours offer of the time before the membership is here."""
        return self._catching_up.is_over(now)

    def reach(self, now: float) -> float:
        """Return since when some member keeps events that answered to a question for the past."""
        return self._history.reach(now)

    def wants_history(self, batch: Batch, now: float) -> bool:
        """Whether a batch from before the membership is for a subscription that asked for it."""
        return self._history.wants(batch, now)

    # -- what the dissemination asks: `camcast.doors.repair.Repairs` ------------------------

    @override
    def report_to(self, watcher: RepairWatcher) -> None:
        watcher = self._containment.contain(RepairWatcher, watcher)
        for part in (self._asking, self._answering, self._fetching):
            part.watcher = watcher

    @override
    def offers(self, batch: Batch) -> bool:
        large = len(batch.body) >= self._context.community.parameters.offer_bytes
        return (large or batch.is_long) and self._offering.keeps(batch)

    @override
    def offer(
        self, batch: Batch, contacts: Sequence[Contact], now: float, above: Topic | None = None
    ) -> None:
        self._offering.offer(batch, contacts, now, above)

    @override
    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        held = list(self._haves.held(streams, -inf, now))
        for contact in contacts:
            self._haves.send(contact, held, now)

    def has_room(self, size: int, now: float) -> bool:
        """Say whether a long event of this process can be accepted (`Offering.has_room`)."""
        return self._offering.has_room(size, now)

    @property
    def unsent(self) -> int:
        """How many long events of this process nobody has been sent whole (`Offering.unsent`)."""
        return len(self._offering.unsent)

    def refusing(self, size: int, now: float) -> int:
        """Count the members that have said lately that they take no payload of so many bytes."""
        return self._refusals.refusing(size, now)

    def seconds_a_member(self, now: float) -> float:
        """Return for how long this process has been a member; 0 before."""
        return self._context.seconds_a_member(now)

    # -- inputs ----------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Begin: this process has become a member."""
        self._context.member_since = now
        self._history.start(now)
        self._referring.start()
        self._meeting.start()

    def add_batch(self, batch: Batch, known: KnownRanges, source: PeerId, now: float) -> None:
        """Add a batch that is new to the community; `source` sent it."""
        context, stream = self._context, batch.stream
        retention = context.retention
        published = batch.since - batch.age  # `published_at` without its call
        context.store.put(batch, retention, now)
        if self._fetching.awaited:
            self._fetching.drop(batch)
        if batch.flags & KEYED and self.comparing is not None:
            self.comparing.add(batch, now)
        if batch.first == 1:
            known.begun = published
        if published < context.member_since + JOINING_SECONDS:
            known.before = max(known.before, batch.first + batch.count)
            if published < context.member_since:
                known.older = max(known.older, batch.first + batch.count)
        # What an archive is given long afterwards others have not counted of late: it would make
        # the tallies differ, in other ways each second, for as long as it comes.
        if now - published <= retention or not self.is_history(batch):
            self._tally.add(batch, int(now + self._clock.ahead))  # `wall` without its call
        self._changed = now
        if stream not in context.changes.recent:
            self._news.add_change(stream, known, now)
        if batch.head_flags & OTHER_LEVEL or not source:
            self._upward.add_brought(stream, published if self.is_history(batch) else inf)
        missing, bounds = self._asking.missing.get(stream), known.bounds
        if missing is not None:
            self._asking.add_batch(batch, missing, source, now)
        elif bounds and (bounds[0] > known.floor or len(bounds) > 2):
            self._asking.add_hole(stream, source, now)

    def take_offered(self, batch: Batch, source: PeerId, now: float) -> bool:
        """Say, before `add_batch`, whether a batch is one that others offered and `source` sent."""
        return self._fetching.take(batch, source, now)

    def add_refused(self, batch: Batch, source: PeerId, now: float) -> None:
        """Add a batch that `source` sent and this process does not believe."""
        self._asking.add_refused(batch, source)
        self._fetching.on_refused(batch, source, now)

    def clock_set(self, now: float) -> None:
        """Go by the wall clock as it is from now on, after it was set."""
        self._asking.forgive()
        self._tally.clock_set(int(self._clock.wall(now)))

    def add_repaired(self, batch: Batch, source: PeerId, now: float) -> None:
        """Add, after `add_batch`, that the batch is one that was asked for; `source` sent it."""
        self._asking.add_repaired(batch.stream, source, now)
        self._news.add_urgent(batch.stream)

    def on_tally(self, source: Contact, tally: bytes, second: int, now: float) -> None:
        """Take the tally of a neighbour up to a second, empty if it knows nothing."""
        late = self._lateness
        if late.lag(now) and second > late.second(self._clock, now):
            return  # what was published by then is still on its way
        own = self._tally.until(second)
        if own is None:
            return  # the neighbour's clock is far behind, so it can compare
        if not own and not tally:
            return
        difference = own ^ int.from_bytes(tally[:HASH_BYTES])
        agreement = self._context.neighbour(source.peer).agreement
        if agreement.add_difference(difference, second, now) and self._haves.send_full(
            source, now, reply=True
        ):
            agreement.add_telling(difference)

    def leave(self, now: float) -> None:
        """Give recent events to others, who will not be able to ask for them.

        Those are some of its community and some above, for the community may leave as one. Those
        that were heard of last come first: others may have died without its being known yet. A
        process that hears from no member hands over every event still climbing.
        """
        context = self._context
        community = context.community
        neighbours = community.membership.neighbours()
        neighbours = self._heard_last(context.sample(neighbours, len(neighbours)))
        heirs: list[tuple[Contact, Topic | None]] = [(contact, None) for contact in neighbours]
        for topic, above in (table.nearest() for table in community.super_tables):
            if community.groups.membership(topic) is None:
                heirs += [(contact, topic) for contact in self._heard_last(above)]
        heard = max((community.liveness.heard(one.peer) for one in neighbours), default=-inf)
        after = now - (LATE_SECONDS if now - heard <= LATE_SECONDS else CLIMBING_SECONDS)
        unheard = 0
        for stream in context.changes.brought:
            if stream[:PEER_ID_BYTES] == community.me.peer:
                known = context.streams.known[stream]
                for batch in context.store.batches(stream, 1, known.stop, after):
                    unheard += 0 if heirs else batch.count
                    for contact, upward in heirs if not batch.is_long else ():
                        if upward is None or not batch.flags & NOT_UPWARD:
                            self._send_again(batch, contact, now, upward, False)
        if unheard and community.super_tables:
            context.outlet.report("unheard", count=unheard)

    def _heard_last(self, contacts: Sequence[Contact]) -> list[Contact]:
        """Return the `HEIRS` of these that were heard of last."""
        return nlargest(
            HEIRS, contacts, key=lambda one: self._context.community.liveness.heard(one.peer)
        )

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a message of repair."""
        match message:
            case Have():
                self._on_have(source, message, now)
            case Want():
                self._answering.on_want(source, message, now)
            case Heard():
                self._upward.on_heard(source.peer, message.reply)
            case Piece():
                stream = StreamId(message.stream)
                expected = self.expects(stream)
                asked = self._asking.has_asked(stream, source.peer)
                self.whole = self._fetching.on_piece(
                    source, message, now, expected=expected, asked=asked
                )
            case PiecesWanted():
                self._answering.on_pieces_wanted(source, message, now)
            case TooLong():
                offered = self._offering.has_offered(message.stream, message.first)
                self._refusals.on_too_long(message, offered=offered, now=now)
            case Referral():
                self._referring.on_referral(source, message, now)
            case Compare():
                self._referring.on_compare(source, message, now)
            case ArchiveHours():
                self._meeting.on_hours(source, message, now)
            case _ if self.comparing is not None:
                self.comparing.receive(source, message, now)

    def on_standstill(self, seconds: float, now: float) -> None:
        """Wait longer for answers by the seconds in which this process could read none."""
        self._asking.on_standstill(seconds, now)
        self._fetching.on_standstill(seconds, now)
        self._history.on_standstill(seconds)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer of the news, or that of asking."""
        match name:
            case ("news", int(number)):
                self._news.wake(number, now)
            case ("climb",):
                self._upward.climb(now)
            case ("urgent",):
                self._news.tell_urgent(now)
            case ("ask",):
                self._asking.wake(now)
            case ("fetch", int(number)):
                self._fetching.wake(number, now)
            case ("abandoned",):
                self._fetching.look_at_abandoned(now)
            case ("meet",):
                self._meeting.wake(now)
            case ("refer",):
                self._referring.wake(now)
            case ("history", int(number)):
                self._history.wake(number, now)
            case ("confirm",):
                self.confirming.wake()
            case ("values",) if self.comparing is not None:
                self.comparing.wake(now)

    def history(self, seconds: float, now: float) -> list[Batch]:
        """Return what is kept here of the last `seconds`, and ask others for the rest.

        The rest arrives as batches that `wants_history`, and what is held back is still to come.
        """
        kept = self._history.fetch(seconds, now)
        return kept if self._hold_back is None else list(self._hold_back.without_held(kept))

    def _on_have(self, source: Contact, have: Have, now: float) -> None:
        times = have.member, have.history, have.kept, have.reach, have.archived
        if not all(seconds >= 0 for seconds in times):  # NaN is refused
            raise MalformedError("a Have tells of a negative time")
        below = read_topic(have.below).group if have.below else None  # raises before it is kept
        context, haves = self._context, self._haves
        neighbour = context.neighbour(source.peer)
        if below is None:
            neighbour.add_membership(have.member, now)
            self._history.on_have(source.peer, have, now)
        younger = max(0.0, min(have.kept, context.seconds_a_member(now)) - have.reach)
        since = now - have.history if below is not None and have.history > 0 else inf
        for held in have.streams[:STREAMS_A_MESSAGE_MAX]:
            if not check_held(held):
                raise MalformedError("a Have tells of ranges that cannot be")
            if below is None:
                self.confirming.on_held(source.peer, held)
            stream, _, _, bounds = held
            known = context.streams.known.get(stream)
            if known is not None and bounds[-1] <= known.low and stream not in self._asking.missing:
                continue  # settled here, as nearly all is of a stream that flows
            one = Holder(source, have.nonce, have.below, held, have.kept, now, since, younger)
            self._asking.add_holder(one, now)
            if self._hold_back is not None and self._hold_back.holds(StreamId(stream)):
                self._hold_back.skip(StreamId(stream), self._asking.older(StreamId(stream), now))
        self._fetching.on_have(source, have, now)
        if below is not None:
            self._referring.on_have_from_below(source, below, have, now)
            if have.reply:
                context.outlet.send([source], Heard(have.reply), group=below)
            return
        if have.history > 0:
            if haves.room(now) <= 0:
                return  # a stranger can ask for another as often as it likes
            after = now - have.history
            history = haves.held(context.published_after(after), after, now)
            haves.send(source, history, now, after=after, answer=True)
            self._history.on_question(source, now)
        elif have.reply and now - neighbour.agreement.told_at >= FULL_SECONDS:
            haves.send_full(source, now, reply=False)
