"""The store: bodies of batches, kept for a while so that they can be asked for again.

Theory of operation
-------------------
All nodes of an event loop share one store, for they hold the same bodies: each batch is in memory
once, whoever received it. What a node may hand out is decided by what it knows itself
(`camcast.engine.known_streams`), not by what is here.

A batch is kept until `retention_seconds` after its *publication*, by the age that came with it, so
that repair makes no event immortal: what is asked for again and again on its way through a
community is as old at its last process as at its first. The bytes of all are bounded. A batch that
has to go early for this bound is counted, and `retention_reached` then says how far back the store
goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from math import inf
from operator import attrgetter
from typing import Final

from camcast.vocabulary.batches import EVENTS_MAX, Batch
from camcast.vocabulary.events import StreamId

STORE_BYTES_MAX: Final = 1 << 26  # [docs/reliability.md] 64 MiB a loop
BATCH_BYTES: Final = 512  # chosen: bytes of a batch beside its body in CPython 3.11, rounded up

_first = attrgetter("first")


def published_at(batch: Batch) -> float:
    """Return when a batch was published, by this process's clock."""
    return batch.since - batch.age


class Store:
    """Batches by stream, in bounded memory; see the module's theory of operation."""

    def __init__(self, bytes_max: int = STORE_BYTES_MAX) -> None:
        self.bytes = 0
        """The bytes in use, those beside the bodies included."""
        self.let_go_early = 0
        """How many batches the bound of bytes has cost so far."""
        self.bytes_max = bytes_max
        self._streams: dict[StreamId, list[Batch]] = {}
        self._queue: deque[tuple[float, Batch]] = deque()  # until when each is kept
        self._let_go = -inf  # when the last that was let go early had been published

    def put(self, batch: Batch, retention_seconds: float, now: float) -> None:
        """Keep a batch, unless it is here already or too old."""
        kept = self._streams.get(batch.stream)
        if kept is None:
            kept = self._streams[batch.stream] = []
        elif kept[-1].first >= batch.first:
            if kept[-1].first == batch.first:  # another node of the loop has put it here
                return
            place = bisect_left(kept, batch.first, key=_first)
            if kept[place].first == batch.first:
                return
        until = batch.since - batch.age + retention_seconds  # `published_at` without its call
        if until <= now:
            if not kept:
                del self._streams[batch.stream]
            return
        if kept and kept[-1].first > batch.first:
            kept.insert(place, batch)
        else:
            kept.append(batch)
        self._queue.append((until, batch))
        self.bytes += len(batch.body) + BATCH_BYTES
        while self._queue and (self.bytes > self.bytes_max or self._queue[0][0] <= now):
            self._drop(now)

    def expire(self, now: float) -> None:
        """Let go of what is too old."""
        while self._queue and self._queue[0][0] <= now:
            self._drop(now)

    def batches(
        self, stream: StreamId, start: int, stop: int, published_after: float = -inf
    ) -> Iterator[Batch]:
        """Yield the batches with events from `start` to before `stop`, in their order."""
        kept = self._streams.get(stream)
        if kept is not None:
            place = bisect_left(kept, start - EVENTS_MAX + 1, key=_first)
            for batch in kept[place : bisect_left(kept, stop, key=_first)]:
                if batch.first + batch.count > start and published_at(batch) >= published_after:
                    yield batch

    def lowest(self, stream: StreamId, published_after: float = -inf) -> Batch | None:
        """Return the first batch of a stream that was published after a time; None without one."""
        kept = self._streams.get(stream)
        if kept is None:
            return None
        if published_at(kept[0]) > published_after:  # nearly always
            return kept[0]
        # A publisher's events are published in their order, so their times ascend as well.
        place = bisect_right(kept, published_after, key=published_at)
        return kept[place] if place < len(kept) else None

    def retention_reached(self, now: float) -> float:
        """Return for how many seconds back nothing was let go early; at first infinite."""
        return now - self._let_go

    def _drop(self, now: float) -> None:
        until, batch = self._queue.popleft()
        self.bytes -= len(batch.body) + BATCH_BYTES
        if until > now:
            self.let_go_early += 1
            self._let_go = max(self._let_go, published_at(batch))
        kept = self._streams[batch.stream]
        del kept[bisect_left(kept, batch.first, key=_first)]
        if not kept:
            del self._streams[batch.stream]
