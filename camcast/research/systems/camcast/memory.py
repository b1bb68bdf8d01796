"""How many entries a process keeps in its tables (paper 000, section 4.4).

Every function takes floats or arrays of numpy and broadcasts; the unit is table entries a
process, as real numbers (a table of whole entries has at most one more). `sizes` lists
communities along its last axis, from the bottom, Π_{t_{x-1}}, to the root, Π_{t_0}.

Section 4.4.2 concludes "that the memory complexity of a process is always smaller in our
algorithm than in approaches (b) and (c) and sometimes even in approach (a)". The formulas say:

* (b) keeps one table for each topic from a process's own down to the bottom. A process of the
  bottom-most topic has a single table, z entries fewer than with CAMCAST. From the second level on
  CAMCAST's are smaller if z < the sum of ln N + c over the levels below: in the paper's setting 3
  against 11.9. At the root, where there is no super-topic table, CAMCAST's are never larger.
* (c) keeps more if z + c_t < ln(n/N_t) + c1 + c2. With equal constants that is z < ln(n/N_t) + c,
  which holds for c = 5, z = 3 throughout, but not for c = 0 and a community of n/20 or more.
* (a) keeps more if z < ln(n/N_t): for z = 3, where the community has less than 1/20 of all
  processes. At the root (a) always keeps at least as much.

These compare at equal constants c; `camcast.research.systems.camcast.reliability` does at equal
*reliability*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from camcast.research.systems.camcast.message_equations import Values, levels, numbers


def gossip_table(size: ArrayLike, c: ArrayLike) -> Values:
    """Return ln N + c, but at least 0: a topic table (4.4.1).

    With N = n it is the table of (a), a broadcast to all n processes (4.4.2). Raises `ValueError`
    for a size below 1.
    """
    logarithm = np.log(numbers(size, 1, "size"))
    return np.asarray(np.maximum(0.0, logarithm + np.asarray(c, dtype=np.float64)))


def camcast_memory(size: ArrayLike, c: ArrayLike, z: ArrayLike = 0.0) -> Values:
    """Return ln N + c + z: a topic table and a super-topic table (4.4.1); at the root z is 0.

    A process has a super-topic table for each super-topic (3.6): give the sum of their z. Raises
    `ValueError` for a size below 1 or a negative z.
    """
    return np.asarray(gossip_table(size, c) + numbers(z, 0, "z"))


def multicast_memory(sizes: ArrayLike, c: ArrayLike) -> Values:
    """Return (b) gossip multicast, level by level: the running sum of ln N + c (4.4.2).

    Entry j along the last axis is for a process interested in the j-th topic from the bottom, which
    keeps a table for that topic and for each of its subtopics. The last entry is the root's, with
    x tables.
    """
    sizes, c = levels(sizes, c)
    return np.asarray(np.cumsum(gossip_table(sizes, c), axis=-1))


def hierarchical_memory(
    clusters: ArrayLike, cluster_size: ArrayLike, c1: ArrayLike, c2: ArrayLike
) -> Values:
    """Return (c) hierarchical gossip broadcast: ln m + ln C + c1 + c2 (4.4.2).

    C clusters of m processes each. Raises `ValueError` for C or m below 1.
    """
    return np.asarray(gossip_table(cluster_size, c1) + gossip_table(clusters, c2))
