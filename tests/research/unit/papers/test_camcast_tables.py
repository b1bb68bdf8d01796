"""hpmcast on 1,110, 300 and 500 processes (`reproduction.camcast_tables`): its laws."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import sqrt
from random import Random

import numpy as np
import pytest

from camcast.research.papers.all_papers import CAMCAST
from camcast.research.papers.camcast_paper import compute
from camcast.research.papers.camcast_setting import SUCCESS, CamcastPlan
from camcast.research.papers.camcast_tables import (
    addresses_of,
    arity_of,
    expected_parasites,
    multicast,
)
from camcast.research.systems.hpmcast import tree_population as hpmcast
from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.tree_model import uninterested_delegates
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.vocabulary.streams import stream

DEVIATIONS = 4.0  # standard errors of a difference, which chance exceeds once in 16,000


def delegates_reached(
    addresses: list[Address], wanting: set[Address], depth: int, redundancy: int
) -> set[Address]:
    """Who is uninterested, but a delegate where somebody is interested: by the definition."""
    reached = set()
    for one in set(addresses) - wanting:
        for level in range(1, depth):
            company = [x for x in addresses if branch(x, level) == branch(one, level)]
            if one in sorted(company)[:redundancy] and wanting & set(company):
                reached.add(one)
    return reached


@pytest.mark.parametrize("processes", [1, 2, 7, 27, 28, 300, 500, 1110])
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_addresses_lie_evenly(processes: int, depth: int) -> None:
    addresses = addresses_of(processes, depth)
    arity = arity_of(processes, depth)
    assert arity**depth >= processes
    assert arity == 1 or (arity - 1) ** depth < processes
    assert addresses == sorted(set(addresses))
    assert len(addresses) == processes
    assert all(len(address) == depth and max(address) < arity for address in addresses)
    for level in range(1, depth + 1):
        sizes = Counter(branch(address, level) for address in addresses)
        found = [*sizes.values(), *([0] if len(sizes) < arity ** (depth - level) else [])]
        assert max(found) - min(found) <= 1


@pytest.mark.parametrize(("depth", "redundancy"), [(1, 2), (2, 3), (3, 2), (3, 3)])
def test_without_loss_it_reaches_whom_the_definition_says(depth: int, redundancy: int) -> None:
    """With a fan-out of everybody, nobody is missed: all interested, and these delegates. (With
    R = 1 a single interested line is one process, for which Figure 6 has no round.)"""
    addresses = addresses_of(60, depth)
    for seed in range(5):
        found = multicast(60, 6, 60, 1.0, Random(seed), depth, redundancy)
        wanting = set(Random(seed).sample(addresses, 6))  # what is drawn first
        assert found.delivered == 6
        expected = delegates_reached(addresses, wanting, depth, redundancy)
        assert found.parasites == len(expected) <= found.parasite_copies
        assert 1 <= found.last <= found.rounds


@pytest.mark.parametrize(("depth", "redundancy"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_expected_parasites_is_the_mean_over_all_choices(depth: int, redundancy: int) -> None:
    addresses = addresses_of(11, depth)
    for interested in (1, 2, 4, 11):
        counts = [
            len(delegates_reached(addresses, set(chosen), depth, redundancy))
            for chosen in combinations(addresses, interested)
        ]
        found = expected_parasites(11, interested, depth, redundancy)
        assert found == pytest.approx(float(np.mean(counts)), abs=1e-12)


def test_in_a_large_regular_hierarchy_it_is_the_other_formula() -> None:
    """n_1 drawn among n, or each interested with probability n_1/n: the same, but for 1/n."""
    expected = uninterested_delegates(22, 3, 3, 0.05)
    assert expected_parasites(22**3, round(22**3 * 0.05)) == pytest.approx(expected, rel=1e-3)


def test_if_all_are_interested_nobody_is_a_parasite() -> None:
    found = multicast(300, 300, 4, SUCCESS, Random(1))
    assert (found.parasites, found.parasite_copies, found.delivered) == (0, 0, 300)
    assert expected_parasites(300, 300) == pytest.approx(0, abs=1e-12)


def test_it_is_the_simulator_of_a_regular_hierarchy() -> None:
    """7^3 processes with a third of the copies lost, against `hpmcast.tree_population`, which
    draws who is interested one by one; so how many there are is drawn for ours. The kernel's
    publisher may be uninterested, which is 1 of 343."""
    runs, share, loss = 150, 0.3, 1 / 3
    setting = HpmcastSetting(
        arity=7, depth=3, redundancy=3, fan_out=3, interested=share, loss=loss, estimate="measured"
    )
    kernel = hpmcast.simulate(setting, runs, 5)
    drawn = np.random.default_rng(5).binomial(343, share, runs)
    ours = [
        multicast(343, int(interested), 3, 1 - loss, Random(run))
        for run, interested in enumerate(drawn)
    ]
    for measure in ("rounds", "parasites", "parasite_copies"):
        one = np.array([getattr(run, measure) for run in ours])
        other = getattr(kernel, measure)
        error = sqrt(one.var(ddof=1) / runs + other.var(ddof=1) / runs)
        assert abs(one.mean() - other.mean()) < DEVIATIONS * error, measure


def test_a_cell_is_its_runs() -> None:
    plan = CamcastPlan(runs=3, seed=9)
    asked = CAMCAST.results(plan)
    asked.of("multicast", processes=300, interested=100, fan_out=4)
    (cell,) = asked.asked.values()
    assert cell in CAMCAST.cells(plan)
    found = compute(cell)
    assert isinstance(found, dict)
    assert set(found) == {"last", "rounds", "delivered", "parasites", "parasite_copies"}
    runs = [multicast(300, 100, 4, SUCCESS, stream(9, "workload", "multicast", r)) for r in (0, 2)]
    copies = found["parasite_copies"]
    assert isinstance(copies, list)
    assert [copies[0], copies[2]] == [run.parasite_copies for run in runs]
    assert compute({**cell, "seed": 8}) != found
