"""pmcast: gossip to everybody, filtered before sending (002, 2.2, Equations 6 to 9).

Of n processes n p_1 are interested, and of the F targets of a sender F p_1 on average. The
equations are those of rfpbcast for a system of n p_1 processes and a fan-out of F p_1.

Equation 6, the probability that one gossip reaches a given other interested process, is too large:
an interested sender chooses among n - 1 others, each with probability F/(n - 1); the print has
F p_1/(n p_1 - 1), which is larger by the factor (n - 1)/(n - 1/p_1). With n p_1 = 2 of n = 22 and
F = 2 that is 0.18 instead of 0.095. The functions here use the printed form;
`camcast.research.systems.hpmcast.pmcast_law` has the exact chain.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from camcast.research.systems.camcast.message_equations import Values, numbers
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law, infected_law, pittel_rounds


def pmcast_law(
    size: int, interested: float, fan_out: float, rounds: int, arrival: float = 1.0
) -> Law:
    """Return P[s_T = k], k = 0 to n p_1 rounded (Equations 6 to 8); at first one has the event.

    `interested` is p_1. Raises `ValueError` for a size below 1, a probability outside [0, 1] or
    negative rounds.
    """
    p_1 = float(numbers(interested, 0, "interested", 1))
    concerned = max(1, round(float(numbers(size, 1, "size")) * p_1))
    return infected_law(concerned, fan_out * p_1, rounds, arrival)


def pmcast_rounds(size: ArrayLike, interested: ArrayLike, fan_out: ArrayLike) -> Values:
    """Return T(n p_1, F p_1) (Equation 9), in rounds, if no copy is lost; see `pittel_rounds`.

    `interested` is p_1. As it decreases, T first grows and then falls, to 0 at n p_1 = 1 (Figure 9)
    and below 0 beyond. Raises `ValueError` for a size below 1 or a probability outside [0, 1].
    """
    p_1 = numbers(interested, 0, "interested", 1)
    return pittel_rounds(numbers(size, 1, "size") * p_1, numbers(fan_out, 0, "fan_out") * p_1)
