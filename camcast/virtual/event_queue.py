"""The event queue: virtual time, which jumps from one action to the next.

Actions are ordered by (time, sequence): those of the same time in the order in which they were
scheduled. The order depends on nothing but the calls made, and a run replays to the byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class EventQueue:
    """The actions to come, and the virtual time, in seconds since the run began."""

    __slots__ = ("_heap", "_sequence", "happened", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.happened = 0
        """How many actions have run."""
        self._heap: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, time: float, action: Callable[..., object], *arguments: Any) -> None:
        """Schedule `action(*arguments)` at a time, or now if that has passed."""
        self._sequence += 1
        now = self.now
        heapq.heappush(self._heap, (time if time > now else now, self._sequence, action, arguments))

    def after(self, delay_seconds: float, action: Callable[..., object], *arguments: Any) -> None:
        """Schedule `action(*arguments)` after a delay."""
        self.at(self.now + delay_seconds, action, *arguments)

    def next_time(self) -> float | None:
        """Return the time of the next action, or None if there is none."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> None:
        """Run the next action."""
        self.now, _, action, arguments = heapq.heappop(self._heap)
        self.happened += 1
        action(*arguments)

    def run_until(self, time: float) -> None:
        """Run all actions up to a time, and set the clock to that time."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= time:
            self.now, _, action, arguments = pop(heap)
            self.happened += 1
            action(*arguments)
        self.now = max(self.now, time)
