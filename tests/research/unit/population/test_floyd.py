"""Distinct numbers, by both sources of randomness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.population.floyd import choose, choose_by

Chooser = Callable[[int, NDArray[np.int64], int], None]


def by_state(seed: int, targets: NDArray[np.int64], among: int) -> None:
    s0, s1, s2, s3 = np.random.default_rng(seed).integers(0, 2**64, 4, np.uint64)
    choose((s0, s1, s2, s3), targets, len(targets), among)


def by_generator(seed: int, targets: NDArray[np.int64], among: int) -> None:
    choose_by(Generator(PCG64(seed)), targets, among)


both = pytest.mark.parametrize("chooser", [by_state, by_generator])


@both
@pytest.mark.parametrize(("count", "among"), [(0, 0), (1, 1), (7, 7), (5, 8), (30, 2**32 - 1)])
def test_the_numbers_are_distinct_and_below_the_bound(
    chooser: Chooser, count: int, among: int
) -> None:
    targets = np.empty(count, np.int64)
    for seed in range(50):
        chooser(seed, targets, among)
        assert len(dict.fromkeys(targets.tolist())) == count
        assert all(0 <= target < among for target in targets)


@pytest.mark.slow
@both
def test_every_set_is_as_probable(chooser: Chooser) -> None:
    """Each of the 35 sets of 3 of 7 as often as others: chi-square below its 99.9 % at 34."""
    draws, seen = 35_000, dict[tuple[int, ...], int]()
    targets = np.empty(3, np.int64)
    for seed in range(draws):
        chooser(seed, targets, 7)
        chosen = tuple(sorted(targets.tolist()))
        seen[chosen] = seen.get(chosen, 0) + 1
    assert len(seen) == 35
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 65.2
