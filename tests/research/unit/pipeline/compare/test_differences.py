"""Welch, Hedges and Holm: worked examples of others, and what they promise."""

from __future__ import annotations

from math import inf, pi, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.models.student import quantile
from camcast.research.pipeline.compare.differences import (
    Sample,
    difference,
    effect_in_words,
    holm,
    welch,
)

P = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("first", "second", "p"),  # [Wikipedia, "Welch's t-test", Examples: n, mean, s² of each]
    [
        ((15, 20.8, 7.9), (15, 23.0, 3.8), 0.021),
        ((10, 20.6, 9.0), (20, 22.1, 0.9), 0.149),
        ((10, 19.4, 1.4), (20, 21.6, 17.1), 0.036),
    ],
)
def test_welch_of_the_textbook(
    first: tuple[int, float, float], second: tuple[int, float, float], p: float
) -> None:
    """The inputs are rounded to 1 digit, which moves p by up to 0.006."""
    a, b = (Sample(n, m, sqrt(s2), m, m + 1) for n, m, s2 in (first, second))
    found = difference(a, b)
    assert found.p == pytest.approx(p, abs=0.007)
    assert found.low is not None
    assert found.high is not None
    assert (found.low > 0 or found.high < 0) == (p < 0.05)
    back = difference(b, a)
    assert back.p == found.p
    assert (back.low, back.high) == (-found.high, -found.low)


def test_a_fair_comparison_is_significant_once_in_twenty() -> None:
    """Unequal sizes and scatters, the same mean: 5 % of 2,000, +- 1.4 % at 99.6 %."""
    rng, alarms = Random(7), 0
    for _ in range(2000):
        one = Sample.of([rng.gauss(1, 3) for _ in range(6)])
        other = Sample.of([rng.gauss(1, 1) for _ in range(12)])
        found = difference(one, other)
        alarms += (found.p or 0) < 0.05
    assert alarms / 2000 == pytest.approx(0.05, abs=0.014)


def test_hedges_g_is_cohens_d_without_its_bias() -> None:
    """J(2) = 1 / sqrt(π) and J(4) = sqrt(2 / π), from Γ(1/2) and Γ(3/2)."""
    small = difference(Sample.of([1.0, 3.0]), Sample.of([0.0, 2.0]))
    assert small.effect == pytest.approx(1 / sqrt(2) / sqrt(pi))
    larger = difference(Sample.of([1.0, 2.0, 3.0]), Sample.of([0.0, 1.0, 2.0]))
    assert larger.effect == pytest.approx(sqrt(2 / pi))


def test_a_single_run_can_be_told_from_nothing() -> None:
    found = difference(Sample.of([5.0]), Sample.of([1.0, 2.0, 3.0]))
    assert found.difference == 3.0
    assert (found.low, found.high, found.effect, found.p) == (None, None, None, None)


def test_without_any_scatter_it_is_the_permutation_that_decides() -> None:
    """And there is no interval: that some runs are equal does not make anything certain."""
    same = difference(Sample.of([1.0, 1.0]), Sample.of([1.0, 1.0]))
    assert (same.difference, same.low, same.high, same.effect, same.p) == (0.0, None, None, 0, 1)
    apart = difference(Sample.of([1.0, 1.0, 1.0]), Sample.of([2.0, 2.0, 2.0]))
    assert apart.p == pytest.approx(2 / 20)  # of 6 runs, 3 can be chosen in 20 ways
    assert (apart.low, apart.high, apart.effect) == (None, None, None)


def test_a_group_without_scatter_is_taken_to_scatter_as_the_other() -> None:
    """With the degrees of the other one alone, which is all that is known."""
    found = difference(Sample.of([1.0, 1.0, 1.0]), Sample.of([1.5, 2.0, 2.5]))
    assert found.high == pytest.approx(-1 + quantile(0.95, 2) * 0.5 * sqrt(2 / 3))


def test_strata_are_averaged() -> None:
    """Two alike are as one, with twice the degrees and half the variance."""
    one, other = Sample.of([1.0, 2.0, 3.0]), Sample.of([2.0, 3.0, 4.0])
    alone, twice = welch([(one, other)]), welch([(one, other)] * 2)
    assert alone.high == pytest.approx(-1 + quantile(0.95, 4) * sqrt(2 / 3))
    assert twice.difference == alone.difference == -1
    assert twice.high == pytest.approx(-1 + quantile(0.95, 8) * sqrt(1 / 3))


def test_an_interval_is_students_where_nothing_bounds_it() -> None:
    low, high = Sample.of([0.8, 0.9, 1.0]).interval()
    half = 4.302653 * 0.1 / sqrt(3)  # t of 2 degrees
    assert (low, high) == pytest.approx((0.9 - half, 0.9 + half))


@given(st.lists(st.floats(min_value=0.001, max_value=0.999), min_size=2, max_size=9))
def test_an_interval_has_the_mean_and_nothing_that_cannot_be(values: list[float]) -> None:
    sample = Sample.of(values)
    for least, most in ((0.0, inf), (0.0, 1.0)):
        low, high = sample.interval(least, most)
        if low is None or high is None:
            assert not sample.deviation
        else:
            assert least <= low <= sample.mean * (1 + 1e-9)
            assert sample.mean * (1 - 1e-9) <= high <= most


def test_far_from_its_bounds_an_interval_is_students() -> None:
    values = Sample.of([500.1, 500.2, 500.3])
    plain = values.interval()
    for bounds in ((0.0, inf), (0.0, 1000.0)):
        assert values.interval(*bounds) == pytest.approx(plain, abs=1e-3)


def test_near_a_bound_it_holds_the_mean_more_often_than_students() -> None:
    """Exponential values, 5 runs: 93.6 % of 20,000 measured, Student's 88.5 %; here of 1,000."""
    rng, held = Random(5), {"here": 0, "plain": 0}
    for _ in range(1000):
        sample = Sample.of([rng.expovariate(1.0) for _ in range(5)])
        for name, (low, high) in (("here", sample.interval(0.0)), ("plain", sample.interval())):
            held[name] += (low or 0) <= 1.0 <= (high or 0)
    assert held["here"] > held["plain"] + 20
    assert held["here"] / 1000 == pytest.approx(0.936, abs=0.025)


def test_equal_runs_and_single_ones_have_no_interval() -> None:
    assert Sample.of([0.8]).interval() == (None, None)
    assert Sample.of([1.0, 1.0, 1.0]).interval(0.0, 1.0) == (None, None)


def test_values_beyond_the_bounds_show_that_there_are_none() -> None:
    assert Sample.of([-1.0, 1.0]).interval(0.0) == Sample.of([-1.0, 1.0]).interval()


def test_holm_of_the_textbook() -> None:
    """[R, p.adjust] of 0.01, 0.04, 0.03, 0.005."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert holm([]) == []


@given(P)
def test_holm_is_between_nothing_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, found in zip(p_values, adjusted, strict=True):
        assert found is not None
        assert p <= found <= min(1.0, p * len(p_values))
    ranked = [a for _, a in sorted(zip(p_values, adjusted, strict=True), key=lambda pair: pair[0])]
    assert ranked == sorted(ranked, key=lambda a: a or 0.0)


@pytest.mark.parametrize(
    ("effect", "word"), [(0.1, "negligible"), (-0.3, "small"), (0.6, "medium"), (-3, "large")]
)
def test_effects_in_words(effect: float, word: str) -> None:
    assert effect_in_words(effect) == word
