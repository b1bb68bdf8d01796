"""How many runs it takes to tell two groups apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Final

from camcast.research.models.student import quantile

POWER: Final = 0.8  # [convention; Cohen 1988, 2.4] a true difference is found in four of five
RUNS_MAX: Final = 1000  # chosen: whoever would need more will not run them


def runs_needed(apart: float, variances: Sequence[float], confidence: float) -> int | None:
    """Return how many runs each group needs until Welch's test finds a true difference `apart`.

    It finds it with a probability of `POWER`, at the `confidence` of the test. `variances` are
    those of a run in each group. None: more than `RUNS_MAX`, or there is no difference to find.
    """
    total, squares = fsum(variances), fsum(variance**2 for variance in variances)
    if not total or not apart:
        return None

    def found(runs: int) -> bool:
        degrees = (runs - 1) * total**2 / squares
        needed = quantile(confidence, degrees) + quantile(2 * POWER - 1, degrees)
        return abs(apart) / sqrt(total / runs) >= needed

    if not found(RUNS_MAX):
        return None
    low, high = 1, RUNS_MAX  # of one run nothing is found, of so many it is
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
