"""How many copies reach processes that are not interested (paper 000, 6.1.2, Table 2).

Every function takes floats or arrays of numpy and broadcasts; the unit is copies an event. A
parasite is a copy that arrives at a living process whose interests do not include the event, the
first and every later one. Every process that has the event is counted as a sender.

With CAMCAST and with (b) gossip multicast there are none, as copies go to the interested only.

Table 2 gives (a) 11216, 1699 and 3739 for an event of the root topic, without the formula. It is
floor(ln n + c) · 0.85 · (processes outside the root's community), to within 0.06 %: a fan-out that
is rounded *down*. Rounded up, as the algorithm here is, it is 12155, 1870 and 4080.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from camcast.models.camcast.messages import Values, numbers


def flooded_parasites(
    fan_out: ArrayLike, processes: ArrayLike, interested: ArrayLike, p_succ: ArrayLike = 1.0
) -> Values:
    """Return k p_succ (n - n_1): parasites if all n send to k others, uniformly.

    The fan-out k of (a) gossip broadcast is ln n + c (`memory.gossip_table`), that of (c)
    hierarchical gossip broadcast ln m + ln C + c1 + c2 (`memory.hierarchical_memory`). p_succ is
    the probability that a copy arrives and finds its receiver alive. Exact in the mean
    if all of n have the event: each of the uninterested then gets k copies in the mean. Raises
    `ValueError` for a negative fan-out or more interested than processes.
    """
    n = numbers(processes, 1, "processes")
    uninterested = numbers(n - np.asarray(interested, dtype=np.float64), 0, "uninterested")
    copies = numbers(fan_out, 0, "fan_out") * numbers(p_succ, 0, "p_succ", 1)
    return np.asarray(copies * uninterested)
