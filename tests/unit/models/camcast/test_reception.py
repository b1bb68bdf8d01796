"""The closed forms against a dumb simulation: as stated in each test, at fixed seeds."""

from math import sqrt
from random import Random

import pytest

from camcast.models.camcast.reception import Level, climb, predict
from camcast.vocabulary.parameters import Parameters


def _gossip(infected: list[int], size: int, fan_out: int, rng: Random) -> set[int]:
    """Infect and die: each that has the event sends it once to `fan_out` others."""
    has, senders = set(infected), list(infected)
    while senders:
        sender = senders.pop()
        for other in rng.sample([p for p in range(size) if p != sender], fan_out):
            if other not in has:
                has.add(other)
                senders.append(other)
    return has


def _climb(has: set[int], below: Level, super_size: int, rng: Random) -> list[int]:
    p_sel = below.parameters.selection_probability(below.size)
    reached: list[int] = []
    for _ in has:
        links = rng.sample(range(super_size), min(below.parameters.z, super_size))
        if rng.random() < p_sel:
            p_a = below.parameters.link_probability(below.size, len(links))
            reached += [link for link in links if rng.random() < p_a]
    return list(dict.fromkeys(reached))


def _simulate(levels: list[Level], runs: int, seed: int) -> list[list[float]]:
    rng = Random(seed)
    shares: list[list[float]] = [[] for _ in levels]
    for _ in range(runs):
        has = _gossip([0], levels[0].size, int(levels[0].fan_out), rng)
        shares[0].append((len(has) - 1) / (levels[0].size - 1))
        for number in range(1, len(levels)):
            level = levels[number]
            entries = _climb(has, levels[number - 1], level.size, rng)
            has = _gossip(entries, level.size, int(level.fan_out), rng)
            shares[number].append(len(has) / level.size)
    return shares


@pytest.mark.parametrize("p_sel", [1.0, 0.1])
def test_the_paper_s_chain_with_random_tables(p_sel: float) -> None:
    parameters = Parameters(c=0, a=2, z=4, p_sel=p_sel)
    levels = [Level(size, size - 1, parameters) for size in (84, 27, 7)]
    predicted = predict(levels)
    for shares, expected in zip(_simulate(levels, 1000, seed=1), predicted, strict=True):
        mean = sum(shares) / len(shares)
        deviation = sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))
        # 4 standard errors (99.99 %) of the simulation, and what the mean field neglects: the
        # correlation of the entries, below 2 % of the processes at these sizes
        assert abs(mean - expected) < 4 * deviation / sqrt(len(shares)) + 0.02


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
