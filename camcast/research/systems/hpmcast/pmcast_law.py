"""The exact chain of rfpbcast and pmcast: a sender's choices are distinct (002, Figures 1, 2).

A sender chooses F distinct processes of its `others`, of which s are susceptible: uninfected, alive
and, with pmcast, interested. The number of susceptible ones among the F is hypergeometric, and each
copy arrives with the same probability, independently. The senders of a round choose one after the
other; a process that an earlier sender has reached is no longer susceptible for a later one. All
susceptible processes are alike, so that the law of their number is all there is to compute.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from camcast.research.systems.camcast.message_equations import numbers
from camcast.research.systems.camcast.reliability import sending
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law

SUSCEPTIBLE_MAX: Final = 200  # chosen: powers of 80 MB
_STEP: Final = 32  # chosen: sizes between two multiples share their powers


def round_transitions(
    others: int, susceptible: int, fan_out: int, arrival: float = 1.0, infected: int = 1
) -> Law:
    """Return the matrix of P(a round leaves k of s susceptible), s and k from 0 up.

    Every process that has the event sends: `infected` of them when all `susceptible` are left.
    Raises `ValueError` for more than `SUSCEPTIBLE_MAX` susceptible processes, for fewer others than
    susceptible ones, or a probability outside [0, 1].
    """
    if not 0 <= susceptible <= SUSCEPTIBLE_MAX:
        raise ValueError(f"{susceptible} susceptible processes; give 0 to {SUSCEPTIBLE_MAX}")
    if others < susceptible:
        raise ValueError(f"{others} others, but {susceptible} of them susceptible")
    numbers(arrival, 0, "arrival", 1)
    most = min(others, _rounded(susceptible))
    powers = _powers(others, most, _rounded(infected + susceptible), fan_out, arrival)
    left = np.arange(susceptible + 1)  # with s of them left, infected + susceptible - s send
    matrix: Law = powers[infected + susceptible - left, left, : susceptible + 1]
    return matrix


@lru_cache(maxsize=4)
def _powers(others: int, susceptible: int, senders: int, fan_out: int, arrival: float) -> Law:
    """Return the matrices of 0, 1, … senders one after the other; `sending` is that of one."""
    one = sending(others, min(fan_out, others), arrival, susceptible + 1)
    powers = np.empty((senders + 1, *one.shape))
    powers[0] = np.eye(susceptible + 1)
    for sender in range(senders):  # `one` is a band matrix: the product needs few diagonals
        before, after = powers[sender], powers[sender + 1]
        after[:] = before * np.diag(one)
        for new in range(1, min(fan_out, susceptible) + 1):
            after[:, :-new] += before[:, new:] * np.diag(one, -new)
    powers.flags.writeable = False
    return powers


def _rounded(number: int) -> int:
    return -(-number // _STEP) * _STEP


@lru_cache(maxsize=4096)
def new_infected_law(
    others: int,
    susceptible: int,
    fan_out: int,
    rounds: int,
    arrival: float = 1.0,
    infected: int = 1,
) -> Law:
    """Return P(k of the susceptible have the event after so many rounds), k from 0 up.

    For rfpbcast among n processes `others` and `susceptible` are n - 1; for pmcast with n_1
    interested they are n - 1 and n_1 - 1. Dead processes are not susceptible. Raises `ValueError`
    as `round_transitions`, and for negative rounds.
    """
    numbers(rounds, 0, "rounds")
    matrix = round_transitions(others, susceptible, fan_out, arrival, infected)
    law = np.zeros(susceptible + 1)
    law[susceptible] = 1.0
    for _ in range(rounds):
        law = law @ matrix
    reached = law[::-1].copy()
    reached.flags.writeable = False  # the cache returns this array to every caller
    return reached


def completion_rounds(
    others: int, susceptible: int, fan_out: int, arrival: float = 1.0, infected: int = 1
) -> float:
    """Return the expected round after which all of the susceptible have the event.

    Infinite if copies never arrive. Raises `ValueError` as `round_transitions`.
    """
    if not susceptible:
        return 0.0
    if not fan_out * arrival:
        return float("inf")
    matrix = round_transitions(others, susceptible, fan_out, arrival, infected)
    # expected rounds with s left: one round, and the expected rounds of the states it leads to
    expected = np.zeros(susceptible + 1)
    for s in range(1, susceptible + 1):
        expected[s] = (1 + matrix[s, :s] @ expected[:s]) / (1 - matrix[s, s])
    return float(expected[susceptible])
