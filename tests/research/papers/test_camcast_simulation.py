"""Paper 000, section 6.1, claim by claim, on the population simulator (001 and 004, section 6,
have the same system, figures and tables under other numbers).

The setting is that of 6.1.1, `RUNS` runs a point instead of 100, seeds fixed. Where the paper's
claim does not hold, the docstring says so, and the test asserts what does. An inequality is
asserted where the means are apart by `DEVIATIONS` standard errors of their difference, which
chance does once in 30,000; the rest has the simulator's 95 % intervals to spare and is told so.
"""

from __future__ import annotations

from functools import cache
from math import ceil, log, sqrt
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from camcast.research.papers.camcast_setting import CRASHED, SIZES, setting_of
from camcast.research.papers.camcast_tables import (
    BROADCAST,
    CAMCAST,
    PARASITES,
    PMCAST,
    ROUNDS,
    TOPOLOGIES,
    copies_outside,
    expected_parasites,
    multicast,
)
from camcast.research.population.outcome import Outcome
from camcast.research.systems.camcast import population
from camcast.research.systems.camcast.message_equations import gossip_messages
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.rfpbcast.rfpbcast_equations import completion_rounds, pittel_rounds
from camcast.vocabulary.parameters import Parameters
from tests.intervals import bounds

RUNS = 3000
DEVIATIONS = 4.0
ROUNDING = 0.005 + 1e-9  # of the rounds that are published
G, D, A = range(3)  # the event's own community, its super-community, the root

Values = NDArray[np.float64]


@cache
def spread(crash: float, weak: bool = False, sizes: tuple[int, ...] = SIZES) -> Outcome:
    return population.simulate(setting_of(sizes, crash, weak), RUNS, seed=61)


def reception(found: Outcome, at: int) -> Values:
    """Run by run; without the runs in which nobody is alive."""
    peopled = found.alive[:, at] > 0
    return np.asarray(found.delivered[peopled, at] / found.alive[peopled, at])


def reliability(found: Outcome, at: int) -> Values:
    return np.asarray(reception(found, at) == 1, dtype=np.float64)


def more(one: Values, other: Values, by: float = 0.0) -> bool:
    """Whether the mean of `one` is larger, beyond doubt."""
    error = sqrt(one.var() / len(one) + other.var() / len(other))
    return bool(one.mean() - other.mean() - by > DEVIATIONS * error)


# -- the setting -----------------------------------------------------------------------------------


def test_6_1_1_the_configuration_parameters() -> None:
    """6.1.1: "The number of subscribers, Nt, is 1000 for Πg, 100 for Πd and 10 for Πa. [...] ct,
    is equal to 5 for all communities and gt [...] is set to 5 [...] at [...] is 1 [...] zt, is
    3 [...] The probability for an event to be received is set to [...] 0.85"."""
    setting = setting_of()
    assert [community.size for community in setting.communities] == [1000, 100, 10]
    for community in setting.communities:
        parameters = community.parameters
        assert (parameters.c, parameters.g, parameters.a, parameters.z) == (5, 5, 1, 3)
    assert setting.success == 0.85
    assert [community.supers for community in setting.communities] == [(1,), (2,), ()]


def test_6_1_1_tables_are_static_and_nobody_replaces_the_crashed() -> None:
    """6.1.1: "we assume that the membership algorithm does not “replace” crashed processes, and
    that these crash at the very beginning": the same copies are sent, to the dead as well."""
    found = spread(0.5)
    fan_out = ceil(log(1000) + 5)
    assert (found.messages[:, G] == found.delivered[:, G] * fan_out).all()
    assert (found.alive[:, G] < 1000).all()
    assert (spread(0.5, weak=True).alive == SIZES).all()


# -- Figure 13 -------------------------------------------------------------------------------------


