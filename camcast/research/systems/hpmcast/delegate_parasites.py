"""Parasites: delegates receive events that are not for them (002, 5.1).

"hpmcast is a feigned multicast" (5.1.1): a delegate receives what interests somebody it stands for.
"""

from __future__ import annotations

from camcast.research.systems.hpmcast.view_equations import interest_share


def uninterested_delegates(arity: int, depth: int, redundancy: int, interested: float) -> float:
    """Return how many uninterested processes receive an event, if nobody is missed; D = 0.

    Of a subsystem of level i with somebody interested the R delegates receive the event, whose
    own subsystem of level i - 1 need not be interested. By levels i = 1 to l - 1,

        a^(l-i) R (1-p_1) ((1-p_1)^(a^(i-1) - 1) - (1-p_1)^(a^i - 1))

    on average: those whose interested company begins at level i. Raises `ValueError` for p_1
    outside [0, 1].
    """
    interest_share(interested, 1)  # checks it
    left = 1.0 - interested
    total = 0.0
    for level in range(1, depth):
        alone = left ** (arity ** (level - 1) - 1) - left ** (arity**level - 1)
        total += arity ** (depth - level) * redundancy * left * alone
    return total
