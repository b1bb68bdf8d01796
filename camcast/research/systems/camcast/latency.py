"""How many rounds an event takes (paper 000, section 4.6).

Every function takes floats or arrays of numpy and broadcasts; the unit is rounds, of which a
copy takes one. `sizes` lists communities along its last axis, from the event's own to the root.

R_N = ln N / ln ln N + O(1) (Equation 12) is an asymptote for large N, if each process gossips to
about ln N others and nothing is lost. A simulation measures the last round in which a process
*sends*; the last process *receives* the event a round before. With c = 5 that round is later than
ln N / ln ln N by

    N             100   1,000   10^4   10^6   10^9   10^12
    no loss       1.0    1.5     1.9    1.8    2.2    2.7
    15 % lost     1.4    2.0     1.9    2.7    2.9    2.7
    half lost     2.7    3.5     3.9    4.7    5.2    5.6

so that the O(1) is 1 to 3 in practice. With loss it is no constant: the event spreads by the factor
k · p_succ a round, and ln N / ln(k · p_succ) grows faster than ln N / ln ln N. The steps are there
because rounds and fan-outs are whole numbers. `camcast.research.systems.camcast.model` predicts the
round to within 0.2 (0.4 for N = 10).

ln N / ln ln N does not hold for few processes: it has its least value, e, at N = e^e = 15.2,
*grows* again below, is infinite at N = e and negative below that. Here, `rounds` keeps the value e
from N = e^e down to N = 2 and is 0 for a lone process.

The comparison of 4.6.2, "O(R_Nmax) for all algorithms except for the gossip-based broadcast
which has a latency of O(R_n)", takes x and C for constants. R grows so slowly that the sum over
levels is what counts: in the paper's setting R_n is 3.6 and CAMCAST's worst case 11.3. Beside three
communities of 100, which take 8.0 rounds by `latency_avg`, a broadcast takes longer from
n = 2 · 10^11 on.
"""

from __future__ import annotations

from math import e
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from camcast.research.systems.camcast.message_equations import Values, levels, numbers

SIZE_OF_LEAST: Final = e**e
"""Where ln N / ln ln N has its minimum, of e."""


def rounds(size: ArrayLike, constant: ArrayLike = 0.0) -> Values:
    """Return R_N = ln N / ln ln N + O(1) (Equation 12), with `constant` for the O(1).

    This is also the latency of (a), a gossip broadcast to N processes (4.6.2). For 2 <= N <= e^e
    the quotient is held at its minimum e, for N = 1 it is 0. Raises `ValueError` for a size below
    1.
    """
    size = numbers(size, 1, "size")
    logarithm = np.log(np.maximum(size, SIZE_OF_LEAST))
    asymptote = np.where(size > 1, logarithm / np.log(logarithm), 0.0)
    return np.asarray(asymptote + np.asarray(constant, dtype=np.float64))


def latency_min(sizes: ArrayLike, constant: ArrayLike = 0.0) -> Values:
    """Return the best case: (j - i) + R_{N_i}, the event climbs at once from each level (4.6.1).

    j - i is the length of the last axis less one; R is that of its last community.
    """
    sizes, constant = levels(sizes, constant)
    return np.asarray(sizes.shape[-1] - 1 + rounds(sizes, constant)[..., -1])


def latency_max(sizes: ArrayLike, constant: ArrayLike = 0.0) -> Values:
    """Return the worst case: the sum of R_{N_k} + (j - i), level after level (4.6.1)."""
    sizes, constant = levels(sizes, constant)
    return np.asarray(sizes.shape[-1] - 1 + rounds(sizes, constant).sum(axis=-1))


def latency_avg(sizes: ArrayLike, constant: ArrayLike = 0.0) -> Values:
    """Return the average case: the event climbs after R/2 rounds of each community (4.6.1).

    That is the sum of R_{N_k} / 2 over all communities but the last + R_{N_i} + (j - i). The paper
    halves R in the last community too, where nothing climbs and all R rounds are needed: for a
    single community its average would be R/2, less than its best case R. The order is the same.
    """
    sizes, constant = levels(sizes, constant)
    each = rounds(sizes, constant)
    halves = (each.sum(axis=-1) + each[..., -1]) / 2
    return np.asarray(sizes.shape[-1] - 1 + halves)


def multicast_latency(sizes: ArrayLike) -> Values:
    """Return the largest R_{N_k}: (b) gossip multicast, in all communities at once (4.6.2)."""
    (sizes,) = levels(sizes)
    return np.asarray(rounds(sizes).max(axis=-1))


def hierarchical_latency(clusters: ArrayLike, cluster_size: ArrayLike) -> Values:
    """Return R_C + R_m: (c), first among the C clusters, then within the last, of m (4.6.2).

    The paper says O(R_Nmax), for which C must be a constant and m <= N_max. For C = 1 it is R_m. If
    every process sends to other clusters (Equation 5), the event spreads among and within clusters
    at the same time, and the latency is about R_n: 5.0 rounds for 33 clusters of 33 or 34, where
    one group of all takes 5.3, both with 15 % lost and c = 5.
    """
    C, m = numbers(clusters, 1, "clusters"), numbers(cluster_size, 1, "cluster_size")
    return np.asarray(np.where(C > 1, rounds(C), 0.0) + rounds(m))
