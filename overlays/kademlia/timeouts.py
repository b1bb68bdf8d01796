"""How long an answer is waited for: as long as answers take, measured as TCP does (RFC 6298).

A fixed time is wrong on a machine or link that is busy. Answers come after it, are counted as
missing and asked for again, and the repetitions make everything busier still: 80 nodes that
joined at once on one core never came out of that (measured; with this, they join in seconds).
So every answer teaches how long the next is waited for, also one that comes too late. Each
sending of a call has a number of its own, so that it is known which of them an answer is for.
"""

from __future__ import annotations

from typing import Final

from attrs import define

SECONDS_MIN: Final = 0.35
# chosen: just over the 95 % quantile of the round trips in the PlanetLab matrix, 325 ms
# [data/README]; also what is assumed before the first answer
SECONDS_MAX: Final = 4.0  # chosen: beyond it a node is of no use, and a look-up must end
ATTEMPTS: Final = (1, 2, 3)
# chosen: how many times the usual each sending is waited for. At 20 % loss one call of 21
# fails (0.36 ** 3); at the shortest it has failed after 2.1 s.
_GAIN: Final = 1 / 8  # [RFC 6298 2.3] alpha
_DEVIATION_GAIN: Final = 1 / 4  # [RFC 6298 2.3] beta
_DEVIATIONS: Final = 4  # [RFC 6298 2.3] K


@define
class Patience:
    """The round trips of one process."""

    mean_seconds: float | None = None
    deviation_seconds: float = 0.0

    def learn(self, seconds: float) -> None:
        """Take the round trip of a sending that was answered."""
        if self.mean_seconds is None:
            self.mean_seconds, self.deviation_seconds = seconds, seconds / 2
            return
        error = seconds - self.mean_seconds
        self.deviation_seconds += _DEVIATION_GAIN * (abs(error) - self.deviation_seconds)
        self.mean_seconds += _GAIN * error

    def seconds(self, attempt: int) -> float:
        """Return how long the `attempt`-th sending (from 0) of a call is waited for."""
        usual = (self.mean_seconds or 0.0) + _DEVIATIONS * self.deviation_seconds
        return ATTEMPTS[attempt] * min(SECONDS_MAX, max(SECONDS_MIN, usual))
