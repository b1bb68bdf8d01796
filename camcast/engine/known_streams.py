"""Known streams: which events of each stream a group of this process has received.

Theory of operation
-------------------
Of each stream one small object is kept, in the manner of QUIC's acknowledgements (RFC 9000, 13.2):
everything below `low` is settled, and above it there are at most `RANGES_MAX` sorted ranges. Events
that come in order extend a range, at a cost that does not depend on how many came before.

*Too many ranges.* A hole between ranges is an event that was missed or is still on its way. When
`RANGES_MAX` are used up, the lowest hole is given up: it counts as settled from then on. A record
may be forged, however, and name a number that its stream will not reach for years. A hole wider
than `JUMP` is never given up, for then all that its publisher is still to publish would count as
known. Such ranges have at most `JUMPS_MAX` places, and what asks for one more is refused. Where
repair asks for what is missing, no hole that it asks for is given up: a batch for which no range is
left is refused, and asked for once the holes below it are filled.

*Too many streams.* Where there is no room for a new stream, the streams without anything new for
`IDLE_SECONDS` are forgotten; where none is idle, the new one is refused. Each peer may introduce a
share of the streams, so that one peer's flood of streams neither makes old events count as new
again nor keeps out the streams that other peers tell of. Where events are signed, that peer is
their publisher, and else whoever sent them here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from camcast.vocabulary.events import SEQUENCE_MAX
from camcast.vocabulary.share import TELLERS_MIN

RANGES_MAX: Final = 64  # chosen: holes of a stream at a time; a bound, as peers send the numbers
JUMP: Final = 1 << 16  # chosen: a minute of 1,000 events/s missed is no jump; forged ones are far
JUMPS_MAX: Final = RANGES_MAX // 2  # chosen: the other half is for events that come out of order
STREAMS_MAX: Final = 1 << 16  # chosen: 200 publishers/s of one event each; 20 MB a group
SHARE: Final = STREAMS_MAX // 4  # chosen: most places are out of a single peer's reach
# chosen: as of other tables: fifteen such publishers leave room. One has a stream each time that it
# starts, and others pass the streams of many on
SIGNED_STREAMS_MAX: Final = STREAMS_MAX // TELLERS_MIN
IDLE_SECONDS: Final = 240.0  # chosen: twice the time for which payloads are kept
_LOOK_SECONDS: Final = 1.0  # chosen: between two looks through all streams, which take some 10 ms


Recall = Callable[[bytes], Sequence[int]]
"""Returns what is remembered elsewhere of a stream, as `KnownRanges.told`; empty if nothing."""


class KnownRanges:
    """Which events of one stream are known; sequence numbers begin at 1."""

    __slots__ = (
        *("before", "begun", "bounds", "floor", "heard", "introduced_by", "low", "next", "older"),
        "repaired",
    )

    def __init__(self, now: float, introduced_by: bytes, *, repaired: bool = False) -> None:
        self.low = 1
        """All numbers below are settled."""
        self.bounds: list[int] = []
        """Start and stop of each range above `low`, ascending: none touches another or `low`."""
        self.heard = now
        """When something new of the stream came last."""
        self.begun = -inf
        """When its first event was published; infinitely long ago if that event never came."""
        self.floor = 1
        """Repair asks for nothing below this number (`camcast.engine.repair`)."""
        self.before = 1
        """No subscriber is told of what is missing below this number: it is from before this
        process's time, or may be."""
        self.older = 1
        """All below this number is surely from before this process's time, or may be and is given
        up."""
        self.next = 1
        """With the order ``fifo``, the number after the last that was delivered in order."""
        self.introduced_by = introduced_by
        self.repaired = repaired
        """Whether repair asks for what is missing from `floor` on."""

    @property
    def stop(self) -> int:
        """The number after the highest that is known."""
        return self.bounds[-1] if self.bounds else self.low

    def holes(self) -> list[tuple[int, int]]:
        """Return what is missing among what is known, from `floor` on, as (start, stop)."""
        return self.missing(self.floor, self.stop - self.floor)

    def misses_below(self, number: int) -> bool:
        """Say whether something from `floor` to before `number` is missing."""
        start = max(self.floor, self.low)
        return start < number and not self.knows(start, number - start)

    def lift_floor(self) -> None:
        """Ask once more for what is missing below `floor`; subscribers are not told of it again."""
        self.before, self.floor = max(self.before, self.floor), 1

    def restore(self, told: Sequence[int]) -> None:
        """Take what `told` has returned in an earlier run; all of that is from before this one."""
        self.low, self.bounds = told[0], list(told[1:])
        self.next = self.low
        self.before = self.older = self.stop

    def told(self) -> tuple[int, ...]:
        """Return what is known for others: `low, start, stop, start, stop, ...`."""
        return (self.low, *self.bounds)

    def knows(self, first: int, count: int) -> bool:
        """Say whether all of these events are known."""
        stop = first + count
        if stop <= self.low:
            return True
        bounds = self.bounds
        if not bounds:
            return False
        # An odd place is inside a range, whose stop stands there.
        place = bisect_right(bounds, max(first, self.low))
        return place % 2 == 1 and stop <= bounds[place]

    def missing(self, first: int, count: int) -> list[tuple[int, int]]:
        """Return what is not known of these events, as (start, stop) in ascending order."""
        start, stop = max(first, self.low), first + count
        holes = []
        bounds = self.bounds
        place = bisect_right(bounds, start)
        while start < stop:
            if place % 2:
                start = bounds[place]
            else:
                end = min(stop, bounds[place]) if place < len(bounds) else stop
                if start < end:
                    holes.append((start, end))
                start = end
            place += 1
        return holes

    def add(self, first: int, count: int) -> int | None:
        """Note that these events are known; return None, and note nothing, if there is no room.

        Otherwise returns how many events were given up for it.
        """
        stop = first + count
        bounds = self.bounds
        if first <= self.low:  # in order from the start: nearly always
            self.low = max(self.low, stop)
            if bounds:
                self._settle()
            return 0
        if not bounds:  # it has overtaken earlier ones; the first range always has room
            bounds += first, stop
            return 0
        if bounds[-1] == first:  # in order, of a stream that was joined late
            bounds[-1] = stop
            return 0
        left, right = bisect_right(bounds, first - 1), bisect_right(bounds, stop)
        # A range that contains or touches an end is merged with the new one.
        start = bounds[left - 1] if left % 2 else first
        end = bounds[right] if right % 2 else stop
        if left % 2 == 0 and left == right:
            full = len(bounds) >= 2 * RANGES_MAX
            if not self._has_room(first, left) or (full and self._asks_for_lowest()):
                return None
        bounds[left - left % 2 : right + right % 2] = (start, end)
        return self._give_up_lowest() if len(bounds) > 2 * RANGES_MAX else 0

    def _has_room(self, first: int, place: int) -> bool:
        """Say whether a new range may begin at `first`, before the range at `place`."""
        below = self.bounds[place - 1] if place else self.low
        return first - below <= JUMP or self._jumps() < JUMPS_MAX

    def _jumps(self) -> int:
        """Count the ranges that are far above what is below them."""
        stops = [self.low, *self.bounds[1::2]]
        return sum(
            start - stop > JUMP for stop, start in zip(stops, self.bounds[::2], strict=False)
        )

    def _lowest(self) -> int:
        """Return the place in `bounds` above the lowest hole that is not a jump."""
        below = self.low
        for place in range(0, len(self.bounds), 2):
            if self.bounds[place] - below <= JUMP:
                return place
            below = self.bounds[place + 1]
        raise AssertionError("there are fewer jumps than ranges")

    def _asks_for_lowest(self) -> bool:
        """Say whether repair asks for what would have to be given up."""
        return self.repaired and self.bounds[self._lowest()] > self.floor

    def _give_up_lowest(self) -> int:
        """Let the lowest hole that is not a jump count as settled; return how wide it is."""
        bounds, place = self.bounds, self._lowest()
        hole = bounds[place] - (bounds[place - 1] if place else self.low)
        if place:
            del bounds[place - 1 : place + 1]
        else:
            self.low = bounds[0]
            self._settle()
        return hole

    def _settle(self) -> None:
        """Take the ranges that `low` has reached into what is settled."""
        bounds = self.bounds
        while bounds and bounds[0] <= self.low:
            self.low = max(self.low, bounds[1])
            del bounds[:2]