def test_figure_13_messages_are_of_the_order_n_ln_n() -> None:
    """6.1.2: "The message complexity is of an order of Nt · ln Nt as expected."

    Without crashes each community sends N (ln N + c), to within the rounding up of the fan-out
    and the events that do not climb; and from 100 to 100,000 processes nothing else grows.
    """
    found = spread(0.0)
    for at, size in enumerate(SIZES):
        bound = float(gossip_messages(size, 5))
        share = found.messages[:, at].mean() / bound
        assert 0.9 < share < 1 + 1 / (log(size) + 5)
    for size in (100, 1000, 10_000, 100_000):
        runs = population.simulate(Setting(communities=chain([size])), 20, seed=1)
        bound = float(gossip_messages(size, 5))
        assert 1 - 1e-3 < runs.messages.mean() / bound < 1 + 1 / (log(size) + 5)


@pytest.mark.slow  # 2 s of simulation
def test_figure_13_the_dead_send_nothing() -> None:
    """Figure 13: fewer events are sent, the more processes have failed, in every community."""
    for at in (G, D, A):
        means = [spread(crash).messages[:, at].mean() for crash in CRASHED[::3]]
        assert means == sorted(means, reverse=True)


# -- Figure 14 -------------------------------------------------------------------------------------


def test_figure_14_at_least_one_event_is_sent_upward() -> None:
    """6.1.2: "even if almost half of the processes fail, at least one event is sent to the
    community of processes participating in the super-community."

    In the mean: with 45 and with 50 % dead more than one is sent from g and from d. It is no
    certainty: at 50 % one run in six sends none from g, and half of them none from d.
    """
    for crash in (0.45, 0.5):
        upward = spread(crash).upward_messages
        for at in (G, D):
            assert more(upward[:, at].astype(np.float64), np.ones(RUNS))
    climbing = (spread(0.5).upward_messages > 0).mean(axis=0)
    assert 0.75 < climbing[G] < 0.87
    assert 0.40 < climbing[D] < 0.55
    assert (spread(0.5).upward_messages[:, A] == 0).all()


def test_figure_14_g_times_a_messages_climb_without_crashes() -> None:
    """4.3.1, nbUpwardMsg = N p_sel p_a z: five are sent from g, in the mean; from d fewer by the
    events that do not get there."""
    upward = spread(0.0).upward_messages
    assert upward[:, G].mean() == pytest.approx(5, abs=DEVIATIONS * sqrt(5 / RUNS))
    assert upward[:, D].mean() == pytest.approx(5 * 0.957, abs=DEVIATIONS * sqrt(6 / RUNS))


# -- Figures 15 and 16 -----------------------------------------------------------------------------


def test_figure_15_reception_depends_on_the_crashes() -> None:
    """6.1.2: "Not surprisingly, the reception probability depends on the average probability
    that a process crashes." """
    for at in (G, D, A):
        for fewer, further in [(0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9)]:
            assert more(reception(spread(fewer), at), reception(spread(further), at))


@pytest.mark.parametrize("crash", [0.0, 0.1, 0.3, 0.5, 0.7])
def test_figure_15_reception_is_smaller_further_up(crash: float) -> None:
    """6.1.2: "the reception probability is smaller for processes interested in a as the reception
    of an event of topic g, by the community Πa, depends on the success of the dissemination of
    this event in the community Πg and Πd." """
    found = spread(crash)
    assert more(reception(found, G), reception(found, D))
    assert more(reception(found, D), reception(found, A))


def test_figure_15_the_gap_is_from_dead_super_topic_tables() -> None:
    """6.1.2: "the gap between the results obtained for Πg and Πd can be explained by the fact
    that, as the super-topic tables are not updated, it might happen that all super-topic tables
    of the processes in Πg that are responsible for propagating the events from Πg to Πd have
    crashed. Hence the event is not received in Πd."

    At 30 % the gap is 18 %. Where the event gets to d at all, 99.8 % receive it: the gap is from
    runs in which it does not. Of these, nearly half send nothing (one run in 12, a cause that
    the paper does not name), the others' copies are lost or go to the dead.
    """
    found = spread(0.3)
    climbed = found.delivered[:, D] > 0
    assert more(reception(found, G), reception(found, D), by=0.15)
    assert reception(found, D)[climbed].mean() > 0.99
    silent = found.upward_messages[:, G] == 0
    assert not climbed[silent].any()
    assert 0.3 < silent.sum() / (~climbed).sum() < 0.6


