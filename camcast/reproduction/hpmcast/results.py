"""What was simulated of the hpmcast paper (002)."""

from __future__ import annotations

from typing import Any

import attrs

from camcast.reproduction.cell_results import CellResults
from camcast.reproduction.hpmcast.cells import MEASURES
from camcast.reproduction.hpmcast.plan import ROUNDS_FLAT, Plan
from camcast.settings.tree import HpmcastSetting
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
        """Return what became of events in a hierarchy; what is not given is as in Figure 7."""
        return self.of("tree", **attrs.asdict(HpmcastSetting(**setting)))

    def flat(self, interested: int) -> Any:
        """Return that of pmcast among the processes of Figure 9, of whom some are interested."""
        return self.of("flat", interested=interested)

    def infection(self, protocol: str, interested: int, fan_out: int) -> Any:
        """Return that of rfpbcast or pmcast, round by round, among the processes of Figure 9."""
        flat = {"interested": interested, "fan_out": fan_out, "rounds": ROUNDS_FLAT[protocol]}
        return self.of("infection", protocol=protocol, **flat)

    def mean(self, measure: str, **setting: Any) -> float:
        """Return the mean of a measure."""
        return float(self.hierarchy(**setting)[measure]["mean"])
