"""The kernel of hpmcast among random addresses against the shipped Figure 6, and closed forms.

The twin is `LevelGossip`, the engine of live processes, among addresses of random identities
(tests/research/laws/test_shipped_nodes.py). Compared are whole distributions, by chi-square at
fixed seeds: a test fails beyond `DEVIATIONS` standard deviations, which chance exceeds once in
30,000 comparisons. The shipped nodes themselves are in tests/research/laws/test_shipped_nodes.py.
"""

from __future__ import annotations

from math import ceil
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from camcast.research.population.outcome import mean_interval
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.known_law import known_on_average
from camcast.research.systems.hpmcast.model import predict_addressed
from camcast.research.systems.hpmcast.population import simulate
from camcast.research.systems.hpmcast.rounds import rounds
from camcast.research.systems.hpmcast.setting import AddressedSetting
from tests.intervals import bounds
from tests.research.laws.test_shipped_nodes import gossip_once
from tests.research.laws.test_simulators_agree import DEVIATIONS, apart


def one(
    n: int,
    n_1: int,
    tree: Hierarchy | None = None,
    *,
    loss: float = 0.0,
    crash: float = 0.0,
    fan_out: int = 2,
) -> AddressedSetting:
    return AddressedSetting(
        processes=n,
        interested=n_1,
        hierarchy=tree or Hierarchy(),
        fan_out=fan_out,
        loss=loss,
        crash=crash,
    )


SETTINGS = {
    "lost": one(40, 40, loss=0.4),
    "some interested, some dead": one(40, 15, loss=0.1, crash=0.2),
    "three levels": one(50, 20, Hierarchy(arity=3, depth=3), loss=0.2, crash=0.1),
    "one level": one(30, 12, Hierarchy(depth=1), loss=0.2, crash=0.1, fan_out=3),
    "one interested": one(25, 1, Hierarchy(arity=4, redundancy=2)),
    "groups of one or none": one(12, 6, Hierarchy(arity=40, redundancy=1), loss=0.2),
    "more digits than processes": one(9, 5, Hierarchy(arity=2, depth=9), loss=0.2),
}


def whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(values).astype(np.int64)


@pytest.mark.parametrize("twins", [200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_kernel_agrees_with_the_shipped_engine(name: str, twins: int) -> None:
    given, rng = SETTINGS[name], Random(1)
    spread = simulate(given, 8 * twins, 7)
    runs = [gossip_once(given, rng) for _ in range(twins)]
    share = spread.delivered / spread.alive
    ours = np.array([share, share == 1, spread.rounds, spread.messages, spread.parasite_copies])
    its = np.array(runs).T
    for scale, mine, twin in zip((1e6, 1, 1, 1, 1), ours, its, strict=True):
        assert apart(whole(scale * mine), whole(scale * twin)) < DEVIATIONS
    # not the margins alone: an event that reaches more costs more
    both = [whole(1e6 * one[0]) + 10**7 * whole(one[3] // 20) for one in (ours, its)]
    assert apart(*both) < DEVIATIONS


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        (one(118, 34, loss=0.15, fan_out=3), 8_000),
        (one(70, 70, Hierarchy(arity=4, depth=3), loss=0.2, crash=0.1), 8_000),
        pytest.param(one(1110, 1000, loss=0.15, fan_out=3), 4_000, marks=pytest.mark.slow),
    ],
)
def test_its_model_stands_beside_it(given: AddressedSetting, runs: int) -> None:
    """By what the model names as its approximations, and 95 % each."""
    model, spread = predict_addressed(given), simulate(given, runs, 1)
    allowed = {
        "rounds": 0.05,
        "messages": 0.004 * model.messages,
        "parasite_copies": 0.03 * model.parasite_copies,
    }
    for name, most in allowed.items():
        _, low, high = bounds(mean_interval(getattr(spread, name)))
        assert low - most <= getattr(model, name) <= high + most, name
    reception, reliability = spread.reception, spread.reliability
    assert abs(reception.mean - model.reception) < 0.002  # type: ignore[operator]  # there are runs
    assert abs(reliability.mean - model.reliability) < 0.02  # type: ignore[operator]  # likewise


@pytest.mark.parametrize("tree", [Hierarchy(), Hierarchy(arity=4, depth=3, redundancy=2)])
def test_what_a_process_knows_is_equation_12(tree: Hierarchy) -> None:
    """Over 8,000 draws of addresses, at 95 %: exact in the mean."""
    mean, low, high = bounds(mean_interval(simulate(one(60, 1, tree), 8_000, 2).entries))
    if tree.depth == 2:  # of three levels the sizes are taken for independent
        assert low <= known_on_average(tree, 60) <= high
    assert mean == pytest.approx(known_on_average(tree, 60), rel=0.005)


def test_everybody_in_one_group_is_known_by_all() -> None:
    given = one(30, 7, Hierarchy(depth=1))
    assert (simulate(given, 5, 1).entries == 29).all()


def test_a_fan_out_of_everybody_reaches_everybody_at_once() -> None:
    given = one(30, 11, Hierarchy(depth=1), fan_out=1000)
    spread = simulate(given, 20, 1)
    periods = ceil(rounds(30 * 3, 11 / 30, 1000))
    assert (spread.delivered == 11).all()
    assert (spread.rounds == periods).all()
    assert (spread.messages == 10 + (periods - 1) * 11 * 10).all()
    assert not spread.parasite_copies.any()


@pytest.mark.parametrize("weather", [{"loss": 1.0}, {"crash": 1.0}])
def test_in_the_worst_weather_only_the_publisher_has_it(weather: dict[str, float]) -> None:
    spread = simulate(one(40, 20, **weather), 50, 1)  # type: ignore[arg-type]  # floats, by name
    assert (spread.delivered == 1).all()
    assert (spread.alive == (20 if "loss" in weather else 1)).all()
    assert spread.messages.all()
    assert not spread.parasite_copies.any()


def test_a_process_alone_gossips_to_nobody_for_its_periods() -> None:
    spread = simulate(one(1, 1, fan_out=3), 3, 1)
    assert (spread.rounds == 2 * ceil(rounds(3, 1.0, 3))).all()
    assert not spread.messages.any()
    assert not spread.entries.any()


def test_the_largest_trees_have_addresses_without_overflow() -> None:
    """2^64 groups: digits fill the whole of a word; nobody shares a group with anybody."""
    given = one(50, 50, Hierarchy(arity=16, depth=17, redundancy=1), fan_out=20)
    spread = simulate(given, 20, 1)
    assert (spread.delivered == 50).all()
