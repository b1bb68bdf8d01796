"""What was simulated of the hpmcast paper (002)."""

from __future__ import annotations

from typing import Any

from camcast.reproduction.cell_results import CellResults
from camcast.reproduction.hpmcast.cells import flat_cell, hierarchy_cell, infection_cell
from camcast.reproduction.hpmcast.plan import Plan


class Results(CellResults[Plan]):
    """What was simulated, by cell."""

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
