"""The population simulator's limits and arithmetic; tests/research/laws says that it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from camcast.research.population import xoshiro
from camcast.research.systems.camcast import population
from camcast.research.systems.camcast.population import PROCESSES_MAX, simulate
from camcast.research.systems.camcast.setting import Community, Setting, chain
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.parameters import Parameters


def test_too_many_processes_are_for_the_count_chain() -> None:
    with pytest.raises(SettingError, match="count chain"):
        simulate(Setting(communities=chain([PROCESSES_MAX + 1])), 1, 0)
    with pytest.raises(SettingError, match="count chain"):
        simulate(Setting(communities=chain([PROCESSES_MAX // 2] * 3)), 1, 0)


@pytest.mark.parametrize("size", [63, 64, 65, 128, 1000])
def test_the_last_process_of_a_word_is_reached_too(size: int) -> None:
    """Communities begin at words of their own: all of each are reached, and no others."""
    setting = Setting(communities=chain([size] * 2, Parameters(c=20, g=50, a=3)), success=1.0)
    spread = simulate(setting, 20, 1)
    assert (spread.delivered == size).all()
    assert (spread.alive == size).all()


def test_every_bit_has_its_number() -> None:
    numbers = [
        int(population._BIT_NUMBER[int(population._DE_BRUIJN) * 2**bit % 2**64 >> 58])
        for bit in range(64)
    ]
    assert numbers == list(range(64))


def test_the_random_numbers_are_xoshiro256() -> None:
    """The first outputs of xoshiro256++ from the state (1, 2, 3, 4), as its authors' C has them."""
    state: Any = (1, 2, 3, 4)
    outputs = []
    for _ in range(4):
        s0, s1, s2, s3 = map(np.uint64, state)  # compiled functions return plain integers
        bits, state = xoshiro.next_bits((s0, s1, s2, s3))
        outputs.append(int(bits))
    assert outputs == [41943041, 58720359, 3588806011781223, 3591011842654386]


def choose(count: int, among: int, sender: int, waiting: int = 0, seed: int = 1) -> list[int]:
    s0, s1, s2, s3 = np.random.default_rng(seed).integers(0, 2**64, 4, np.uint64)
    slots = np.zeros(population._SLOTS + 1, np.uint32)
    targets = np.zeros(waiting + count, np.uint64)
    counts = (np.uint64(number) for number in (waiting, count, among, sender))
    population._choose((s0, s1, s2, s3), slots, targets, *counts)
    return [int(target) for target in targets]


@pytest.mark.parametrize(("count", "among"), [(0, 0), (1, 1), (7, 7), (5, 8), (30, 2**32 - 1)])
def test_targets_are_distinct_and_not_the_sender(count: int, among: int) -> None:
    for seed in range(50):
        targets = choose(count, among, sender=3, seed=seed)
        assert len(targets) == len(dict.fromkeys(targets)) == count
        assert all(0 <= target <= among for target in targets)
        assert 3 not in targets


def test_targets_are_put_behind_those_that_wait() -> None:
    assert choose(4, 100, 3, waiting=3)[:3] == [0, 0, 0]
    assert choose(4, 100, 3, waiting=3)[3:] == choose(4, 100, 3)


def test_targets_are_uniform() -> None:
    """Each of the 35 sets of 3 of 7 as often as others: chi-square below its 99.9 % at 34."""
    draws, seen = 35_000, dict[tuple[int, ...], int]()
    for seed in range(draws):
        chosen = tuple(sorted(choose(3, 7, 7, seed=seed)))
        seen[chosen] = seen.get(chosen, 0) + 1
    assert len(seen) == 35
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 65.2


def test_bounded_numbers_are_not_biased_near_2_to_the_32() -> None:
    """Of 3/4 of 2^32 numbers, without rejection every third would come twice as often.

    99.99 %: 20,000 draws, a share of 1/3 in each residue class of three.
    """
    among, draws = 3 * 2**30, 20_000
    residues = [choose(1, among, 2**33, seed=seed)[0] % 3 for seed in range(draws)]
    for residue in range(3):
        assert abs(residues.count(residue) / draws - 1 / 3) < 3.89 * (2 / 9 / draws) ** 0.5


def test_runs_leave_nothing_behind() -> None:
    """The arrays are used again: a run is the same after others as on its own."""
    setting = Setting(communities=chain([200, 70, 9], Parameters(c=0)), success=0.6, crash=0.4)
    whole = simulate(setting, 30, 5)
    for run in range(30):
        alone = simulate(setting, 1, 5, first_run=run)
        assert alone.delivered[0].tolist() == whole.delivered[run].tolist()
        assert alone.alive[0].tolist() == whole.alive[run].tolist()


def test_the_kernel_is_compiled_once() -> None:
    """A probability may be given as a whole number, a chain have one community or several."""
    simulate(Setting(communities=chain([9, 9]), success=0.5), 1, 0)
    compiled = len(population._spread.signatures)
    simulate(Setting(communities=chain([9], Parameters(p_sel=1)), success=1, crash=1), 2, 0)
    simulate(Setting(communities=chain([1]), success=0, weak=True), 1, 0)
    assert len(population._spread.signatures) == compiled


def test_supers_may_be_any_later_community() -> None:
    parameters = Parameters(g=1e9, a=1000, z=1000)
    supers = ((1, 2, 3), (3,), (3,), ())
    communities = tuple(
        Community(size=size, supers=above, parameters=parameters)
        for size, above in zip((100, 5, 3, 2000), supers, strict=True)
    )
    spread = simulate(Setting(communities=communities, success=1.0), 2, 0)
    assert (spread.delivered == [100, 5, 3, 2000]).all()
    assert (spread.upward_messages == [100 * (5 + 3 + 1000), 5 * 1000, 3 * 1000, 0]).all()


@pytest.mark.slow
def test_ten_million_processes() -> None:
    """4.5.1: with ceil(ln N + c) targets, of which 0.85 arrive, e^(-0.85 x 22) are missed."""
    spread = simulate(Setting(communities=chain([10**7]), success=0.85), 3, 1)
    missed = 3 * 10**7 - spread.delivered.sum()
    assert missed < 3 * 10**7 * np.exp(-0.85 * 22) * 6
    assert (spread.messages == spread.delivered * 22).all()
