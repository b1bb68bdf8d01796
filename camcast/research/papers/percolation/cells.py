"""The cells of section 5 of the percolation paper, each a corpus of networks, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from math import inf
from typing import Any, Final, cast

import attrs
import numpy as np
from attrs import frozen

from camcast.research.papers.cell_results import CellResults
from camcast.research.papers.percolation import plan
from camcast.research.papers.percolation.plan import Plan, Setting
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.sweeps import JSON, Cell
from camcast.research.systems.percolation import percolation_reach as reach
from camcast.research.systems.percolation.graph_population import (
    OF_NODES,
    Gossip,
    join,
    simulate_network,
)
from camcast.research.systems.percolation.graphs import Graph, Overlay, Poisson, PowerLaw
from camcast.research.systems.percolation.percolation_reach import Coverage

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


@frozen(kw_only=True)
class Corpus:
    """The results of one cell."""

    nodes: int
    means: dict[str, list[float]]
    """By measure: the means of the networks."""
    subscribed: list[int]
    """By network: how many nodes subscribe."""
    spread: list[float]
    """By network: the share of events that got to more than a tenth of the nodes."""
    receivers_spread: float | None
    """The mean number of receivers of those."""

    def interval(self, measure: str) -> Interval:
        """Return the mean over the networks, and Student's interval."""
        most = self.nodes if measure in OF_NODES else inf
        return mean_interval(np.array(self.means[measure]), 0.0, most)


class Results(CellResults[Plan]):
    """What was simulated, by point."""

    def example(self, _cell: Cell) -> dict[str, Any]:
        """Return the result of a network in which nothing spreads."""
        means = dict.fromkeys(MEASURES, [1.0] * self.plan.runs)
        nothing = {"subscribed": [0], "spread": [0.0], "receivers_spread": None}
        return {"nodes": 1, "means": means, **nothing}

    def turn(self, cell: Cell) -> Any:
        """Put one overlay after another, as workers keep its graphs."""
        return cell["overlay"]

    def at(self, setting: Setting) -> Corpus:
        """Return what was simulated at a point."""
        plan = self.plan
        given = attrs.asdict(setting) | {"overlay": list(setting.overlay)}
        cell = {**given, "networks": plan.runs, "events": plan.events, "seed": plan.seed}
        return Corpus(**self.of_cell(cell))


@cache  # some 180 points, each asked for several times
def model(setting: Setting) -> Coverage:
    """Return what the model says of a point."""
    degrees, nodes = _degrees(setting.overlay)
    return reach.coverage(degrees, nodes, setting.sigma, setting.gamma)


def paper(setting: Setting, measure: str) -> float | None:
    """Return what the paper's equations say, Equation 17 or 4.3's; None for infinitely many."""
    predicted = model(setting)
    if predicted.percolates:
        return None
    if measure == "receivers":
        return predicted.receivers_infinite
    return reach.mean_subscribers_of_the_paper(setting.sigma, predicted.receivers_infinite)


@lru_cache
def _degrees(setting: tuple[str, float, float]) -> tuple[reach.Degrees, int]:
    overlay = overlay_of(setting)
    if isinstance(overlay, PowerLaw):
        return reach.degrees_of(overlay.degrees), overlay.nodes
    return reach.poisson_degrees(setting[1]), overlay.nodes
