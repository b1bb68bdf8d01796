"""The equations of the percolation paper (003, 4), each against its plainest form."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import comb, exp, inf, pi, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.research.systems.percolation.percolation_reach import (
    Coverage,
    Degrees,
    coverage,
    degrees_of,
    forwarding,
    generating_forwarded,
    mean_receivers,
    mean_subscribers,
    mean_subscribers_of_the_paper,
    other_threshold,
    poisson_degrees,
    power_law_degrees,
    receivers_law,
    threshold,
)

SMALL = degrees_of([0, 1, 1, 1, 2, 2, 3, 5])
POISSON = poisson_degrees(5)
PROBABILITIES = [(0.0, 0.0), (0.1, 0.6), (0.3, 0.0), (0.0, 0.2), (1.0, 0.5), (0.4, 1.0)]


def forwarded_law(law: np.ndarray, total: float) -> list[float]:
    """f_i as Equations 1 and 2 print it: the probability to send to i neighbours."""
    return [
        total**i * sum(law[j] * comb(j, i) * (1 - total) ** (j - i) for j in range(i, len(law)))
        for i in range(len(law))
    ]


def generating(law: Iterable[float], x: float) -> float:
    """A generating function by its definition, Equations 3, 4 and 11."""
    return float(sum(p * x**i for i, p in enumerate(law)))


def derivative(law: np.ndarray, total: float) -> float:
    """F'(1) by the difference of two values."""
    step = 1e-6
    below, above = (generating_forwarded(law, total, 1 + side * step) for side in (-1, 1))
    return float(above - below) / (2 * step)


# -- degrees ---------------------------------------------------------------------------------------


def test_degrees_of_nodes_and_their_excess() -> None:
    """q_i = (i+1) p_(i+1) / sum j p_j, by counting the ends of links."""
    degrees = [0, 1, 1, 1, 2, 2, 3, 5]
    ends = [degree for degree in degrees for _ in range(degree)]
    excess = [sum(end == i + 1 for end in ends) / len(ends) for i in range(5)]
    assert SMALL.q == pytest.approx(excess)
    assert SMALL.mean == pytest.approx(15 / 8)
    assert SMALL.square == pytest.approx(45 / 8)
    assert SMALL.mean_excess == pytest.approx(sum(i * q for i, q in enumerate(excess)))  # (8)


def test_poisson_degrees_are_as_many_when_following_a_link() -> None:
    assert POISSON.q[:30] == pytest.approx(POISSON.p[:30])
    assert POISSON.p.sum() == pytest.approx(1, abs=1e-14)
    assert POISSON.p[3] == pytest.approx(exp(-5) * 125 / 6)
    assert POISSON.mean_excess == pytest.approx(5)


def test_power_law_moments_are_zeta_s() -> None:
    """zeta(2) = pi^2/6, zeta(3) = 1.2020569, zeta(4) = pi^4/90."""
    law = power_law_degrees(4)
    assert law.mean == pytest.approx(1.2020569031595942 / (pi**4 / 90), rel=1e-12)
    assert law.square == pytest.approx((pi**2 / 6) / (pi**4 / 90), rel=1e-12)
    assert power_law_degrees(2.5).square == inf
    assert threshold(power_law_degrees(2.5)) == 0
    with pytest.raises(ValueError, match="exponent 2 has no mean"):
        power_law_degrees(2)


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match=r"add up to 0\.5"):
        Degrees(np.array([0.0, 0.5]))
    with pytest.raises(ValueError, match="no node has a neighbour"):
        degrees_of([0, 0])


# -- one node --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "gamma"), PROBABILITIES)
def test_the_total_forwarding_probability(sigma: float, gamma: float) -> None:
    assert 1 - forwarding(sigma, gamma) == pytest.approx((1 - sigma) * (1 - gamma))


