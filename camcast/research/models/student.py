"""Student's t distribution, exactly, for any positive number of degrees of freedom.

No dependency of CAMCAST has it. Every interval and every p-value that CAMCAST prints is computed
from these two functions, so that an interval and a p-value never contradict each other.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p
from typing import Final

CONFIDENCE: Final = 0.95  # [convention] of every interval that is printed
_TINY: Final = 1e-300  # chosen: instead of 0 in a denominator [Lentz's method]
_PRECISION: Final = 1e-15  # chosen: some units in the last place
_TERMS_MAX: Final = 100_000  # chosen: the fraction takes about sqrt(degrees) terms


def two_sided_p(t: float, degrees: float) -> float:
    """Return P(|T| >= |t|), for `degrees` > 0 [Abramowitz and Stegun 26.7.1, 26.5.27]."""
    square = t * t
    if square == inf:
        return 0.0
    if square < 1:  # where degrees / (degrees + square) has lost what t was
        return 1.0 - _incomplete_beta(0.5, degrees / 2, square / (degrees + square))
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square))


@lru_cache(maxsize=256)  # chosen: a reproduction has thousands of intervals of a few sizes
def quantile(confidence: float, degrees: float) -> float:
    """Return t with P(|T| <= t) = `confidence`, which is in (0, 1), for `degrees` > 0."""
    wanted = 1.0 - confidence
    low, high = 0.0, 1.0
    while two_sided_p(high, degrees) > wanted:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        if two_sided_p(middle, degrees) > wanted:
            low = middle
        else:
            high = middle
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), for x in [0, 1]."""
    if x in (0.0, 1.0):
        return x
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # Of the two sides, the one where the fraction converges fast. [Abramowitz and Stegun 26.5.8]
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b) [Abramowitz and Stegun 26.5.8; Lentz 1976]."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            return value
    raise ArithmeticError(f"the incomplete beta function of {a}, {b}, {x} does not converge")


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
