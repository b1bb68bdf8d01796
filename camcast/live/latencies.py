"""How long the events of a community took to come here, of late: what a dashboard shows.

A latency is the time from the publication, by the publisher's clock, to the delivery, by this
process's: between two machines it is as true as their clocks agree, and what would be negative is
0. Kept only where somebody may ask: with a control socket.
"""

from __future__ import annotations

import time
from collections import deque
from math import ceil
from typing import Final

from camcast.vocabulary.batches import Batch

BATCHES_MAX: Final = 512  # chosen: 50 kB a community; for a 99th percentile five are above it
WINDOW_SECONDS: Final = 60.0  # chosen: what a person who looks calls now


class Latencies:
    """Of the last batches of others, in one community."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, int]] = deque(maxlen=BATCHES_MAX)
        """When, after how many seconds, how many events."""

    def note(self, batch: Batch, now: float | None = None) -> None:
        """Note a batch that was delivered, `now` in seconds since 1970."""
        if batch.hops:  # not by this process
            when = time.time() if now is None else now
            taken = max(0.0, when - batch.published / 1000)
            self._batches.append((when, taken, batch.count))

    def milliseconds(self, share: float, now: float | None = None) -> float | None:
        """Return the latency that so large a share of the events had at most; None without any."""
        since = (time.time() if now is None else now) - WINDOW_SECONDS
        late = sorted((taken, count) for when, taken, count in self._batches if when >= since)
        rank = ceil(share * sum(count for _, count in late))
        for taken, count in late:
            rank -= count
            if rank <= 0:
                return taken * 1000
        return None
