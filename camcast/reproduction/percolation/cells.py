"""The cells of section 5 of the percolation paper: a corpus of networks at each point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np

from camcast.population.graphs import Graph, Overlay, Poisson, PowerLaw
from camcast.population.percolation import Gossip, join, simulate_network
from camcast.reproduction.percolation import plan
from camcast.reproduction.percolation.plan import Setting
from camcast.sweeps import JSON, Cell

MEASURES: Final = ("receivers", "subscribers", "messages", "duplicates", "parasites", "hops")


def below_threshold() -> dict[int, list[Setting]]:
    """Return the points of Figure 3, by the number of nodes."""
    return {
        nodes: [
            Setting(plan.poisson(nodes), plan.SIGMA_BELOW, gamma) for gamma in plan.GAMMAS_BELOW
        ]
        for nodes in plan.POISSON_NODES_VARIED
    }


def above_threshold() -> dict[int, list[Setting]]:
    """Return the points of Figures 4, 5 and 7 to 18, by figure."""
    found = {}
    overlays = {4: plan.poisson()} | {figure: plan.power_law(b) for figure, b in plan.B.items()}
    for figure, overlay in overlays.items():
        # Below the threshold of the Poisson overlay at 0.1 the figures have nothing.
        varied = [value for value in plan.VARIED if figure != 4 or value > plan.HELD]
        found[figure] = [Setting(overlay, value, plan.HELD) for value in varied]
        found[figure + 1] = [Setting(overlay, plan.HELD, value) for value in varied]
    return found


def compute(cell: Cell) -> JSON:
    """Simulate one cell; the task of the sweep.

    The result has the means of the networks, and what became of events that spread: to more than
    a tenth of the nodes.
    """
    given = cast(Mapping[str, Any], cell)
    overlay = tuple(given["overlay"])
    gossip = Gossip(sigma=given["sigma"], gamma=given["gamma"])
    events, seed = given["events"], given["seed"]
    corpus = join(
        [
            simulate_network(_graph(overlay, seed, network), gossip, events, seed, network)
            for network in range(given["networks"])
        ]
    )
    spread = corpus.receivers > plan.SPREAD * corpus.nodes
    return {
        "nodes": corpus.nodes,
        "means": {name: getattr(corpus, name).mean(axis=1).tolist() for name in MEASURES},
        "subscribed": corpus.subscribed.tolist(),
        "spread": spread.mean(axis=1).tolist(),
        "receivers_spread": float(np.mean(corpus.receivers[spread])) if spread.any() else None,
    }


def overlay_of(overlay: tuple[str, float, float]) -> Overlay:
    """Return an overlay of the paper."""
    kind, first, second = overlay
    return PowerLaw(first, second) if kind == "powerlaw" else Poisson(first, int(second))


@lru_cache(maxsize=plan.NETWORKS)  # a corpus; of the largest, 25 MB
def _graph(overlay: tuple[str, float, float], seed: int, network: int) -> Graph:
    return overlay_of(overlay).graph(seed, network)
