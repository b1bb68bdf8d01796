"""What tells two groups of independent runs apart: difference, effect size, significance.

Everything is computed from how many runs a group has, their mean and their standard deviation.

* The interval and p of a difference are Welch's (1947), who does not suppose that both groups
  scatter alike: backends do not. A run's value is itself a mean over hundreds of events, so that
  values of runs are close to normal; a rank test could not find anything among 3 runs a side (its
  smallest p is 0.1), which is what a live comparison has.
* The effect size is Hedges' g (1981): the difference in pooled standard deviations of a run,
  without the bias of few runs.
* p-values of one family of questions are adjusted by Holm (1979): among all of them, at least one
  false alarm has a probability of 5 % at most, however they depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, exp, hypot, inf, lgamma, sqrt
from statistics import mean, stdev
from typing import Final

from attrs import frozen

from camcast.student import quantile, two_sided_p

CONFIDENCE: Final = 0.95
SIGNIFICANT: Final = 0.05  # [convention; the counterpart of CONFIDENCE]
_WORDS: Final = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))  # [Cohen 1988, 2.2.3]


@frozen
class Sample:
    """A measure in a group of independent runs."""

    runs: int
    mean: float
    deviation: float | None
    """Standard deviation of a run (n - 1); None of a single run."""
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return the sample of some runs, at least one."""
        deviation = stdev(values) if len(values) > 1 else None
        return cls(len(values), mean(values), deviation, min(values), max(values))

    def interval(
        self, least: float = -inf, most: float = inf
    ) -> tuple[float, float] | tuple[None, None]:
        """Return Student's 95 % interval of the mean, cut to what is possible.

        A single run has none. Runs that all measured the same have one without width.
        """
        if self.deviation is None:
            return None, None
        error = quantile(CONFIDENCE, self.runs - 1) * self.deviation / sqrt(self.runs)
        return max(least, self.mean - error), min(most, self.mean + error)


@frozen
class Difference:
    """The first group's mean minus the second's; None where a group has a single run."""

    difference: float
    low: float | None
    """Welch's 95 % interval, from here to `high`."""
    high: float | None
    effect: float | None
    """Hedges' g; None, too, where runs did not scatter at all and yet differ."""
    p: float | None
    """Two-sided, of this question alone: not adjusted."""


def difference(first: Sample, second: Sample) -> Difference:
    """Compare two groups.

    Two groups without any scatter leave Welch nothing to compute with. If they differ, p is that
    of the exact permutation test: 2 of all ways to choose the one group's runs are as far apart.
    """
    apart = first.mean - second.mean
    if first.deviation is None or second.deviation is None:
        return Difference(apart, None, None, None, None)
    errors = [(s.deviation or 0.0) ** 2 / s.runs for s in (first, second)]
    error = sqrt(sum(errors))
    if error == 0:
        ways = comb(first.runs + second.runs, first.runs)
        return Difference(apart, apart, apart, None if apart else 0.0, 2 / ways if apart else 1.0)
    degrees = sum(errors) ** 2 / sum(
        e**2 / (s.runs - 1) for e, s in zip(errors, (first, second), strict=True)
    )
    half = quantile(CONFIDENCE, degrees) * error
    p = two_sided_p(apart / error, degrees)
    return Difference(apart, apart - half, apart + half, _hedges_g(first, second), p)


def _hedges_g(first: Sample, second: Sample) -> float:
    degrees = first.runs + second.runs - 2
    pooled = hypot(*(sqrt((s.runs - 1) / degrees) * (s.deviation or 0.0) for s in (first, second)))
    # [Hedges 1981, J(m)] exactly, not by its usual approximation
    unbiased = exp(lgamma(degrees / 2) - lgamma((degrees - 1) / 2)) / sqrt(degrees / 2)
    return unbiased * (first.mean - second.mean) / pooled


def effect_in_words(effect: float) -> str:
    """Say how large an effect is, as Cohen does."""
    return next((word for limit, word in _WORDS if abs(effect) < limit), "large")


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values of one family, adjusted; None is no question, and stays None."""
    asked = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, at) in enumerate(asked):
        largest = max(largest, min(1.0, (len(asked) - rank) * p))
        adjusted[at] = largest
    return adjusted
