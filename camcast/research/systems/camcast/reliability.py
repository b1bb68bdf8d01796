"""How probable it is that everybody receives an event (paper 000, section 4.5).

The paper's forms
-----------------
If N members gossip to ln N + c others each, all are reached with probability e^(-e^-c), an
asymptote for large N. An event climbs with probability pit (Equation 6). The reliability is the
product of these probabilities on the way up. Every function takes floats or arrays of numpy and
broadcasts.

Three readings of that product differ from each other, and the paper prints the first:

1. ∏_{i=x-1..j} e^(-e^-c_i) pit_i has as many climbs as communities. But an event that is to
   reach Π_{t_j} from the bottom climbs once less: pit_{t_j} takes it *out* of Π_{t_j}, and from the
   root nothing climbs. `joint_reliability` leaves pit_{t_j} out.
2. Even so it is the probability that everybody *in all communities up to* Π_{t_j} receives it.
3. The definition in 4.5.1 ("every process interested in topic t_i") is about one community, and the
   communities below need not be complete: e^(-e^-c_j) ∏ pit_i, `community_reliability`.

How far from the exact chain
----------------------------
`final_size` is the exact law of how many members have the event in the end. Against it, with a
fan-out of k = ceil(ln N + c) and c' = k - ln N, no loss and no crash, e^(-e^-c') is too low (in the
publisher's community; docs/research/models.md has the table): at c = 0 by 0.169 for N = 10, by
0.041 for N = 100 and by 0.008 for N = 1,000; at c = 5 by 0.0033, 0.0019 and 0.0004. e^(-e^-c), of
the constant before rounding up, is lower still, by up to 0.41.

With loss or crashes e^(-e^-c) does not apply: what counts is the number of copies that *take
effect*, k · p_succ. In the paper's setting with half of the processes stillborn, the community of
1,000 is complete with probability 0.053, where e^(-e^-5) is 0.993. Use
`camcast.research.systems.camcast.model` there.

The conditions of 4.5.2
-----------------------
They say for which c CAMCAST can be as reliable as (a), (b) and (c) *at the root*, if all
communities have the same N_t, c1, z and pit. Let w = -(climbs) ln pit >= 0. The paper counts x
climbs, where x - 1 are right (see above); `climbs=x` gives the printed results. From the equality
of the products,

    (a)  x e^-c1 + w = e^-c
    (b)  x e^-c1 + w = x e^-c
    (c)  x e^-c1 + w = (C + 1) e^-c

so that with s = 1, x, C + 1 respectively c1 = ln x - ln(s e^-c - w): the paper's three results
follow by taking out e^-c. Its derivations have misprints (a minus lost in (a), "t" for x, a
condition in (c) that names one bound twice); its results for c1 are right. The conditions:

* c < ln(s/w). The paper has "<=", but at equality c1 is infinite. The paper adds that beyond the
  bound the same reliability is out of reach "no matter what is the size of the super-topic table".
  It is not: pit contains z, g and a, and the bound is infinite when pit is 1.
* c1 >= 0, that is c >= ln(s/(x + w)). For (a) and (b) this is negative or 0, and the paper's
  c >= 0 is sufficient, but not necessary ("if c < 0 [...] we cannot" is wrong). The algorithm does
  not need c1 >= 0, only ln N + c1 > 0; the condition is kept because the paper states it.
* The bound on z: ln N_t + c1 + z is at most the table of the alternative. The paper's bounds for
  (a) and (b) follow. Its bound for (c), c + ln C + ln(C + 1 + x e^c ln pit) - ln x, holds only for
  m = N_t (clusters as large as communities), and in 004 a parenthesis is missing besides.
* For (a) the bound on z is ln(n / (x N_t)) + ln(1 - w e^c). If the hierarchy is the whole system
  (n = x N_t) it is at most 0, which no z meets. CAMCAST pays off when n >> x N_t e^z. For (b) the
  left side is a process with a super-topic table and the right the root's x tables: no process
  has both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camcast.research.systems.camcast.message_equations import Values, levels, numbers

_WIDTH_KEPT: Final = 128  # chosen: 256 matrices of that width are 32 MB

# -- the paper's forms -----------------------------------------------------------------------


def gossip_reliability(c: ArrayLike) -> Values:
    """Return e^(-e^-c): all of a large community receive, at a fan-out of ln N + c (4.5.1, 2.2).

    This is also the reliability of (a), the broadcast (4.5.2). It is an asymptote for N → ∞ without
    loss or crashes; the module's text says how far it is from the exact chain.
    """
    return np.asarray(np.exp(-np.exp(-np.asarray(c, dtype=np.float64))))


def climb_probability(
    size: ArrayLike, p_sel: ArrayLike, p_a: ArrayLike, z: ArrayLike, p_succ: ArrayLike
) -> Values:
    """Return pit = 1 - (1 - p_succ)^(N p_sel p_a z) (Equation 6), which is too high.

    `size` is N π, the members that have the event; nbSuscProc of 4.5.1 is N π p_sel. p_succ is the
    probability that a copy arrives and finds its receiver alive, (1 - loss)(1 - crash). The
    equation raises the probability that one copy is lost to the *mean* number of copies, as if that
    many were always sent; by Jensen's inequality pit is above `exact_climb_probability`. With the
    paper's g = 5, a = 1 and z = 3 in a community of 1,000 it is 0.99992 at p_succ = 0.85 where
    0.958 is exact, and 1 at p_succ = 1 where 0.971 is. Raises `ValueError` for a size below 1, a z
    below 0 or a probability outside [0, 1].
    """
    copies = numbers(size, 1, "size") * numbers(p_sel, 0, "p_sel", 1) * numbers(p_a, 0, "p_a", 1)
    copies = copies * numbers(z, 0, "z")
    return np.asarray(1 - (1 - numbers(p_succ, 0, "p_succ", 1)) ** copies)


def exact_climb_probability(
    size: ArrayLike, p_sel: ArrayLike, p_a: ArrayLike, z: ArrayLike, p_succ: ArrayLike
) -> Values:
    """Return 1 - (1 - p_sel (1 - (1 - p_a p_succ)^z))^M: at least one of M members' copies arrives.

    `size` is M, the members that have the event. Each is a link with probability p_sel, and then
    sends to each of z entries with probability p_a; such a copy arrives at a living process with
    p_succ. This is exact for a given M if the crashes of the entries are independent, as in a
    super-community that is large beside the number of copies. Raises `ValueError` as
    `climb_probability`.
    """
    p_copy = numbers(p_a, 0, "p_a", 1) * numbers(p_succ, 0, "p_succ", 1)
    link = numbers(p_sel, 0, "p_sel", 1) * (1 - (1 - p_copy) ** numbers(z, 0, "z"))
    return np.asarray(1 - (1 - link) ** numbers(size, 1, "size"))


def joint_reliability(c: ArrayLike, pit: ArrayLike) -> Values:
    """Return ∏ e^(-e^-c_i) ∏ pit_i: all members of the communities up to the j-th have the event.

    The last axis runs from the event's own community to the root; entry j of the result is for the
    communities up to the j-th. The last pit, which would leave the root, does not count, as it does
    in the paper's product (4.5.1).
    """
    c, pit = levels(c, pit)
    return np.asarray(np.cumprod(gossip_reliability(c), axis=-1) * _climbs(pit))


def community_reliability(c: ArrayLike, pit: ArrayLike) -> Values:
    """Return e^(-e^-c_j) ∏_{i<j} pit_i: all members of the j-th community from the bottom have it.

    This is the reliability that 4.5.1 defines and that a simulation measures. The communities below
    need not be complete for it, but their members that have the event must suffice for pit.
    """
    c, pit = levels(c, pit)
    return np.asarray(gossip_reliability(c) * _climbs(pit))


def _climbs(pit: Values) -> Values:
    """Return for each community the product of pit of the communities below it; 1 for the first."""
    pit = numbers(pit, 0, "pit", 1)
    ones = np.ones_like(pit[..., :1])
    return np.asarray(np.cumprod(np.concatenate([ones, pit[..., :-1]], axis=-1), axis=-1))


def multicast_reliability(c: ArrayLike) -> Values:
    """Return the reliability of (b): the running product of e^(-e^-c_i), bottom up (4.5.2)."""
    (c,) = levels(c)
    return np.asarray(np.cumprod(gossip_reliability(c), axis=-1))


def hierarchical_reliability(clusters: ArrayLike, c1: ArrayLike, c2: ArrayLike) -> Values:
    """Return the reliability of (c): e^(-C e^-c1 - e^-c2), for C clusters (4.5.2, [24] there).

    It holds if a *cluster* sends ln C + c2 copies to others. If every process does, as Equation 5
    counts, the reliability is e^(-e^-(c1 + c2)), which is much larger: see
    `camcast.research.systems.baselines.model`. Raises `ValueError` for C below 1.
    """
    inner = numbers(clusters, 1, "clusters") * np.exp(-np.asarray(c1, dtype=np.float64))
    return np.asarray(np.exp(-inner - np.exp(-np.asarray(c2, dtype=np.float64))))


# -- the conditions of 4.5.2 ----------------------------------------------------------------


def c_range(
    share: ArrayLike, depth: ArrayLike, pit: ArrayLike, climbs: ArrayLike | None = None
) -> tuple[Values, Values]:
    """Return for which c of an alternative a c1 >= 0 makes CAMCAST as reliable at the root.

    The range includes the first value and not the second. `share` is s: 1 for (a), x for (b), and
    C + 1 for (c) with c1 = c2 = c. `depth` is x, `climbs` the number of pit in CAMCAST's product:
    x - 1 by default, x in the paper, whose ranges are [0, -ln(-x ln pit)] for (a), [0, -ln(-ln
    pit)] for (b). Raises `ValueError` for x or s below 1 or a pit outside [0, 1].
    """
    x, s = numbers(depth, 1, "depth"), numbers(share, 1, "share")
    w = _loss_of_climbs(x, pit, climbs)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(s / (x + w))), np.asarray(np.log(s) - np.log(w))


def equal_c1(
    share: ArrayLike,
    c: ArrayLike,
    depth: ArrayLike,
    pit: ArrayLike,
    climbs: ArrayLike | None = None,
) -> Values:
    """Return the c1 with which CAMCAST is as reliable at the root as an alternative with c.

    This solves Equations 7 to 11; `c_range` explains the arguments. With x climbs it is the paper's
    c - ln(1 + x e^c ln pit) + ln x for (a), c - ln(1 + e^c ln pit) for (b), and for (c), c_t = ln x
    + c - ln(x e^c ln pit + C + 1). nan where there is no such c1 (c is too large for this pit).
    """
    x, s = numbers(depth, 1, "depth"), numbers(share, 1, "share")
    left = s * np.exp(-np.asarray(c, dtype=np.float64)) - _loss_of_climbs(x, pit, climbs)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(x) - np.log(np.where(left > 0, left, np.nan)))


def _loss_of_climbs(depth: Values, pit: ArrayLike, climbs: ArrayLike | None) -> Values:
    """Return w = -(climbs) ln pit."""
    count = depth - 1 if climbs is None else numbers(climbs, 0, "climbs")
    with np.errstate(divide="ignore"):
        logarithm = np.log(numbers(pit, 0, "pit", 1))
    return np.asarray(-np.where(count > 0, count, 1) * logarithm * (count > 0))


# -- the exact chain -------------------------------------------------------------------------


def final_size(
    start: int, size: int, fan_out: int, arrival: float = 1.0, susceptible: int | None = None
) -> Values:
    """Return the exact law of infect-and-die: P(u susceptibles never receive), u = 0...

    Of a community of `size` processes `start` have the event at first, and `susceptible` can get it
    (by default all others; the rest are dead). Every process that has the event sends it to
    `fan_out` distinct others, each of which receives it with probability `arrival`.

    The order of sending does not matter for the outcome, so let processes send one after the other:
    s susceptibles left turn into s - d with a probability that depends on s only, and the chain
    ends when all that have the event have sent. That takes O(N^2 k) operations, all on positive
    numbers; the closed formulas for this law cancel catastrophically beyond N = 50. Raises
    `ValueError` for numbers that do not fit together.
    """
    susceptible = size - start if susceptible is None else susceptible
    if not (0 <= start <= start + susceptible <= size and 0 <= fan_out < max(size, 2)):
        raise ValueError(f"{start=}, {susceptible=} and {fan_out=} do not fit {size} processes")
    numbers(arrival, 0, "arrival", 1)
    law = np.zeros((1, susceptible + 1))
    law[0, susceptible] = 1.0
    return np.asarray(run_chain(law, np.array([start + susceptible]), size, fan_out, arrival)[0])


def run_chain(
    law: Values, alive: NDArray[np.int64], size: int, fan_out: int, arrival: float
) -> Values:
    """Return the laws of the susceptibles left in the end, for several initial laws at once.

    Row i of `law` is the law of the initial number of susceptibles in a community of `size` with
    `alive[i]` living processes.
    """
    width = law.shape[1]
    step = sending(size - 1, fan_out, arrival, width)
    left = np.arange(width)
    infected = alive[:, None] - left
    final: Values = np.zeros_like(law)
    running: Values = law
    for sent in range(int(alive.max(initial=0)) + 1):
        # where as many processes have sent as have the event, the chain has ended
        done = infected == sent
        final += np.where(done, running, 0.0)
        running = np.where(done, 0.0, running)
        if width <= _WIDTH_KEPT:
            running = running @ step
        else:  # only fan_out + 1 diagonals of the matrix are not 0
            before, running = running, np.zeros_like(law)
            for new in range(min(fan_out + 1, width)):
                running[:, : width - new] += before[:, new:] * np.diagonal(step, -new)
    return np.asarray(final)


def sending(others: int, copies: int, arrival: float, width: int) -> Values:
    """Return the matrix of one sender: P(s' of s susceptibles are left), s and s' below `width`.

    The sender chooses `copies` distinct processes of `others`, a hypergeometric number of them
    susceptible; each copy arrives with probability `arrival`.
    """
    if width > _WIDTH_KEPT:
        return _sending(others, copies, arrival, width)
    return _sending_kept(others, copies, arrival, width)


def _sending(others: int, copies: int, arrival: float, width: int) -> Values:
    matrix = np.zeros((width, width))
    thin = _binomials(copies, arrival)
    for s in range(width):
        hits = _hypergeometric(others, min(s, others), copies)
        new = (hits @ thin)[: s + 1]
        matrix[s, s - np.arange(len(new))] = new
    matrix.setflags(write=False)
    return matrix


_sending_kept = lru_cache(maxsize=256)(_sending)


def _binomials(trials: int, p: float) -> Values:
    """Return the matrix of P(j of i succeed), i and j up to `trials`."""
    matrix = np.zeros((trials + 1, trials + 1))
    matrix[0, 0] = 1.0
    for i in range(trials):
        matrix[i + 1] = matrix[i] * (1 - p)
        matrix[i + 1, 1:] += matrix[i, :-1] * p
    return matrix


def _hypergeometric(population: int, marked: int, drawn: int) -> Values:
    """Return P(j of those drawn are marked), j = 0..drawn.

    Each probability comes from the one before by their ratio, which is accurate for any population.
    """
    law = np.zeros(drawn + 1)
    low, high = max(0, drawn - (population - marked)), min(drawn, marked)
    law[low] = 1.0
    for hits in range(low, high):
        ways = (marked - hits) * (drawn - hits)
        law[hits + 1] = law[hits] * ways / ((hits + 1) * (population - marked - drawn + hits + 1))
    return np.asarray(law / law.sum())
