"""What was simulated of section 5 of the percolation paper, and what the model says of the same."""

from __future__ import annotations

from functools import cache, lru_cache
from math import inf
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from camcast.models.percolation.reach import (
    Coverage,
    Degrees,
    coverage,
    degrees_of,
    mean_subscribers_of_the_paper,
    poisson_degrees,
)
from camcast.population.graphs import PowerLaw
from camcast.population.outcome import Interval, mean_interval
from camcast.population.percolation import OF_NODES
from camcast.reproduction.cell_results import CellResults
from camcast.reproduction.percolation.cells import MEASURES
from camcast.reproduction.percolation.plan import Plan, Setting
from camcast.sweeps import Cell


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
    return coverage(degrees, nodes, setting.sigma, setting.gamma)


def paper(setting: Setting, measure: str) -> float | None:
    """Return what the paper's equations say, Equation 17 or 4.3's; None for infinitely many."""
    predicted = model(setting)
    if predicted.percolates:
        return None
    if measure == "receivers":
        return predicted.receivers_infinite
    return mean_subscribers_of_the_paper(setting.sigma, predicted.receivers_infinite)


@lru_cache
def _degrees(overlay: tuple[str, float, float]) -> tuple[Degrees, int]:
    kind, first, second = overlay
    if kind == "poisson":
        return poisson_degrees(first), int(second)
    power_law = PowerLaw(first, second)
    return degrees_of(power_law.degrees), power_law.nodes
