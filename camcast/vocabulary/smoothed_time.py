"""How long something takes, smoothed as TCP smooths round trips, and how long to wait for it.

The formulas and their numbers are those of RFC 6298.
"""

from __future__ import annotations

from typing import Final

DELAY_SECONDS_MIN: Final = 0.3  # chosen: three announcements of a burst; a hop takes milliseconds
DELAY_SECONDS_MAX: Final = 8.0  # chosen: as the pauses of repair
_DELAY_SECONDS_FIRST: Final = 1.0  # [RFC 6298, 2.1]
_ALPHA: Final = 1 / 8  # [RFC 6298, 2.3]
_BETA: Final = 1 / 4  # [RFC 6298, 2.3]
_K: Final = 4  # [RFC 6298, 2.2]


class SmoothedTime:
    """The mean and the deviation of how long something takes, mostly of the latest times."""

    __slots__ = ("_deviation", "_mean")

    def __init__(self) -> None:
        self._mean: float | None = None
        self._deviation = 0.0

    def learn(self, seconds: float) -> None:
        """Take in how long it took."""
        if self._mean is None:
            self._mean, self._deviation = seconds, seconds / 2
            return
        error = seconds - self._mean
        self._deviation += _BETA * (abs(error) - self._deviation)
        self._mean += _ALPHA * error

    @property
    def longest(self) -> float:
        """In how many seconds it is nearly always done; 0 before the first time."""
        return (self._mean or 0.0) + _K * self._deviation


class ArrivalDelay:
    """How long an announced event is waited for before it is asked for elsewhere.

    It follows the time from the announcement of an event to its arrival.

    On an overloaded machine announcements overtake events by seconds. A process that asked after a
    fixed time would then ask for nearly everything, and make the load worse.
    """

    __slots__ = ("_time", "timeout")

    def __init__(self) -> None:
        self._time = SmoothedTime()
        self.timeout = _DELAY_SECONDS_FIRST
        """For how many seconds an announced event may still be on its way."""

    def observe(self, seconds: float) -> None:
        """Take in how long an event that was not asked for took to arrive."""
        self._time.learn(seconds)
        self.timeout = min(max(self._time.longest, DELAY_SECONDS_MIN), DELAY_SECONDS_MAX)

    def back_off(self) -> None:
        """Double the time, since something did not arrive within it [RFC 6298, 5.5]."""
        self.timeout = min(2 * self.timeout, DELAY_SECONDS_MAX)
