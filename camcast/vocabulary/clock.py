"""The clock of one process: the wall's time as a function of the time that inputs carry.

Theory of operation
-------------------
Two clocks run in a process. The *time of inputs*, `now`, only ever goes forward, at the pace of
seconds; deadlines, ages and timers are reckoned by it. The *wall clock*, in seconds since 1970, is
the one that processes on different machines have in common: it stands in events, signatures,
certificates and datagrams. The wall clock may be set at any time: by NTP after a boot without a
clock battery, by an operator, or by a resume from suspend, during which the time of inputs stood
still.

A `Clock` is the difference of the two. All parts of a process hold the same one, so that no two of
them can disagree about the time. A driver reads both clocks, one immediately after the other, when
the process starts, and again once a period for `step`. Whatever is remembered for a number of
seconds is remembered by the time of inputs: a wall clock that is set back must not make a bar, or a
limit of one log line a minute, last for hours.
"""

from __future__ import annotations

from typing import Final

# chosen: NTP corrects less than a second by running slower or faster; certificates, mandates and
# datagrams have five minutes of slack, and an event's time is read by people
STEP_SECONDS: Final = 1.0


class Clock:
    """The wall clock's time at each time of inputs; no clock is read here.

    The process started at the time of inputs `started`, when the wall clock said `wall` seconds
    since 1970.
    """

    __slots__ = ("ahead", "started")

    def __init__(self, started: float = 0.0, wall: float = 0.0) -> None:
        self.started = started
        """When the process started, by the time of inputs."""
        self.ahead = wall - started
        """By how many seconds the wall clock is ahead of the time of inputs; `wall` adds it."""

    def wall(self, now: float) -> float:
        """Return the seconds since 1970 at a time of inputs."""
        return self.ahead + now

    def now(self, wall: float) -> float:
        """Return the time of inputs at which the wall clock says, or would say, this."""
        return wall - self.ahead

    def step(self, now: float, wall: float) -> float:
        """Take two readings of the same moment; return by how many seconds the wall clock was set.

        The readings count only if they differ from this clock by more than `STEP_SECONDS`, else 0
        is returned. Small differences are not lost: once they add up to more, all of it counts.
        """
        difference = wall - self.wall(now)
        if abs(difference) <= STEP_SECONDS:
            return 0.0
        self.ahead = wall - now
        return difference
