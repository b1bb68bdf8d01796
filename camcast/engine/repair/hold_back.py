"""Holding back: a publisher's events of a topic are delivered in the order of their publication.

Theory of operation
-------------------
Events of one stream overtake each other on their ways through a community. With the order ``fifo``
a process *holds back* an event, in the manner of ISIS (Birman and Joseph, "Reliable communication
in the presence of failures", 1987), while an earlier one of the stream is missing that repair may
still bring. It forwards both at once: only the delivery to its own subscribers waits.

An event waits for a number of its stream that is not known (`KnownRanges`), that was not given up
(`floor`), and that is not from before this process's time (`before`). So the first event that a
newcomer sees of a stream does not wait for the past, as soon as its age or an answer of a neighbour
shows that there is nothing else below it.

A publisher has two streams of a topic, of which one never climbs. In the topic's own community an
event also waits for that of the other stream which it names (`After`), if that was published in
this process's time. In the communities above, where only one of the streams arrives, nothing waits
for the other.

*The end of patience.* No event waits for more than `hold_seconds`: then it is delivered, and all
that are held below it. What was waited for is *late* if it comes all the same, and flagged so.

*Bounds.* What is held counts in the bounds of the subscriptions' queues (`Room`). Where no queue
has room for all that is held, the stream that has waited for longest goes on at once: an event that
is delivered moves from here to the queues, which drop by their policies, so that nothing stands
still.

*Costs.* An event that comes in order takes one comparison, and a look-up while anything is held.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from attrs import define, field
from msgspec.structs import replace

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.told import JOINING_SECONDS, RepairContext
from camcast.engine.store import published_at
from camcast.vocabulary.batches import AFTER, After, Batch
from camcast.vocabulary.events import SEQUENCE_MAX, StreamId
from camcast.vocabulary.topics import Topic

# chosen: what is missing is asked for after 0.2 s and then each second or two, so that five seconds
# hold three or four questions; half of the time after which a hole may be given up
HOLD_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.1  # chosen: an event that waits for nothing any more waits so long at most

# chosen: as much as the queue of a subscription holds unless somebody says otherwise
EVENTS_MAX: Final = 4096
BYTES_MAX: Final = 1 << 26

Room = Callable[[], tuple[int, int]]
"""Returns how many events, and bytes of their payloads, may be held back."""
RoomForTopics = Callable[[Sequence[Topic]], tuple[int, int]]
"""Returns how many events of some topics, and bytes of their payloads, may be held back."""


def default_room(_topics: Sequence[Topic]) -> tuple[int, int]:
    """Return the room of a process whose subscribers have no queues that fill."""
    return EVENTS_MAX, BYTES_MAX


class HeldBatch(NamedTuple):
    """A batch that is held back; they sort by their numbers."""

    first: int
    arrived: float
    batch: Batch


@define(eq=False)
class HeldStream:
    """The batches of one stream that are held back, in ascending order."""

    known: KnownRanges
    since: float
    """When the one that has waited for longest arrived."""
    floor: int = 1
    """Nothing below is waited for: a neighbour says that it is from before this process's time."""
    follows: StreamId | None = None
    """The other stream of the publisher and topic, if a batch names an event of it."""
    batches: list[HeldBatch] = field(factory=list)


