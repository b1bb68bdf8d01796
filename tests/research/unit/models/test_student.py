"""Student's t against closed forms, the statisticians' tables and its own inverse."""

from __future__ import annotations

from math import atan, inf, pi, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.models.student import quantile, two_sided_p

T = st.floats(min_value=0, max_value=1e3)


@given(T)
def test_one_degree_is_cauchy(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(1 - 2 * atan(t) / pi, rel=1e-9, abs=1e-12)


@given(T)
def test_two_degrees_have_a_closed_form(t: float) -> None:
    assert two_sided_p(t, 2) == pytest.approx(1 - t / sqrt(2 + t * t), rel=1e-9, abs=1e-12)


@given(T)
def test_four_degrees_have_a_closed_form(t: float) -> None:
    """[Abramowitz and Stegun 26.7.4] for n = 4, with sin θ = t / sqrt(4 + t²)."""
    sine = t / sqrt(4 + t * t)
    assert two_sided_p(t, 4) == pytest.approx(1 - sine * (1 + (1 - sine**2) / 2), abs=1e-12)


@given(st.floats(min_value=0, max_value=6))
def test_many_degrees_are_normal(t: float) -> None:
    """They differ by at most 1 / n."""
    normal = 2 * NormalDist().cdf(-t)
    assert two_sided_p(t, 1e6) == pytest.approx(normal, abs=1e-6)


def test_far_out_in_the_tail_it_keeps_its_digits() -> None:
    """Against the density's integral for 10 degrees, from 30 on; 1 - F would keep 5 digits."""
    step, n = 0.001, 10
    middles = (30 + (k + 0.5) * step for k in range(300_000))
    integral = step * sum((1 + x * x / n) ** (-(n + 1) / 2) for x in middles)
    scale = 945 / 32 / 24 / sqrt(10)  # Γ(11/2) / (sqrt(10 π) Γ(5)), as Γ(11/2) = 945 sqrt(π) / 32
    assert two_sided_p(30, n) == pytest.approx(2 * scale * integral, rel=1e-6)


@pytest.mark.parametrize(
    ("degrees", "t"),  # two-sided 95 %, from the usual table
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)],
)
def test_quantiles_of_the_table(degrees: int, t: float) -> None:
    assert quantile(0.95, degrees) == pytest.approx(t, abs=5e-4)


@given(st.floats(min_value=0.01, max_value=0.999), st.floats(min_value=0.5, max_value=1e5))
def test_a_quantile_has_its_probability(confidence: float, degrees: float) -> None:
    t = quantile(confidence, degrees)
    assert two_sided_p(t, degrees) == pytest.approx(1 - confidence, rel=1e-6)


@given(T, st.floats(min_value=0.5, max_value=1e5))
def test_it_is_a_probability_that_falls(t: float, degrees: float) -> None:
    p = two_sided_p(t, degrees)
    assert 0 <= two_sided_p(t + 0.1, degrees) <= p <= 1
    assert two_sided_p(-t, degrees) == p


def test_the_ends() -> None:
    assert two_sided_p(0.0, 3) == 1.0
    assert two_sided_p(inf, 3) == 0.0
    assert two_sided_p(1e200, 3) == 0.0
