"""What was simulated of the hpmcast paper (002)."""

from __future__ import annotations

from typing import Any

from camcast.reproduction.cell_results import CellResults
from camcast.reproduction.hpmcast.cells import MEASURES, flat_cell, hierarchy_cell, infection_cell
from camcast.reproduction.hpmcast.plan import ROUNDS_FLAT, Plan
from camcast.sweeps import Cell


class Results(CellResults[Plan]):
    """What was simulated, by cell."""

    def example(self, cell: Cell) -> dict[str, Any]:
        """Return the result of an event that everybody has at once."""
        one = {"mean": 1.0, "low": 1.0, "high": 1.0}
        if cell["kind"] == "flat":
            return {"completion": one, "model": 1.0}
        if cell["kind"] == "infection":
            rounds = ROUNDS_FLAT[str(cell["protocol"])] + 1
            return {"shares": [one] * rounds, "models": [1.0] * rounds}
        return {**dict.fromkeys(MEASURES, one), "model": {"reception_printed": 1.0}}

    def turn(self, cell: Any) -> Any:
        """Put large hierarchies first, as they take longest."""
        return -(cell["arity"] ** cell["depth"]) if cell["kind"] == "tree" else 0

    def hierarchy(self, **setting: Any) -> Any:
        """Return the result of `hierarchy_cell` with this setting."""
        return self.of_cell(hierarchy_cell(self.plan, **setting))

    def flat(self, interested: int) -> Any:
        """Return the result of `flat_cell` with so many interested processes."""
        return self.of_cell(flat_cell(self.plan, interested))

    def infection(self, protocol: str, interested: int, fan_out: int) -> Any:
        """Return the result of `infection_cell` with these."""
        return self.of_cell(infection_cell(self.plan, protocol, interested, fan_out))

    def mean(self, measure: str, **setting: Any) -> float:
        """Return the mean of a measure."""
        return float(self.hierarchy(**setting)[measure]["mean"])
