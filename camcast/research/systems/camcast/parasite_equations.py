"""How many copies reach processes that are not interested (paper 000, 6.1.2, Table 2).

A parasite is a copy that arrives at a living process whose interests do not include the event; the
first copy and every later one count. CAMCAST and (b) gossip multicast have none, as copies go to
interested processes only.

Table 2 prints 11216, 1699 and 3739 parasites of (a) for an event of the root topic, without the
formula. They are floor(ln n + c) · 0.85 · (processes outside the root's community), to within
0.06 %: a fan-out that is rounded *down*. With the fan-out rounded up, as the algorithm here has it,
they are 12155, 1870 and 4080.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from camcast.research.systems.camcast.message_equations import Values, numbers


def flooded_parasites(
    fan_out: ArrayLike, processes: ArrayLike, interested: ArrayLike, p_succ: ArrayLike = 1.0
) -> Values:
    """Return k p_succ (n - n_1): parasites an event, if all n send to k others, uniformly.

    Takes floats or arrays of numpy and broadcasts. The fan-out k of (a) gossip broadcast is ln n +
    c (`memory.gossip_table`), that of (c) hierarchical gossip broadcast ln m + ln C + c1 + c2
    (`memory.hierarchical_memory`). p_succ is the probability that a copy arrives and finds its
    receiver alive. The mean is exact if all n have the event: k copies are then sent to each of the
    uninterested on average. Raises `ValueError` for a negative fan-out, a probability outside
    [0, 1] or more interested than processes.
    """
    n = numbers(processes, 1, "processes")
    uninterested = numbers(n - np.asarray(interested, dtype=np.float64), 0, "uninterested")
    copies = numbers(fan_out, 0, "fan_out") * numbers(p_succ, 0, "p_succ", 1)
    return np.asarray(copies * uninterested)
