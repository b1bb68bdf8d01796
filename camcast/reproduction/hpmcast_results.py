"""What was simulated of the hpmcast paper (002)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from camcast.reproduction.hpmcast_cells import flat_cell, hierarchy_cell
from camcast.reproduction.hpmcast_plan import Plan
from camcast.sweeps import JSON, Cell


class Results:
    """What was simulated, by cell."""

    def __init__(self, plan: Plan, listed: Sequence[Cell], found: Sequence[JSON]) -> None:
        self.plan = plan
        self._found = dict(zip(map(_key, listed), found, strict=True))

    def hierarchy(self, **setting: Any) -> Any:
        """Return the result of `hierarchy_cell` with this setting."""
        return self._found[_key(hierarchy_cell(self.plan, **setting))]

    def flat(self, interested: int) -> Any:
        """Return the result of `flat_cell` with so many interested processes."""
        return self._found[_key(flat_cell(self.plan, interested))]

    def mean(self, measure: str, **setting: Any) -> float:
        """Return the mean of a measure."""
        return float(self.hierarchy(**setting)[measure]["mean"])


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)
