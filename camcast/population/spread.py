"""What came of simulated publications: the paper's measures with 95 % intervals (000, 6.1.2).

Counts are kept run by run, so that runs done elsewhere, or earlier, can be joined.

* reception: the share of alive processes that have the event, in the mean over runs;
* reliability: the share of runs in which all alive processes have it;
* rounds: the last round in which a process of the community sends, counted from the publisher's
  round 1, over the runs in which the event got there. The maximum over the communities is the
  convention of Table 1: rounds pass until nobody has anything left to send;
* messages: copies sent within the community (Figure 13), whatever becomes of them;
* upward messages: copies sent to super-communities (Figure 14), likewise.

A run in which nobody of a community is alive says nothing of its reception and reliability.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from camcast.student import quantile

Counts = NDArray[np.int64]

CONFIDENCE: Final = 0.95
_Z: Final = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@frozen
class Interval:
    """A mean with its 95 % confidence interval; None where there is nothing to tell it from."""

    mean: float | None
    low: float | None
    high: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the interval as JSON takes it."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def mean_interval(values: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> Interval:
    """Return the mean of independent values and Student's interval, cut to [low, high].

    Shares that are all 0, or all 1, have no spread to tell an interval from; they get Wilson's,
    which does not claim to be certain.
    """
    if not len(values):
        return Interval(None, None, None)
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, None, None)
    if (low, high) == (0.0, 1.0) and mean in (0.0, 1.0):
        return share_interval(round(mean) * len(values), len(values))
    t = quantile(CONFIDENCE, len(values) - 1)
    error = t * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Interval(mean, max(low, mean - error), min(high, mean + error))


def share_interval(hits: int, runs: int) -> Interval:
    """Return a share and Wilson's score interval (1927), which is right near 0 and 1 too."""
    if not runs:
        return Interval(None, None, None)
    share, z2 = hits / runs, _Z**2
    centre = (share + z2 / (2 * runs)) / (1 + z2 / runs)
    error = _Z / (1 + z2 / runs) * sqrt(share * (1 - share) / runs + z2 / (4 * runs**2))
    low, high = max(0.0, centre - error), min(1.0, centre + error)  # but for rounding
    return Interval(share, min(share, low), max(share, high))


@frozen(eq=False)
class Spread:
    """Counts by run (rows) and community (columns)."""

    sizes: tuple[int, ...]
    alive: Counts
    received: Counts
    """How many alive processes have the event in the end."""
    rounds: Counts
    """The last round in which one of the community sends; 0 if the event never got there."""
    messages: Counts
    upward_messages: Counts

    @property
    def runs(self) -> int:
        """How many runs were made."""
        return len(self.alive)

    def community(self, index: int) -> CommunityFigures:
        """Return the measures of one community."""
        alive, received = self.alive[:, index], self.received[:, index]
        peopled = alive > 0
        share = received[peopled] / alive[peopled]
        everybody = int(np.count_nonzero(received[peopled] == alive[peopled]))
        reached = self.rounds[:, index]
        return CommunityFigures(
            size=self.sizes[index],
            reception=mean_interval(share, 0.0, 1.0),
            reliability=share_interval(everybody, int(np.count_nonzero(peopled))),
            rounds=mean_interval(reached[reached > 0], 1.0),
            messages=mean_interval(self.messages[:, index], 0.0),
            upward_messages=mean_interval(self.upward_messages[:, index], 0.0),
        )

    @property
    def communities(self) -> list[CommunityFigures]:
        """The measures of every community, in the setting's order."""
        return [self.community(index) for index in range(len(self.sizes))]

    @property
    def rounds_to_reach_all(self) -> Interval:
        """Rounds until no process of any community has anything left to send (Table 1)."""
        return mean_interval(self.rounds.max(axis=1), 1.0)


@frozen
class CommunityFigures:
    """The measures of one community; see the module's text."""

    size: int
    reception: Interval
    reliability: Interval
    rounds: Interval
    messages: Interval
    upward_messages: Interval

    def as_json(self) -> dict[str, Any]:
        """Return the measures as JSON takes them."""
        names = ("reception", "reliability", "rounds", "messages", "upward_messages")
        return {"size": self.size} | {name: getattr(self, name).as_json() for name in names}


def join(parts: Sequence[Spread]) -> Spread:
    """Put the runs of several simulations of one setting together, in the order given."""
    first = parts[0]
    assert all(part.sizes == first.sizes for part in parts), "runs of different settings"
    names = ("alive", "received", "rounds", "messages", "upward_messages")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Spread(first.sizes, **joined)
