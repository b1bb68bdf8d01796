"""Repair: every live, connected member gets every event, or is told which it cannot (PROTOCOLS 8).

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
(`camcast.engine.repair.news`). And a heartbeat carries a *tally*, a hash of what its sender knows
of a few seconds ago and before (`camcast.engine.repair.agreement`): one that differs twice running
makes the *full* `Have`, in pages (`camcast.engine.repair.haves`), which the other side answers with
its own. A difference that three full `Have`s did not remove is left at that: a newcomer knows less
of the past for good. So newcomers refer older members to each other
(`camcast.engine.repair.referring`).

Inside a community, a batch that was asked for is delivered, kept and announced, and not pushed.
What is told to the communities above (`camcast.engine.repair.upward`) is pushed there, and climbs
on. What nobody keeps any more is given up (`camcast.engine.repair.giving_up`), and what is older
than the membership is had on demand only (`camcast.engine.repair.history`).

*Hostile.* Who asks without having been told here draws no batch
(`camcast.engine.repair.answering`), and everything that is said and remembered is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from heapq import nlargest
from math import inf
from typing import Final

from camcast.doors.dissemination import DisseminationContext
from camcast.doors.repair import Repairs, RepairWatcher
from camcast.engine.known_streams import KnownRanges, KnownStreams
from camcast.engine.repair.agreement import FULL_SECONDS, HASH_BYTES, Tally
from camcast.engine.repair.answering import STREAMS_A_MESSAGE_MAX, Answering, SendAgain
from camcast.engine.repair.asking import Asking
from camcast.engine.repair.changes import CLIMBING_SECONDS, Changes
from camcast.engine.repair.giving_up import GivingUp
from camcast.engine.repair.haves import Haves
from camcast.engine.repair.history import History
from camcast.engine.repair.lack import Holder, check_held
from camcast.engine.repair.lateness import REORDER_SECONDS, Lateness
from camcast.engine.repair.messages import Compare, Have, Heard, Nonces, Referral, Want
from camcast.engine.repair.news import News
from camcast.engine.repair.referring import Referring
from camcast.engine.repair.shared import JOINING_SECONDS, Shared
from camcast.engine.repair.upward import Upward
from camcast.engine.store import Store, published_at
from camcast.vocabulary.batches import NOT_UPWARD, Batch
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import OTHER_LEVEL, MalformedError

HEIRS: Final = 3  # chosen: one that lives among them at 80 % dead, half the time
LATE_SECONDS: Final = 3.0  # chosen: by then the news were told, to four neighbours


class Repair(Repairs):
    """One community's repair in one process; see the module's theory of operation."""

    def __init__(
        self,
        context: DisseminationContext,
        streams: KnownStreams,
        store: Store,
        nonces: Nonces,
        send_again: SendAgain,
        outlet: ControlOutlet,
        tell_missed: Callable[[Missed, float], None],
        since_1970: float,
        lateness: Lateness,
    ) -> None:
        changes = Changes(streams.known.get)
        self._shared = shared = Shared(context, streams, store, outlet, changes)
        self._haves = haves = Haves(shared, nonces)
        self._upward = Upward(shared, haves)
        self._news = News(shared, haves, self._upward)
        self._history = History(shared, haves)
        self._giving_up = GivingUp(shared, self._news, self._history, tell_missed)
        self._asking = Asking(shared, self._giving_up, self._history, lateness)
        self._answering = Answering(shared, haves, nonces, send_again)
        self._send_again = send_again
        self._since_1970 = since_1970  # in seconds, when the clock was at 0
        self._lateness = lateness
        self._tally = Tally(shared.retention)
        self._referring = Referring(shared, haves, self._upward, self._tally, lateness, since_1970)
        self._changed = -inf  # when the tally last did

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
        return self._giving_up.told_missed

    def tally(self, second: int) -> bytes:
        """Return the tally up to a second, for heartbeats; empty if nothing is known."""
        tally = self._tally.until(second)
        return tally.to_bytes(HASH_BYTES) if tally else b""

    def is_changing(self, now: float) -> bool:
        """Whether something came within the retention, so that neighbours may lack it."""
        return now - self._changed < self._shared.retention

    @property
    def incomplete_streams(self) -> int:
        """How many streams something is asked for of."""
        return len(self._asking.lacks)

    def holes(self) -> int:
        """Count the ranges that are missing in these, as far as the streams are known here."""
        known = map(self._shared.streams.known.get, self._asking.lacks)
        return sum(len(one.holes()) for one in known if one is not None)

    def expects(self, stream: StreamId) -> bool:
        """Whether something of this stream was asked for in this community."""
        lack = self._asking.lacks.get(stream)
        return lack is not None and lack.asked > 0

    def is_history(self, batch: Batch) -> bool:
        """Whether a batch was published before this process became a member."""
        return published_at(batch) < self._shared.member_since - REORDER_SECONDS

    def wants_history(self, batch: Batch, now: float) -> bool:
        """Whether a batch from before the membership is for a subscription that asked for it."""
        return self._history.wants(batch, now)

    # -- what the dissemination asks: `camcast.doors.repair.Repairs` ------------------------

    def report_to(self, watcher: RepairWatcher) -> None:
        """See `camcast.doors.repair.Repairs`."""
        self._asking.watcher = watcher

    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        """See `camcast.doors.repair.Repairs`."""
        held = list(self._haves.held(streams, -inf, now))
        for contact in contacts:
            self._haves.send(contact, held, now)

    def seconds_a_member(self, now: float) -> float:
        """Return for how long this process has been a member; 0 before."""
        return self._shared.seconds_a_member(now)

    # -- inputs ----------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Begin: this process has become a member."""
        self._shared.member_since = now
        self._history.start(now)
        self._referring.start()

    def took(self, batch: Batch, known: KnownRanges, source: PeerId, now: float) -> None:
        """Take note of a batch that is new to the community; `source` sent it."""
        shared = self._shared
        shared.store.put(batch, shared.retention, now)
        stream = batch.stream
        if batch.first == 1:
            known.begun = published_at(batch)
        if published_at(batch) < shared.member_since + JOINING_SECONDS:
            known.before = max(known.before, batch.first + batch.count)
        self._tally.add(batch, int(self._since_1970 + now))
        self._changed = now
        if stream not in shared.changes.recent:
            self._news.note(stream, known, now)
        if batch.head_flags & OTHER_LEVEL or not source:
            self._upward.brought(stream, published_at(batch) if self.is_history(batch) else inf)
        self._asking.took(batch, known, source, now)

    def took_repaired(self, batch: Batch, now: float) -> None:
        """Take note, after `took`, that a batch is one that was asked for."""
        self._asking.came(batch.stream, now)
        self._news.note_urgent(batch.stream)

    def hear_tally(self, source: Contact, tally: bytes, second: int, now: float) -> None:
        """Take the tally of a neighbour up to a second, empty if it knows nothing."""
        late = self._lateness
        if late.lag(now) and second > late.second(self._since_1970, now):
            return  # what was published by then is still on its way
        own = self._tally.until(second)
        if own is None:
            return  # the neighbour's clock is far behind, so it can compare
        if not own and not tally:
            return
        difference = own ^ int.from_bytes(tally[:HASH_BYTES])
        agreement = self._shared.neighbour(source.peer).agreement
        if agreement.hear(difference, second, now) and self._haves.send_full(
            source, now, reply=True
        ):
            agreement.tell(difference)

    def leave(self, now: float) -> None:
        """Give what this process published of late to others, who cannot ask it any more.

        Those are some of its community and some above, for the community may leave as one. Those
        that were heard of last come first: others may have died without its being known yet. A
        process that hears nobody of its community gives all that still climbs.
        """
        shared = self._shared
        context = shared.context
        neighbours = context.membership.neighbours()
        neighbours = self._heard_last(shared.sample(neighbours, len(neighbours)))
        heirs: list[tuple[Contact, Topic | None]] = [(contact, None) for contact in neighbours]
        for topic, above in (table.nearest() for table in context.super_tables):
            if context.groups.membership(topic) is None:
                heirs += [(contact, topic) for contact in self._heard_last(above)]
        heard = max((context.liveness.heard(one.peer) for one in neighbours), default=-inf)
        after = now - (LATE_SECONDS if now - heard <= LATE_SECONDS else CLIMBING_SECONDS)
        unheard = 0
        for stream in shared.changes.brought:
            if stream[:PEER_ID_BYTES] == context.me.peer:
                known = shared.streams.known[stream]
                for batch in shared.store.batches(stream, 1, known.stop, after):
                    unheard += 0 if heirs else batch.count
                    for contact, upward in heirs:
                        if upward is None or not batch.flags & NOT_UPWARD:
                            self._send_again(batch, contact, now, upward)
        if unheard and context.super_tables:
            shared.outlet.report("unheard", count=unheard)

    def _heard_last(self, contacts: Sequence[Contact]) -> list[Contact]:
        """Return the `HEIRS` of these that were heard of last."""
        return nlargest(
            HEIRS, contacts, key=lambda one: self._shared.context.liveness.heard(one.peer)
        )

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a message of repair."""
        match message:
            case Have():
                self._take_have(source, message, now)
            case Want():
                self._answering.take(source, message, now)
            case Heard():
                self._upward.heard(source.peer, message.reply)
            case Referral():
                self._referring.take(source, message, now)
            case Compare():
                self._referring.compare(source, message, now)

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
            case ("refer",):
                self._referring.wake(now)

    def history(self, seconds: float, now: float) -> list[Batch]:
        """Return what is kept here of the last `seconds`, and ask others for the rest.

        The rest arrives as batches that `wants_history`.
        """
        return self._history.fetch(seconds, now)

    def _take_have(self, source: Contact, have: Have, now: float) -> None:
        if not (have.member >= 0 and have.history >= 0 and have.kept >= 0):  # NaN is refused
            raise MalformedError("a Have tells of a negative time")
        below = read_topic(have.below).group if have.below else None  # raises before it is kept
        shared, haves = self._shared, self._haves
        neighbour = shared.neighbour(source.peer)
        if below is None:
            neighbour.hear_member(have.member, now)
        since = now - have.history if below is not None and have.history > 0 else inf
        for held in have.streams[:STREAMS_A_MESSAGE_MAX]:
            if not check_held(held):
                raise MalformedError("a Have tells of ranges that cannot be")
            stream, _, _, bounds = held
            known = shared.streams.known.get(stream)
            if known is not None and bounds[-1] <= known.low and stream not in self._asking.lacks:
                continue  # settled here, as nearly all is of a stream that flows
            one = Holder(source, have.nonce, have.below, held, have.kept, now, since)
            self._asking.hear(one, now)
        if below is not None:
            self._referring.told_from_below(source, below, have, now)
            if have.reply:
                shared.outlet.send([source], Heard(have.reply), group=below)
            return
        if have.history > 0:
            if haves.room(now) <= 0:
                return  # a stranger can ask for another as often as it likes
            after = now - have.history
            history = haves.held(shared.heard_after(after), after, now)
            haves.send(source, history, now)
        elif have.reply and now - neighbour.agreement.told_at >= FULL_SECONDS:
            haves.send_full(source, now, reply=False)