@pytest.mark.parametrize("total", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_equations_1_to_5(x: float, total: float) -> None:
    for law in (SMALL.p, SMALL.q):
        by_coefficients = generating(forwarded_law(law, total), x)
        assert generating_forwarded(law, total, x) == pytest.approx(by_coefficients)


@pytest.mark.parametrize("total", [0.1, 0.37, 1.0])
def test_equations_6_to_8(total: float) -> None:
    for law in (SMALL, POISSON):
        assert derivative(law.p, total) == pytest.approx(total * law.mean, rel=1e-6)
        assert derivative(law.q, total) == pytest.approx(total * law.mean_excess, rel=1e-6)
        assert law.mean_excess == pytest.approx((law.square - law.mean) / law.mean)


# -- all receivers ---------------------------------------------------------------------------------


def recurrence(law: Degrees, total: float, most: int) -> tuple[list[float], list[float]]:
    """Equations 9 and 10 as they are printed: sums over all ways to add up to i."""
    f, f_link = forwarded_law(law.p, total), forwarded_law(law.q, total)
    r_link = [0.0]

    def next_one(f: list[float], i: int) -> float:
        return float(
            sum(
                f[j]
                * sum(
                    prod(r_link[a] for a in parts)
                    for parts in product(range(1, i + 1), repeat=j)
                    if sum(parts) == i
                )
                for j in range(min(len(f), i + 1))
            )
        )

    r = [0.0]
    for i in range(most):
        value = next_one(f, i)
        r_link.append(next_one(f_link, i))
        r.append(value)
    return r, r_link


@pytest.mark.parametrize("total", [0.0, 0.2, 0.5, 1.0])
def test_equations_9_and_10(total: float) -> None:
    r, r_link = receivers_law(SMALL, total, 6)
    expected, expected_link = recurrence(SMALL, total, 6)
    assert r == pytest.approx(expected, abs=1e-9)
    assert r_link == pytest.approx(expected_link, abs=1e-9)


def test_equations_11_to_13() -> None:
    """R and R→ as the sums of (11) fulfil (12) and (13), at points inside the unit circle."""
    total, most = 0.15, 400
    r, r_link = receivers_law(POISSON, total, most)
    for x in (0.2, 0.9, 1.0):
        through_link = generating(r_link, x)
        assert through_link == pytest.approx(
            x * generating_forwarded(POISSON.q, total, through_link), abs=1e-9
        )
        through_node = generating(r, x)
        assert through_node == pytest.approx(
            x * generating_forwarded(POISSON.p, total, through_link), abs=1e-9
        )


@pytest.mark.parametrize("total", [0.02, 0.1, 0.15])
def test_equations_14_to_17(total: float) -> None:
    """The mean of the law of (9) and (10), by (14) to (16), and as (17) has it."""
    r, r_link = receivers_law(POISSON, total, 600)
    mean, mean_link = r @ np.arange(601), r_link @ np.arange(601)
    successors = total * POISSON.mean_excess
    assert 1 + successors * mean_link == pytest.approx(mean_link)  # (15)
    assert 1 / (1 - successors) == pytest.approx(mean_link, rel=1e-6)  # (16)
    by_14 = 1 + total * POISSON.mean / (1 - successors)
    assert mean_receivers(POISSON, total) == pytest.approx(by_14)
    assert mean_receivers(POISSON, total) == pytest.approx(mean, rel=1e-6)
    assert mean_receivers(POISSON, total) == pytest.approx(1 + 5 * total / (1 - 5 * total))


def test_equation_17_of_a_heavy_tail() -> None:
    law = power_law_degrees(2.5)
    assert mean_receivers(law, 0) == 1
    assert mean_receivers(law, 0.001) == inf


@pytest.mark.parametrize(("sigma", "gamma"), [(0.05, 0.1), (0.15, 0.0), (0.0, 0.1)])
def test_receivers_are_subscribers_more_often_than_nodes_are(sigma: float, gamma: float) -> None:
    """The corrected mean by the law of a tree's nodes: each but the first was sent a copy."""
    receivers = mean_receivers(POISSON, forwarding(sigma, gamma))
    ours = mean_subscribers(sigma, gamma, receivers)
    paper = mean_subscribers_of_the_paper(sigma, receivers)
    assert (ours > paper) if sigma else (ours == paper == 0)
    if not gamma:  # only the publisher can be no subscriber
        assert ours == pytest.approx(receivers - (1 - sigma))
    assert mean_subscribers(1, gamma, receivers) == receivers


# -- the threshold and beyond ----------------------------------------------------------------------


def test_the_threshold_is_where_equation_17_diverges() -> None:
    for law in (POISSON, SMALL, power_law_degrees(3.3)):
        least = threshold(law)
        assert mean_receivers(law, least * (1 - 1e-9)) > 1e6
        assert mean_receivers(law, least * (1 + 1e-9)) == inf
    assert threshold(POISSON) == pytest.approx(0.2)
    assert threshold(degrees_of([1, 1])) == inf
    assert threshold(degrees_of([1, 1, 2])) == pytest.approx(2)


@given(st.floats(0, 1))
def test_the_other_threshold_is_on_the_threshold(probability: float) -> None:
    other = other_threshold(POISSON, probability)
    assert other is not None
    expected = max(probability, 0.2)
    assert forwarding(probability, other) == pytest.approx(expected, rel=1e-9)
    assert forwarding(other, probability) == pytest.approx(expected, rel=1e-9)


def test_without_a_giant_component_there_is_no_threshold() -> None:
    ring = degrees_of([1, 1, 2])
    assert other_threshold(ring, 0.3) is None
    assert not coverage(ring, 3, 1, 1).percolates


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0])
def test_nobody_subscribing_is_percolation_over_links(gamma: float) -> None:
    """Of Poisson degrees S = 1 - e^(-5 gamma S) both for percolating and for being reached."""
    covered = coverage(POISSON, 1000, 0, gamma)
    share = covered.reached
    assert share == pytest.approx(1 - exp(-5 * gamma * share), rel=1e-9)
    assert covered.percolates == pytest.approx(share, rel=1e-9)


