"""pmcast: gossip to everybody, filtered before sending (002, 2.2, Equations 6 to 9).

The interested are n p_1 of n processes, and of the F that a sender chooses, F p_1 in the mean.
So the equations are those of rfpbcast for a system of n p_1 processes and a fan-out of F p_1.

Equation 6 says more than it should: a sender that is interested itself chooses among n - 1
others, each with probability F/(n - 1); the print has F p_1/(n p_1 - 1), which is larger by the
factor (n - 1)/(n - 1/p_1). With n p_1 = 2 of n = 22 and F = 2 it is 0.18 instead of 0.095. It is
the printed one here; `camcast.models.pmcast_law` has the exact chain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from camcast.models.camcast.messages import Values, numbers
from camcast.models.rfpbcast import Law, infected_law, pittel_rounds, reach_probability


def pmcast_reach(
    size: ArrayLike, interested: ArrayLike, fan_out: ArrayLike, arrival: ArrayLike = 1.0
) -> Values:
    """Return p(n p_1, F p_1) (Equation 6): one gossip reaches a given other interested process.

    `interested` is p_1. 0 where n p_1 <= 1: there is no other. Raises `ValueError` for a size
    below 1 or a probability outside [0, 1].
    """
    p_1 = numbers(interested, 0, "interested", 1)
    concerned = np.maximum(1.0, numbers(size, 1, "size") * p_1)
    return reach_probability(concerned, numbers(fan_out, 0, "fan_out") * p_1, arrival)


def pmcast_law(
    size: int, interested: float, fan_out: float, rounds: int, arrival: float = 1.0
) -> Law:
    """Return P[s_T = k], k = 0 to n p_1 rounded (Equations 7, 8); one has it in the beginning.

    Raises `ValueError` for a size below 1, a probability outside [0, 1] or negative rounds.
    """
    p_1 = float(numbers(interested, 0, "interested", 1))
    concerned = max(1, round(float(numbers(size, 1, "size")) * p_1))
    return infected_law(concerned, fan_out * p_1, rounds, arrival)


def pmcast_rounds(
    size: ArrayLike,
    interested: ArrayLike,
    fan_out: ArrayLike,
    arrival: ArrayLike = 1.0,
    constant: ArrayLike = 0.0,
) -> Values:
    """Return T(n p_1, F p_1) (Equation 9), in rounds; see `pittel_rounds`.

    With few interested it first grows and then falls, to 0 at n p_1 = 1 (Figure 9) and below 0
    beyond. Raises `ValueError` for a size below 1 or a probability outside [0, 1].
    """
    p_1 = numbers(interested, 0, "interested", 1)
    concerned = numbers(size, 1, "size") * p_1
    return pittel_rounds(concerned, numbers(fan_out, 0, "fan_out") * p_1, arrival, constant)