def test_1_4_a_third_of_the_processes_crash_and_5_percent_of_the_reception_are_lost() -> None:
    """1.4: "with CAMCAST, the reception probability of an event is degraded by only 5% despite
    the crash of 30% of the processes with respect to a gossip-based approach (that does not
    preclude parasite events)."

    Over all processes it holds: 2 % less than with a broadcast to all 1,110. By community it
    holds for g alone (0.03 %); d loses 18 %, a 34 %. 001 and 004 do not have this claim.
    """
    found = spread(0.3)
    broadcast = reception(spread(0.3, sizes=(sum(SIZES),)), 0)
    of_all = found.delivered.sum(axis=1) / found.alive.sum(axis=1)
    assert more(np.asarray(of_all), 0.95 * broadcast)
    assert more(reception(found, G), 0.99 * broadcast)
    assert more(0.95 * broadcast, reception(found, D), by=0.1)
    assert more(0.95 * broadcast, reception(found, A), by=0.2)


def test_figure_16_reliability_depends_on_the_community() -> None:
    """6.1.2: "the reliability depends on the community in which the event is disseminated to."
    001 and 004, 6.2: "the reliability is smaller for processes interested in T0".

    Smaller for a than for d than for g: only while few have crashed. A community of 1,000 is
    harder to complete than one of 10, so that from 20 % on g is no longer the most reliable, and
    from 30 % on it is the least.
    """
    calm, worse = spread(0.0), spread(0.4)
    assert more(reliability(calm, G), reliability(calm, D))
    assert more(reliability(calm, D), reliability(calm, A), by=-0.01)
    assert more(reliability(worse, A), reliability(worse, G), by=0.1)
    assert more(reliability(worse, D), reliability(worse, G), by=0.1)


def test_figure_16_reliability_rises_rapidly() -> None:
    """6.1.2: "As soon as the percentage of alive processes increases in Πd and Πa, the
    reliability increases rapidly": from 50 % to 80 % alive by 45 % in a
    and 50 % in d."""
    for at in (D, A):
        assert more(reliability(spread(0.2), at), reliability(spread(0.5), at), by=0.35)


def test_figure_16_reliability_is_adjusted_by_z_a_and_g() -> None:
    """6.1.2: "to achieve better reliability, we can easily adjust zt, pat and gt"."""
    plain = spread(0.3)
    for adjusted in (Parameters(g=15), Parameters(a=3)):
        found = population.simulate(setting_of(crash=0.3, parameters=adjusted), RUNS, seed=62)
        for at in (D, A):
            assert more(reliability(found, at), reliability(plain, at), by=0.05)


# -- Figures 17 and 18 -----------------------------------------------------------------------------


def test_figure_17_weakly_consistent_tables_lose_less() -> None:
    """6.1.2: "now a process can appear to be crashed for a process while appearing alive for
    another one [...]. We achieve a much better reliability for a weakly connected system".

    In the probability of reception: yes, in d and a; in g both variants are the same."""
    for crash in (0.3, 0.5, 0.7):
        weak, stillborn = spread(crash, weak=True), spread(crash)
        for at in (D, A):
            assert more(reception(weak, at), reception(stillborn, at), by=0.04)
        difference = reception(weak, G).mean() - reception(stillborn, G).mean()
        assert abs(difference) < 0.02


