"""How many messages an event costs: Equations 1 to 5 (paper 000, section 4.3).

Every function takes floats or arrays of numpy and broadcasts. `sizes` and the parameters beside it
list the communities along their *last* axis, from the event's own, Π_{t_{x-1}}, to the root,
Π_{t_0}; x is the length of that axis. A constant c may be one number for all communities.

The equations count *all* members of a community as senders ("in the ideal case", 4.3.1), and take
the real number ln N + c for the fan-out. The algorithm sends to ceil(ln N + c) members, at most to
N - 1; `camcast.research.systems.camcast.model` counts that way, and only members that have the
event. In the paper's setting (6.1.1: 1,000, 100 and 10 processes) without loss, Equation 1 gives
12,951 messages and `predict` 13,056, as fan-outs are 12, 10 and 8 instead of 11.9, 9.6 and 7.3, and
as one event in 34 does not climb.

Beside one group of all n processes, with the same c and nobody outside the hierarchy, smaller
groups save n ln n - Σ N_i ln N_i = n H messages, where H is the entropy, in nats, of the shares
N_i / n. CAMCAST sends less than (a) if it sends fewer than n H upward messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]


def numbers(values: ArrayLike, low: float, name: str, high: float = np.inf) -> Values:
    """Return the values as an array; raise `ValueError` unless all are in [low, high]."""
    array = np.asarray(values, dtype=np.float64)
    if not bool(np.all((array >= low) & (array <= high))):
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], not {values!r}")
    return array


def levels(*values: ArrayLike) -> list[Values]:
    """Return the values as arrays with a last axis of communities, broadcast to each other."""
    arrays: list[Any] = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values]
    return [np.asarray(array) for array in np.broadcast_arrays(*arrays)]


def gossip_messages(size: ArrayLike, c: ArrayLike) -> Values:
    """Return N (ln N + c): copies that `size` members send if all of them have the event (4.3.1).

    With N = n these are the messages of (a), a broadcast to all n processes (4.3.2). The algorithm
    sends up to one message a process more, as it rounds the fan-out up, and fewer where ln N + c
    exceeds N - 1, the number of others: in a community of 7 with c = 5 the formula is 16 % too
    high. Raises `ValueError` for a size below 1.
    """
    size = numbers(size, 1, "size")
    fan_out = np.maximum(0.0, np.log(size) + np.asarray(c, dtype=np.float64))
    return np.asarray(size * fan_out)


def upward_messages(
    size: ArrayLike, p_sel: ArrayLike, p_a: ArrayLike, z: ArrayLike, p_succ: ArrayLike = 1.0
) -> Values:
    """Return nbUpwardMsg = N p_sel p_a z p_succ: upward copies that are *received* (4.3.1).

    p_succ is the probability that a copy arrives and finds its receiver alive, (1 - loss)(1 -
    crash); with p_succ = 1 the result is the copies *sent*, which Figure 14 counts. The mean is
    exact if all N members have the event; multiply by their share π otherwise. Raises `ValueError`
    for a probability outside [0, 1], a size below 1 or a z below 0.
    """
    product = numbers(size, 1, "size") * numbers(p_sel, 0, "p_sel", 1) * numbers(p_a, 0, "p_a", 1)
    return product * numbers(z, 0, "z") * numbers(p_succ, 0, "p_succ", 1)


def camcast_messages(
    sizes: ArrayLike,
    c: ArrayLike,
    p_sel: ArrayLike,
    p_a: ArrayLike,
    z: ArrayLike,
    p_succ: ArrayLike = 1.0,
) -> Values:
    """Return Equation 1: the messages of an event from the bottom to the root.

    This is the sum, over the last axis of `sizes`, of `gossip_messages` of all communities and of
    `upward_messages` of all but the last, the root, which sends none. As in the paper, the upward
    sum counts copies received and the other copies sent; with p_succ = 1 both count copies sent.
    """
    sizes, c, p_sel, p_a, z, p_succ = levels(sizes, c, p_sel, p_a, z, p_succ)
    upward = upward_messages(sizes, p_sel, p_a, z, p_succ)[..., :-1]
    return np.asarray(gossip_messages(sizes, c).sum(axis=-1) + upward.sum(axis=-1))


def camcast_messages_bound(
    depth: ArrayLike, size_max: ArrayLike, c_max: ArrayLike, z_max: ArrayLike
) -> Values:
    """Return Equation 2: x N (ln N + c) + x N ln N z, with the largest N, c and z of all.

    The paper states the bound for N > 1, but its step from z to z ln N needs ln N >= 1, that is
    N >= 3. For N = 2, c = 0, z = 3 and x = 9, with p_sel = p_a = p_succ = 1, Equation 1 is 60.5
    and the printed Equation 2 is 49.9. Here the ln N beside z counts as at least 1, which makes a
    bound for every N >= 1 and changes nothing from N = 3 on. Raises `ValueError` for a size or
    depth below 1 or a negative z.
    """
    x, size = numbers(depth, 1, "depth"), numbers(size_max, 1, "size_max")
    z = numbers(z_max, 0, "z_max")
    return np.asarray(x * (gossip_messages(size, c_max) + size * np.maximum(1.0, np.log(size)) * z))


def camcast_messages_order(
    depth: ArrayLike, size_max: ArrayLike, c_max: ArrayLike, z_max: ArrayLike
) -> Values:
    """Return Equation 3: x N ln N (1 + c + z), which shows the order O(x N ln N).

    ln N counts as at least 1, as in `camcast_messages_bound`, which this bounds for c >= 0 (for a
    negative c, c ln N is no bound on c). Raises `ValueError` as that does, and for c < 0.
    """
    x, size = numbers(depth, 1, "depth"), numbers(size_max, 1, "size_max")
    constants = 1 + numbers(c_max, 0, "c_max") + numbers(z_max, 0, "z_max")
    return np.asarray(x * size * np.maximum(1.0, np.log(size)) * constants)


def multicast_messages(sizes: ArrayLike, c: ArrayLike) -> Values:
    """Return Equation 4: (b) gossip multicast, the sum of N (ln N + c) over all communities.

    It is Equation 1 without the upward messages: the publisher itself gossips the event in each
    community, for which it needs a table of each. `camcast.research.systems.baselines.multicast`
    gossips in one group of all these communities instead, which takes more: `gossip_messages` of
    the sum of their sizes.
    """
    sizes, c = levels(sizes, c)
    return np.asarray(gossip_messages(sizes, c).sum(axis=-1))


def hierarchical_messages(
    clusters: ArrayLike, cluster_size: ArrayLike, c1: ArrayLike, c2: ArrayLike
) -> Values:
    """Return Equation 5: (c) hierarchical gossip broadcast, C m (c1 + c2 + ln C + ln m).

    There are C clusters of m processes each, whatever their interests; c1 is the constant within a
    cluster, c2 the one between clusters, and every process sends to both of its tables. Raises
    `ValueError` for C or m below 1.
    """
    C, m = numbers(clusters, 1, "clusters"), numbers(cluster_size, 1, "cluster_size")
    constants = np.asarray(c1, dtype=np.float64) + np.asarray(c2, dtype=np.float64)
    return np.asarray(C * m * (constants + np.log(C) + np.log(m)))


def flooded_parasites(
    fan_out: ArrayLike, processes: ArrayLike, interested: ArrayLike, p_succ: ArrayLike = 1.0
) -> Values:
    """Return k p_succ (n - n_1): parasites an event, if all n send to k others, uniformly.

    A parasite is a copy that arrives at a living process whose interests do not include the event;
    the first copy and every later one count. CAMCAST and (b) gossip multicast have none, as copies
    go to interested processes only.

    Table 2 of 000, 6.1.2 prints 11216, 1699 and 3739 parasites of (a) for an event of the root
    topic, without the formula. They are floor(ln n + c) · 0.85 · (processes outside the root's
    community), to within 0.06 %: a fan-out that is rounded *down*. With the fan-out rounded up, as
    the algorithm here has it, they are 12155, 1870 and 4080.

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
