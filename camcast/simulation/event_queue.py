"""The event queue: virtual time, which passes from one happening to the next.

Happenings are ordered by (time, sequence): at one moment, first come, first served. So the
order depends on nothing but the calls made, and a run replays to the byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class EventQueue:
    """What is to happen, and the time, in seconds since the run began."""

    __slots__ = ("_heap", "_sequence", "happened", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.happened = 0
        """How many happenings there have been."""
        self._heap: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, time: float, action: Callable[..., object], *arguments: Any) -> None:
        """Let `action(*arguments)` happen at a time, or now if that has passed."""
        self._sequence += 1
        now = self.now
        heapq.heappush(self._heap, (time if time > now else now, self._sequence, action, arguments))

    def after(self, delay_seconds: float, action: Callable[..., object], *arguments: Any) -> None:
        """Let `action(*arguments)` happen after a delay."""
        self.at(self.now + delay_seconds, action, *arguments)

    def next_time(self) -> float | None:
        """Return when something happens next, or None if nothing is to come."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> None:
        """Let the next thing happen."""
        self.now, _, action, arguments = heapq.heappop(self._heap)
        self.happened += 1
        action(*arguments)

    def run_until(self, time: float) -> None:
        """Let everything happen up to a time, and that time come."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= time:
            self.now, _, action, arguments = pop(heap)
            self.happened += 1
            action(*arguments)
        self.now = max(self.now, time)
