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

from camcast.models.camcast.memory import gossip_table
from camcast.models.camcast.messages import Values, multicast_messages, numbers


def message_margin(sizes: ArrayLike, c: ArrayLike, theirs: ArrayLike) -> Values:
    """Return how many upward messages cost CAMCAST as much as an alternative: theirs - Equation 4.

    `theirs` are the messages of the alternative (`camcast.models.camcast.messages`): of (a) to all
    n processes `gossip_messages`, of (c) `hierarchical_messages`, which with C m = n and equal
    constants has n c more. Raises `ValueError` for a size below 1.
    """
    return np.asarray(np.asarray(theirs, dtype=np.float64) - multicast_messages(sizes, c))


def z_limit(size: ArrayLike, c: ArrayLike, theirs: ArrayLike) -> Values:
    """Return up to which z a process stores no more than with an alternative: theirs - (ln N + c).

    `theirs` are the entries that the alternative keeps (`camcast.models.camcast.memory`): of (a)
    `gossip_table`, of (b) `multicast_memory`, level by level, of (c) `hierarchical_memory`. With
    equal constants and C m = n the limit is ln(n/N_t) for (a) and ln(n/N_t) + c for (c). For (b) it
    is 0 at the bottom, whose processes have a single table either way; at the root, where CAMCAST
    has no super-topic table, it says by how much CAMCAST's table is smaller.
    """
    return np.asarray(np.asarray(theirs, dtype=np.float64) - gossip_table(size, c))


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
