"""A bound on how often in a second a node does what other processes can make it do."""

from __future__ import annotations

from math import inf


class Rate:
    """Allows something so many times in a second, and no more until the second is over."""

    def __init__(self, a_second: int) -> None:
        self._a_second = a_second
        self._second = -inf  # when the second that is counted began
        self._count = 0

    def allows(self, now: float) -> bool:
        """Say whether it may happen now; if so, it counts."""
        if now >= self._second + 1.0:
            self._second, self._count = now, 0
        self._count += 1
        return self._count <= self._a_second