def test_figure_18_weakly_consistent_reliability() -> None:
    """6.1.2: "We achieve a much better reliability for a weakly connected system than in the
    preceding scenarios."

    For a: yes, much. For g it does not hold: with 30 % crashed, 46 % of the events reach all of g
    where 59 % reach all that are not stillborn; since as many copies are lost, and 1,000 instead
    of 700 have to be reached. d is between, better up to 35 % and worse from 45 % on.
    """
    for crash in (0.3, 0.5):
        weak, stillborn = spread(crash, weak=True), spread(crash)
        assert more(reliability(weak, A), reliability(stillborn, A), by=0.1)
        assert more(reliability(stillborn, G), reliability(weak, G))
    assert more(reliability(spread(0.5), D), reliability(spread(0.5, weak=True), D))


# -- Table 1 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "topology"), [*enumerate(TOPOLOGIES)])
def test_table_1_rounds(at: int, topology: str) -> None:
    """Table 1, row (1): 8.91, 8.83 and 13.08 rounds; the mean is within 5 %, with a 95 % interval
    of ±0.9 %. The paper does not say what a round is counted from: here from the publisher's own,
    until nobody has anything left to send (`Outcome.rounds_to_reach_all`)."""
    mean, low, _ = bounds(spread(0.0, sizes=TOPOLOGIES[topology]).rounds_to_reach_all)
    assert mean - low < 0.009 * mean
    assert mean == pytest.approx(ROUNDS[CAMCAST][at], rel=0.05)


def test_table_1_the_impact_of_the_number_of_levels() -> None:
    """6.1.2: "The results confirm the analytical results given in Section 4.6 and convey the
    impact of the number of levels in a hierarchy on the latency complexity": each level adds more
    than two rounds to a CAMCAST of communities of 100, and none to a broadcast."""
    three, five = (spread(0.0, sizes=(100,) * levels).rounds.max(axis=1) for levels in (3, 5))
    assert more(five.astype(np.float64), three.astype(np.float64), by=4.0)
    flat = [spread(0.0, sizes=(100 * levels,)).rounds[:, 0].mean() for levels in (3, 5)]
    assert abs(flat[1] - flat[0]) < 0.1


def test_table_1_gossip_broadcast() -> None:
    """Table 1, row (2): "calculated using the analytical equations": 4.63, 4.39 and 4.31.

    ln n / ln ln n + 1 is within 3 %; but the second and third are in the wrong order for anything
    that grows with n (300 and 500 processes), and exchanged they would be within 1 %. A simulated
    broadcast takes 5.0 to 5.4 rounds.
    """
    numbers = [sum(sizes) for sizes in TOPOLOGIES.values()]
    formula = [log(n) / log(log(n)) + 1 for n in numbers]
    first, second, third = ROUNDS[BROADCAST]
    assert formula == pytest.approx([first, second, third], rel=0.03)
    assert formula == pytest.approx([first, third, second], rel=0.01)
    for n, published in zip(numbers, ROUNDS[BROADCAST], strict=True):
        _, low, _ = bounds(spread(0.0, sizes=(n,)).rounds_to_reach_all)
        assert low > published
        assert 5.0 <= low < 5.4


def test_table_1_pmcast_has_the_form_of_pittels_rounds() -> None:
    """Table 1, row (3): 6.61, 5.44 and 5.89, "calculated using the analytical equations". A
    straight line in ln n has them within their rounding, and so has T(n, F) of 002 (Equation 5)
    with an effective fan-out of 3.80 to 3.87 and a constant of 0.30 to 0.36, of all from 1
    to 12."""
    numbers = [sum(sizes) for sizes in TOPOLOGIES.values()]
    found = []
    for effective in np.arange(1.0, 12.0, 0.001):
        missing = np.array(ROUNDS[PMCAST]) - pittel_rounds(numbers, effective)
        if np.ptp(missing) <= 2 * ROUNDING:
            found.append((effective, missing.max() - ROUNDING, missing.min() + ROUNDING))
    fan_outs, least, most = np.array(found).T
    assert (fan_outs.min(), fan_outs.max()) == pytest.approx((3.80, 3.87), abs=0.005)
    assert np.diff(fan_outs).max() < 0.0011  # all between them
    assert (least.min(), most.max()) == pytest.approx((0.30, 0.36), abs=0.005)
    fitted = pittel_rounds(numbers, 4, 0.96, 1 / 3)
    another = pittel_rounds(numbers, 5, 0.85 * 0.9, 0.3206)
    for rounds in (fitted, another):
        assert np.abs(rounds - ROUNDS[PMCAST]).max() <= ROUNDING


