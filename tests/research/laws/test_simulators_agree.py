"""The simulators against exact laws, against a dumb twin, and against each other.

A simulator is a function of (setting, runs, seed, first_run); all are held to the same, and one
more is one more line in SIMULATORS. Their numbers of runs differ, as their speeds do. What is
compared is a whole distribution, by chi-square over classes of at least `EXPECTED` runs, at
fixed seeds. A test fails beyond `DEVIATIONS` standard deviations, which chance exceeds once in
30,000 comparisons; there are some 300 here. The largest was 2.1 when this was written.

These tests can fail. Nineteen errors were made on purpose, one at a time, and each was noticed;
by how many deviations, at the most:

* population: a fan-out less by one 200; a target drawn twice stays 20; Floyd's sampling without
  its growing bound 8; senders among their own targets 37; dead processes send 381; a p_sel
  larger by a tenth 10; one draw of p_sel for all super-communities 9; upward copies all arrive
  14; one copy more arrives now and then 16; a round is counted twice 54; those reached but dead
  may be alive 227;
* count chain: a fan-out less by one 96; a target chosen twice 7; senders among their own targets
  11; upward copies all arrive 15; a p_sel larger by a tenth 7; the publisher is not counted
  among the alive 18; numbers of upward copies not conditional on those drawn before 12; a
  variance without correlation (tests/research/unit/systems/camcast/test_count_chain.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb, floor, log, sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from numpy.typing import NDArray

from camcast.research.population.outcome import Outcome
from camcast.research.simulation import static_network
from camcast.research.systems.camcast import count_chain, population
from camcast.research.systems.camcast.setting import Community, Setting, chain
from camcast.vocabulary.parameters import PRESETS, Parameters
from tests.intervals import bounds
from tests.library.laws.test_dissemination_law import reached_distribution

EXPECTED = 8  # runs in a class: what is customary for chi-square is 5
DEVIATIONS = 4.0

Simulate = Callable[[Setting, int, int, int], Outcome]
Measure = NDArray[Any]


@frozen
class Simulator:
    """A simulator by the name of its module, and how many runs it can be asked for here."""

    module: str
    simulate: Simulate
    runs: int
    slow: bool = False


SIMULATORS = [
    Simulator("camcast.research.systems.camcast.population", population.simulate, runs=4000),
    Simulator("camcast.research.systems.camcast.count_chain", count_chain.simulate, runs=1000),
    Simulator(
        "camcast.research.simulation.static_network", static_network.simulate, runs=80, slow=True
    ),
]

every_simulator = pytest.mark.parametrize(
    "simulator",
    [
        pytest.param(one, id=one.module, marks=[pytest.mark.slow] if one.slow else [])
        for one in SIMULATORS
    ],
)
also_the_slow = pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda one: one.module)
MEASURES = ("alive", "delivered", "rounds", "messages", "upward_messages")


def deviations(chi2: float, freedom: int) -> float:
    """Return how many standard deviations a chi-square is too large (Wilson and Hilferty)."""
    if not freedom:
        return 0.0
    spread = 2 / (9 * freedom)
    return float(((chi2 / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread))


def classes(weights: Sequence[float], least: float) -> Iterator[slice]:
    """Cut the weights into slices of at least `least` each."""
    begin, end, total = 0, len(weights), float(sum(weights))
    weight = 0.0
    for index, one in enumerate(weights):
        weight += one
        total -= one
        if weight >= least and total >= least:
            yield slice(begin, index + 1)
            begin, weight = index + 1, 0.0
    yield slice(begin, end)


def from_law(values: Measure, law: dict[Any, float]) -> float:
    """Return by how many deviations a sample differs from a law."""
    support = sorted(law)
    assert set(values.tolist()) <= set(support), "a value that cannot be"
    expected = np.array([law[value] for value in support]) * len(values)
    observed = np.array([np.count_nonzero(values == value) for value in support])
    cuts = list(classes(expected.tolist(), EXPECTED))
    chi2 = sum((observed[c].sum() - expected[c].sum()) ** 2 / expected[c].sum() for c in cuts)
    return deviations(chi2, len(cuts) - 1)


def apart(one: Measure, other: Measure) -> float:
    """Return by how many deviations two samples differ."""
    support = np.unique(np.concatenate([one, other]))
    counts = np.array([[np.count_nonzero(s == value) for value in support] for s in (one, other)])
    share = counts.sum(axis=1) / counts.sum()
    cuts = list(classes(counts.sum(axis=0).tolist(), EXPECTED / min(share)))
    chi2 = 0.0
    for cut in cuts:
        seen = counts[:, cut].sum(axis=1)
        expected = share * seen.sum()
        chi2 += float(((seen - expected) ** 2 / expected).sum())
    return deviations(chi2, len(cuts) - 1)


def test_the_tests_have_the_level_they_claim() -> None:
    """Of 2,000 true hypotheses, 2.3 % lie beyond two deviations (99.9 %: 1.2 to 3.4 %)."""
    rng = np.random.default_rng(1)
    law = {value: comb(20, value) * 0.3**value * 0.7 ** (20 - value) for value in range(21)}
    samples = [rng.binomial(20, 0.3, 500) for _ in range(2000)]
    others = [rng.binomial(20, 0.3, 300) for _ in range(2000)]
    wrong = sum(from_law(sample, law) > 2 for sample in samples) / 2000
    pairs = zip(samples, others, strict=True)
    wrong_pairs = sum(apart(sample, other) > 2 for sample, other in pairs) / 2000
    assert 0.012 < wrong < 0.034
    assert 0.012 < wrong_pairs < 0.034


# --- exact laws of one community ----------------------------------------------------------------


def missing(others: int, fan_out: int, arrival: Fraction) -> list[Fraction]:
    """P(none of s given processes gets a copy from one sender), s = 0..others."""
    copies = [
        comb(fan_out, d) * arrival**d * (1 - arrival) ** (fan_out - d) for d in range(fan_out + 1)
    ]
    return [
        sum(
            (p * Fraction(comb(others - s, d), comb(others, d)) for d, p in enumerate(copies)),
            Fraction(0),
        )
        for s in range(others + 1)
    ]


def final_size(susceptible: int, missing: Sequence[Fraction]) -> list[Fraction]:
    """P(m of the susceptible get the event from one publisher), m = 0..susceptible.

    The closed form of Lefèvre and Picard (Adv. Appl. Prob. 22, 1990) for "collective"
    epidemics: with q(s) as in `missing`, for every l up to n,
    sum over j <= l of C(n-j, l-j) P(j) / q(n-l)^(j+1) = C(n, l).
    """
    n, law = susceptible, list[Fraction]()
    for size in range(n + 1):
        q = missing[n - size]
        if q == 0:  # nobody can be left out of so many
            law.append(Fraction(0))
            continue
        known = sum(
            (comb(n - j, size - j) * p / q ** (j + 1) for j, p in enumerate(law)), Fraction(0)
        )
        law.append((comb(n, size) - known) * q ** (size + 1))
    return law


@cache
def received_law(size: int, fan_out: int, arrival: Fraction, crash: Fraction) -> dict[int, float]:
    """P(so many alive processes have the event), over who is alive beside the publisher."""
    q = missing(size - 1, fan_out, arrival)
    law = [Fraction(0)] * (size + 1)
    for others in range(size):
        p_alive = comb(size - 1, others) * (1 - crash) ** others * crash ** (size - 1 - others)
        if p_alive:
            for reached, p in enumerate(final_size(others, q)):
                law[1 + reached] += p_alive * p
    return {count: float(p) for count, p in enumerate(law) if p}


def test_the_closed_form_is_the_chain_s() -> None:
    """Without loss or crashes it is the law that the engine's own test goes by."""
    for size, fan_out in [(2, 1), (12, 3), (30, 2), (30, 12)]:
        law = received_law(size, fan_out, Fraction(1), Fraction(0))
        known = reached_distribution(size, fan_out)
        assert [law.get(count, 0.0) for count in range(size + 1)] == pytest.approx(known)


