"""The count chain: how many processes have the event, round by round, for any number of them.

Theory of operation
-------------------
Where tables are uniform and independent, processes differ only in whether they have the event and
are alive, so the counts alone are a Markov chain. It follows the same rules as
`camcast.research.systems.camcast.population`, and its results have the same distribution.

*One sender* with k distinct targets, each copy arriving with probability p, reaches a uniform
subset of Binomial(k, p) of the n others. Copy by copy, the next target is one of the F living
processes without the event with probability F / (n - j), when j others have been chosen: an urn.
This is exact; up to `SENDERS_MAX` senders of a round are simulated so, one after the other.

*Many senders*. S of them miss one process with probability (1-a)^S, a = kp/n, and two with
probability (1-2a+b)^S, b = p^2 k(k-1) / (n(n-1)). That gives the exact mean μ and variance v of
the number reached, or missed, of the F. How many cells a union of uniform subsets leaves empty
is distributed as a sum of independent indicators (V. A. Vatutin and V. G. Mikhailov, "Limit
theorems for the number of empty cells in an equiprobable scheme for group allocation of
particles", Theory of Probability and its Applications 27(4), 1982); such a sum, with its mean
and variance, is nearly a Binomial(μ²/(μ-v), 1-v/μ). That law is taken for the number reached or for
the number missed, the one with the smaller mean; the two whole numbers of trials next to μ²/(μ-v)
are mixed such that mean and variance remain exact.

The total variation distance of this step from the exact law is at most `DISTANCE`, and falls with
the inverse root of the number of senders. This was measured, not proved: the exact law is computed
in tests/research/unit/systems/camcast/test_count_chain.py. Runs with at most `SENDERS_MAX`
processes a community are exact throughout.

*Upward*, a link that sends b copies reaches a uniform subset of Binomial(b, p) of the
super-community. Links are grouped by b; the formulas above are taken over all groups.

*The load of a process.* Which processes receive how many copies is not known. What they send is:
each of those reached sends to `fan_out` others, and links send b more. Links to several
super-communities are drawn apart, so that who acts as several is not known either.

*Large binomial numbers* are drawn from limit laws where numpy's algorithm loses digits; see
`_binomial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, exp, expm1, floor, inf, log1p, sqrt
from typing import Final

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.population.load_counts import LoadColumns, enter_senders
from camcast.research.population.outcome import Outcome
from camcast.research.systems.camcast.setting import Setting
from camcast.vocabulary.streams import stream

SENDERS_MAX: Final = 4096
"""How many senders of a round are simulated one by one. chosen: they take 5 ms, and with more
of them no test of a million runs can tell the approximation from the exact law."""

DISTANCE: Final = 0.0011
"""A bound on the total variation distance from the exact law. Measured: with one sender more than
`SENDERS_MAX`, in communities of 6,000 to 640,000 processes with c = 5, at arrival 1, 0.85 and 0.5,
the largest is 0.0010, at 100,000 with arrival 1, where one half is reached. With 16,384 senders it
is 0.0005."""

_VARIANCE_NORMAL: Final = 1e7
"""chosen: from here on, the normal law with its skewness is within 1e-6 of a binomial (its
error is of the order of 1/variance), while numpy's rejection loses digits with the trials."""

_CHANCE_POISSON: Final = 1e-5
"""chosen: the Poisson law is within this probability of a binomial (Barbour and Hall 1984)."""

_Group = tuple[int, int]
"""A number of senders, and the number of distinct targets that each of them sends to."""


