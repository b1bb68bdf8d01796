"""The laws of spread and climb against exact enumeration and a dumb simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import exp, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

from camcast.research.systems.camcast import reliability


def missed_by_enumeration(
    size: int, alive: int, fan_out: int, arrival: Fraction
) -> dict[int, Fraction]:
    """P(u living ones never have it) by enumerating every choice of every sender, as sets."""

    def spread(has: frozenset[int], waiting: frozenset[int]) -> dict[int, Fraction]:
        if not waiting:
            return {alive - len(has): Fraction(1)}
        sender = min(waiting)
        law: dict[int, Fraction] = {}
        choices = list(combinations([p for p in range(size) if p != sender], fan_out))
        for chosen in choices:
            for arrived in product((False, True), repeat=fan_out):
                p = Fraction(1, len(choices))
                for one in arrived:
                    p *= arrival if one else 1 - arrival
                if not p:
                    continue
                got = [t for t, one in zip(chosen, arrived, strict=True) if one and t < alive]
                new = frozenset(got) - has
                for left, q in spread(has | new, (waiting - {sender}) | new).items():
                    law[left] = law.get(left, Fraction(0)) + p * q
        return law

    return spread(frozenset([0]), frozenset([0]))


@pytest.mark.parametrize(
    ("size", "alive", "fan_out", "arrival"),
    [
        (3, 3, 1, "1"),
        (4, 4, 1, "1/3"),
        (4, 3, 2, "3/4"),
        (4, 4, 2, "1"),
        (5, 4, 1, "4/5"),
        (2, 1, 1, "1"),
    ],
)
def test_the_final_size_is_exact(size: int, alive: int, fan_out: int, arrival: str) -> None:
    expected = missed_by_enumeration(size, alive, fan_out, Fraction(arrival))
    law = reliability.final_size(1, size, fan_out, float(Fraction(arrival)), susceptible=alive - 1)
    assert_allclose(law, [float(expected.get(u, 0)) for u in range(alive)], atol=1e-14)


def test_the_final_size_of_one_sender_each_is_a_rumour_with_a_known_end() -> None:
    """With k = 1 and no loss, two of three have it unless the second sends back: 1/2."""
    assert_allclose(reliability.final_size(1, 3, 1), [0.5, 0.5, 0])


def test_the_final_size_refuses_what_does_not_fit() -> None:
    for start, size, fan_out, susceptible in ((-1, 3, 1, 1), (2, 3, 1, 2), (1, 3, 3, 2)):
        with pytest.raises(ValueError, match="do not fit"):
            reliability.final_size(start, size, fan_out, susceptible=susceptible)
    with pytest.raises(ValueError, match="arrival"):
        reliability.final_size(1, 3, 1, 1.5)


def test_a_chain_of_laws_sums_to_one_for_a_thousand() -> None:
    law = reliability.final_size(1, 1000, 8, 0.85)
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1, abs=1e-12)


def test_the_climb_is_exact_and_equation_6_is_not() -> None:
    rng, climbed, runs = np.random.default_rng(1), 0, 40_000
    for _ in range(4):
        links = rng.random((runs // 4, 200)) < 0.025
        copies = rng.binomial(3, 1 / 3 * 0.85, links.shape) * links
        climbed += int(np.count_nonzero(copies.sum(axis=1)))
    exact = float(reliability.exact_climb_probability(200, 0.025, 1 / 3, 3, 0.85))
    assert abs(climbed / runs - exact) < 4 * sqrt(exact * (1 - exact) / runs)  # 99.99 %
    printed = reliability.climb_probability(200, 0.025, 1 / 3, 3, 0.85)
    assert printed == pytest.approx(1 - 0.15**5)
    assert printed > exact + 0.04
    assert exp(-5) < 1 - exact