@cache
def rounds_law(size: int, fan_out: int, arrival: float) -> dict[int, float]:
    """P(the last round in which a process sends), every sender of a round in its turn."""
    copies = [
        comb(fan_out, d) * arrival**d * (1 - arrival) ** (fan_out - d) for d in range(fan_out + 1)
    ]

    def one_more(fresh: int) -> list[float]:
        return [
            sum(
                p * comb(fresh, new) * comb(size - 1 - fresh, d - new) / comb(size - 1, d)
                for d, p in enumerate(copies)
                if new <= d
            )
            for new in range(min(fan_out, fresh) + 1)
        ]

    steps = [one_more(fresh) for fresh in range(size)]
    states, law, round_number = {(1, size - 1): 1.0}, dict[int, float](), 0
    while states:
        round_number += 1
        after: dict[tuple[int, int], float] = {}
        for (senders, fresh), p in states.items():
            left = {fresh: p}
            for _ in range(senders):
                then: dict[int, float] = {}
                for count, q in left.items():
                    for new, chance in enumerate(steps[count]):
                        then[count - new] = then.get(count - new, 0.0) + q * chance
                left = then
            for count, q in left.items():
                if count == fresh:
                    law[round_number] = law.get(round_number, 0.0) + q
                elif q > 1e-12:
                    after[fresh - count, count] = after.get((fresh - count, count), 0.0) + q
        states = after
    return law


