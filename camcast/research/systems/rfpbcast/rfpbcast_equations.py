"""rfpbcast: gossip to everybody, filtered on reception (002, 2.1, Equations 1 to 5).

Of n processes, every one that has the event sends it to F others in each round. `arrival` is
(1 - ε)(1 - τ): a copy is not lost and finds its receiver alive.

The chain counts the processes that have the event. In Equation 2 each of j such processes misses a
given other with probability q = 1 - p, independently, so that the number of newly infected ones is
Binomial(n - j, 1 - q^j). (The print has lost the bars of the binomial coefficient, and "j > 1" for
the state should be j >= 1.) Figure 1 differs: the F targets of one sender are distinct, so that no
two of them are the same process. `camcast.research.systems.hpmcast.pmcast_law` has that chain, in
which the event spreads faster: of n = 30 with F = 3 and a fifth of the copies lost, 21.3 have the
event after three rounds on average, 20.2 by Equation 2.

The sum of Equation 3 begins at j = k/(1 + F), as a process infects at most F others. The binomial
of Equation 2 allows more, so that the sum here is over all j <= k: the law would not add up to 1
otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camcast.research.systems.camcast.message_equations import Values, numbers

Law = NDArray[np.float64]
"""Probabilities of the counts 0, 1, 2, …"""

SIZE_MAX: Final = 5000  # chosen: a matrix of 200 MB
ROUNDS_MAX: Final = 100_000  # chosen: an event not complete by then counts as never complete


def reach_probability(size: ArrayLike, fan_out: ArrayLike, arrival: ArrayLike = 1.0) -> Values:
    """Return p(n, F) = F/(n-1) (1-ε)(1-τ): one gossip reaches a given other (Equation 1).

    At most 1 · arrival, where F is larger than the n - 1 others. 0 for a lone process. Raises
    `ValueError` for a size below 1, a negative fan-out or an arrival outside [0, 1].
    """
    n, arrival = numbers(size, 1, "size"), numbers(arrival, 0, "arrival", 1)
    chosen = np.minimum(1.0, numbers(fan_out, 0, "fan_out") / np.maximum(n - 1, 1e-300))
    return np.asarray(np.where(n > 1, chosen, 0.0) * arrival)


def transitions(size: int, reach: float) -> Law:
    """Return the matrix of p_jk (Equation 2), P(k have the event after a round, if j did before).

    j and k run from 0 to n. `reach` is p. Raises `ValueError` for a size outside 1 to `SIZE_MAX` or
    a probability outside [0, 1].
    """
    if not 1 <= size <= SIZE_MAX:
        raise ValueError(f"a chain of {size} processes; give 1 to {SIZE_MAX:,}")
    numbers(reach, 0, "reach", 1)
    states = np.arange(size + 1)
    missed = np.power(1.0 - reach, states)[:, None]  # q^j
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
    new, left = states[None, :] - states[:, None], size - states
    possible = new >= 0
    new = np.where(possible, new, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chances = (
            (logs[left][:, None] - logs[new] - logs[left][None, :])
            + np.where(new > 0, new * np.log1p(-missed), 0.0)
            + np.where(left[None, :] > 0, left[None, :] * np.log(missed), 0.0)
        )
    return np.where(possible, np.exp(chances), 0.0)


def infected_law(size: int, fan_out: float, rounds: int, arrival: float = 1.0) -> Law:
    """Return P[s_T = k], k = 0 to n, by Equations 2 and 3; at first one process has the event.

    Raises `ValueError` as `transitions`, and for a negative number of rounds.
    """
    numbers(rounds, 0, "rounds")
    matrix = transitions(size, float(reach_probability(size, fan_out, arrival)))
    law = np.zeros(size + 1)
    law[1] = 1.0
    for _ in range(rounds):
        law = law @ matrix
    return law


@lru_cache(maxsize=64)
def completion_rounds(
    size: int, fan_out: float, arrival: float = 1.0, infected: int = 1, groups: int = 1
) -> float:
    """Return the expected round after which all have the event, by the chain of Equation 2.

    At first `infected` processes have it. Several `groups` of this size gossip at the same time,
    each by itself; the round is the one after which all groups are complete. Infinite if a copy
    never arrives, or after `ROUNDS_MAX` rounds.
    """
    if size <= infected:
        return 0.0
    reach = float(reach_probability(size, fan_out, arrival))
    if reach == 0:
        return float("inf")
    matrix = transitions(size, reach)
    law = np.zeros(size + 1)
    law[infected] = 1.0
    expected, missing = 0.0, 1.0
    for _ in range(ROUNDS_MAX):
        if missing < 1e-12:  # chosen: beyond what a sum of doubles keeps
            return expected
        expected += missing
        law = law @ matrix
        one = min(1.0, float(law[:-1].sum()))
        missing = 1.0 - (1.0 - one) ** groups if one > 1e-6 else groups * one
    return float("inf")


def pittel_rounds(
    size: ArrayLike, fan_out: ArrayLike, arrival: ArrayLike = 1.0, constant: ArrayLike = 0.0
) -> Values:
    """Return T(n, F) = ln n (1/F' + 1/ln(F' + 1)) + c, with F' = F (1-ε)(1-τ) (Equations 4, 5).

    The result is a real number of rounds; the `constant` stands for c + O(1). It is an asymptote
    for large n, 0 for n = 1, negative for an expected number n below 1, and infinite for F' = 0
    (but at n = 1). Raises `ValueError` for a negative size or fan-out, or an arrival outside [0,
    1].
    """
    n = numbers(size, 0, "size")
    effective = numbers(fan_out, 0, "fan_out") * numbers(arrival, 0, "arrival", 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounds = np.log(n) * (1 / effective + 1 / np.log1p(effective))
    rounds = np.where((effective == 0) & (n == 1), 0.0, rounds)
    return np.asarray(rounds + np.asarray(constant, dtype=np.float64))


def whole_rounds(rounds: float) -> int:
    """Return for how many rounds an event is gossiped while `rounds < T` (Figure 1, line 6)."""
    return max(0, ceil(rounds))
