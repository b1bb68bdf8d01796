"""Readings of the two real clocks of a process, for its `camcast.vocabulary.clock.Clock`."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from camcast.vocabulary.clock import Clock

# chosen: a process whose clock was set right is let in within ten seconds, of which the clock costs
# one; measured: its readings take 2.3 µs
COMPARE_SECONDS: Final = 1.0
_READINGS: Final = 5  # chosen: a busy machine stops a process in one of them, hardly in all


def start_clock(monotonic: Callable[[], float]) -> Clock:
    """Return the clock of a process that starts now; `monotonic` is the clock of its loop."""
    return Clock(*read_clocks(monotonic))


def read_clocks(monotonic: Callable[[], float]) -> tuple[float, float]:
    """Return what the loop's clock and the wall clock say at the same moment.

    On a busy machine a process may be stopped between two readings, and all its events would be
    early or late by so much. Therefore both clocks are read several times, with nothing in between,
    and the readings count that were the quickest.
    """
    best, least = (0.0, 0.0), inf
    for _ in range(_READINGS):
        before = monotonic()
        wall = time.time()
        after = monotonic()
        if after - before < least:
            best, least = (before, wall), after - before
    return best
