"""The closed forms and chains of 002, against enumeration of all choices and against each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb, isinf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.research.models.binomial import binomial
from camcast.research.systems.hpmcast import equations
from camcast.research.systems.hpmcast import view_equations as membership
from camcast.research.systems.hpmcast.equations import needed_rounds
from camcast.research.systems.hpmcast.pmcast_law import (
    SUSCEPTIBLE_MAX,
    completion_rounds,
    new_infected_law,
    round_transitions,
)
from camcast.research.systems.hpmcast.rounds import rounds
from camcast.research.systems.hpmcast.tree_model import predict, uninterested_delegates
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.research.systems.hpmcast.view import processes_of, tables
from camcast.research.systems.pmcast.pmcast_equations import pmcast_law, pmcast_rounds
from camcast.research.systems.rfpbcast import rfpbcast_equations as rfpbcast
from camcast.research.systems.rfpbcast.rfpbcast_equations import (
    Law,
    infected_law,
    pittel_rounds,
    reach_probability,
    transitions,
    whole_rounds,
)

# --- Equations 1 to 9 ---------------------------------------------------------------------------


def test_equation_1() -> None:
    assert reach_probability(10, 3, 0.9 * 0.8) == pytest.approx(3 / 9 * 0.9 * 0.8)
    assert reach_probability(1, 3) == 0.0
    assert reach_probability(3, 7, 0.5) == 0.5  # no more than all others
    for wrong in ((0, 1, 1), (5, -1, 1), (5, 1, 1.5)):
        with pytest.raises(ValueError, match=r"size|fan_out|arrival"):
            reach_probability(*wrong)


@pytest.mark.parametrize(("size", "reach"), [(1, 0.3), (5, 0.0), (6, 0.37), (5, 1.0)])
def test_equation_2_is_a_binomial(size: int, reach: float) -> None:
    matrix = transitions(size, reach)
    for j in range(size + 1):
        taken = 1 - (1 - reach) ** j
        for k in range(size + 1):
            new = k - j
            chance = comb(size - j, new) * taken**new * (1 - taken) ** (size - k) if new >= 0 else 0
            assert matrix[j, k] == pytest.approx(chance, abs=1e-12)


def test_equation_3_begins_with_one_and_stays_a_law() -> None:
    assert infected_law(20, 2, 0).tolist() == [0, 1, *[0] * 19]
    law = infected_law(20, 2, 6, 0.8)
    assert law.sum() == pytest.approx(1)
    assert law[0] == 0
    with pytest.raises(ValueError, match="5,000"):
        transitions(10_000, 0.1)


def test_equation_3_of_two_processes() -> None:
    """The other is missed with 1 - p each round."""
    law = infected_law(2, 1, 5, 0.3)
    assert law[1] == pytest.approx(0.7**5)
    assert rfpbcast.completion_rounds(2, 1, 0.3) == pytest.approx(1 / 0.3)
    # of two pairs at once: the maximum of two geometric times
    both = 2 / 0.3 - 1 / (1 - 0.7**2)
    assert rfpbcast.completion_rounds(2, 1, 0.3, 1, 2) == pytest.approx(both)
    assert rfpbcast.completion_rounds(5, 2, 1.0, 5) == 0
    assert isinf(rfpbcast.completion_rounds(5, 2, 0.0))


def test_equations_4_and_5() -> None:
    n, F = 1000, 3
    assert pittel_rounds(n, F) == pytest.approx(log(n) / log(F + 1) + log(n) / F)
    assert pittel_rounds(n, F, 0.5, 2) == pytest.approx(log(n) * (1 / 1.5 + 1 / log(2.5)) + 2)
    assert [whole_rounds(x) for x in (-3.0, 0.0, 0.1, 2.0, 2.1)] == [0, 0, 1, 2, 3]


def test_pittel_is_near_the_chain_of_large_systems() -> None:
    """Equation 4 leaves an O(1) out, which is 1.0 to 1.2 here."""
    for n in (100, 300, 1000):
        left_out = rfpbcast.completion_rounds(n, 2) - float(pittel_rounds(n, 2))
        assert 0.9 < left_out < 1.3


def test_equations_6_to_9_are_those_of_a_smaller_system() -> None:
    n, p, F = 60, 0.25, 4
    assert pmcast_law(n, p, F, 5, 0.9) == pytest.approx(infected_law(15, 1.0, 5, 0.9))
    assert pmcast_rounds(n, p, F) == pytest.approx(log(15) * (1 / 1 + 1 / log(2)))
    assert pmcast_rounds(100, 0.01, 2) == 0  # n p_1 = 1
    assert pmcast_rounds(100, 0.005, 2) < -100


def test_the_formula_of_figure_6_is_equation_9() -> None:
    for share in (0.05, 0.3, 1.0):
        assert rounds(66, share, 2) == pytest.approx(float(pmcast_rounds(66, share, 2)))
    assert rounds(66, 1 / 66, 2) == rounds(66, 0.001, 2) == rounds(66, 0, 2) == 0


# --- the exact chain ----------------------------------------------------------------------------


def enumerated(
    others: int, audience: int, fan_out: int, gossiped: int, arrival: Fraction
) -> list[Fraction]:
    """P(so many have the event), by all choices of all senders and all fates of all copies.

    Process 0 publishes; 0 to `audience` - 1 are sent copies.
    """
    everybody = range(others + 1)
    laws = {frozenset([0]): Fraction(1)}
    for _ in range(gossiped):
        after: dict[frozenset[int], Fraction] = {}
        for have, chance in laws.items():
            reached = {have: chance}
            for sender in have:
                choices = list(combinations([x for x in everybody if x != sender], fan_out))
                then: dict[frozenset[int], Fraction] = {}
                for got, p in reached.items():
                    for choice in choices:
                        copies = [x for x in choice if x < audience]
                        for fate in product((True, False), repeat=len(copies)):
                            share = Fraction(1, len(choices))
                            for arrives in fate:
                                share *= arrival if arrives else 1 - arrival
                            new = got | {x for x, ok in zip(copies, fate, strict=True) if ok}
                            then[new] = then.get(new, Fraction(0)) + p * share
                reached = then
            for got, p in reached.items():
                after[got] = after.get(got, Fraction(0)) + p
        laws = after
    counts = [Fraction(0)] * audience
    for have, chance in laws.items():
        counts[len(have) - 1] += chance
    return counts


@pytest.mark.parametrize(
    ("others", "audience", "fan_out", "gossiped", "arrival"),
    [(4, 5, 2, 2, "1"), (4, 3, 2, 3, "2/3"), (3, 4, 1, 3, "1/2"), (5, 2, 2, 4, "9/10")],
)
def test_the_exact_chain_is_the_enumeration(
    others: int, audience: int, fan_out: int, gossiped: int, arrival: str
) -> None:
    law = new_infected_law(others, audience - 1, fan_out, gossiped, float(Fraction(arrival)))
    expected = enumerated(others, audience, fan_out, gossiped, Fraction(arrival))
    assert law == pytest.approx([float(p) for p in expected])


def test_the_exact_chain_does_not_depend_on_how_many_it_was_computed_with() -> None:
    """Powers are shared between sizes; a state's row is the same in all."""
    for susceptible in (1, 31, 32, 33):
        matrix = round_transitions(65, susceptible, 2, 0.8, 3)
        assert matrix.sum(axis=1) == pytest.approx(np.ones(susceptible + 1))
        small = round_transitions(65, 5, 2, 0.8, 3 + susceptible - 5) if susceptible > 5 else matrix
        assert matrix[: len(small), : len(small)] == pytest.approx(small)