def test_table_1_pmcast_by_the_setting_of_6_1_1() -> None:
    """The paper names no fan-out. With its p_succ of 0.85, no constant and a whole one, F = 4 is
    nearest and 1.6 % to 2.8 % too high, F = 3 and F = 5 are more than 11 % off; by Equation 28 of
    002 no depth of a hierarchy changes that (tests/research/papers/test_hpmcast_paper.py)."""
    numbers = [sum(sizes) for sizes in TOPOLOGIES.values()]
    deviation = {
        fan_out: pittel_rounds(numbers, fan_out, 0.85) / ROUNDS[PMCAST] - 1
        for fan_out in range(1, 11)
    }
    assert deviation[4] == pytest.approx([0.028, 0.016, 0.022], abs=0.0005)
    others = [np.abs(found).min() for fan_out, found in deviation.items() if fan_out != 4]
    assert min(others) > 0.11


@pytest.mark.parametrize(("at", "topology"), [*enumerate(TOPOLOGIES)])
def test_table_1_pmcast_measured(at: int, topology: str) -> None:
    """Row (3) is below what a dissemination takes: until all have it, F = 4 takes 0.9 rounds more
    than Equation 5 says by the chain it stands for, and hpmcast with three levels takes longer
    still until the last has it, by more than `DEVIATIONS` standard errors."""
    n, published = sum(TOPOLOGIES[topology]), ROUNDS[PMCAST][at]
    chain = completion_rounds(n, 4, 0.85)
    assert chain - float(pittel_rounds(n, 4, 0.85)) == pytest.approx(0.93, abs=0.025)
    measured = [multicast(n, n, 4, 0.85, Random(run)) for run in range(20)]
    last = np.array([run.last for run in measured], dtype=np.float64)
    assert more(last, np.full(len(last), chain))
    assert more(last, np.full(len(last), published))
    assert min(run.delivered for run in measured) > 0.99 * n


# -- Table 2 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "runs"),
    [pytest.param(*one, marks=pytest.mark.slow) for one in ((0, 4), (1, 25), (2, 8))],
)
def test_table_2_parasites_of_gossip_broadcast(at: int, runs: int) -> None:
    """Table 2, row (2): 11216, 1699 and 3739 parasite events when "a publisher publishes an event
    of the root topic t0": floor(ln n + c) · 0.85 copies at each process that is not in the root
    community, to within 0.06 %; and so many do arrive, in a network of real nodes, within 1 %,
    which is three standard errors of the mean over these runs."""
    sizes, published = [*TOPOLOGIES.values()][at], PARASITES[BROADCAST][at]
    n, uninterested = sum(sizes), sum(sizes) - sizes[-1]
    assert int(log(n) + 5) * 0.85 * uninterested == pytest.approx(published, rel=0.0006)
    setting = setting_of((n,), parameters=Parameters(c=4))  # ceil(ln n + 4) = floor(ln n + 5)
    assert setting.communities[0].fan_out == int(log(n) + 5)
    counted = [copies_outside(setting, 0, sizes[-1], 2, run) for run in range(runs)]
    assert np.mean(counted) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    "topology",
    [pytest.param(one, marks=[pytest.mark.slow] * (one != "100 (j = 2)")) for one in TOPOLOGIES],
)
def test_table_2_camcast_has_no_parasites(topology: str) -> None:
    """Table 2, row (1): 0. Of an event of the root topic, and of every other, no copy reaches
    a process that is not interested; counted where copies arrive, in a network of real nodes."""
    sizes = TOPOLOGIES[topology]
    setting = setting_of(sizes)
    assert [copies_outside(setting, at, sizes[at], 3, 0) for at in range(len(sizes))] == [0] * len(
        sizes
    )


