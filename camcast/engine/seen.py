"""Which events a community of this process has seen: a sliding window per publisher.

An event is new if its sequence number lies inside the window of its publisher's current
epoch and its bit is not set. Older than the window, or of an older epoch: taken for a
replay, hence never new (TRUST, identity and format; guarantee G3).
"""

from __future__ import annotations

from typing import Final

WINDOW: Final = 8192  # chosen: 4x the largest burst measured out of order; 1 kB a publisher
PUBLISHERS_MAX: Final = 4096  # chosen: bounds the memory to 4 MB whatever peers send (G5)

_RING: Final = WINDOW // 8 - 1  # selects a byte of the ring


class _Window:
    """One publisher's window: a ring of bits, in which sequence number s has bit s mod WINDOW.

    A ring of bytes, because shifting one large integer an event took twice as long.
    """

    __slots__ = ("epoch", "ring", "top")

    def __init__(self, epoch: int, sequence: int) -> None:
        self.restart(epoch, sequence)

    def restart(self, epoch: int, sequence: int) -> None:
        """Begin an epoch with its first event to arrive."""
        self.epoch = epoch
        self.top = sequence  # the highest sequence number seen
        self.ring = bytearray(WINDOW // 8)
        self.ring[sequence >> 3 & _RING] = 1 << (sequence & 7)

    def advance(self, sequence: int) -> None:
        """Move the window up to `sequence`, which is not in it yet, and forget what falls out."""
        if sequence - self.top >= WINDOW:
            self.restart(self.epoch, sequence)
            return
        fresh, ring = self.top + 1, self.ring
        while fresh <= sequence:
            if fresh & 7 == 0 and fresh + 7 <= sequence:
                ring[fresh >> 3 & _RING] = 0
                fresh += 8
            else:
                ring[fresh >> 3 & _RING] &= ~(1 << (fresh & 7))
                fresh += 1
        self.top = sequence
        ring[sequence >> 3 & _RING] |= 1 << (sequence & 7)


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
        if behind < WINDOW and epoch == window.epoch:
            return behind >= 0 and bool(window.ring[sequence >> 3 & _RING] >> (sequence & 7) & 1)
        return True

    def add(self, publisher: bytes, epoch: int, sequence: int) -> None:
        """Remember an event of which `knows` has just said that it is new."""
        window = self._windows.get(publisher)
        if window is None:
            if len(self._windows) >= PUBLISHERS_MAX:
                del self._windows[next(iter(self._windows))]
            self._windows[publisher] = _Window(epoch, sequence)
        elif epoch > window.epoch:
            window.restart(epoch, sequence)
        elif sequence > window.top:
            window.advance(sequence)
        else:
            window.ring[sequence >> 3 & _RING] |= 1 << (sequence & 7)