def test_the_time_of_completion_is_the_law_s() -> None:
    late = [1 - new_infected_law(20, 7, 2, t, 0.9)[-1] for t in range(400)]
    assert completion_rounds(20, 7, 2, 0.9) == pytest.approx(sum(late))
    assert completion_rounds(20, 0, 2) == 0
    assert isinf(completion_rounds(20, 3, 2, 0.0))


@pytest.mark.parametrize("wrong", [(300, SUSCEPTIBLE_MAX + 1, 2), (4, 5, 2)])
def test_the_exact_chain_refuses(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="susceptible"):
        round_transitions(*wrong)


def test_equation_2_is_slower_than_the_algorithm() -> None:
    """Choices that are distinct reach more: the mean of n = 30, F = 3, after three rounds."""
    exact = 1 + new_infected_law(29, 29, 3, 3, 0.8) @ np.arange(30)
    assert exact == pytest.approx(21.34, abs=0.01)
    assert infected_law(30, 3, 3, 0.8) @ np.arange(31) == pytest.approx(20.23, abs=0.01)


def test_equation_6_is_larger_than_the_algorithm_s_probability() -> None:
    """Of 22 with two interested, the other one is chosen by F of 21."""
    assert new_infected_law(21, 1, 2, 1)[1] == pytest.approx(2 / 21)
    assert pmcast_law(22, 2 / 22, 2, 1)[2] == pytest.approx(2 / 11)


# --- the hierarchy ------------------------------------------------------------------------------

A, L, R = 3, 3, 2
MEMBERS = dict.fromkeys(product(range(A), repeat=L), True)