class KnownStreams:
    """One group's knowledge of the streams in it, in bounded memory."""

    __slots__ = ("_introduced", "_look_after", "_recall", "_repaired", "_share", "known")

    def __init__(
        self, *, repaired: bool = False, recall: Recall | None = None, signed: bool = False
    ) -> None:
        """`repaired`: whether somebody asks for what is missing (`camcast.engine.repair`).

        `recall` returns what an archive knows of a stream that is not in memory. `signed`: whether
        the peers that introduce streams are their publishers.
        """
        self._repaired, self._share = repaired, SIGNED_STREAMS_MAX if signed else SHARE
        self._recall = recall
        self.known: dict[bytes, KnownRanges] = {}
        """The known ranges of each stream, in the order in which the streams were introduced."""
        self._introduced: dict[bytes, int] = {}
        self._look_after = 0.0

    def introduce(self, stream: bytes, peer: bytes, now: float) -> KnownRanges | None:
        """Begin to keep what is known of a stream that `peer` told of; None if there is no room.

        An empty `peer` stands for this process, which publishes the stream or accepts it from
        another of its groups: then there is always room.
        """
        if self._is_full(peer):
            self._forget_idle(now)
            if peer and self._is_full(peer):
                return None
        self._introduced[peer] = self._introduced.get(peer, 0) + 1
        ranges = self.known[stream] = KnownRanges(now, peer, repaired=self._repaired)
        if self._recall is not None and (told := self._recall(stream)):
            ranges.restore(told)
        return ranges

    def _is_full(self, peer: bytes) -> bool:
        return len(self.known) >= STREAMS_MAX or self._introduced.get(peer, 0) >= self._share

    def _forget_idle(self, now: float) -> None:
        """Forget the streams that have been idle for long."""
        if now < self._look_after:
            return
        self._look_after = now + _LOOK_SECONDS
        introduced = self._introduced
        idle = [s for s, ranges in self.known.items() if now - ranges.heard > IDLE_SECONDS]
        for stream in idle:
            peer = self.known.pop(stream).introduced_by
            introduced[peer] -= 1
            if not introduced[peer]:
                del introduced[peer]


assert JUMP < SEQUENCE_MAX
