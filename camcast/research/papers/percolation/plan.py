"""The settings of section 5 of the percolation paper (003), and what is to be computed again.

The paper's figures are not in its text: where a caption leaves a value open, ours is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"
GAMMA: Final = "\N{GREEK SMALL LETTER GAMMA}"

NETWORKS: Final = 20  # [percolation 5.2]
NETWORKS_MIN: Final = 2  # an interval needs two
EVENTS: Final = 400  # [percolation 5.2]

MEAN_DEGREE: Final = 5.0  # [percolation Figures 1, 3, 4, 5]
EXPONENT: Final = 3.3  # [percolation Figure 2]
POISSON_NODES: Final = 10_000  # chosen: of Figures 4 and 5, whose size the paper does not give
POISSON_NODES_VARIED: Final = (1_000, 5_000, 10_000)
"""chosen: of Figure 3, "varying the number of nodes"."""
SIGMA_BELOW: Final = 0.05  # chosen: of Figure 3; Γ stays below 0.2, the threshold
GAMMAS_BELOW: Final = tuple(fiftieth / 50 for fiftieth in range(8))
"""From 0 to 0.14; chosen: of Figure 3, "varying [...] the value of the gossip probability"."""

A: Final = 6.0  # [percolation Figures 7 to 18]
B: Final = {7: 1.0, 9: 1.1, 11: 1.2, 13: 1.3, 15: 1.4, 17: 1.5}
"""[percolation] By the figure that varies the first probability; the next varies the second."""
B_DRAWN: Final = (1.0, 1.2, 1.5)  # chosen: of Figure 6, "three different settings of a, b"
HELD: Final = 0.1  # [percolation 5.2] the probability that is not varied
VARIED: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""chosen: close together where most changes."""

GAMMAS_MODELLED: Final[Mapping[int, tuple[float, ...]]] = {
    1: (0.0, 0.05, 0.1, 0.15),
    2: (0.0, 0.2, 0.4, 0.5),
}
"""chosen: of Figures 1 and 2, below the threshold of each overlay."""

ALMOST_ALL: Final = (HELD, 0.6)  # [percolation 5.2.2] where more than 2,200 nodes receive it
SPREAD: Final = 0.1  # chosen: share of nodes from which on an event counts as spread


@frozen(kw_only=True)
class Plan:
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    runs: int = NETWORKS
    """Networks a point."""
    events: int = EVENTS
    """Events on each network."""
    seed: int = 1

    def __attrs_post_init__(self) -> None:
        if self.runs < NETWORKS_MIN:
            raise ValueError(f"runs is {self.runs}; give {NETWORKS_MIN} or more, for an interval")
        if self.events < 1:
            raise ValueError(f"events is {self.events}; give 1 or more")


@frozen
class Setting:
    """A point of a figure: percolation gossip on an overlay of the paper."""

    overlay: tuple[str, float, float]
    """("poisson", mean, nodes) or ("powerlaw", a, b)."""
    sigma: float
    gamma: float


def poisson(nodes: int = POISSON_NODES) -> tuple[str, float, float]:
    """Return the overlay of Figures 3 to 5."""
    return ("poisson", MEAN_DEGREE, float(nodes))


def power_law(b: float) -> tuple[str, float, float]:
    """Return an overlay of Figures 7 to 18."""
    return ("powerlaw", A, b)


def overlay_name(overlay: tuple[str, float, float]) -> str:
    """Return an overlay as ``camcast simulate percolation --degrees`` takes it."""
    kind, first, second = overlay
    return f"{kind}:{first:g},{second:g}"
