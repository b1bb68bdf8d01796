"""Where CAMCAST and the three baselines change places (paper 000, 4.3.2 to 4.6.2).

Section 4 compares orders of growth, and says of memory only for which z. These are the points
themselves, for constants c that are given; `camcast.models.camcast.reliability` has those of 4.5.2,
where the constants follow from equal reliability at the root. Every function takes floats or arrays
of numpy and broadcasts; `sizes` lists communities along its last axis, from the event's own to the
root, and everybody in them is interested in the event.

Messages (4.3.2)
----------------
CAMCAST sends its upward messages besides, and saves, as smaller groups have smaller tables. With
the same c everywhere and nobody outside the hierarchy, it saves n ln n - Σ N_i ln N_i = n H against
(a), where H is the entropy, in nats, of the shares N_i / n. So it sends less if g a (x - 1) < n H.
The *margin* is how many upward messages it may send: negative where it sends more without any.
Against Equation 4 the margin is 0: the publisher gossips in each community by itself, without any
upward message. Against the group that 4.4.2 has of (b), one of all interested, it is that of (a).

Memory (4.4.2)
--------------
How large a super-topic table may be before a process of CAMCAST stores more.

Latency (4.6.2)
---------------
R_n grows so slowly that a broadcast is as slow as CAMCAST for a huge n only: beside three
communities of 100, which take 8.0 rounds by `latency.latency_avg`, from 2 · 10^11 processes on.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from camcast.models.camcast.memory import gossip_table, hierarchical_memory, multicast_memory
from camcast.models.camcast.messages import (
    Values,
    gossip_messages,
    hierarchical_messages,
    levels,
    multicast_messages,
    numbers,
)


def broadcast_message_margin(
    sizes: ArrayLike,
    c: ArrayLike,
    processes: ArrayLike | None = None,
    c_broadcast: ArrayLike | None = None,
) -> Values:
    """Return how many upward messages cost CAMCAST as much as (a): n (ln n + c) - Σ N (ln N + c).

    `processes` is n, by default those of all communities; `c_broadcast` by default the largest
    c. Also the margin to (b) as one group of everybody interested. Raises `ValueError` for a
    size below 1, or fewer processes than the communities have.
    """
    sizes, c = levels(sizes, c)
    everybody = sizes.sum(axis=-1)
    n = everybody if processes is None else np.asarray(processes, dtype=np.float64)
    numbers(n - everybody, 0, "processes outside")
    theirs = gossip_messages(n, c.max(axis=-1) if c_broadcast is None else c_broadcast)
    return np.asarray(theirs - multicast_messages(sizes, c))


def hierarchical_message_margin(
    sizes: ArrayLike,
    c: ArrayLike,
    clusters: ArrayLike,
    cluster_size: ArrayLike,
    c1: ArrayLike,
    c2: ArrayLike,
) -> Values:
    """Return how many upward messages cost CAMCAST as much as (c): Equation 5 - Equation 4.

    With C m = n and equal constants it is that of (a) and n c besides.
    """
    return np.asarray(
        hierarchical_messages(clusters, cluster_size, c1, c2) - multicast_messages(sizes, c)
    )


def broadcast_z_limit(
    size: ArrayLike, processes: ArrayLike, c: ArrayLike, c_broadcast: ArrayLike | None = None
) -> Values:
    """Return up to which z a process stores no more than with (a): ln(n/N_t) for equal c."""
    theirs = gossip_table(processes, c if c_broadcast is None else c_broadcast)
    return np.asarray(theirs - gossip_table(size, c))


def multicast_z_limit(sizes: ArrayLike, c: ArrayLike) -> Values:
    """Return the same against (b), level by level: the tables of all levels below.

    0 for the bottom, whose processes have a single table either way; for the root it says by how
    much CAMCAST's is smaller, as it has no super-topic table.
    """
    sizes, c = levels(sizes, c)
    return np.asarray(multicast_memory(sizes, c) - gossip_table(sizes, c))


def hierarchical_z_limit(
    size: ArrayLike,
    c: ArrayLike,
    clusters: ArrayLike,
    cluster_size: ArrayLike,
    c1: ArrayLike,
    c2: ArrayLike,
) -> Values:
    """Return the same against (c): ln(n/N_t) + c for equal constants and C m = n."""
    return np.asarray(hierarchical_memory(clusters, cluster_size, c1, c2) - gossip_table(size, c))


def logarithm_for_rounds(rounds: ArrayLike) -> Values:
    """Return ln N of the N whose R_N = ln N / ln ln N are so many rounds (Equation 12, solved).

    Beyond it a broadcast takes longer. The logarithm, as N itself would overflow from 125 rounds
    on. Raises `ValueError` below e rounds, the least that Equation 12 has.
    """
    wanted = numbers(rounds, np.e, "rounds")
    # Newton's method on the convex y - R ln y, from above: it falls towards the solution.
    y = 2 * wanted * np.log(wanted)
    for _ in range(_STEPS):
        slope = np.maximum(1 - wanted / y, _FLAT)
        y = np.maximum(wanted, y - (y - wanted * np.log(y)) / slope)
    return np.asarray(y)


_STEPS: Final = 60  # chosen: at e rounds, the worst, each halves the distance
_FLAT: Final = 1e-9  # chosen: at e rounds the slope is 0 in the solution
