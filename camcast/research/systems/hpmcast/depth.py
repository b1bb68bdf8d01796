"""Whether the depth of a hierarchy changes the rounds of a broadcast (002, 6.2, Equation 28).

For p_1 = 1 the sum of Equation 21, (l-1) T(aR, F) + T(a, F) - (l-1) T(R, F), is T(n, F): an
identity of logarithms, for every l with a^l = n. Each T is an asymptote with a c + O(1) that the
sum drops, though, once a level. `needed_rounds` takes the rounds that a level *needs*, by the chain
of Equation 2, instead: until all of its view have the event, from one publisher in the topmost
level and from R delegates in those below.
"""

from __future__ import annotations

from functools import cache

from camcast.research.systems.hpmcast.view_equations import level_view
from camcast.research.systems.rfpbcast.rfpbcast_equations import completion_rounds


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
    """
    rounds = 0.0
    for level in range(depth, 0, -1):
        view, begin = level_view(arity, redundancy, level), 1 if level == depth else redundancy
        groups = arity ** (depth - level) if of_all else 1
        rounds += completion_rounds(view, fan_out, 1.0, begin, groups)
    return rounds
