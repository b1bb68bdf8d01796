"""Offers: a large batch is announced in place of being pushed, and each process asks for it once.

Theory of operation
-------------------
A process that has a batch of `CommunitySettings.offer_bytes` or more, and would push it to some
others, sends these a `Have` that names the batch as *offered* (`Offering`). Who lacks the batch
asks the first offerer at once (`Fetching`), and offers it on as soon as it is there. A push sends
the body along every edge of the epidemic, an offer along those edges alone that bring it first.

*Budget.* An offer may be taken once by each process that it was made to, beyond the bytes a second
that repair answers with: offers send no more than a push would have sent.

*Patience.* An offerer that dies, lies or is slow is passed over for the next one after the time
that answers take, as measured (`ArrivalDelay`), since its last answer to anything. An offerer that
was passed over is asked at once for nothing else: others may offer the same. Once all offerers
are passed over, the batch is one that repair asks for (`camcast.engine.repair.asking`), to which
each offer is a `Have` like any other; until then repair neither asks for it nor gives it up.

*Hostile.* Invented offers take places of their teller's share, as invented streams do. What this
process offered is remembered of the latest `OFFERED_MAX` batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

from attrs import define, field

from camcast.doors.repair import RepairWatcher
from camcast.engine.repair.messages import Have, Wanted
from camcast.engine.repair.told import Haves, RepairContext
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.share import Places
from camcast.vocabulary.smoothed_time import ArrivalDelay
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError

OFFERED_MAX: Final = 1024  # chosen: 64 MiB of batches of 64 KiB, as many as a store keeps
OFFERS_MAX: Final = 64  # chosen: batches that one message offers; a publisher's instant has fewer
FETCHED_MAX: Final = 256  # chosen: batches awaited at a time, 16 MiB of 64 KiB each
OFFERERS_MAX: Final = 8  # chosen: as many as a fan-out has at 20 members; one of them is honest
PASSED_OVER_MAX: Final = 64  # chosen: more than offer to one process at a time
# chosen: two hops of a wide area network: by then an honest process offers the same, or none has it
DISTRUST_SECONDS: Final = 0.2


class Offering:
    """The batches of one community that this process has offered."""

    def __init__(self, context: RepairContext, haves: Haves) -> None:
        self._context = context
        self._haves = haves
        self._offered: dict[tuple[StreamId, int], dict[PeerId, None]] = {}
        """By a batch's stream and first number, who may take it still; the oldest come first."""

    def keeps(self, batch: Batch) -> bool:
        """Say whether a batch is kept for those who ask."""
        stop = batch.first + batch.count
        return any(self._context.store.batches(batch.stream, batch.first, stop))

    def offer(
        self, batch: Batch, contacts: Sequence[Contact], now: float, above: Topic | None
    ) -> None:
        """Offer a batch to members of this community, or of the super-community `above`."""
        context, offered = self._context, (batch.stream, batch.first, batch.count)
        after = -inf if above is None else now - context.retention
        held = list(self._haves.held([batch.stream], after, now, upward=above is not None))
        may_take = self._offered.setdefault((batch.stream, batch.first), {})
        if len(self._offered) > OFFERED_MAX:
            del self._offered[next(iter(self._offered))]
        for contact in contacts:
            may_take[contact.peer] = None
            self._haves.send(contact, held, now, after=after, above=above, offers=(offered,))

    def take(self, batch: Batch, peer: PeerId) -> bool:
        """Say whether a batch was offered to a process that asks for it now, for the first time."""
        may_take = self._offered.get((batch.stream, batch.first), {})
        return peer in may_take and may_take.pop(peer, True) is None


class _Offerer(NamedTuple):
    """A process that has offered a batch; for one of a community below with the name of that."""

    contact: Contact
    nonce: bytes
    below: str


@define(eq=False)
class _Awaited:
    """A batch that others have offered, and that has not come."""

    count: int
    since: float
    """When it was offered first."""
    offerers: list[_Offerer] = field(factory=list)
    """Those that may be asked still, in the order of their offers."""
    asked: dict[PeerId, float] = field(factory=dict)
    """When each process was asked; the one that was asked last comes last."""

    @property
    def last(self) -> PeerId | None:
        """The process that was asked last."""
        return next(reversed(self.asked), None)


