"""How many processes one of hpmcast knows: Equation 12 for addresses drawn uniformly (002, 4.1.3).

Each known process is counted once. A process knows its group of level 1, and R delegates, or all
processes if there are fewer, of each of the a - 1 other subsystems in every higher table. The
delegates of its own subsystems are already in the tables below.
"""

from __future__ import annotations

from math import comb, fsum

from camcast.research.systems.hpmcast.hierarchy import Hierarchy


def known_on_average(hierarchy: Hierarchy, size: float) -> float:
    """Return the mean number of processes that one of `size` knows besides itself."""
    a, depth, others = hierarchy.arity, hierarchy.depth, max(0.0, size - 1)
    known = others * float(a) ** (1 - depth)
    for level in range(2, depth + 1):
        share = float(a) ** (level - 1 - depth)  # of all addresses, in a line of this level
        known += (a - 1) * _mean_of_at_most(hierarchy.redundancy, int(others), share)
    return min(known, others)


def _mean_of_at_most(most: int, trials: int, share: float) -> float:
    """Return the mean of min(most, X) for a binomial X: the sum of P(X >= k), k = 1 to most."""
    most = min(most, trials)
    law = [comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(most)]
    return fsum(1 - fsum(law[:k]) for k in range(1, most + 1))