class HoldBack:
    """One community's events that wait for earlier ones of their publishers and topics.

    It sets the timer ``order``, at which `look` is to be called. No event waits for longer than
    `hold_seconds`.
    """

    def __init__(
        self, context: RepairContext, room: Room, hold_seconds: float = HOLD_SECONDS
    ) -> None:
        self._context = context
        self._room = room
        self._hold_seconds = hold_seconds
        self._streams: dict[StreamId, HeldStream] = {}
        self._followers: dict[StreamId, StreamId] = {}
        """The stream that is held back for each that it follows."""
        self.events = 0
        """How many events are held back."""
        self._bytes = 0
        self._looking = False  # whether the timer is set

    def holds(self, stream: StreamId) -> bool:
        """Say whether something of a stream is held back."""
        return stream in self._streams

    def skip(self, stream: StreamId, number: int) -> None:
        """Wait for nothing of a stream below a number; it is late if it comes all the same."""
        held = self._streams[stream]
        held.floor = max(held.floor, number)

    def in_order(self, new: Sequence[Batch], known: KnownRanges, now: float) -> Sequence[Batch]:
        """Return what is to be delivered now that parts of a batch have come that are new."""
        first, held = new[0], self._streams
        if not held and len(new) == 1 and first.first == known.next and not first.flags & AFTER:
            known.next += first.count  # nearly always
            return new
        stream = first.stream
        ready: list[Batch] = []
        leads = False
        for batch in new:
            if batch.first == known.next and not batch.flags & AFTER:
                known.next += batch.count
                ready.append(batch)
            elif batch.first >= known.next:
                leads |= self._hold(batch, known, now)
            else:
                ready.append(self.flagged(batch, known))
                if (after := batch.after) is not None and self._is_home(batch):
                    self._pass(after, _published_at(batch, after), now)
        if held and (stream in held or stream in self._followers):
            if ready or leads:  # else what comes first in the stream waits as it did
                ready += self._go_on(stream, now)
            self._make_room(ready, now)
            self._look_later()
        return ready

    def flagged(self, batch: Batch, known: KnownRanges) -> Batch:
        """Return a batch, flagged as late if later events of its stream were delivered."""
        return replace(batch, late=True) if batch.first < known.next else batch

    def look(self, now: float) -> list[Batch]:
        """Return what needs to wait no longer."""
        self._looking = False
        ready: list[Batch] = []
        for stream in list(self._streams):
            ready += self._go_on(stream, now)
        self._look_later()
        return ready

    def without_held(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield these batches but for the events that are held back, and so are still to come."""
        for batch in batches:
            held = self._streams.get(batch.stream)
            start, stop = batch.first, batch.first + batch.count
            for one in () if held is None else held.batches:
                if start < one.first < stop:
                    yield batch.part(start, one.first)
                if one.first < stop:
                    start = max(start, one.first + one.batch.count)
            if start == batch.first:
                yield batch
            elif start < stop:
                yield batch.part(start, stop)

    def _hold(self, batch: Batch, known: KnownRanges, now: float) -> bool:
        """Hold a batch back; say whether it is the first of its stream that waits."""
        held = self._streams.get(batch.stream)
        if held is None:
            held = self._streams[batch.stream] = HeldStream(known, now)
        insort(held.batches, HeldBatch(batch.first, now, batch))
        self.events += batch.count
        self._bytes += batch.size
        if (after := batch.after) is not None and self._is_home(batch):
            held.follows = after.stream
            self._followers[after.stream] = batch.stream
        return held.batches[0].batch is batch

    def _go_on(self, stream: StreamId, now: float) -> list[Batch]:
        """Return what waits for nothing, or for long enough, of a stream and those that follow."""
        ready: list[Batch] = []
        streams = [stream]
        for one in streams:  # which grows
            going = self._release(one, self._until(one, now), now)
            ready += going
            if (going or one is stream) and one in self._followers:
                streams.append(self._followers[one])
        return ready

    def _until(self, stream: StreamId, now: float) -> int:
        """Return the number of the last batch of a stream that need not wait; 0 without one."""
        held = self._streams.get(stream)
        if held is None:
            return 0
        until = 0
        patience = self._hold_seconds
        if now - held.since >= patience:
            until = max(one.first for one in held.batches if now - one.arrived >= patience)
        for one in held.batches:
            if one.first > until and self._is_awaited(one.batch, held):
                break
            until = max(until, one.first)
        return until

    def _is_awaited(self, batch: Batch, held: HeldStream) -> bool:
        """Say whether an event before a batch is missing that may still come."""
        known = held.known
        start = max(known.next, known.before, known.floor, held.floor)
        if start < batch.first and not known.knows(start, batch.first - start):
            return True
        if not batch.flags & AFTER or not self._is_home(batch):
            return False
        after = batch.after
        assert after is not None, "the flag says that there is one"
        other = self._context.streams.known.get(after.stream)
        if other is not None and after.sequence < max(other.next, other.before, other.floor):
            return False
        return _published_at(batch, after) >= self._context.member_since + JOINING_SECONDS

    def _is_home(self, batch: Batch) -> bool:
        """Say whether this is the community of a batch's topic, where both streams arrive."""
        return batch.topic.group == self._context.community.group.group

    def _make_room(self, ready: list[Batch], now: float) -> None:
        """Add to `ready` all of the streams that began to wait first, until the rest has room."""
        if not self._streams:
            return
        events, size = self._room()
        while self._streams and (self.events >= events or self._bytes >= size):
            ready += self._release(next(iter(self._streams)), SEQUENCE_MAX, now)

    def _release(self, stream: StreamId, until: int, now: float) -> list[Batch]:
        """Hold back no batch up to a number any longer; return these, each after what it follows.

        What one of them follows, and comes later, is late.
        """
        ready: list[Batch] = []
        while (held := self._streams.get(stream)) is not None and held.batches[0].first <= until:
            batch = held.batches.pop(0).batch
            self.events -= batch.count
            self._bytes -= batch.size
            if not held.batches:
                del self._streams[stream]
                if held.follows is not None and self._followers.get(held.follows) == stream:
                    del self._followers[held.follows]
            if (after := batch.after) is not None and self._is_home(batch):
                ready += self._release(after.stream, after.sequence, now)
                self._pass(after, _published_at(batch, after), now)
            held.known.next = max(held.known.next, batch.first + batch.count)
            ready.append(batch)
        if ready and held is not None:
            held.since = min(one.arrived for one in held.batches)
        return ready

    def _pass(self, after: After, published: float, now: float) -> None:
        """Go on beyond an event of another stream: if it comes, or one before it, that is late.

        It may come even if it seems to be history here (`Repair.is_history`): ages leave out the
        time on the way, so it may seem younger when it comes itself.
        """
        context, stop = self._context, after.sequence + 1
        other = context.streams.known.get(after.stream)
        if other is None:
            other = context.streams.introduce(after.stream, context.community.me.peer, now)
            if other is not None:  # as `Repair.add_batch` does with an event that has come
                other.before = stop if published < context.member_since + JOINING_SECONDS else 1
                other.older = stop if published < context.member_since else 1
        if other is not None:
            other.next = max(other.next, stop)

    def _look_later(self) -> None:
        if self._streams and not self._looking:
            self._looking = True
            self._context.outlet.wake(LOOK_SECONDS, "order")


def _published_at(batch: Batch, after: After) -> float:
    """Return when the event that a batch follows was published, by this process's clock."""
    return published_at(batch) - (batch.published - after.published) / 1000
