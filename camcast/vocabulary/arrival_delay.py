"""How long to wait for what was announced, or asked for, before it is asked for elsewhere."""

from __future__ import annotations

from typing import Final

DELAY_SECONDS_MIN: Final = 0.3  # chosen: three announcements of a burst; a hop takes milliseconds
DELAY_SECONDS_MAX: Final = 8.0  # chosen: as the pauses of repair
_DELAY_SECONDS_FIRST: Final = 1.0  # [RFC 6298, 2.1]
_ALPHA: Final = 1 / 8  # [RFC 6298, 2.3]
_BETA: Final = 1 / 4  # [RFC 6298, 2.3]
_K: Final = 4  # [RFC 6298, 2.2]


class ArrivalDelay:
    """How long an announced event is waited for before it is asked for elsewhere (RFC 6298).

    It follows the time from the announcement of an event to its arrival, smoothed.

    On an overloaded machine announcements overtake events by seconds. A process that asked after a
    fixed time would then ask for nearly everything, and make the load worse.
    """

    __slots__ = ("_mean", "_variation", "timeout")

    def __init__(self) -> None:
        self._mean: float | None = None
        self._variation = 0.0
        self.timeout = _DELAY_SECONDS_FIRST
        """For how many seconds an announced event may still be on its way."""

    def observe(self, seconds: float) -> None:
        """Take in how long an event that was not asked for took to arrive."""
        if self._mean is None:
            self._mean, self._variation = seconds, seconds / 2
        else:
            self._variation += _BETA * (abs(self._mean - seconds) - self._variation)
            self._mean += _ALPHA * (seconds - self._mean)
        wanted = self._mean + _K * self._variation
        self.timeout = min(max(wanted, DELAY_SECONDS_MIN), DELAY_SECONDS_MAX)

    def back_off(self) -> None:
        """Double the time, since something did not arrive within it [RFC 6298, 5.5]."""
        self.timeout = min(2 * self.timeout, DELAY_SECONDS_MAX)
