"""The timeout of a call, from measured round trips as TCP computes it (`SmoothedTime`).

A fixed timeout is wrong on a busy machine or link. Answers that come after it are asked for again,
and the repeated calls add to the load: with a fixed timeout 80 nodes that joined at once on one
core never joined (measured; with this one they join in seconds). Every answer, also one that
comes too late, changes the next timeout. Each attempt of a call has a number of its own, which the
answer repeats.
"""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.smoothed_time import SmoothedTime

# chosen: just over the 95 % quantile of the round trips between 490 hosts of PlanetLab, 325 ms;
# also the timeout before the first answer
SECONDS_MIN: Final = 0.35
SECONDS_MAX: Final = 4.0  # chosen: a slower node is of no use, since a look-up must end
# chosen: the timeout of each attempt, in multiples of the usual one. At 20 % loss one call in 21
# fails (0.36 ** 3), at the shortest timeout after 2.1 s.
ATTEMPTS: Final = (1, 2, 3)


class Patience(SmoothedTime):
    """The round trips of one process, and how long it waits for an answer."""

    __slots__ = ()

    def seconds(self, attempt: int) -> float:
        """Return the timeout of an attempt of a call, counted from 0."""
        return ATTEMPTS[attempt] * min(SECONDS_MAX, max(SECONDS_MIN, self.longest))