@every_simulator
@pytest.mark.parametrize(
    ("size", "c", "arrival", "crash"),
    [
        (40, -1.5, "1", "0"),
        (40, -1.5, "17/20", "0"),
        (40, -0.5, "17/20", "3/10"),
        (12, 5.0, "1/4", "1/2"),
        (3, 5.0, "1/2", "1/5"),
    ],
)
def test_reception_is_exact(
    simulator: Simulator, size: int, c: float, arrival: str, crash: str
) -> None:
    setting = Setting(
        communities=chain([size], Parameters(c=c)),
        success=float(Fraction(arrival)),
        crash=float(Fraction(crash)),
    )
    fan_out = setting.communities[0].fan_out
    spread = simulator.simulate(setting, simulator.runs, 1, 0)
    law = received_law(size, fan_out, Fraction(arrival), Fraction(crash))
    assert from_law(spread.delivered[:, 0], law) < DEVIATIONS
    dead = float(Fraction(crash))
    alive = {
        1 + n: comb(size - 1, n) * (1 - dead) ** n * dead ** (size - 1 - n) for n in range(size)
    }
    assert from_law(spread.alive[:, 0], {n: p for n, p in alive.items() if p}) < DEVIATIONS
    assert (spread.messages == spread.delivered * fan_out).all()


@every_simulator
@pytest.mark.parametrize(
    ("size", "c", "arrival"), [(20, -1.5, 1.0), (20, -0.5, 0.6), (30, 0.0, 0.85)]
)
def test_rounds_are_exact(simulator: Simulator, size: int, c: float, arrival: float) -> None:
    setting = Setting(communities=chain([size], Parameters(c=c)), success=arrival)
    law = rounds_law(size, setting.communities[0].fan_out, arrival)
    spread = simulator.simulate(setting, simulator.runs, 2, 0)
    assert from_law(spread.rounds[:, 0], law) < DEVIATIONS


@every_simulator
def test_upward_messages_are_exact(simulator: Simulator) -> None:
    """Everybody is reached and is a link with p_sel: each table entry with p_a, by itself."""
    size, p_sel, z, p_a, arrival = 6, 0.5, 3, 0.4, 0.7
    parameters = Parameters(c=100, p_sel=p_sel, z=z, a=p_a * z)
    bottom = Community(size=size, supers=(1,), parameters=parameters)
    top = Community(size=7, parameters=Parameters(c=-10))
    certain = Setting(communities=(bottom, top), success=1.0)
    spread = simulator.simulate(certain, simulator.runs, 3, 0)
    assert (spread.delivered[:, 0] == size).all()

    one = [0.0] * (z + 1)
    one[0] = 1 - p_sel
    for sent in range(z + 1):
        one[sent] += p_sel * comb(z, sent) * p_a**sent * (1 - p_a) ** (z - sent)
    law = [1.0]
    for _ in range(size):
        law = np.convolve(law, one).tolist()
    assert from_law(spread.upward_messages[:, 0], dict(enumerate(law))) < DEVIATIONS

    # A lone process is a link or not, and then at least one of its copies arrives or none.
    alone = Community(size=1, supers=(1,), parameters=parameters)
    setting = Setting(communities=(alone, top), success=arrival)
    got = simulator.simulate(setting, simulator.runs, 4, 0)
    nothing = 1 - p_sel + p_sel * (1 - p_a * arrival) ** z
    silent = {0: nothing, 1: 1 - nothing}
    assert from_law((got.delivered[:, 1] > 0).astype(np.int64), silent) < DEVIATIONS