class Fetching:
    """Asks for the batches of one community that others offer, one offerer after the other."""

    def __init__(self, context: RepairContext) -> None:
        self.watcher: RepairWatcher = RepairWatcher()
        """The group's dissemination, once there is one."""
        self._context = context
        self.awaited: dict[StreamId, dict[int, _Awaited]] = {}
        """The batches that were offered and have not come, by stream and first number."""
        self._places = Places[PeerId, tuple[StreamId, int]](FETCHED_MAX)
        self._delay = ArrivalDelay()
        self._passed_over: dict[PeerId, None] = {}
        """The processes that did not answer in time when they were asked last."""
        self._timer = 0  # the number of the timer that counts; those before are void
        self._timer_due = inf

    # -- what repair asks ------------------------------------------------------------------

    def without(self, stream: StreamId, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return ranges of a stream, as (start, stop), without what is awaited of an offerer."""
        left: list[tuple[int, int]] = []
        awaited = sorted(self.awaited.get(stream, {}).items())
        for start, stop in ranges:
            for first, batch in awaited:
                if start < first + batch.count and first < stop:
                    left.append((start, first))
                    start = first + batch.count
            left.append((start, stop))
        return [(start, stop) for start, stop in left if start < stop]

    # -- inputs ----------------------------------------------------------------------------

    def on_have(self, source: Contact, have: Have, now: float) -> None:
        """Ask for the batches that a `Have` offers and that are neither known nor awaited."""
        offerer, me = _Offerer(source, have.nonce, have.below), self._context.community.me.peer
        begun: list[tuple[StreamId, int]] = []
        for name, first, count in have.offers[:OFFERS_MAX]:
            stream, last = StreamId(name), first + count - 1
            if len(stream) != STREAM_ID_BYTES or not 1 <= first <= last <= SEQUENCE_MAX:
                raise MalformedError("a Have offers a batch that cannot be")
            known = self._context.streams.known.get(stream)
            if stream[:PEER_ID_BYTES] == me:
                continue
            is_known = known is not None and known.knows(first, count)
            self.watcher.offered(stream, source, have.below, is_known, now)
            if is_known:
                continue
            awaited = self.awaited.get(stream, {}).get(first)
            if awaited is None:
                key = stream, first
                lost = self._places.take(self._context.teller(source.peer), key)
                if lost == key:
                    continue  # repair asks for it, as for all that others have
                if lost is not None:
                    self._forget(*lost)
                awaited = _Awaited(count, now)
                self.awaited.setdefault(stream, {})[first] = awaited
            others = [one for one in awaited.offerers if one.contact.peer != source.peer]
            awaited.offerers = [*others[: OFFERERS_MAX - 1], offerer]
            begun.append((stream, first))
        self._look(begun, now)

    def take(self, batch: Batch, source: PeerId, now: float) -> bool:
        """Take note of an answer; say whether the batch was awaited."""
        awaited = self.awaited.get(batch.stream, {}).get(batch.first)
        if awaited is None:
            return False
        neighbour = self._context.neighbour(source)
        if source in awaited.asked:  # that of one that was passed over is as good a measure
            self._delay.observe(now - max(awaited.asked[source], neighbour.brought))
        neighbour.brought = now
        self._passed_over.pop(source, None)
        self._forget(batch.stream, batch.first)
        return True

    def drop(self, batch: Batch) -> None:
        """Await a batch no longer: it has come without being asked for."""
        if batch.first in self.awaited.get(batch.stream, ()):
            self._forget(batch.stream, batch.first)

    def on_refused(self, batch: Batch, source: PeerId, now: float) -> None:
        """Ask the next offerer for a batch that `source` sent and this process does not believe."""
        awaited = self.awaited.get(batch.stream, {}).get(batch.first)
        if awaited is not None and awaited.last == source:
            self._pass_over(source)
            awaited.asked.clear()
            self._look([(batch.stream, batch.first)], now)

    def on_standstill(self, seconds: float, now: float) -> None:
        """Pass nobody over for the time in which this process could read no answer."""
        for batches in self.awaited.values():
            for awaited in batches.values():
                for peer, asked_at in awaited.asked.items():
                    awaited.asked[peer] = min(now, asked_at + seconds)

    def wake(self, number: int, now: float) -> None:
        """Ask the next offerers for what is due, if this timer is the latest."""
        if number == self._timer:
            self._timer_due = inf
            self._look([(one, first) for one, of in self.awaited.items() for first in of], now)

    # -- inside ----------------------------------------------------------------------------

    def _look(self, keys: Sequence[tuple[StreamId, int]], now: float) -> None:
        """Ask for those of the awaited batches that are due, and set the timer for the others."""
        asked: dict[_Offerer, list[Wanted]] = {}
        late: dict[PeerId, None] = {}
        due_next = inf
        for stream, first in keys:
            awaited = self.awaited[stream][first]
            if (due := self._due(stream, first, awaited, now)) <= now:
                if awaited.last is not None:
                    late[awaited.last] = None
                offerer = self._next_offerer(awaited)
                if offerer is None:
                    self._forget(stream, first)
                    continue
                awaited.asked.pop(offerer.contact.peer, None)
                awaited.asked[offerer.contact.peer] = now
                asked.setdefault(offerer, []).append((stream, (first, first + awaited.count)))
                due = now + self._delay.timeout
            due_next = min(due_next, due)
        for peer in late:
            self._delay.back_off()
            self._pass_over(peer)
        for offerer, wanted in asked.items():
            self._context.send_want(*offerer, wanted, self._context.retention)
        if due_next < self._timer_due:
            self._timer, self._timer_due = self._timer + 1, due_next
            self._context.outlet.wake(due_next - now, "fetch", self._timer)

    def _due(self, stream: StreamId, first: int, awaited: _Awaited, now: float) -> float:
        """Return when an offerer is to be asked, or the next one if one was asked."""
        if (last := awaited.last) is not None:
            brought = self._context.neighbour(last).brought
            return max(awaited.asked[last], brought) + self._delay.timeout
        due, known = now, self._context.streams.known.get(stream)
        if known is None or first >= known.stop:  # else it comes no more by itself
            due += max(0.0, self.watcher.patience(stream, awaited.since, now))
        if all(one.contact.peer in self._passed_over for one in awaited.offerers):
            due = max(due, awaited.since + DISTRUST_SECONDS)
        return due

    def _next_offerer(self, awaited: _Awaited) -> _Offerer | None:
        """Take the offerer that is to be asked: one that was not passed over, if there is one."""
        offerers = awaited.offerers
        if not offerers:
            return None
        trusted = (one for one in offerers if one.contact.peer not in self._passed_over)
        chosen = next(trusted, offerers[0])
        offerers.remove(chosen)
        return chosen

    def _pass_over(self, peer: PeerId) -> None:
        self._passed_over.pop(peer, None)
        self._passed_over[peer] = None
        if len(self._passed_over) > PASSED_OVER_MAX:
            del self._passed_over[next(iter(self._passed_over))]

    def _forget(self, stream: StreamId, first: int) -> None:
        """Await a batch no longer."""
        self._places.leave((stream, first))
        del self.awaited[stream][first]
        if not self.awaited[stream]:
            del self.awaited[stream]
