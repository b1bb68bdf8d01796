"""A verdict computed as simply as can be: from values of runs to who is best, and by how much.

It shares nothing with `camcast.research.pipeline.compare` or `camcast.research.models.student`:
Student's distribution is an integral by Simpson's rule, and its quantile is found by halving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, lgamma, log, pi, sqrt

STEPS = 400


def tail(t: float, degrees: float) -> float:
    """P(|T| >= t), by x = tan(u), which makes the integral a finite one."""
    front = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * pi)

    def density(x: float) -> float:
        return front * exp(-(degrees + 1) / 2 * log(1 + x * x / degrees))

    width = t / STEPS
    inner = sum(4 * density((2 * i + 1) * width / 2) + 2 * density(i * width) for i in range(STEPS))
    return 1 - 2 * width / 6 * (inner - density(0) + density(t))


def quantile(confidence: float, degrees: float) -> float:
    low, high = 0.0, 1.0
    while tail(high, degrees) > 1 - confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, degrees) > 1 - confidence else (low, middle)
    return high


def interval(one: Sequence[float], other: Sequence[float], level: float) -> tuple[float, float]:
    """Welch's interval of mean(one) - mean(other), at 1 - level."""
    means = [sum(values) / len(values) for values in (one, other)]
    errors = [
        sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
        for values, mean in zip((one, other), means, strict=True)
    ]
    total = sum(errors)
    degrees = total**2 / sum(
        error**2 / (len(values) - 1) for error, values in zip(errors, (one, other), strict=True)
    )
    half = quantile(1 - level, degrees) * sqrt(total)
    return means[0] - means[1] - half, means[0] - means[1] + half


class TwinVerdict:
    """Who is best (alone: the winner), and what those who may be are apart at most."""

    def __init__(self, values: Mapping[str, Sequence[float]], *, more_is_better: bool) -> None:
        sign = 1 if more_is_better else -1
        pairs = list(combinations(values, 2))
        apart = {
            (one, other): interval(values[one], values[other], 0.05 / len(pairs))
            for one, other in pairs
        }
        first = max(values, key=lambda name: sign * sum(values[name]) / len(values[name]))
        self.best = [first]
        for (one, other), (low, high) in apart.items():
            if first in (one, other) and low <= 0 <= high:
                self.best.append(other if one == first else one)
        self.winner = first if len(self.best) == 1 else None
        self.bound = max(
            (
                max(abs(low), abs(high))
                for pair, (low, high) in apart.items()
                if set(pair) <= set(self.best)
            ),
            default=0.0,
        )
