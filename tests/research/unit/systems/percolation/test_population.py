"""Percolation gossip on SCAMP's overlay, and that overlay, against dumb twins and exact laws.

Compared are whole distributions, by chi-square at fixed seeds: a test fails beyond `DEVIATIONS`
standard deviations, which chance exceeds once in 30,000 comparisons. The shipped nodes are in
tests/research/laws/test_shipped_nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import log, sqrt
from random import Random
from statistics import fmean, stdev

import numpy as np
import pytest
from numpy.typing import NDArray

from camcast.research.population.xoshiro import seeded
from camcast.research.systems.percolation.population import _spread, simulate
from camcast.research.systems.percolation.scamp_overlay import draw_overlay
from camcast.research.systems.percolation.setting import ScampOverlay
from camcast.vocabulary.streams import stream
from tests.research.laws.test_simulators_agree import DEVIATIONS, apart
from tests.research.unit.systems.percolation.scamp_overlay_twin import Overlay

Z_999 = 3.29  # two-sided 99.9 %


def drawn(processes: int, c: int, seed: int) -> list[NDArray[np.int32]]:
    """Return the neighbours of each process."""
    state = seeded(stream(seed, "network", "test"))
    first, neighbours, _ = draw_overlay(state, processes, c)
    return [neighbours[begin:end] for begin, end in pairwise(first)]


# -- the overlay ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("processes", "c"), [(1, 2), (2, 2), (3, 0), (15, 2), (64, 0), (300, 3)])
def test_an_overlay_is_a_simple_graph_in_one_part(processes: int, c: int) -> None:
    for seed in range(5):
        found = [set(one.tolist()) for one in drawn(processes, c, seed)]
        listed = sum(map(len, drawn(processes, c, seed)))
        assert listed == sum(map(len, found))
        reached, waiting = {0}, [0]
        while waiting:
            at = waiting.pop()
            assert at not in found[at]
            assert all(at in found[other] for other in found[at])
            new = found[at] - reached
            reached |= new
            waiting += new
        assert len(reached) == processes


@pytest.mark.parametrize(
    ("processes", "c", "twins"), [(7, 2, 150), (35, 2, 100), (90, 1, 40), (130, 2, 30)]
)
def test_the_overlay_is_its_twins(processes: int, c: int, twins: int) -> None:
    """Mean and spread of the neighbours, of the old ones and of all: equal at 99.9 % each."""
    ours = [[len(one) for one in drawn(processes, c, seed)] for seed in range(8 * twins)]
    rng = Random(2)
    theirs = [[len(one) for one in Overlay(processes, c, rng).neighbours] for _ in range(twins)]
    old = processes // 5 + 1

    measures: tuple[Callable[[list[int]], float], ...] = (
        fmean,
        stdev,
        lambda degrees: fmean(degrees[:old]),
    )
    for measure in measures:
        mine, its = list(map(measure, ours)), list(map(measure, theirs))
        error = sqrt(stdev(mine) ** 2 / len(mine) + stdev(its) ** 2 / len(its))
        assert abs(fmean(mine) - fmean(its)) <= Z_999 * error


def test_holders_follow_the_law_of_scamp() -> None:
    """(c+1) ln n holders, or a quarter fewer: so many neighbours at least, and at most twice."""
    law = 3 * log(2000)
    degrees = np.array([len(one) for one in drawn(2000, 2, 1)])
    assert degrees.min() >= 0.75 * round(law)
    assert 1.6 * law < degrees.mean() < 2 * law


# -- the event ------------------------------------------------------------------------------------


def publish_once(given: ScampOverlay, rng: Random) -> dict[str, int]:
    """One event by Algorithm 2 on a twin's overlay, as a reader would write it."""
    neighbours = Overlay(given.processes, given.c, rng).neighbours
    wants = set(rng.sample(range(given.processes), given.interested))
    publisher = rng.choice(sorted(wants))
    dead = {one for one in range(given.processes) if rng.random() < given.crash} - {publisher}
    have, waiting, hops = {publisher}, [(publisher, -1, 0)], 0
    messages = parasites = 0
    while waiting:
        at, source, hops = waiting.pop(0)
        for other in sorted(neighbours[at] - {source}):
            if other not in wants and rng.random() >= given.gamma:
                continue
            messages += 1
            if other in dead or rng.random() < given.loss:
                continue
            parasites += other not in wants
            if other not in have:
                have.add(other)
                waiting.append((other, at, hops + 1))
    return {
        "alive": len(wants - dead),
        "delivered": len(wants & have),
        "rounds": hops + 1,
        "messages": messages,
        "parasite_copies": parasites,
    }