def test_table_2_the_gain_of_camcast() -> None:
    """6.1.2: "Table 2 depicts the gain of CAMCAST with respect to alternative approaches"."""
    for at in range(3):
        assert PARASITES[CAMCAST][at] == 0 < PARASITES[PMCAST][at] < PARASITES[BROADCAST][at]


def test_table_2_pmcast_counts_copies() -> None:
    """Table 2, row (3): 453, 369 and 615 "parasite events", of "analytical results": in the second
    and third topology that is more than there are uninterested processes. They are 1.23 a process
    of 300 and of 500 alike, though in one of them two thirds are uninterested, four fifths in the
    other."""
    uninterested = [sum(sizes) - sizes[-1] for sizes in TOPOLOGIES.values()]
    assert uninterested == [1100, 200, 400]
    assert [PARASITES[PMCAST][at] > uninterested[at] for at in range(3)] == [False, True, True]
    assert PARASITES[PMCAST][1] / 300 == PARASITES[PMCAST][2] / 500 == 1.23


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6])
def test_table_2_pmcast_s_order_is_not_that_of_delegates(depth: int) -> None:
    """1.2: "the processes elected to accomplish the actual filtering receive parasite events". 10
    interested of 1,110 have fewer uninterested delegates than 100 of 300, in every tree that is
    tried here. Row (3) has a fourth more parasites for them: so it does not follow from that."""
    for redundancy in range(1, 11):
        few = expected_parasites(1110, 10, depth, redundancy)
        assert few < expected_parasites(300, 100, depth, redundancy)
    assert PARASITES[PMCAST][0] > 1.2 * PARASITES[PMCAST][1]


@pytest.mark.parametrize(("at", "low", "high"), [(0, 0.2, 0.4), (1, 1.15, 1.5), (2, 0.95, 1.25)])
def test_table_2_pmcast_measured(at: int, low: float, high: float) -> None:
    """Row (3) beside copies at the uninterested delegates of hpmcast, R = 3, l = 3: with F = 2 (as
    in 002) and F = 4 about a third of the published for 10 interested of 1,110, a third more for
    100 of 300, and up to a fourth more for 100 of 500. The processes among them are as many as the
    formula says, which misses nobody, or up to a tenth fewer (5 % of 1,110, in 500 runs)."""
    sizes = [*TOPOLOGIES.values()][at]
    n, interested = sum(sizes), sizes[-1]
    for fan_out in (2, 4):
        found = [multicast(n, interested, fan_out, 0.85, Random(run)) for run in range(25)]
        copies = np.array([run.parasite_copies for run in found])
        assert low < copies.mean() / PARASITES[PMCAST][at] < high
        reached = np.array([run.parasites for run in found])
        error = reached.std(ddof=1) / sqrt(len(found))
        expected = expected_parasites(n, interested)
        assert 0.9 * expected - DEVIATIONS * error < reached.mean()
        assert reached.mean() < expected + DEVIATIONS * error


# -- the instrument --------------------------------------------------------------------------------


def test_copies_outside_sees_copies() -> None:
    """With everybody uninterested but the publisher and a fan-out of all others, each of the
    eight sends seven copies, of which one has the publisher for its receiver: 8 · 7 - 7."""
    setting = Setting(communities=chain([8], Parameters(c=100)), success=1.0)
    assert copies_outside(setting, 0, 1, 1, 0) == 8 * 7 - 7
    assert copies_outside(setting, 0, 8, 1, 0) == 0