def simulate(setting: Setting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` for processes in several communities.
    """
    setting.refuse_overlaps("the count chain")
    sizes = tuple(community.size for community in setting.communities)
    counts = np.zeros((runs, 5, len(sizes)), np.int64)
    loads = LoadColumns(runs, len(sizes), roles=("publishers", "links"))
    for run in range(runs):
        bits = stream(seed, "protocol", "count chain", first_run + run).getrandbits(128)
        one = _Run(setting, Generator(PCG64(bits)))
        counts[run] = one.counts()
        one.enter_loads(loads.sent[run], counts[run, 1].tolist())
    alive, received, rounds, messages, upward = counts.transpose(1, 0, 2)
    return Outcome(sizes, alive, received, rounds, messages, upward, loads=loads.by_name())


class _Run:
    def __init__(self, setting: Setting, rng: Generator) -> None:
        self._setting = setting
        self._rng = rng
        dead = setting.stillborn
        self._upward = [
            np.zeros(
                1 + sum(one.links(setting.communities[up].size) for up in one.supers), np.int64
            )
            for one in setting.communities
        ]
        """How many links of each community have sent 0, 1, 2, ... copies upward."""
        self._of_publisher = 0
        self._alive = [
            one.size - _binomial(rng, one.size, dead, 1 - dead) for one in setting.communities
        ]
        if dead:  # the publisher is alive
            first = setting.communities[0].size - 1
            self._alive[0] = 1 + first - _binomial(rng, first, dead, 1 - dead)

    def counts(self) -> list[list[int]]:
        """Return alive, received, rounds, messages and upward messages, by community."""
        communities = self._setting.communities
        number = len(communities)
        unreached = list(self._alive)
        rounds, messages, upward_messages = [0] * number, [0] * number, [0] * number
        senders = [1] + [0] * (number - 1)
        unreached[0] -= 1
        round_number = 0
        while any(senders):
            round_number += 1
            successors = [0] * number
            for at, community in enumerate(communities):
                if not senders[at]:
                    continue
                rounds[at] = round_number
                messages[at] += senders[at] * community.fan_out
                groups = [(senders[at], community.fan_out)]
                arrival = self._setting.arrival_within(at)
                new = _reached(self._rng, unreached[at], community.size - 1, groups, arrival)
                unreached[at] -= new
                successors[at] += new
                arrival = self._setting.arrival_up(at)
                for above in community.supers:
                    groups = self._links(at, above, senders[at])
                    upward_messages[at] += sum(links * copies for links, copies in groups)
                    for links, copies in groups:
                        self._upward[at][copies] += links
                        self._of_publisher += copies if round_number == 1 else 0
                    size = communities[above].size
                    new = _reached(self._rng, unreached[above], size, groups, arrival)
                    unreached[above] -= new
                    successors[above] += new
            senders = successors
        received = [alive - left for alive, left in zip(self._alive, unreached, strict=True)]
        return [self._alive, received, rounds, messages, upward_messages]

    def enter_loads(self, measures: NDArray[np.float64], received: Sequence[int]) -> None:
        """Fill in what processes send, by community, but for those with several above them."""
        for at, community in enumerate(self._setting.communities):
            if len(community.supers) > 1:
                continue
            upward, publisher = self._upward[at], -1 if at else self._of_publisher
            upward[0] = received[at] - upward.sum()
            enter_senders(measures[at], self._alive[at], community.fan_out, upward, publisher)

    def _links(self, at: int, above: int, senders: int) -> list[_Group]:
        """Draw the groups of senders that send equally many copies to their super-processes."""
        community, size = self._setting.communities[at], self._setting.communities[above].size
        p_sel, p_a, z = community.p_sel, community.p_a(size), community.links(size)
        left, groups, mass = _binomial(self._rng, senders, p_sel, 1 - p_sel), [], 1.0
        for copies in range(z, 0, -1):
            if not left:
                break
            chance = comb(z, copies) * p_a**copies * (1 - p_a) ** (z - copies)
            share = min(1.0, chance / mass) if mass > 0 else 1.0
            links = _binomial(self._rng, left, share, 1 - share)
            if links:
                groups.append((links, copies))
            left -= links
            mass -= chance
        return groups


def _reached(
    rng: Generator, fresh: int, others: int, groups: Sequence[_Group], arrival: float
) -> int:
    """Draw how many of the `fresh` processes among `others` the senders reach."""
    if not fresh or arrival == 0:
        return 0
    if sum(senders for senders, _ in groups) > SENDERS_MAX:
        return _many(rng, fresh, others, groups, arrival)
    return fresh - _one_by_one(rng, fresh, others, groups, arrival)


def _one_by_one(
    rng: Generator, fresh: int, others: int, groups: Sequence[_Group], arrival: float
) -> int:
    """Draw how many of the `fresh` are missed, by an urn for each sender."""
    for senders, targets in groups:
        arriving = rng.binomial(targets, arrival, senders)
        chance = iter(rng.random(int(arriving.sum())).tolist()).__next__
        for copies in arriving.tolist():
            for left in range(others, others - copies, -1):
                if chance() * left < fresh:
                    fresh -= 1
            if not fresh:
                return 0
    return fresh


def _many(rng: Generator, fresh: int, others: int, groups: Sequence[_Group], arrival: float) -> int:
    """Draw how many of the `fresh` are reached, from a binomial law of the same moments."""
    reached, missed, variance = moments(fresh, others, groups, arrival)
    if reached <= missed:
        return _matched(rng, reached, variance, fresh)
    return fresh - _matched(rng, missed, variance, fresh)


def moments(
    fresh: int, others: int, groups: Sequence[_Group], arrival: float
) -> tuple[float, float, float]:
    """Return the exact means of the numbers reached and missed of the `fresh`, and their variance.

    With m the probability to miss one process and m2 to miss two, the variance is
    F·m(1-m) + F(F-1)·(m2 - m²). It is computed by
    (1-2a+b) / (1-a)² = 1 - p²k(n-k) / (n²(n-1)(1-a)²), which avoids cancellation.
    """
    n, logarithm, correlation = others, 0.0, 0.0
    for senders, k in groups:
        a = k * arrival / n
        if a >= 1:
            return float(fresh), 0.0, 0.0
        logarithm += senders * log1p(-a)
        if n > 1:
            pair = arrival**2 * k * (n - k) / (n * n * (n - 1) * (1 - a) ** 2)
            correlation += senders * (log1p(-pair) if pair < 1 else -inf)
    miss, hit = exp(logarithm), -expm1(logarithm)
    variance = fresh * miss * (hit + (fresh - 1) * miss * expm1(correlation))
    return fresh * hit, fresh * miss, max(0.0, variance)


def matched(mean: float, variance: float, most: int) -> list[tuple[float, int]]:
    """Return (weight, trials) of binomial laws of this mean whose mixture has the variance."""
    if mean <= 0:
        return [(1.0, 0)]
    # A sum of independent indicators has less variance than mean, and no more trials than
    # summands; rounding may break it by a digit.
    trials = min(mean / (1 - variance / mean), most) if variance < mean else float(most)
    low, high = floor(trials), ceil(trials)
    if low == high or low < mean:  # a binomial mean is at most its trials
        return [(1.0, high)]
    weight = (1 / trials - 1 / high) / (1 / low - 1 / high)
    return [(weight, low), (1 - weight, high)]


def _matched(rng: Generator, mean: float, variance: float, most: int) -> int:
    laws = matched(mean, variance, most)
    trials = laws[0][1] if rng.random() < laws[0][0] else laws[-1][1]
    if not trials:
        return 0
    chance = min(1.0, mean / trials)
    return _binomial(rng, trials, chance, max(0.0, (trials - mean) / trials))


def _binomial(rng: Generator, trials: int, chance: float, rest: float) -> int:
    """Draw a binomial number; `rest` is 1 - `chance`, given so that it loses no digits.

    From a variance of `_VARIANCE_NORMAL` on the law is normal with the binomial's skewness, and up
    to a chance of `_CHANCE_POISSON` it is Poisson.
    """
    if chance > rest:
        return trials - _binomial(rng, trials, rest, chance)
    mean, variance = trials * chance, trials * chance * rest
    if variance >= _VARIANCE_NORMAL:
        normal, deviation = rng.standard_normal(), sqrt(variance)
        skewed = normal + (rest - chance) / deviation * (normal**2 - 1) / 6  # Cornish and Fisher
        return min(trials, max(0, round(mean + deviation * skewed)))
    if chance <= _CHANCE_POISSON:
        return min(trials, int(rng.poisson(mean)))
    return int(rng.binomial(trials, chance))
