"""The outcome of simulated events: counts by run, and measures with 95 % intervals (000, 6.1.2).

Counts are kept run by run, so that runs made elsewhere, or earlier, can be joined. Rounds are
counted from the publisher's round 1; the mean rounds of a community are over the runs in which the
event got there. Table 1 takes the maximum over the communities: the rounds until no process has
anything left to send. Runs without a live interested process do not count for reception and
reliability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from camcast.research.models.distributions import REACH_QUANTILES, REACHES
from camcast.research.models.student import CONFIDENCE, quantile

Counts = NDArray[np.int64]

_BOOTSTRAP: Final = 1000  # chosen: the ends of an interval to 5 % of its length
_BOOTSTRAP_SEED: Final = 1  # chosen: an interval is the same each time that it is computed

_Z: Final = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@frozen
class Interval:
    """A mean with its 95 % confidence interval; None where there are too few runs for it."""

    mean: float | None
    low: float | None
    high: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the interval as a JSON object."""
        return {"mean": self.mean, "low": self.low, "high": self.high}

    def times(self, factor: float) -> Interval:
        """Return the interval of a multiple, by a factor above 0."""
        ends = (self.mean, self.low, self.high)
        return Interval(*(None if end is None else end * factor for end in ends))


def mean_interval(values: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> Interval:
    """Return the mean of independent values and Student's interval, cut to [low, high].

    Shares that are all 0, or all 1, have no variance, and Student's interval would be a point; they
    get Wilson's interval.
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
    """Return a share and Wilson's score interval (1927), which also holds near 0 and 1."""
    if not runs:
        return Interval(None, None, None)
    share, z2 = hits / runs, _Z**2
    centre = (share + z2 / (2 * runs)) / (1 + z2 / runs)
    error = _Z / (1 + z2 / runs) * sqrt(share * (1 - share) / runs + z2 / (4 * runs**2))
    low, high = max(0.0, centre - error), min(1.0, centre + error)  # but for rounding
    return Interval(share, min(share, low), max(share, high))


def clustered_interval(runs: Sequence[Sequence[NDArray[Any]]]) -> Interval:
    """Return the mean of shares of events that are alike within a run, with a bootstrap's interval.

    A run has groups of events, each with a weight alike, and the mean is over groups and runs. Runs
    are drawn again, and in each drawn run its events, group by group; the deviations are scaled by
    the root of k/(k-1) for k runs, as a sample's variance is. Of three runs of 60 events the
    interval has the mean in 93 to 99 %, with and without a difference between runs (measured; the
    test has two cases). Where all events have the same share, 0 or 1, it is Wilson's of the events.
    """
    if not runs:
        return Interval(None, None, None)
    mean = float(np.mean([np.mean([group.mean() for group in run]) for run in runs]))
    if len(runs) < 2:
        return Interval(mean, None, None)
    if mean in (0.0, 1.0):
        events = sum(group.size for run in runs for group in run)
        return share_interval(round(mean) * events, events)
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    drawn = np.array(
        [
            np.mean([rng.choice(group, (_BOOTSTRAP, group.size)).mean(axis=1) for group in run], 0)
            for run in runs
        ]
    )
    picked = (_BOOTSTRAP, len(runs))
    means = drawn[rng.integers(len(runs), size=picked), rng.integers(_BOOTSTRAP, size=picked)]
    deviations = (means.mean(axis=1) - mean) * sqrt(len(runs) / (len(runs) - 1))
    low, high = np.quantile(deviations, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)).tolist()
    return Interval(mean, max(0.0, mean + min(0.0, low)), min(1.0, mean + max(0.0, high)))


def quantile_interval(ordered: NDArray[Any], share: float) -> Interval:
    """Return the nearest-rank quantile of sorted shares, and its interval by order statistics.

    How many of n values are below the true quantile is binomial, here approximated by the normal
    law. An end whose rank is beyond the values is 0 or 1.
    """
    n = len(ordered)
    if not n:
        return Interval(None, None, None)
    middle, error = share * n, _Z * sqrt(n * share * (1 - share))
    low, high = floor(middle - error), ceil(middle + error) + 1
    return Interval(
        float(ordered[max(0, ceil(middle) - 1)]),
        float(ordered[low - 1]) if low > 0 else 0.0,
        float(ordered[high - 1]) if high <= n else 1.0,
    )


def _not_counted() -> NDArray[Any]:
    return np.empty(0)


