"""How reliable hpmcast is, level by level, with the delegates and the interested as they are.

What Equations 22 to 27 of 002 approximate, as a chain over the levels of one interested process.
At each level i its own line of the view is interested for certain, and every other one with
probability p_i, independently. The event comes from the level above with d of the R delegates, who
are in the first line (into the topmost, with the publisher). How many of the others that are wanted
get it by Figure 6's choices says `camcast.research.systems.hpmcast.pmcast_law`; which ones, is
uniform. As many as are delegates of the process's own line bring it further down; where that is
none, it is lost.

Neglected are the publisher's own way down, which helps its subsystems (with R = 1 by 0.002 to 0.005
of all; else by less than can be measured), and that of delegates who do not have the event more are
dead than of others: the dead are drawn again at each level. With a threshold D above level 1 whole
lines are added, D div R of them. Against the simulator:
tests/research/unit/systems/hpmcast/test_tree_population.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb
from typing import Final

import numpy as np

from camcast.research.models.binomial import binomial
from camcast.research.systems.hpmcast.pmcast_law import new_infected_law
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law

_NEGLIGIBLE: Final = 1e-9  # chosen: a case this improbable is left out; far below any interval


def predicted_reliability(setting: HpmcastSetting) -> float:
    """Return the probability that a living interested process delivers, other than the publisher.

    Takes a second for R a = 66, a minute for 1,000; raises `ValueError` beyond.
    """
    delegates = None  # how many of them bring the event: at the top nobody is one
    for level in range(setting.depth, 1, -1):
        delegates = _brought_down(setting, level, delegates)
    return _delivered(setting, delegates)


def _brought_down(setting: HpmcastSetting, level: int, above: Law | None) -> Law:
    """Return P(so many of the R delegates of the process's own line have the event), 0 to R.

    After gossiping in the view of `level`, where `above` of its delegates have it.
    """
    a, R = setting.arity, setting.redundancy
    p_i = setting.share(level)
    found = np.zeros(R + 1)
    starts = [(0, 1.0)] if above is None else list(enumerate(above))
    if above is not None:
        found[0] = above[0]  # who does not have it cannot bring it down
    for brought, chance in starts:
        if chance < _NEGLIGIBLE or (above is not None and not brought):
            continue
        for own_first, others, p_case in _lines(a, p_i):
            first_wanted, hits = own_first or others[0], 1 + sum(others)
            wanted, few = _with_threshold(setting, level, hits, others, own_first)
            first_wanted = first_wanted or (few and setting.threshold >= R)
            rounds = setting.periods(level, wanted, few=few)
            susceptible = wanted - (brought if first_wanted else 0)
            own = R - brought if own_first else R
            law = _reached(setting, a * R, susceptible, rounds, brought, alive_own=0)
            for reached, p in enumerate(law):
                if p * p_case * chance < _NEGLIGIBLE:
                    continue
                for mine in range(max(0, reached - susceptible + own), min(own, reached) + 1):
                    share = comb(own, mine) * comb(susceptible - own, reached - mine)
                    share_of = share / comb(susceptible, reached)
                    found[mine + (brought if own_first else 0)] += chance * p_case * p * share_of
    normed: Law = found / found.sum()  # what was negligible is shared out
    return normed


def _lines(arity: int, p_i: float) -> Iterator[tuple[bool, tuple[int, int], float]]:
    """Yield whether the process's own line is the first, which others are interested, and P.

    Others: the first line (0 or 1; not counted if it is the own) and how many of the rest.
    """
    rest = arity - 2
    for count in range(arity):
        p = float(binomial(arity - 1, p_i)[count]) / arity
        if p > _NEGLIGIBLE:
            yield True, (0, count), p
    for first in (0, 1):
        p_first = (p_i if first else 1 - p_i) * (arity - 1) / arity
        for count in range(rest + 1):
            p = float(binomial(rest, p_i)[count]) * p_first
            if p > _NEGLIGIBLE:
                yield False, (first, count), p


def _with_threshold(
    setting: HpmcastSetting, level: int, hits: int, others: tuple[int, int], own_first: bool
) -> tuple[int, bool]:
    """Return how many processes of a view above level 1 are wanted, and whether D applies."""
    R = setting.redundancy
    if not setting.is_few(level, hits * R):
        return hits * R, False
    lines = min(setting.threshold // R, setting.arity)
    if not lines:
        return hits * R, True
    # of the interested lines beside the first, as many as on average are among those added
    beside = hits - (1 if own_first or others[0] else 0)
    inside = round(beside * (lines - 1) / max(1, setting.arity - 1))
    return (lines + beside - inside) * R, True


def _delivered(setting: HpmcastSetting, above: Law | None) -> float:
    """Return P(a process gets it in its group of level 1), or has it as a delegate."""
    a, R, D, p_1 = setting.arity, setting.redundancy, setting.threshold, setting.interested
    if above is None:
        starts = [(0, 1.0)]
    else:
        starts = [(d, p) for d, p in enumerate(above) if d and p > _NEGLIGIBLE]
    first = min(max(D, R), a)  # the addresses whom delegates and threshold come from
    reliability = 0.0
    for brought, chance in starts:
        reliability += chance * brought / a  # is one of those who bring it
        # Else it is among the first, or the rest; its company: who brings it, the first, the rest.
        for inside in (True, False):
            size = first - brought if inside else a - first
            if not size:
                continue
            company = (brought, first - brought - inside, a - first - (not inside))
            for counts, p in _interested_of(company, p_1):
                few = setting.is_few(1, 1 + sum(counts))
                if few:
                    added = min(D, a)
                    wanted_first = company[1] if first <= D else counts[1]
                    wanted = 1 + wanted_first + counts[2]
                    everybody = wanted + (brought if added >= R else counts[0])
                else:
                    wanted, everybody = 1 + counts[1] + counts[2], 1 + sum(counts)
                rounds = setting.periods(1, everybody, few=few)
                law = _reached(setting, a, wanted, rounds, brought, alive_own=1)
                mean = float(law @ np.arange(len(law)))
                reliability += chance * p * size / a * mean
    return float(reliability)


def _interested_of(
    company: tuple[int, int, int], p_1: float
) -> Iterator[tuple[tuple[int, int, int], float]]:
    """Yield how many are interested of each of three sorts of others, and its probability."""
    laws = [list(enumerate(binomial(sort, p_1))) for sort in company]
    for (x, p_x), (y, p_y), (z, p_z) in product(*laws):
        if p_x * p_y * p_z > _NEGLIGIBLE:
            yield (x, y, z), p_x * p_y * p_z


def _reached(
    setting: HpmcastSetting,
    view: int,
    susceptible: int,
    rounds: int,
    brought: int,
    alive_own: int,
) -> Law:
    """Return P(so many of the susceptible get the event), some of whom may be dead.

    With `alive_own` the process itself is one of them, alive, and the law is of a single trial:
    P(it does not), P(it does).
    """
    others = view - 1 if brought else view  # the publisher is in no view, as good as always
    senders = max(1, brought)
    law = np.zeros(susceptible + 1)
    gets = 0.0
    mortal = susceptible - alive_own
    for dead, p in enumerate(binomial(mortal, setting.crash)):
        if p <= _NEGLIGIBLE:
            continue
        alive = susceptible - dead
        found = new_infected_law(others, alive, setting.fan_out, rounds, 1 - setting.loss, senders)
        law[: alive + 1] += p * found
        if alive:
            gets += p * float(found @ np.arange(alive + 1)) / alive
    return np.array([1 - gets, gets]) if alive_own else law
