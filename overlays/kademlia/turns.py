"""Turns: of what a process in many communities does in the DHT, only so much goes on at once.

The entries of its identifiers, its look-ups, and the crawls after a partition each take turns. All
at once they would fill the buffers of its own sockets; the answers that are lost there would be
taken for the silence of others, which begins a further round of crawls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

# chosen: each has three calls under way, and a socket's buffer holds some hundred answers (Linux)
AT_ONCE: Final = 32

Then = Callable[[float], None]
"""Is called with the time: begins something, or learns that something is over."""


class Turns:
    """Begins up to `AT_ONCE` of what is to be done; the rest waits, in order, until some ends."""

    def __init__(self) -> None:
        self._waiting = deque[Then]()
        self._under_way = 0
        self._beginning = False

    def add(self, begin: Then, now: float) -> None:
        """Call `begin` when its turn comes; `end` is to be called once it is over."""
        self._waiting.append(begin)
        self._begin(now)

    def end(self, now: float) -> None:
        """Note that something is over, perhaps at once as it began."""
        self._under_way -= 1
        self._begin(now)

    def _begin(self, now: float) -> None:
        if self._beginning:  # the loop below goes on
            return
        self._beginning = True
        try:
            while self._waiting and self._under_way < AT_ONCE:
                self._under_way += 1
                self._waiting.popleft()(now)
        finally:
            self._beginning = False
