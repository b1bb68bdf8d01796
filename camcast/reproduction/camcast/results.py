"""What was simulated of section 6.1, and what the model says of the same."""

from __future__ import annotations

from functools import cache
from typing import Any

from camcast.models.camcast.prediction import Prediction, predict
from camcast.reproduction.camcast.cells import spread_cell
from camcast.reproduction.camcast.plan import SIZES, Plan, setting_of
from camcast.reproduction.cell_results import CellResults
from camcast.sweeps import Cell

_MEASURES = ("reception", "reliability", "rounds", "messages", "upward_messages")


class Results(CellResults[Plan]):
    """What was simulated, by cell."""

    def example(self, cell: Any) -> Any:
        """Return the result of an event that everybody has at once."""
        one = {"mean": 1.0, "low": 1.0, "high": 1.0}
        if cell["kind"] == "spread":
            communities = [dict.fromkeys(_MEASURES, one)] * len(cell["sizes"])
            shares = {"reception_of_all": one, "upward_share": [1.0] * len(communities)}
            return {"communities": communities, "rounds_to_reach_all": one, **shares}
        if cell["kind"] == "parasites":
            return [1]
        return {name: [1] for name in ("last", "rounds", "parasites", "parasite_copies")}

    def turn(self, cell: Cell) -> Any:
        """Put the virtual network first, then the chain, as they take longest."""
        order = ("virtual", "parasites", "chain", "multicast")
        names = [cell.get("engine"), cell["kind"]]
        return min((order.index(name) for name in order if name in names), default=len(order))

    def spread(self, *arguments: Any, **options: Any) -> Any:
        """Return the result of `spread_cell` with these arguments."""
        return self.of_cell(spread_cell(self.plan, *arguments, **options))


@cache
def model(
    sizes: tuple[int, ...] = SIZES, crash: float = 0.0, weak: bool = False
) -> list[Prediction]:
    """Return the model's predictions of a setting, by community."""
    return predict(setting_of(sizes, crash, weak))
