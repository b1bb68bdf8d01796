"""The difference of two groups of independent runs, with effect size and significance.

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
from math import comb, exp, fsum, hypot, inf, isinf, lgamma, log, prod, sqrt
from statistics import mean, stdev
from typing import Final

from attrs import evolve, frozen

from camcast.research.models.student import CONFIDENCE, quantile, two_sided_p

SIGNIFICANT: Final = 0.05  # [convention; the counterpart of CONFIDENCE]
_STEEP: Final = 700.0  # chosen: exp() of it is nearly the largest float
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
        """Return the 95 % interval of the mean, within the `least` and the `most` that is possible.

        It is Student's on the scale on which a bounded measure has no bounds, log(x - least) or
        log((x - least) / (most - x)), with the error there by the delta method. Measured over
        20,000 samples of 3, 5 and 10 runs: it holds the mean in 95 % of those of normal values, as
        Student's own does; in 93 to 95 % of those of exponential ones, where Student's own holds
        it in 88 to 90 %, and reaches below 0.

        A single run has none; nor have runs that all measured the same, which say nothing of how
        much others may differ. Values beyond the bounds show that there are none.
        """
        if not self.deviation:
            return None, None
        error = quantile(CONFIDENCE, self.runs - 1) * self.deviation / sqrt(self.runs)
        below, above = self.mean - least, most - self.mean
        if isinf(below) or self.smallest < least or self.largest > most:
            return self.mean - error, self.mean + error
        if isinf(above):
            factor = exp(error / below)
            return least + below / factor, least + below * factor
        centre, reach = log(below / above), error * (1 / below + 1 / above)
        low, high = (
            (most - least) / (1 + exp(min(_STEEP, -end)))
            for end in (centre - reach, centre + reach)
        )
        return least + low, least + high


@frozen
class Difference:
    """The first group's mean minus the second's; None where a group has a single run.

    Nor is there an interval where no run differs from the others of its group.
    """

    difference: float
    low: float | None
    """Welch's 95 % interval, from here to `high`."""
    high: float | None
    effect: float | None
    """Hedges' g; None, too, where runs did not scatter at all and yet differ."""
    p: float | None
    """Two-sided, of this question alone: not adjusted."""


def difference(first: Sample, second: Sample) -> Difference:
    """Compare two groups."""
    found = welch([(first, second)])
    if found.p is None:
        return found
    scatter = first.deviation or second.deviation
    effect = _hedges_g(first, second) if scatter else None if found.difference else 0.0
    return evolve(found, effect=effect)


def welch(strata: Sequence[tuple[Sample, Sample]], confidence: float = CONFIDENCE) -> Difference:
    """Compare two groups in several strata, of which the difference is the mean; without effect.

    A group without scatter is taken to scatter as the other one does: a few runs that happened to
    be equal do not prove that all are. Where no group scatters at all, Welch has nothing to
    compute with. If they differ, p is that of the exact permutation test: 2 of all ways to choose
    the one group's runs are as far apart.
    """
    apart = fsum(one.mean - other.mean for one, other in strata) / len(strata)
    errors: list[tuple[float, int]] = []  # squared, and how many degrees of freedom it has
    for one, other in strata:
        if one.deviation is None or other.deviation is None:
            return Difference(apart, None, None, None, None)
        scattered = [group for group in (one, other) if group.deviation]
        squares = [(group.deviation or 0.0) ** 2 for group in scattered]
        if len(scattered) == 1:
            square = squares[0] * (1 / one.runs + 1 / other.runs)
            errors.append((square, scattered[0].runs - 1))
        else:
            errors += [(s / g.runs, g.runs - 1) for s, g in zip(squares, scattered, strict=True)]
    total = fsum(square for square, _ in errors)
    if total == 0:
        ways = prod(comb(one.runs + other.runs, one.runs) for one, other in strata)
        return Difference(apart, None, None, None, 2 / ways if apart else 1.0)
    degrees = total**2 / fsum(square**2 / degrees for square, degrees in errors)
    error = sqrt(total) / len(strata)
    half = quantile(confidence, degrees) * error
    p = two_sided_p(apart / error, degrees)
    return Difference(apart, apart - half, apart + half, None, p)


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
