"""Small communities: the exact law of how many members have the event in the end.

The links of the communities below decide the law of D, the number of members that have the event at
first. The exact chain of `camcast.research.systems.camcast.reliability` then runs for every number
A of living members, weighted by the binomial law.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from camcast.research.models.binomial import binomial
from camcast.research.systems.camcast.community_law import Climb, Given, Law
from camcast.research.systems.camcast.message_equations import Values
from camcast.research.systems.camcast.reliability import run_chain, sending

_NEGLIGIBLE: Final = 1e-10  # chosen: probability mass left out of a law, below any simulation
_LINKS_SEEN: Final = (
    20_000  # chosen: so many links reach a community of 64, if 1 copy in 10 arrives
)
_LINKS_MAX: Final = 128  # chosen: more links than that are counted in bundles


def alive_at_most(size: int, stillborn: float) -> int:
    """Return a number of living members that is exceeded with negligible probability only."""
    if stillborn == 0:
        return size
    mean = size * (1 - stillborn)
    # 8 standard deviations: a normal tail of 1e-15; 16: the Poisson's, for the small means
    return min(size, ceil(mean + 8 * sqrt(mean * stillborn)) + 16)


def alive_exactly(size: int, stillborn: float) -> tuple[NDArray[np.int64], Values]:
    """Return the numbers of living members that may occur, and the probability of each."""
    weights = binomial(size, 1 - stillborn, alive_at_most(size, stillborn))
    alive = np.flatnonzero(weights > _NEGLIGIBLE)
    return alive, weights[alive] / weights[alive].sum()


def enter_exactly(law: Values, climb: Climb, size: int) -> Values:
    """Let the links of a community below send their copies.

    Each row of `law`, and of the result, is a law of the members that do not have the event.
    """
    step = sending(size, climb.links, climb.p_a * climb.arrival, law.shape[1])
    number = _links(climb)
    bundle = ceil((len(number) - 1) / _LINKS_MAX)
    if bundle > 1:
        step = np.linalg.matrix_power(step, bundle)
        number = _bundled(number, bundle)
    result = number[0] * law
    for weight in number[1:]:
        law = law @ step
        result += weight * law
    return np.asarray(result)


def _links(climb: Climb) -> Values:
    """Return the law of the number of members that act as links."""
    counts, weights, p_sel = climb.infected.counts, climb.infected.weights, climb.p_sel
    mean = counts * p_sel
    most = int(min(counts.max(), np.max(mean + 8 * np.sqrt(mean)) + 17, _LINKS_SEEN))
    law = np.zeros(most + 1)
    for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
        if weight > _NEGLIGIBLE:
            low, high = int(count), ceil(count)
            for whole, share in ((low, 1 - (count - low)), (high, count - low)):
                if share > 0:
                    law += weight * share * binomial(whole, p_sel, most)
    reached = np.flatnonzero(np.cumsum(law[::-1])[::-1] > _NEGLIGIBLE)
    return np.asarray(law[: (reached[-1] if len(reached) else 0) + 1] / law.sum())


def _bundled(law: Values, bundle: int) -> Values:
    """Return the law in multiples of `bundle`, with the same mean."""
    whole, part = np.divmod(np.arange(len(law)), bundle)
    bundled = np.zeros(len(law) // bundle + 2)
    np.add.at(bundled, whole, law * (1 - part / bundle))
    np.add.at(bundled, whole + 1, law * part / bundle)
    return bundled


def spread_exactly(
    law: Values,
    alive: NDArray[np.int64],
    chances: Values,
    size: int,
    fan_out: int,
    arrival: float,
) -> Given:
    """Return the outcome of gossip, by the exact chain.

    Row i of `law` is the initial law of the members that do not have the event, if `alive[i]`
    members live, which has probability `chances[i]`.
    """
    final = run_chain(law, alive, size, fan_out, arrival)
    left = np.arange(law.shape[1])
    infected = np.maximum(alive[:, None] - left, 0)
    peopled = alive > 0
    somebody = max(float(chances[peopled].sum()), np.finfo(np.float64).tiny)
    share = (final * infected).sum(axis=1)[peopled] / alive[peopled]
    weights = np.bincount(
        infected.ravel(), weights=(final * chances[:, None]).ravel(), minlength=law.shape[1]
    )
    return Given(
        float(weights[1:].sum()),
        float(chances[peopled] @ share / somebody),
        float(chances[peopled] @ final[peopled, 0] / somebody),
        Law(np.asarray(left[1:], dtype=np.float64), np.asarray(weights[1:], dtype=np.float64)),
    )
