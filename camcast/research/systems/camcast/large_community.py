"""Large communities: how many members have the event in the end, on average.

A, the number of living members, has a normal law, taken at `_NODES` points. D of them have the
event at first. Gossip from one member dies out early with probability η, the least solution of
η = (1 - r + r η)^k, where r = arrival · (A-1)/(N-1). If it does not, the number of members that
have the event in the end is, by the mean field,

    M = D + (A - D) (1 - p^M),    p = 1 - k · arrival / (N - 1)

and the members that *nobody* would reach if all others sent are Poisson distributed with the mean
λ = (A - D) p^(A-1), so that all members have the event with probability e^-λ. (This is where
e^-e^-c comes from. λ has p^(A-1) and not the larger p^M: if nobody is missed, A - 1 others do send.
Pairs of members that only reach each other are neglected.)
"""

from __future__ import annotations

from math import log1p, sqrt
from typing import Final

import numpy as np

from camcast.research.systems.camcast.community_law import Climb, Given, Law
from camcast.research.systems.camcast.message_equations import Values

_NODES: Final = 7  # chosen: Gauss-Hermite, exact for polynomials of degree 13 in A
_NEGLIGIBLE: Final = 1e-10  # chosen: the error of a probability, below any simulation


def silence(climb: Climb, p_copy: Values) -> Values:
    """Return P(no upward copy succeeds), if each succeeds with probability `p_copy`.

    The number of members that may send one has the law `climb.infected`.
    """
    with np.errstate(divide="ignore"):
        logarithm = np.log1p(-climb.p_sel * (1 - (1 - p_copy) ** climb.links))
    powers = np.exp(np.multiply.outer(climb.infected.counts, logarithm))
    return np.asarray(climb.infected.weights @ powers)


def passed_over(climb: Climb, p_link: float) -> float:
    """Return P(a given member gets no copy), if a link sends it one with probability `p_link`."""
    logarithm = log1p(-min(climb.p_sel * p_link, 1 - 1e-15))
    return float(climb.infected.weights @ np.exp(climb.infected.counts * logarithm))


def alive_roughly(size: int, stillborn: float) -> tuple[Values, Values]:
    """Return numbers of living members, the nodes of A, and the weight of each node."""
    if stillborn == 0:
        return np.array([float(size)]), np.ones(1)
    points, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    alive = size * (1 - stillborn) + sqrt(size * stillborn * (1 - stillborn)) * points
    return np.clip(alive, 0.0, float(size)), np.asarray(weights / weights.sum())


def extinction(alive: Values, size: int, fan_out: int, arrival: float) -> Values:
    """Return η, the probability that gossip from one member dies out; 1 if it always does."""
    rate = arrival * np.maximum(alive - 1, 0.0) / (size - 1)
    eta = np.zeros_like(rate)
    for _ in range(200):  # chosen: geometric but at k·r = 1, where the model is poor anyway
        eta, before = (1 - rate + rate * eta) ** fan_out, eta
        if np.max(np.abs(eta - before)) < _NEGLIGIBLE:
            break
    return np.where(fan_out * rate <= 1, 1.0, eta)


def in_the_mean(
    alive: Values,
    chances: Values,
    size: int,
    fan_out: int,
    arrival: float,
    entered: Values,
    lost: Values,
    direct: float | Values,
) -> Given:
    """Return the outcome of gossip in a large community, over the nodes of A.

    `entered` is the probability that a living member has the event at first; `lost` the probability
    that it does not enter or that its gossip dies out; `direct` the share of the living that have
    it at first.
    """
    log_p = log1p(-min(fan_out * arrival / (size - 1), 1 - 1e-15))
    begun = alive * direct
    infected = alive.copy()
    for _ in range(200):  # from above, down to the largest solution
        following = begun + (alive - begun) * -np.expm1(infected * log_p)
        if np.max(np.abs(following - infected)) < 1e-9 * size:
            break
        infected = following
    taken = np.clip(1 - lost, 0.0, None)
    faded = np.clip(entered - taken, 0.0, None)
    everybody = np.exp(-(alive - begun) * np.exp((alive - 1) * log_p))
    # gossip that dies out reaches 1/(1 - m) members on average, if each infects m others
    rate = arrival * (alive - 1) / (size - 1)
    eta = extinction(alive, size, fan_out, arrival)
    mean_begun = np.minimum(fan_out * rate * (1 - rate + rate * eta) ** max(fan_out - 1, 0), 0.99)
    small = np.minimum(np.maximum(1.0, np.where(eta == 1, begun, 1.0)) / (1 - mean_begun), alive)
    return Given(
        float(chances @ entered),
        float(chances @ ((taken * infected + faded * small) / alive)),
        float(chances @ (taken * everybody)),
        Law(
            np.concatenate([infected, small]),
            np.concatenate([chances * taken, chances * faded]),
        ),
    )
