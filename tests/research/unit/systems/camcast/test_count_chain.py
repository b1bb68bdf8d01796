"""The count chain's approximations beside exact laws; tests/research/laws says that it is right."""

from __future__ import annotations

from math import ceil, comb, log, sqrt

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from camcast.research.systems.camcast import count_chain
from camcast.research.systems.camcast.count_chain import (
    DISTANCE,
    SENDERS_MAX,
    matched,
    moments,
    simulate,
)
from camcast.research.systems.camcast.setting import SIZE_MAX, Community, Setting, chain
from camcast.vocabulary.parameters import Parameters

Law = NDArray[np.float64]


def missed_law(fresh: int, others: int, senders: int, targets: int, arrival: float) -> Law:
    """P(m of the `fresh` are missed by all senders), m = 0..fresh, one sender after another.

    One of them has i of u processes among its targets (hypergeometric), and copies to j of
    these arrive (binomial). Weights below 1e-18 are left out.
    """
    u = np.arange(fresh + 1, dtype=float)
    step = np.zeros((targets + 1, fresh + 1))
    for i in range(targets + 1):
        hits = np.full(fresh + 1, float(comb(targets, i)))
        for t in range(i):
            hits *= np.maximum(u - t, 0) / (others - t)
        for t in range(targets - i):
            hits *= np.maximum(others - u - t, 0) / (others - i - t)
        for j in range(i + 1):
            step[j] += hits * comb(i, j) * arrival**j * (1 - arrival) ** (i - j)
    law, low, high = np.ones(1), fresh, fresh  # of low..high
    for _ in range(senders):
        begin = max(0, low - targets)
        after = np.zeros(high - begin + 1)
        for j in range(targets + 1):
            weights = law * step[j, low : high + 1]
            skipped = min(len(weights), max(0, begin - (low - j)))  # fewer than j: no weight
            start = max(0, low - j - begin)
            after[start : start + len(weights) - skipped] += weights[skipped:]
        kept = np.flatnonzero(after > 1e-18)
        law, low, high = after[kept[0] : kept[-1] + 1], begin + kept[0], begin + kept[-1]
    full = np.zeros(fresh + 1)
    full[low : high + 1] = law
    return full


def binomial_law(trials: int, chance: float, most: int) -> Law:
    """P(k), k = 0..most, of a binomial law: by the ratios of neighbours, so that any size goes."""
    law = np.zeros(most + 1)
    if chance in (0.0, 1.0):
        law[trials if chance else 0] = 1
        return law
    k = np.arange(min(trials, most) + 1)
    ratios = np.log((trials - k[:-1]) / k[1:] * (chance / (1 - chance)))
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    law[: len(k)] = weights / weights.sum()
    return law


def matched_law(fresh: int, others: int, senders: int, targets: int, arrival: float) -> Law:
    """P(m of the fresh are missed) as `count_chain` draws it when the senders are many."""
    reached, missed, variance = moments(fresh, others, [(senders, targets)], arrival)
    mean = min(reached, missed)
    law = np.zeros(fresh + 1)
    for weight, trials in matched(mean, variance, fresh):
        chance = min(1.0, mean / trials) if trials else 0.0
        law += weight * binomial_law(trials, chance, fresh)
    return law[::-1] if reached <= missed else law


def distance(one: Law, other: Law) -> float:
    return float(abs(one - other).sum()) / 2


def step_distance(size: int, senders: int, arrival: float) -> float:
    """The total variation distance of a step in which all but the senders are fresh."""
    numbers = (size - senders, size - 1, senders, ceil(log(size) + 5), arrival)
    return distance(missed_law(*numbers), matched_law(*numbers))


@pytest.mark.parametrize(
    ("fresh", "others", "senders", "targets", "arrival"),
    [
        (90, 99, 10, 3, 1.0),
        (90, 99, 10, 3, 0.4),
        (20, 99, 50, 7, 0.85),
        (5, 9, 4, 9, 0.5),
        (5, 9, 4, 8, 1.0),
        (1, 1, 3, 1, 0.5),
        (1500, 1999, 300, 13, 0.85),
    ],
)
def test_the_moments_are_exact(
    fresh: int, others: int, senders: int, targets: int, arrival: float
) -> None:
    law = missed_law(fresh, others, senders, targets, arrival)
    assert law.sum() == pytest.approx(1)
    m = np.arange(fresh + 1)
    mean = (law * m).sum()
    variance = (law * (m - mean) ** 2).sum()
    reached, missed, var = moments(fresh, others, [(senders, targets)], arrival)
    assert (missed, reached, var) == pytest.approx((mean, fresh - mean, variance), abs=1e-9)
    # The senders may be counted in groups, and groups without copies change nothing.
    groups = [(1, targets), (senders - 1, targets), (3, 0)]
    assert moments(fresh, others, groups, arrival) == pytest.approx((reached, missed, var))


