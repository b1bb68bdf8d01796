"""hpmcast in the equations of the paper: rounds and reliability (002, 5.2, Equations 19-28).

A regular hierarchy: a subsystems in each, l levels, R delegates, n = a^l processes, of whom each is
interested with probability p_1. `arrival` is (1 - ε)(1 - τ).

Where the print is wrong
------------------------
* Equation 24 gives every infected entity of level i + 1 a p_i interested ones below. That an
  entity is interested is known, though: it has a p_i / p_(i+1) on average. With a p_i the top
  levels, which lose nothing, would lose entities all the same, and the n p_1 of Equation 27's
  division would not come out even with all r_i = 1.
* Equation 25's sum begins at j = k / (a p_i), its print at k / (j a p_i).
* Equation 26 lacks E[g_(i+1)]: E[g_i] = r_i a (p_i / p_(i+1)) E[g_(i+1)].
* Equation 27 adds up the entities of all levels, delegates and the subsystems they stand for
  together. The participants are those of level 1: E[g_1], and the reliability is
  E[g_1] / (n p_1) = r_1 r_2 … r_l.
* Equation 28 leaves out the F and the (l - 1) of T(R, F) in its first line; the identity holds.
  It is about T' of Equation 21. Figure 6 does not subtract T(R, F): its rounds are Equation 20's,
  and they do grow with l, by (l - 1) T(R, F) (`camcast.research.systems.hpmcast.equations`).

How far Equations 22 and 23 carry
---------------------------------
They begin every level with one infected participant ("a pessimistic value", 5.2.3) and take m_i
p_i for the number of interested ones everywhere, where it varies. Below a p_1 = 1 there is nobody
else in a group to reach, so that the dip of Figure 7 is not in them.
`camcast.research.systems.hpmcast.levels` counts the delegates and the interested as they are.
"""

from __future__ import annotations

from functools import cache
from math import fsum

import numpy as np
from numpy.typing import ArrayLike

from camcast.research.systems.camcast.message_equations import numbers
from camcast.research.systems.hpmcast.view_equations import interest_share, level_view
from camcast.research.systems.rfpbcast.rfpbcast_equations import (
    completion_rounds,
    infected_law,
    pittel_rounds,
    whole_rounds,
)


def level_rounds(
    arity: int,
    redundancy: int,
    fan_out: float,
    interested: float,
    level: int,
    arrival: float = 1.0,
) -> float:
    """Return T_i = T(m_i p_i, F p_i) (Equation 20), in rounds; 0 where m_i p_i <= 1."""
    p_i = interest_share(interested, arity ** (level - 1))
    concerned = level_view(arity, redundancy, level) * p_i
    return float(pittel_rounds(concerned, fan_out * p_i, arrival)) if concerned > 1 else 0.0


def total_rounds(
    arity: int,
    depth: int,
    redundancy: int,
    fan_out: float,
    interested: float = 1.0,
    arrival: float = 1.0,
) -> float:
    """Return T_tot, the sum of T_i over all levels (Equation 20)."""
    levels = range(1, depth + 1)
    given = (arity, redundancy, fan_out, interested)
    return fsum(level_rounds(*given, level, arrival) for level in levels)


def shortened_rounds(
    arity: int,
    depth: int,
    redundancy: int,
    fan_out: float,
    interested: float = 1.0,
    arrival: float = 1.0,
) -> float:
    """Return T'_tot = T_tot - (l-1) T(R, F): R have the event when a level begins (Equation 21).

    For p_1 = 1 it is T(n, F), `pittel_rounds`, whatever the depth (Equation 28).
    """
    whole = total_rounds(arity, depth, redundancy, fan_out, interested, arrival)
    return whole - (depth - 1) * float(pittel_rounds(redundancy, fan_out, arrival))


def expected_infected(
    concerned: float, fan_out: float, rounds: float, arrival: float = 1.0
) -> float:
    """Return E[s_T] of a subsystem with `concerned` = m_i p_i (Equation 22), by Equation 2's chain.

    `fan_out` is F p_i. Between whole numbers of participants it is interpolated.
    """
    numbers(concerned, 0, "concerned")
    periods = whole_rounds(rounds)
    below = max(1, int(concerned))
    weight = max(0.0, concerned - below)
    share = fan_out / max(concerned, 1e-300)  # of the view, and so p at either size

    def mean(size: int) -> float:
        law = infected_law(size, share * size, periods, arrival)
        return float(law @ np.arange(size + 1))

    if not weight:
        return mean(below)
    return (1 - weight) * mean(below) + weight * mean(below + 1)


def entity_infected(
    arity: int,
    redundancy: int,
    fan_out: float,
    interested: float,
    level: int,
    rounds: float,
    arrival: float = 1.0,
) -> float:
    """Return r_i: an interested entity of level i gets the event (Equation 23).

    An entity is one of m_i / a = R delegates, or at level 1 a process; it is missed if all are.
    `rounds` is for how many the level is gossiped in.
    """
    p_i = interest_share(interested, arity ** (level - 1))
    m_i = level_view(arity, redundancy, level)
    if m_i * p_i <= 1:
        return 1.0
    share = expected_infected(m_i * p_i, fan_out * p_i, rounds, arrival) / (m_i * p_i)
    return float(1 - (1 - min(1.0, share)) ** (m_i / arity))


def reliability(infected: ArrayLike) -> float:
    """Return r_1 r_2 … r_l, the expected reliability degree (Equations 26, 27, corrected)."""
    return float(np.prod(numbers(infected, 0, "infected", 1)))


@cache  # seconds, and a figure and the evidence ask for the same
def needed_rounds(
    arity: int,
    depth: int,
    redundancy: int,
    fan_out: float,
    *,
    of_all: bool = False,
) -> float:
    """Return the rounds until a process of the average group can know that all have the event.

    The sum over levels of the mean rounds until one group is complete, or `of_all` the a^(l-i)
    groups of level i.

    It says whether the depth of a hierarchy changes the rounds of a broadcast (002, 6.2, Equation
    28). For p_1 = 1 the sum of Equation 21, (l-1) T(aR, F) + T(a, F) - (l-1) T(R, F), is T(n, F):
    an identity of logarithms, for every l with a^l = n. Each T is an asymptote with a c + O(1) that
    the sum drops, though, once a level. Here are the rounds that a level *needs*, by the chain of
    Equation 2, instead: until all of its view have the event, from one publisher in the topmost
    level and from R delegates in those below.
    """
    rounds = 0.0
    for level in range(depth, 0, -1):
        view, begin = level_view(arity, redundancy, level), 1 if level == depth else redundancy
        groups = arity ** (depth - level) if of_all else 1
        rounds += completion_rounds(view, fan_out, 1.0, begin, groups)
    return rounds
