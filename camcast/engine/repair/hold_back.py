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

*The end of patience.* No event waits for more than `HOLD_SECONDS`: then it is delivered, and all
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
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.outbox import ControlOutlet
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
    batches: list[HeldBatch] = field(factory=list)


class HoldBack:
    """One community's events that wait for earlier ones of their streams.

    `outlet` sets the timer ``order``, at which `look` is to be called.
    """

    def __init__(self, outlet: ControlOutlet, room: Room) -> None:
        self._outlet = outlet
        self._room = room
        self._streams: dict[StreamId, HeldStream] = {}
        self._events = self._bytes = 0
        self._looking = False  # whether the timer is set

    def holds(self, stream: StreamId) -> bool:
        """Say whether something of a stream is held back."""
        return stream in self._streams

    def in_order(self, new: Sequence[Batch], known: KnownRanges, now: float) -> Sequence[Batch]:
        """Return what is to be delivered now that parts of a batch have come that are new."""
        first = new[0]
        if first.first == known.next and len(new) == 1 and first.stream not in self._streams:
            known.next += first.count
            return new
        ready = [self.flagged(batch, known) for batch in new if batch.first < known.next]
        for batch in new:
            if batch.first >= known.next:
                self._hold(batch, known, now)
        if first.stream in self._streams:
            ready += self._go_on(first.stream, now)
            ready += self._make_room()
            self._look_later()
        return ready

    def flagged(self, batch: Batch, known: KnownRanges) -> Batch:
        """Return a batch, flagged as late if later events of its stream were delivered."""
        return replace(batch, late=True) if batch.first < known.next else batch

    def look(self, now: float) -> list[Batch]:
        """Return what needs to wait no longer."""
        self._looking = False
        ready = [batch for stream in list(self._streams) for batch in self._go_on(stream, now)]
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

    def _hold(self, batch: Batch, known: KnownRanges, now: float) -> None:
        held = self._streams.get(batch.stream)
        if held is None:
            held = self._streams[batch.stream] = HeldStream(known, now)
        insort(held.batches, HeldBatch(batch.first, now, batch))
        self._events += batch.count
        self._bytes += batch.size

    def _go_on(self, stream: StreamId, now: float) -> Iterator[Batch]:
        """Yield what of a stream waits for nothing, or has waited for long enough."""
        held = self._streams[stream]
        until = 0
        if now - held.since >= HOLD_SECONDS:
            until = max(one.first for one in held.batches if now - one.arrived >= HOLD_SECONDS)
        gone = 0
        for one in held.batches:
            if one.first > until and _is_awaited(held.known, one.first):
                break
            gone += 1
        yield from self._release(stream, gone)

    def _make_room(self) -> Iterator[Batch]:
        """Yield all of those streams that have waited for longest, until the rest has room."""
        events, size = self._room()
        while self._streams and (self._events > events or self._bytes > size):
            longest = min(self._streams, key=lambda stream: self._streams[stream].since)
            yield from self._release(longest, len(self._streams[longest].batches))

    def _release(self, stream: StreamId, count: int) -> Iterator[Batch]:
        """Hold the lowest batches of a stream back no longer, and yield them."""
        if not count:
            return
        held = self._streams[stream]
        gone, held.batches = held.batches[:count], held.batches[count:]
        if held.batches:
            held.since = min(one.arrived for one in held.batches)
        else:
            del self._streams[stream]
        held.known.next = gone[-1].first + gone[-1].batch.count
        for one in gone:
            self._events -= one.batch.count
            self._bytes -= one.batch.size
            yield one.batch

    def _look_later(self) -> None:
        if self._streams and not self._looking:
            self._looking = True
            self._outlet.wake(LOOK_SECONDS, "order")


def _is_awaited(known: KnownRanges, number: int) -> bool:
    """Say whether an event before this number is missing that may still come."""
    start = max(known.next, known.before, known.floor)
    return start < number and not known.knows(start, number - start)