# --- a dumb twin --------------------------------------------------------------------------------


def twin(setting: Setting, runs: int, seed: int) -> Outcome:
    """Do it as the paper says: tables first, the dead first, then round by round, in sets."""
    rng, counts = Random(seed), []
    communities = setting.communities
    for _ in range(runs):
        dead = {
            (at, process)
            for at, community in enumerate(communities)
            for process in range(community.size)
            if (at, process) != (0, 0) and not setting.weak and rng.random() < setting.crash
        }
        tables = [
            [
                rng.sample([other for other in range(one.size) if other != process], copies_of(one))
                for process in range(one.size)
            ]
            for one in communities
        ]
        has, senders, round_number = {(0, 0)}, [(0, 0)], 0
        rounds, messages, upward = ([0] * len(communities) for _ in range(3))
        while senders:
            round_number += 1
            copies = []
            for at, process in senders:
                one = communities[at]
                rounds[at] = round_number
                messages[at] += len(tables[at][process])
                copies += [(at, at, target) for target in tables[at][process]]
                for above in one.supers:
                    size = communities[above].size
                    table = rng.sample(range(size), one.links(size))
                    if rng.random() < one.p_sel:
                        p_a = link_of(one, size)
                        up = [(at, above, to) for to in table if rng.random() < p_a]
                        upward[at] += len(up)
                        copies += up
            senders = []
            for origin, *receiver in copies:
                copy = (receiver[0], receiver[1])
                lost = rng.random() >= success_of(setting, origin, copy[0])
                crashed = setting.weak and rng.random() < setting.crash
                if not (lost or crashed or copy in dead or copy in has):
                    has.add(copy)
                    senders.append(copy)
        where = range(len(communities))
        alive = [communities[at].size - sum(place == at for place, _ in dead) for at in where]
        received = [sum(place == at for place, _ in has) for at in where]
        counts.append([alive, received, rounds, messages, upward])
    return Outcome(tuple(one.size for one in communities), *np.array(counts).transpose(1, 0, 2))


def success_of(setting: Setting, origin: int, at: int) -> float:
    """Return p_succ of a copy from a process of one community to one of another (4.3.1)."""
    of = setting.communities[origin]
    said = (of.success,) if at == origin else (of.success_up, of.success)
    return next((one for one in said if one is not None), setting.success)


def copies_of(one: Community) -> int:
    """Return the fan-out; as printed, how often the loop of Figure 8 runs (000)."""
    if not one.parameters.as_printed:
        return one.fan_out
    runs = floor(log(one.size) + one.parameters.c) + 1  # for (j=0;j<=ln(Nt)+ct;j++)
    return min(max(0, runs), one.size - 1)


def link_of(one: Community, above: int) -> float:
    """Return p_a; as printed a/z, whatever else there is (000, 3.5)."""
    given = one.parameters
    return given.a / given.z if given.as_printed else one.p_a(above)


def diamond(c: float) -> tuple[Community, ...]:
    """A bottom of two super-communities, which have one in common."""
    parameters = Parameters(c=c, g=3, a=1.5, z=2)
    supers = ((1, 2), (3,), (3,), ())
    return tuple(
        Community(size=size, supers=above, parameters=parameters)
        for size, above in zip((30, 12, 1, 8), supers, strict=True)
    )


