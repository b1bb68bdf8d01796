"""How often an experiment as small as the paper's ranks the three memberships by chance.

The paper (000, 6.2) has 10 single events a point of V1, and 5 each of V2 and V3. Experiments of
that size are drawn from the events that were measured: once from each membership's own, and once
from those of all three together, which is what they would be if they did not differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from camcast.research.papers.memberships.plan import VARIANTS, World
from camcast.research.papers.memberships.results import Results

PRINTED_EVENTS: Final = {"scamp": 10, "hybrid": 5, "dht": 5}  # [CAMCAST 6.2.1] a point
ORDER: Final = ("dht", "hybrid", "scamp")  # [CAMCAST 6.2] the best first
DRAWN: Final = 4000  # chosen: a share of 1/6 is known to 0.6 points
_SEED: Final = 1  # chosen: a page is the same each time that it is made


@frozen(kw_only=True)
class Chance:
    """How often the paper's order by mean reception comes out of experiments of its size."""

    world: World
    if_alike: float
    """If the three did not differ."""
    as_measured: float
    """If they differ as they did here."""


def chances_of(worlds: Iterable[Results]) -> Iterator[Chance]:
    """Yield the chances in each world that has runs of all three."""
    for results in worlds:
        if results.has(VARIANTS):
            found = {
                (backend, community, p_sel): np.array(results.receptions(backend, community, p_sel))
                for backend in VARIANTS
                for community in ("d", "a")
                for p_sel in results.p_sel
            }
            alike = {
                (backend, community, p_sel): np.concatenate(
                    [found[other, community, p_sel] for other in VARIANTS]
                )
                for backend, community, p_sel in found
            }
            if all(len(of_point) for of_point in found.values()):
                yield Chance(
                    world=results.world,
                    if_alike=ranked_so(alike),
                    as_measured=ranked_so(found),
                )


def ranked_so(events: Mapping[tuple[str, str, float], NDArray[np.float64]]) -> float:
    """Return the share of drawn experiments in the paper's order, without ties.

    `events` has the reception of each event by membership, community and p_sel.
    """
    rng = np.random.default_rng(_SEED)
    means = dict.fromkeys(VARIANTS, np.zeros(DRAWN))
    for (backend, _, _), of_point in events.items():
        drawn = rng.choice(of_point, size=(DRAWN, PRINTED_EVENTS[backend]))
        means[backend] = means[backend] + drawn.mean(axis=1)
    best, second, third = (means[backend] for backend in ORDER)
    return float(np.mean((best > second) & (second > third)))
