"""How long the latest events of a community took to come here, for dashboards.

A latency is the time from the publication, by the publisher's clock, to the delivery, by this
process's clock: between two machines it is as exact as their clocks agree, and a negative one
counts as 0. Latencies are kept only with a control socket, at which somebody may ask.
"""

from __future__ import annotations

import time
from collections import deque
from math import ceil
from typing import Final

from camcast.vocabulary.batches import Batch

BATCHES_MAX: Final = 512  # chosen: 50 kB a community; five of them are above the 99th percentile
WINDOW_SECONDS: Final = 60.0  # chosen: what a person who looks at a dashboard calls now


class Latencies:
    """The latencies of the last batches of other processes in one community."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, int]] = deque(maxlen=BATCHES_MAX)
        """The time of the delivery, the latency in seconds, the number of events."""

    def note(self, batch: Batch, now: float | None = None) -> None:
        """Note a batch that was delivered, `now` in seconds since 1970."""
        if batch.hops:  # else this process published it
            when = time.time() if now is None else now
            taken = max(0.0, when - batch.published / 1000)
            self._batches.append((when, taken, batch.count))

    def milliseconds(self, share: float, now: float | None = None) -> float | None:
        """Return the latency that a share of the events had at most; None without events."""
        since = (time.time() if now is None else now) - WINDOW_SECONDS
        late = sorted((taken, count) for when, taken, count in self._batches if when >= since)
        rank = ceil(share * sum(count for _, count in late))
        for taken, count in late:
            rank -= count
            if rank <= 0:
                return taken * 1000
        return None
