"""Which events a community of this process has seen: a sliding window per publisher.

An event is new if its sequence number lies inside the window of its publisher's current
epoch and its bit is not set. Older than the window, or of an older epoch: taken for a
replay, hence never new (TRUST, identity and format; guarantee G3).
"""

from __future__ import annotations

from typing import Final

WINDOW: Final = 8192  # chosen: 4x the largest burst measured out of order; 1 kB a busy publisher
_MASK: Final = (1 << WINDOW) - 1
PUBLISHERS_MAX: Final = 4096  # chosen: bounds the memory to 4 MB whatever peers send (G5)


class _Window:
    __slots__ = ("bits", "epoch", "top")

    def __init__(self, epoch: int, top: int) -> None:
        self.epoch = epoch
        self.top = top  # the highest sequence number seen
        self.bits = 1  # bit d: whether top - d was seen


class Seen:
    """The events seen so far, in memory bounded by `PUBLISHERS_MAX` windows.

    When there are more publishers than that, the one first heard of is forgotten: an event
    of its past that is replayed then counts as new.
    """

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[bytes, _Window] = {}

    def knows(self, publisher: bytes, epoch: int, sequence: int) -> bool:
        """Say whether this event was seen, or is too old to tell; changes nothing."""
        window = self._windows.get(publisher)
        if window is None or epoch > window.epoch:
            return False
        behind = window.top - sequence
        if epoch == window.epoch and behind < WINDOW:
            return behind >= 0 and bool(window.bits >> behind & 1)
        return True

    def first_time(self, publisher: bytes, epoch: int, sequence: int) -> bool:
        """Say whether this event is new, and remember it."""
        window = self._windows.get(publisher)
        if window is None:
            if len(self._windows) >= PUBLISHERS_MAX:
                del self._windows[next(iter(self._windows))]
            self._windows[publisher] = _Window(epoch, sequence)
            return True
        if epoch != window.epoch:
            if epoch < window.epoch:
                return False
            window.epoch, window.top, window.bits = epoch, sequence, 1
            return True
        behind = window.top - sequence
        if behind < 0:
            ahead = -behind
            window.bits = ((window.bits << ahead) | 1) & _MASK if ahead < WINDOW else 1
            window.top = sequence
            return True
        if behind >= WINDOW or window.bits >> behind & 1:
            return False
        window.bits |= 1 << behind
        return True