def test_only_subscribers_getting_it_is_percolation_over_nodes() -> None:
    """gamma = 0: of the subgraph of subscribers, whose degrees are Poisson with mean 5 sigma."""
    sigma = 0.4
    covered = coverage(POISSON, 1000, sigma, 0)
    share = covered.reached_subscribers
    assert share == pytest.approx(1 - exp(-5 * sigma * share), rel=1e-9)
    assert covered.reached == pytest.approx(sigma * share)
    assert covered.percolates == pytest.approx(1 - exp(-5 * sigma * share))


def test_everybody_subscribing_is_the_giant_component() -> None:
    assert coverage(POISSON, 10, 1, 0) == coverage(POISSON, 10, 1, 1)
    assert coverage(POISSON, 10, 1, 0).reached == pytest.approx(coverage(POISSON, 10, 0, 1).reached)


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.15])
def test_the_coverage_is_continuous_at_the_threshold_and_below_it_equation_17(gamma: float) -> None:
    end = other_threshold(POISSON, gamma)
    assert end
    below, above = (coverage(POISSON, 10_000, end * side, gamma) for side in (0.9, 1 + 1e-4))
    total = forwarding(0.9 * end, gamma)
    assert below.receivers == below.receivers_infinite == mean_receivers(POISSON, total)
    assert below.subscribers == mean_subscribers(0.9 * end, gamma, below.receivers)
    assert (below.percolates, below.reached, below.reached_subscribers) == (0, 0, 0)
    assert above.receivers_infinite == above.subscribers_infinite == inf
    assert 0 < above.percolates < 0.001
    assert 0 < above.reached < 0.001
    assert above.as_json()["receivers_infinite"] is None


@pytest.mark.parametrize(("sigma", "gamma"), [(0.1, 0.2), (0.5, 0.3)])
def test_events_that_die_out_have_a_finite_mean(sigma: float, gamma: float) -> None:
    """Beyond the threshold: sum r_i is the probability not to percolate, sum i r_i the rest of
    the mean, of which the publisher subscribes like anybody, and the others more often."""
    total, nodes = forwarding(sigma, gamma), 10_000
    r, _ = receivers_law(POISSON, total, 600)
    covered = coverage(POISSON, nodes, sigma, gamma)
    ended = float(r.sum())
    mean = float(r @ np.arange(len(r)))
    assert covered.percolates == pytest.approx(1 - ended, abs=1e-9)
    rest = covered.receivers - nodes * covered.percolates * covered.reached
    assert rest == pytest.approx(mean, rel=1e-6)
    found = sigma * nodes * covered.percolates * covered.reached_subscribers
    expected = sigma * ended + (mean - ended) * sigma / total
    assert covered.subscribers - found == pytest.approx(expected, rel=1e-6)


def test_a_network_is_not_reached_more_than_wholly() -> None:
    at = coverage(SMALL, 1_000, 0.5, 0)
    assert at.threshold == pytest.approx(0.5)
    assert (at.receivers, at.subscribers) == (1_000, 500)


def by_hand(sigma: float, gamma: float) -> tuple[float, float]:
    """How probable it is to percolate and to be reached, by plain iteration of the equations."""
    total, u, v = forwarding(sigma, gamma), 0.0, 0.0
    for _ in range(5_000):
        u = exp(5 * total * (u - 1))
        v = sigma * exp(5 * (v - 1)) + (1 - sigma) * exp(5 * gamma * (v - 1))
    return 1 - exp(5 * total * (u - 1)), 1 - v


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60)
def test_the_roots_are_the_least_ones(sigma: float, gamma: float) -> None:
    covered = coverage(POISSON, 1_000, sigma, gamma)
    if abs(covered.gamma_total - 0.2) < 0.005:
        return  # where iterating takes too long
    percolates, reached = by_hand(sigma, gamma)
    assert covered.percolates == pytest.approx(percolates, abs=1e-6)
    assert covered.reached == pytest.approx(reached, abs=1e-6)
    shares = (covered.percolates, covered.reached, covered.reached_subscribers)
    assert all(0 <= share <= 1 for share in shares)
    assert covered.reached_subscribers >= covered.reached - 1e-12


def test_more_of_either_reaches_more() -> None:
    def at(sigma: float, gamma: float) -> Coverage:
        return coverage(SMALL, 1_000, sigma, gamma)

    steps = [0.0, 0.1, 0.3, 0.6, 0.8, 1.0]
    for held in (0.05, 0.55):  # not on the threshold, which is at 0.5
        for line in ([at(s, held) for s in steps], [at(held, g) for g in steps]):
            assert [one.receivers for one in line] == sorted(one.receivers for one in line)
            assert [one.subscribers for one in line] == sorted(one.subscribers for one in line)


@pytest.mark.parametrize(("sigma", "gamma"), [(1.1, 0), (0, -0.1), (float("nan"), 0)])
def test_what_is_no_probability_is_refused(sigma: float, gamma: float) -> None:
    with pytest.raises(ValueError, match="is a probability from 0 to 1"):
        coverage(POISSON, 10, sigma, gamma)