def weakly_linked(
    communities: Sequence[Community],
    within: Sequence[float | None],
    upward: Sequence[float | None],
) -> tuple[Community, ...]:
    """Return communities whose copies arrive with probabilities of their own."""
    return tuple(
        evolve(one, success=inside, success_up=up)
        for one, inside, up in zip(communities, within, upward, strict=True)
    )


PRINTED = Parameters(**PRESETS["paper"], c=2, g=5, a=1, z=3)
SETTINGS = {
    "as printed": Setting(communities=chain([40, 4, 3, 2, 1], PRINTED), success=0.85),
    "as printed, crashes": Setting(communities=chain([3, 2, 1], PRINTED), success=0.85, crash=0.2),
    "chain": Setting(communities=chain([60, 30, 10]), success=0.85),
    "stillborn": Setting(communities=chain([60, 30, 10]), success=0.85, crash=0.3),
    "weak": Setting(communities=chain([60, 30, 10]), success=0.85, crash=0.3, weak=True),
    "few copies": Setting(communities=chain([40, 20, 5], Parameters(c=-2)), success=0.9),
    "diamond": Setting(communities=diamond(0.0), success=0.8, crash=0.2),
    "weak links": Setting(
        communities=weakly_linked(chain([40, 25, 8]), (0.9, 0.6, None), (0.4, None, None)),
        success=0.8,
        crash=0.2,
    ),
    "large tables": Setting(
        communities=chain([20, 20], Parameters(c=-1, g=20, a=12, z=15)), success=0.7
    ),
}


OF_A_KIND = ("as printed, crashes", "chain", "stillborn", "few copies")
"""Settings of which another one has all that they have."""


@cache
def twins(name: str) -> Outcome:
    return twin(SETTINGS[name], 400, 5)


def worst(one: Outcome, other: Outcome) -> tuple[float, str]:
    """Return the largest deviation between two samples of runs, and where it is."""
    found = [
        (apart(getattr(one, measure)[:, at], getattr(other, measure)[:, at]), f"{measure}[{at}]")
        for measure in MEASURES
        for at in range(len(one.sizes))
    ]
    found.append((apart(one.rounds.max(axis=1), other.rounds.max(axis=1)), "rounds of all"))
    # Not only each measure by itself: what got where tells how they belong together.
    patterns = [
        (spread.delivered > 0) @ (1 << np.arange(len(one.sizes))) for spread in (one, other)
    ]
    found.append((apart(*patterns), "communities reached"))
    return max(found)


@every_simulator
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one in OF_A_KIND)) for one in SETTINGS]
)
def test_a_dumb_twin_does_the_same(simulator: Simulator, name: str) -> None:
    spread = simulator.simulate(SETTINGS[name], simulator.runs, 6, 0)
    deviation, where = worst(spread, twins(name))
    assert deviation < DEVIATIONS, where


# --- each other, in the paper's setting ---------------------------------------------------------


@cache
def reference(crash: float, weak: bool) -> Outcome:
    return population.simulate(paper(crash, weak), 4000, 7, 0)


def paper(crash: float, weak: bool) -> Setting:
    """000, 6.1.1: 1000, 100 and 10 processes, c = g = 5, a = 1, z = 3."""
    return Setting(communities=chain([1000, 100, 10]), success=0.85, crash=crash, weak=weak)