def test_equations_12_17_18_count_the_tables() -> None:
    for owner in ((0, 0, 0), (1, 2, 0), (2, 2, 2)):
        known = tables(owner, MEMBERS, R, any)
        sizes = [len(processes_of(known[level])) for level in (1, 2, 3)]
        assert sizes == [membership.level_view(A, R, level) for level in (1, 2, 3)]
        assert sum(sizes) == membership.view_size(A, L, R)
        assert sum(sizes) == len(known[1]) + R * (len(known[2]) + len(known[3]))
    setting = HpmcastSetting(arity=A, depth=L, redundancy=R)
    assert setting.view == membership.view_size(A, L, R)
    with pytest.raises(ValueError, match="redundancy"):
        membership.view_size(3, 2, 4)


def test_equations_33_to_36_count_the_processes() -> None:
    highest: dict[tuple[int, ...], int] = {}
    knowing: dict[tuple[int, ...], dict[tuple[int, ...], None]] = {}
    for owner in MEMBERS:
        for level, table in tables(owner, MEMBERS, R, any).items():
            for one in processes_of(table):
                highest[one] = max(level, highest.get(one, 0))
                if one != owner:
                    knowing.setdefault(one, {})[owner] = None
    for level in (1, 2, 3):
        of_level = [x for x, top in highest.items() if top == level]
        at_least = [x for x, top in highest.items() if top >= level]
        assert len(at_least) == A**L if level == 1 else R * A ** (L - level + 1)
        assert all(len(knowing[x]) == A**level - 1 for x in of_level)
    n = A**L
    informed = sum(map(len, knowing.values())) / n
    assert membership.average_informed(A, L, R) == pytest.approx(informed)
    assert membership.average_level(A, L, R) == pytest.approx(sum(highest.values()) / n)


def test_equation_14_and_19() -> None:
    """Of 4 processes, over all 16 cases."""
    p = 0.3
    some = sum(
        p ** sum(case) * (1 - p) ** (4 - sum(case))
        for case in product((0, 1), repeat=4)
        if any(case)
    )
    assert membership.interest_share(p, 4) == pytest.approx(some)
    assert HpmcastSetting(arity=2, depth=3, redundancy=1, interested=p).share(3) == pytest.approx(
        some
    )
    with pytest.raises(ValueError, match="interested"):
        membership.interest_share(1.2, 4)


def view_slope(processes: float, depth: float, redundancy: float) -> float:
    """dm/dl of m = R n^(1/l) (l-1) + n^(1/l) for fixed n (Equation 30, corrected)."""
    root, logarithm = float(processes ** (1 / depth)), log(processes)
    return redundancy * root - (redundancy * (depth - 1) + 1) * root * logarithm / depth**2


@given(processes=st.floats(30, 1e9), depth=st.floats(1.5, 20), redundancy=st.integers(1, 6))
def test_equation_30_is_the_derivative(processes: float, depth: float, redundancy: int) -> None:
    def view(at: float) -> float:
        root = float(processes ** (1 / at))
        return redundancy * root * (at - 1) + root

    step = 1e-5
    numeric = (view(depth + step) - view(depth - step)) / (2 * step)
    assert view_slope(processes, depth, redundancy) == pytest.approx(
        numeric, rel=1e-4, abs=1e-6 * view(depth)
    )


def test_the_smallest_view_comes_before_ln_n() -> None:
    n = 22**3
    assert membership.best_depth(n, 1) == pytest.approx(log(n))  # there the print is right
    best = membership.best_depth(n, 3)
    assert best == pytest.approx(8.55, abs=0.01)
    assert abs(view_slope(n, best, 3)) < 1e-9
    assert view_slope(n, log(n), 3) > 0.1  # the print has 0
    assert membership.best_depth(2, 3) == 1


def test_equation_36_s_integral() -> None:
    """R a times the integral of i a^-i from 1 to l, by the trapezium rule."""
    n, depth, redundancy = 4096.0, 4, 3
    a = n ** (1 / depth)
    i = np.linspace(1, depth, 100_001)
    values = i * a**-i
    area = float(((values[1:] + values[:-1]) / 2).sum() * (i[1] - i[0]))
    first = depth * redundancy / log(n) * (1 + depth / log(n))
    printed = first - depth**2 * redundancy * a / (n * log(n)) * (1 + 1 / log(n))
    assert printed == pytest.approx(redundancy * a * area)
    levels = [membership.average_level(n ** (1 / at), at, redundancy) for at in (1, 2, 3, 4)]
    assert levels == sorted(levels)  # "increases with the depth"


def test_the_number_of_uninterested_delegates_over_all_interests() -> None:
    """a = 2, l = 3: the 256 cases, each with who is a delegate of an interested subsystem."""
    p = 0.35
    processes = list(product(range(2), repeat=3))
    for delegates in (1, 2):
        mean = 0.0
        for case in product((False, True), repeat=8):
            interested = dict(zip(processes, case, strict=True))
            receive: dict[tuple[int, ...], None] = {}
            for length in (1, 2):
                for prefix in product(range(2), repeat=length):
                    below = [x for x in processes if x[:length] == prefix]
                    if any(interested[x] for x in below):
                        receive |= dict.fromkeys(below[:delegates])
            weight = p ** sum(case) * (1 - p) ** (8 - sum(case))
            mean += weight * sum(not interested[x] for x in receive)
        assert uninterested_delegates(2, 3, delegates, p) == pytest.approx(mean)