def test_nothing_is_lost_to_cancellation() -> None:
    """At 10^15, S senders whose copies all arrive meet each other hardly: the mean number of
    pairs of copies to one process is C(S,2) k^2/N, and the variance likewise (Poisson)."""
    size, senders, k = 10**15, 10**6, 40
    reached, _, variance = moments(size, size, [(senders, k)], 1.0)
    twice = senders * (senders - 1) / 2 * k * k / size
    assert senders * k - reached == pytest.approx(twice, rel=1e-4)
    assert variance == pytest.approx(twice, rel=1e-3)


def test_a_match_has_the_mean_and_the_variance() -> None:
    for mean, variance, most in [(10.3, 4.0, 50), (3.0, 2.9, 400), (0.2, 0.17, 9), (7.5, 1.3, 20)]:
        laws = matched(mean, variance, most)
        assert sum(weight for weight, _ in laws) == pytest.approx(1)
        assert all(0 <= weight <= 1 and mean <= trials <= most for weight, trials in laws)
        var = sum(weight * mean * (1 - mean / trials) for weight, trials in laws)
        assert var == pytest.approx(variance)
    assert matched(0.0, 0.0, 5) == [(1.0, 0)]
    assert matched(5.0, 0.0, 5) == [(1.0, 5)]
    assert matched(4.5, 0.25, 5)[0][1] == 5  # no whole number of trials has so small a variance
    assert matched(2.0, 2.0 + 1e-9, 7) == [(1.0, 7)]  # by rounding


@pytest.mark.parametrize(
    ("size", "arrival"),
    [
        *((8_000, 0.85), (60_000, 0.85), (100_000, 1.0), (40_000, 0.5)),
        *(
            pytest.param(size, arrival, marks=pytest.mark.slow)
            for arrival in (1.0, 0.85, 0.5)
            for size in (
                6_000,
                12_000,
                24_000,
                40_000,
                80_000,
                95_000,
                105_000,
                160_000,
                320_000,
                640_000,
            )
        ),
    ],
)
def test_the_step_is_as_near_as_stated(size: int, arrival: float) -> None:
    """The largest were found by a scan of sizes; at 100,000 with arrival 1 it is 0.0010."""
    assert step_distance(size, SENDERS_MAX + 1, arrival) < DISTANCE


def test_the_distance_falls_with_the_senders() -> None:
    """At the same share of senders, like 1/sqrt(S): 16 times as many, a fourth."""
    distances = [step_distance(16 * senders, senders, 0.85) for senders in (256, 1024, 4096)]
    assert distances[1] == pytest.approx(distances[0] / 2, rel=0.25)
    assert distances[2] == pytest.approx(distances[0] / 4, rel=0.25)


def test_the_distance_would_show_a_wrong_step() -> None:
    """One target less, or one variance too large by a tenth, is far beyond `DISTANCE`."""
    law = missed_law(55_904, 59_999, 4097, 16, 0.85)
    assert distance(law, matched_law(55_904, 59_999, 4097, 15, 0.85)) > 0.9
    reached, missed, variance = moments(55_904, 59_999, [(4097, 16)], 0.85)
    wrong = np.zeros(55_905)
    for weight, trials in matched(missed, 1.1 * variance, 55_904):
        wrong += weight * binomial_law(trials, missed / trials, 55_904)
    assert missed < reached
    assert distance(law, wrong) > 20 * DISTANCE


def test_many_and_one_by_one_draw_the_same() -> None:
    """Links of several groups into one super-community: mean and deviation, 99.9 % each."""
    groups, fresh, others, draws = [(300, 1), (200, 2), (40, 3)], 700, 900, 4000
    rng = np.random.default_rng(3)
    one = np.array(
        [fresh - count_chain._one_by_one(rng, fresh, others, groups, 0.8) for _ in range(draws)]
    )
    many = np.array([count_chain._many(rng, fresh, others, groups, 0.8) for _ in range(draws)])
    mean, _, variance = moments(fresh, others, groups, 0.8)
    for sample in (one, many):
        assert abs(sample.mean() - mean) < 3.29 * sqrt(variance / draws)
        assert abs(sample.var() / variance - 1) < 3.29 * sqrt(2 / draws)


