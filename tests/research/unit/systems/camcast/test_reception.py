"""The closed forms against a dumb simulation: as stated in each test, at fixed seeds."""

from math import sqrt
from random import Random

import numpy as np
import pytest

from camcast.research.systems.camcast.reception import Level, climb, predict
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.vocabulary.parameters import Parameters
from tests.research.laws.test_simulators_agree import twin


def _climb(has: set[int], below: Level, super_size: int, rng: Random) -> list[int]:
    p_sel = below.parameters.selection_probability(below.size)
    reached: list[int] = []
    for _ in has:
        links = rng.sample(range(super_size), min(below.parameters.z, super_size))
        if rng.random() < p_sel:
            p_a = below.parameters.link_probability(below.size, len(links))
            reached += [link for link in links if rng.random() < p_a]
    return list(dict.fromkeys(reached))


@pytest.mark.parametrize("p_sel", [pytest.param(1.0, marks=pytest.mark.slow), 0.1])
def test_the_paper_s_chain_with_random_tables(p_sel: float) -> None:
    parameters = Parameters(c=0, a=2, z=4, p_sel=p_sel)
    sizes = (84, 27, 7)
    predicted = predict([Level(size, size - 1, parameters) for size in sizes])
    spread = twin(Setting(communities=chain(sizes, parameters), success=1.0), 1000, 1)
    publishers = np.array([1, 0, 0])
    shares = (spread.delivered - publishers) / (np.array(sizes) - publishers)
    # 4 standard errors (99.99 %) of the simulation, and what the mean field neglects: the
    # correlation of the entries, below 2 % of the processes at these sizes
    error = 4 * shares.std(axis=0) / sqrt(len(shares)) + 0.02
    assert (abs(shares.mean(axis=0) - predicted) < error).all()


def test_climbing_is_exact() -> None:
    level = Level(20, 19, Parameters(z=3, a=1.5, p_sel=0.05))
    rng = Random(2)
    runs = 20_000
    climbed = sum(bool(_climb(set(range(20)), level, 9, rng)) for _ in range(runs)) / runs
    expected = climb(level, 20, 9)
    assert 0.5 < expected < 0.9
    assert abs(climbed - expected) < 4 * sqrt(expected * (1 - expected) / runs)  # 99.99 %


def test_flooding_reaches_everybody() -> None:
    parameters = Parameters(c=5, g=10, a=3, z=3)
    levels = [Level(size, size - 1, parameters) for size in (2, 5, 7)]
    assert predict(levels) == [1, 1, 1]


def test_a_lone_process_and_no_links() -> None:
    silent = Parameters(p_sel=0)
    assert predict([Level(1, 0, silent), Level(9, 8, Parameters())]) == [1, 0]
    assert predict([Level(1, 0, Parameters())]) == [1]


def test_more_fan_out_links_and_views_never_hurt() -> None:
    def root(c: float, p_sel: float, view: float) -> float:
        parameters = Parameters(c=c, p_sel=p_sel)
        return predict([Level(50, view, parameters), Level(20, view, parameters)])[1]

    assert root(-1, 0.05, 10) < root(0, 0.05, 10) < root(0, 0.1, 10) < root(2, 0.5, 10)
    assert root(2, 1, 2) < root(2, 1, 4)