# --- Equations 20 to 28 -------------------------------------------------------------------------


@given(
    arity=st.integers(2, 60),
    depth=st.integers(1, 8),
    fan_out=st.floats(0.5, 20),
    arrival=st.floats(0.05, 1),
    data=st.data(),
)
@settings(max_examples=60)
def test_equation_28_is_an_identity(
    arity: int, depth: int, fan_out: float, arrival: float, data: st.DataObject
) -> None:
    redundancy = data.draw(st.integers(1, arity))
    shortened = equations.shortened_rounds(arity, depth, redundancy, fan_out, 1.0, arrival)
    whole = float(pittel_rounds(float(arity**depth), fan_out, arrival))
    assert shortened == pytest.approx(whole)
    longer = (depth - 1) * float(pittel_rounds(redundancy, fan_out, arrival))
    assert equations.total_rounds(arity, depth, redundancy, fan_out, 1.0, arrival) == pytest.approx(
        whole + longer
    )


def test_a_level_without_company_needs_no_rounds() -> None:
    assert equations.level_rounds(22, 3, 2, 1 / 22, 1) == 0
    assert equations.level_rounds(22, 3, 2, 0.1, 1) == pytest.approx(log(2.2) * (5 + 1 / log(1.2)))
    assert equations.level_rounds(22, 3, 2, 1.0, 2) == pytest.approx(log(66) * (0.5 + 1 / log(3)))


def test_equation_22_by_the_chain_and_between_whole_numbers() -> None:
    mean = infected_law(10, 2, 4, 0.9) @ np.arange(11)
    assert equations.expected_infected(10, 2, 3.2, 0.9) == pytest.approx(mean)
    between = [equations.expected_infected(size, 2.0, 3.2) for size in (10, 10.5, 11)]
    assert between == sorted(between)
    assert equations.expected_infected(0.5, 0.1, 9) == 1


def test_equation_23() -> None:
    share = equations.expected_infected(66, 2, 6) / 66
    assert equations.entity_infected(22, 3, 2, 1.0, 2, 6) == pytest.approx(1 - (1 - share) ** 3)
    share = equations.expected_infected(22, 2, 5) / 22
    assert equations.entity_infected(22, 3, 2, 1.0, 1, 5) == pytest.approx(share)
    assert equations.entity_infected(22, 3, 2, 0.01, 1, 5) == 1.0  # one alone has it


def entities_law(above: Law, entities: int, infected: float) -> Law:
    """P[g_i = k] from P[g_(i+1) = j], where each of j entities has `entities` interested ones
    below, and each of these is infected with probability r_i (Equations 24, 25)."""
    law = np.zeros((len(above) - 1) * entities + 1)
    for j, chance in enumerate(above):
        law[: j * entities + 1] += chance * binomial(j * entities, infected)
    return law


def test_equations_24_to_27_end_in_the_product() -> None:
    """Two levels of a = 4, all interested: the mean of level 1 is n r_1 r_2."""
    top = entities_law(np.array([0.0, 1.0]), 4, 0.9)
    assert top == pytest.approx([comb(4, k) * 0.9**k * 0.1 ** (4 - k) for k in range(5)])
    bottom = entities_law(top, 4, 0.7)
    assert bottom.sum() == pytest.approx(1)
    assert bottom @ np.arange(17) / 16 == pytest.approx(equations.reliability([0.9, 0.7])) == 0.63


def test_needed_rounds_are_those_of_one_group_if_there_is_one() -> None:
    assert needed_rounds(50, 1, 3, 2) == rfpbcast.completion_rounds(50, 2)
    assert needed_rounds(50, 1, 3, 2, of_all=True) == needed_rounds(50, 1, 3, 2)
    assert needed_rounds(7, 2, 3, 2, of_all=True) > needed_rounds(7, 2, 3, 2)


def test_the_prediction_says_nothing_where_it_knows_nothing() -> None:
    measured = predict(HpmcastSetting(estimate="measured", interested=0.3))
    assert (measured.rounds, measured.reception_printed) == (None, None)
    assert (measured.reception or 0) > 0.999
    large = predict(HpmcastSetting(arity=1000, depth=2, redundancy=2))
    assert large.reception is None
    assert predict(HpmcastSetting(interested=0)).reception is None
    assert predict(HpmcastSetting(loss=0.1)).parasites is None