@pytest.mark.parametrize(
    ("trials", "chance", "rest"),
    [
        (10, 0.3, 0.7),
        (10**6, 0.5, 0.5),
        (10**8, 0.5, 0.5),  # normal
        (10**15, 0.2, 0.8),  # normal
        (10**15, 3e-14, 1.0),  # Poisson, where 1 - chance has two digits of it left
        (10**15, 1.0, 3e-14),
        (10**12, 2e-6, 1 - 2e-6),
        (10**9, 1e-3, 0.999),
    ],
)
def test_binomial_numbers_of_any_size(trials: int, chance: float, rest: float) -> None:
    """Mean, variance and ends of drawn numbers, 99.99 % each."""
    rng, draws = np.random.default_rng(4), 20_000
    sample = [count_chain._binomial(rng, trials, chance, rest) for _ in range(draws)]
    mean = trials * (rest if chance > 0.5 else chance)
    offsets = np.array([trials - n if chance > 0.5 else n for n in sample], float) - mean
    variance = trials * chance * rest
    assert abs(offsets.mean()) < 3.89 * sqrt(variance / draws)
    kurtosis = 2 + 1 / variance
    assert abs((offsets**2).mean() / variance - 1) < 3.89 * sqrt(kurtosis / draws)
    assert 0 <= min(sample) <= max(sample) <= trials


def test_binomial_numbers_are_certain_at_the_ends() -> None:
    rng = np.random.default_rng(5)
    for trials in (0, 1, 10**15):
        assert count_chain._binomial(rng, trials, 0.0, 1.0) == 0
        assert count_chain._binomial(rng, trials, 1.0, 0.0) == trials


def test_the_normal_law_has_the_binomial_s_skewness() -> None:
    """At the variance where it takes over, distribution functions are within 1e-6.

    Compared at the quantiles of the normal numbers; without the correction it is 2e-5 there.
    """

    class Fixed:
        def __init__(self, normal: float) -> None:
            self.standard_normal = lambda: normal

    trials, chance = 10**10, 1.01e-3
    mean, deviation = trials * chance, sqrt(trials * chance * (1 - chance))
    low = int(mean - 9 * deviation)
    k = np.arange(low, int(mean + 9 * deviation))
    ratios = np.log1p(((trials - k) * chance - (k + 1) * (1 - chance)) / ((k + 1) * (1 - chance)))
    weights = np.exp(np.cumsum(ratios) - np.cumsum(ratios).max())
    below = np.cumsum(weights / weights.sum())  # P(number <= k + 1)
    for normal, share in [(-1.6448536269514722, 0.05), (0.0, 0.5), (1.2815515655446004, 0.9)]:
        fixed: Generator = Fixed(normal)  # type: ignore[assignment] # all that is asked of it
        number = count_chain._binomial(fixed, trials, chance, 1 - chance)
        between = (below[number - low - 2] + below[number - low - 1]) / 2
        assert between == pytest.approx(share, abs=1e-6 + weights.max() / weights.sum() / 2)


@pytest.mark.parametrize("size", [10**9, 10**12, SIZE_MAX])
def test_any_number_of_processes(size: int) -> None:
    """e^(-0.85 k) of those alive are missed: fewer than five times that, or 40; stillborn too."""
    for crash in (0.0, 0.3):
        setting = Setting(communities=chain([size, 10**6, 100]), success=0.85, crash=crash)
        spread = simulate(setting, 3, 1)
        k = setting.communities[0].fan_out
        alive, received = spread.alive[:, 0], spread.delivered[:, 0]
        assert (abs(alive - size * (1 - crash)) <= 5 * sqrt(size * crash)).all()
        assert (alive - received >= 0).all()
        assert (alive - received < 40 + 5 * alive * np.exp(-0.85 * k * (1 - crash))).all()
        assert (spread.messages[:, 0] == received * k).all()
        assert (spread.upward_messages[:, 0] < 40).all()


def test_many_links_of_a_huge_community() -> None:
    """With p_sel = 1 all of 10^12 send upward: a copy each in the mean, to z = 3."""
    size = 10**12
    communities = (
        Community(size=size, supers=(1, 2), parameters=Parameters(p_sel=1)),
        Community(size=10**10),
        Community(size=2),
    )
    spread = simulate(Setting(communities=communities, success=1.0), 3, 2)
    expected = size * (1 + 1)  # p_a = a/links is 1/3 of three, 1/2 of two
    assert (abs(spread.upward_messages[:, 0] - expected) < 10 * sqrt(size)).all()
    assert (spread.delivered[:, 1:] == [10**10, 2]).all()