SETTINGS = {
    "some interested": ScampOverlay(processes=30, interested=10, gamma=0.1, c=2, loss=0.3),
    "dead": ScampOverlay(processes=40, interested=12, gamma=0.3, c=1, crash=0.3),
    "below the threshold": ScampOverlay(processes=40, interested=5, gamma=0.0, c=2, loss=0.7),
    "all interested": ScampOverlay(processes=25, interested=25, gamma=0.6, c=0, loss=0.2),
    "two": ScampOverlay(processes=2, interested=1, gamma=0.5, c=2, loss=0.2, crash=0.2),
}


@pytest.mark.parametrize("twins", [200, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[pytest.mark.slow] * (one in ("below the threshold", "dead")))
        for one in SETTINGS
    ],
)
def test_the_kernel_agrees_with_the_twin(name: str, twins: int) -> None:
    given, rng = SETTINGS[name], Random(1)
    spread = simulate(given, 8 * twins, 7)
    runs = [publish_once(given, rng) for _ in range(twins)]
    for measure in runs[0]:
        twin = np.array([run[measure] for run in runs])
        assert apart(getattr(spread, measure), twin) < DEVIATIONS, measure
    # not the margins alone: an event that reaches more costs more
    both = np.array([1000 * run["delivered"] + run["messages"] // 10 for run in runs])
    assert apart(1000 * spread.delivered + spread.messages // 10, both) < DEVIATIONS


def test_with_gamma_1_everybody_sends_to_all_neighbours_but_one() -> None:
    given = ScampOverlay(processes=50, interested=20, gamma=1.0, c=2)
    spread = simulate(given, 30, 1)
    assert (spread.delivered == 20).all()
    links = np.rint(spread.entries * 50)
    assert (spread.messages == links - 49).all()  # each link both ways, but not back to the source


def test_an_event_goes_at_most_so_many_hops() -> None:
    """The neighbours of 100 processes are the next ones of a row: 32 hops reach 33."""
    row = [(at - 1, at + 1) for at in range(1, 99)]
    neighbours = np.array([1, *(end for ends in row for end in ends), 98], np.int32)
    first = np.array([0, *range(1, 198, 2), 198])
    everybody, counts = np.ones(100, np.bool_), np.zeros(6, np.int64)
    state = seeded(stream(1, "network", "test"))
    sent, arrived = np.zeros(100, np.int32), np.zeros(100, np.int32)
    _spread(state, first, neighbours, everybody, everybody, 0, (0.0, 0.0), counts, (sent, arrived))
    assert counts.tolist() == [0, 33, 32, 32, 0, 0]
    assert sent.tolist() == [*[1] * 32, *[0] * 68]
    assert arrived.tolist() == [0, *[1] * 32, *[0] * 67]


@pytest.mark.parametrize("weather", [{"loss": 1.0}, {"crash": 1.0}])
def test_in_the_worst_weather_only_the_publisher_has_it(weather: dict[str, float]) -> None:
    given = ScampOverlay(processes=40, interested=20, gamma=0.5, c=2, **weather)
    spread = simulate(given, 50, 1)
    assert (spread.delivered == 1).all()
    assert (spread.alive == (20 if "loss" in weather else 1)).all()
    assert (spread.rounds == 1).all()
    assert not spread.parasite_copies.any()