@frozen(eq=False)
class Outcome:
    """Counts of simulated events, run by run; of several communities, a column for each.

    Counts that a simulator does not make are left empty.
    """

    sizes: tuple[int, ...]
    """The processes of each community; empty for one group of everybody."""
    alive: Counts
    """The living processes that are interested, the publisher included."""
    delivered: Counts
    """How many of the living interested processes have the event in the end."""
    rounds: Counts
    """The last round in which a process sends; 0 where the event never got to the community."""
    messages: Counts
    """Copies sent within the group or community, the lost ones included."""
    upward_messages: Counts = field(factory=_not_counted)
    """Copies sent to super-communities, the lost ones included."""
    between: Counts = field(factory=_not_counted)
    """How many of the messages were sent to other clusters."""
    parasites: Counts = field(factory=_not_counted)
    """Living processes that get the event and are not interested, each counted once."""
    parasite_copies: Counts = field(factory=_not_counted)
    """Copies that arrive at living processes that are not interested, the first and later ones."""
    entries: NDArray[np.float64] = field(factory=_not_counted)
    """How many others a process knows, on average over the processes of a run."""
    loads: Mapping[str, NDArray[np.float64]] = field(factory=dict)
    """The measures of the load of a process (`population.load_counts`), by name; NaN for none."""

    @property
    def runs(self) -> int:
        """How many runs were made."""
        return len(self.alive)

    @property
    def communities(self) -> list[Outcome]:
        """The outcome in every community, in the setting's order."""
        columns = self._columns()
        return [
            Outcome(
                (size,),
                **{name: counts[:, index] for name, counts in columns.items()},
                loads={name: values[:, index] for name, values in self.loads.items()},
            )
            for index, size in enumerate(self.sizes)
        ]

    @property
    def reception(self) -> Interval:
        """The share of the living interested that have the event, on average over runs."""
        return mean_interval(self._shares(), 0.0, 1.0)

    @property
    def reliability(self) -> Interval:
        """The share of runs in which all living interested have the event."""
        shares = self._shares()
        return share_interval(int(np.count_nonzero(shares == 1.0)), len(shares))

    @property
    def reach(self) -> dict[str, Interval]:
        """How the share of the living interested that an event reaches is distributed over runs."""
        shares = np.sort(self._shares())
        quantiles = {
            name: quantile_interval(shares, share) for name, share in REACH_QUANTILES.items()
        }
        return quantiles | {
            name: share_interval(int(np.count_nonzero(shares >= least)), len(shares))
            for name, least in REACHES.items()
        }

    def _shares(self) -> NDArray[Any]:
        peopled = self.alive > 0
        return np.asarray(self.delivered[peopled] / self.alive[peopled])

    @property
    def rounds_to_reach_all(self) -> Interval:
        """Rounds until no process of any community has anything left to send (Table 1)."""
        return mean_interval(self.rounds.max(axis=1), 1.0)

    def measures(self) -> dict[str, Interval]:
        """Return all measures of one group or community, by name."""
        counted = {name: mean_interval(counts, 0.0) for name, counts in self._columns().items()}
        if self.sizes:  # a community: only the runs in which the event got there
            counted["rounds"] = mean_interval(self.rounds[self.rounds > 0], 1.0)
        shares = {"reception": self.reception, "reliability": self.reliability, **self.reach}
        some = {name: values[~np.isnan(values)] for name, values in self.loads.items()}
        loads = {name: mean_interval(values, 0.0) for name, values in some.items()}
        return shares | counted | loads

    def as_json(self) -> dict[str, Any]:
        """Return the measures as a JSON object: means with their 95 % intervals."""
        measures = {name: interval.as_json() for name, interval in self.measures().items()}
        if not self.sizes:
            return measures
        del measures["alive"], measures["delivered"]
        return {"size": self.sizes[0]} | measures

    def counts(self) -> dict[str, Any]:
        """Return the counts as a JSON object, which `joined` takes."""
        columns = {name: counts.tolist() for name, counts in self._columns().items()}
        return columns | {"sizes": self.sizes, "loads": loads_as_json(self.loads)}

    def _columns(self) -> dict[str, NDArray[Any]]:
        named = {column.name: getattr(self, column.name) for column in attrs.fields(Outcome)}
        del named["sizes"], named["loads"]
        return {name: counts for name, counts in named.items() if counts.shape == self.alive.shape}


def joined(parts: Sequence[Mapping[str, Any]]) -> Outcome:
    """Put several simulations of one setting (`Outcome.counts`) together, in the order given."""
    first = parts[0]
    assert all(part["sizes"] == first["sizes"] for part in parts), "runs of different settings"
    columns = {
        name: np.array([count for part in parts for count in part[name]])
        for name in first
        if name not in ("sizes", "loads")
    }
    loads = joined_loads([part["loads"] for part in parts])
    return Outcome(tuple(first["sizes"]), **columns, loads=loads)


def loads_as_json(loads: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return the values of measures of a load as JSON, which has no NaN: null."""
    return {
        name: np.where(np.isnan(values), np.array(None), values).tolist()
        for name, values in loads.items()
    }


def joined_loads(parts: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float64]]:
    """Put together what `loads_as_json` made, in the order given."""
    return {
        name: np.array([value for part in parts for value in part[name]], np.float64)
        for name in parts[0]
    }