@pytest.mark.slow
@every_simulator
@pytest.mark.parametrize(
    ("crash", "weak"),
    [
        (0.3, True),
        (0.0, False),
    ],
)
def test_they_agree_in_the_paper_s_setting(simulator: Simulator, crash: float, weak: bool) -> None:
    """The population simulator meets itself with another seed."""
    spread = simulator.simulate(paper(crash, weak), simulator.runs // 2, 8, 0)
    deviation, where = worst(spread, reference(crash, weak))
    assert deviation < DEVIATIONS, where
    for at in range(3):
        for measure in MEASURES:
            ours = getattr(spread, measure)[:, at]
            theirs = getattr(reference(crash, weak), measure)[:, at]
            error = sqrt(ours.var() / len(ours) + theirs.var() / len(theirs))
            assert abs(ours.mean() - theirs.mean()) <= DEVIATIONS * error, f"{measure}[{at}]"


@pytest.mark.slow
@every_simulator
@pytest.mark.parametrize(
    ("sizes", "published", "known"),
    [
        ((1000, 100, 10), 8.91, 8.6),
        ((100,) * 3, 8.83, 9.1),
        ((100,) * 5, 13.08, 13.5),
    ],
)
def test_table_1(
    simulator: Simulator, sizes: tuple[int, ...], published: float, known: float
) -> None:
    """Rounds to reach all: their 95 % interval meets what 000, Table 1 has, give or take 5 %,
    and what the table's formulas give (`known`), by 2 %."""
    setting = Setting(communities=chain(sizes), success=0.85)
    _, low, high = bounds(simulator.simulate(setting, simulator.runs, 9, 0).rounds_to_reach_all)
    assert high - low < 0.1 * published, "too few runs to tell"
    for value, tolerance in [(published, 0.05), (known, 0.02)]:
        assert low <= value * (1 + tolerance)
        assert high >= value * (1 - tolerance)


# --- what is certain ----------------------------------------------------------------------------


@also_the_slow
def test_a_community_of_one_sends_in_its_round(simulator: Simulator) -> None:
    setting = Setting(communities=chain([1, 1, 1], Parameters(a=3, z=1)), success=1.0)
    spread = simulator.simulate(setting, 3, 0, 0)
    assert spread.sizes == (1, 1, 1)
    assert spread.delivered.tolist() == spread.alive.tolist() == [[1, 1, 1]] * 3
    assert spread.rounds.tolist() == [[1, 2, 3]] * 3
    assert spread.messages.tolist() == [[0, 0, 0]] * 3
    assert spread.upward_messages.tolist() == [[1, 1, 0]] * 3
    assert all(getattr(spread, measure).dtype == np.int64 for measure in MEASURES)


@also_the_slow
@pytest.mark.parametrize("crash", [0.0, 1.0])
@pytest.mark.parametrize("weak", [False, True])
def test_no_copy_arrives(simulator: Simulator, crash: float, weak: bool) -> None:
    """Either all get lost, or all but the publisher are dead, or appear to be."""
    setting = Setting(
        communities=chain([20, 5], Parameters(p_sel=1, a=3, z=3)),
        success=0.0 if crash == 0 else 1.0,
        crash=crash,
        weak=weak,
    )
    spread = simulator.simulate(setting, 2, 0, 0)
    assert spread.delivered.tolist() == [[1, 0]] * 2
    assert spread.alive.tolist() == ([[1, 0]] if crash and not weak else [[20, 5]]) * 2
    assert spread.rounds.tolist() == [[1, 0]] * 2
    assert spread.messages.tolist() == [[8, 0]] * 2
    assert spread.upward_messages.tolist() == [[3, 0]] * 2


@also_the_slow
def test_every_copy_arrives_at_all_others(simulator: Simulator) -> None:
    """A fan-out of all others, and a table of the whole super-community: two rounds each."""
    parameters = Parameters(c=100, g=50, a=50, z=50)
    setting = Setting(communities=chain([8, 9], parameters), success=1.0)
    spread = simulator.simulate(setting, 2, 0, 0)
    assert spread.delivered.tolist() == [[8, 9]] * 2
    assert spread.rounds.tolist() == [[2, 2]] * 2
    assert spread.messages.tolist() == [[8 * 7, 9 * 8]] * 2
    assert spread.upward_messages.tolist() == [[8 * 9, 0]] * 2


@also_the_slow
def test_without_a_super_community_nothing_goes_up(simulator: Simulator) -> None:
    setting = Setting(communities=(Community(size=30), Community(size=9)), success=1.0)
    spread = simulator.simulate(setting, 3, 0, 0)
    assert spread.upward_messages.tolist() == [[0, 0]] * 3
    assert spread.delivered[:, 1].tolist() == spread.rounds[:, 1].tolist() == [0] * 3


@also_the_slow
def test_no_runs(simulator: Simulator) -> None:
    assert simulator.simulate(SETTINGS["chain"], 0, 0, 0).runs == 0
