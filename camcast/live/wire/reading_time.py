"""The reading time of an event loop: patience counts only the time in which answers could be read.

Theory of operation
-------------------
An application may keep the event loop for seconds, with an import or a computation, and a machine
may stop a process. What arrives meanwhile waits in the buffers of the kernel. A timer that goes by
the clock of the loop is due in the very turn in which the first answer is read, before a handshake
has gone on; the process would take its own lateness for the silence of others.

Timers of patience therefore go by the *reading time* of their loop, which flows while the loop
turns and stands still while the loop does. One tick every `TICK_SECONDS` shows how late the loop
is: between a tick that was due and the tick that came no time counts. Whoever compares times
instead of setting timers is told how long each standstill was, after it.

Everything in one event loop shares its reading time. While nobody is told of standstills, no tick
runs, and reading time is the loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary, ref

# chosen: half of the shortest patience, 0.4 s for the answer to a question; 5 wake-ups a second
TICK_SECONDS: Final = 0.2
LATE_SECONDS: Final = 0.1  # chosen: a busy loop is late by less; a tick and this are below 0.4 s
_EARLY_SECONDS: Final = 0.002  # chosen: loops round the times of timers, to a millisecond at most


class Waiting(Protocol):
    """The part of a program that is told of standstills."""

    def on_standstill(self, seconds: float) -> None:
        """Learn that the loop stood still for so long."""


class ReadingTime:
    """The reading time of one event loop, and timers that go by it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)  # the key of `_times`, which must not be held by its value
        self._flows_until = inf  # when the next tick is due, by the loop's time
        self._stood_still = 0.0  # seconds, since the loop began
        self._untold = 0.0  # of these, what nobody was told of
        self._told: list[ref[Waiting]] = []  # weak: a manager that was forgotten is collected
        self._tick_handle: asyncio.TimerHandle | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        loop = self._loop()
        assert loop is not None, "who asks runs in it"
        return loop

    def seconds(self) -> float:
        """Return the reading time, in seconds since a time that does not change."""
        return self._at(self.loop.time())

    def _at(self, now: float) -> float:
        """Return the reading time at a time of the loop."""
        if now > self._flows_until + LATE_SECONDS:
            late = now - self._flows_until
            self._stood_still += late
            self._untold += late
            self._flows_until = now  # nothing more is read before the tick
        return min(now, self._flows_until) - self._stood_still

    def call_later(self, delay_seconds: float, act: Callable[..., object], *args: Any) -> Patience:
        """Call `act` once this much reading time has passed."""
        return self.call_at(self.seconds() + delay_seconds, act, *args)

    def call_at(self, seconds: float, act: Callable[..., object], *args: Any) -> Patience:
        """Call `act` at a reading time."""
        return Patience(self, seconds, act, args)

    def tell(self, waiting: Waiting) -> None:
        """Tell of each standstill, after it, until `tell_no_more`."""
        self._told.append(ref(waiting))
        if self._tick_handle is None:
            self._tick()

    def tell_no_more(self, waiting: Waiting) -> None:
        """End `tell`; nothing happens if it was ended before."""
        told = [one for one in self._told if one() is not None]
        self._told = [one for one in told if one() is not waiting]
        if not self._told and self._tick_handle is not None:
            self._tick_handle.cancel()
            self._tick_handle = None
            self._flows_until = inf

    def _tick(self) -> None:
        now = self.loop.time()  # read once: the process may be stopped at any line from here on
        self._at(now)
        untold, self._untold = self._untold, 0.0
        self._flows_until = now + TICK_SECONDS
        self._tick_handle = self.loop.call_at(self._flows_until, self._tick)
        if untold:
            for one in list(self._told):
                if (waiting := one()) is not None:
                    waiting.on_standstill(untold)


class Patience:
    """A timer by reading time; made by `ReadingTime`."""

    __slots__ = ("_act", "_args", "_handle", "_reading", "_seconds")

    def __init__(
        self,
        reading: ReadingTime,
        seconds: float,
        act: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._reading = reading
        self._seconds = seconds
        self._act = act
        self._args = args
        self._wait(seconds - reading.seconds())

    def cancel(self) -> None:
        """End it; nothing happens if it has struck."""
        self._handle.cancel()

    def _wait(self, seconds: float) -> None:
        self._handle = self._reading.loop.call_later(seconds, self._strike)

    def _strike(self) -> None:
        left = self._seconds - self._reading.seconds()
        if left > _EARLY_SECONDS:
            self._wait(left)
        else:
            self._handle.cancel()  # lets go of this object: no cycle is left for the collector
            self._act(*self._args)


_times: WeakKeyDictionary[asyncio.AbstractEventLoop, ReadingTime] = WeakKeyDictionary()


def reading_time() -> ReadingTime:
    """Return the reading time of the running event loop."""
    loop = asyncio.get_running_loop()
    reading = _times.get(loop)
    if reading is None:
        reading = _times[loop] = ReadingTime(loop)
    return reading


@asynccontextmanager
async def patience(seconds: float | None) -> AsyncIterator[None]:
    """Do as `asyncio.timeout`, by reading time: raise `TimeoutError` when it has passed."""
    async with asyncio.timeout(None) as limit:
        if seconds is None:
            yield
            return
        reading = reading_time()

        def end() -> None:
            limit.reschedule(reading.loop.time())

        timer = reading.call_later(seconds, end)
        try:
            yield
        finally:
            timer.cancel()
