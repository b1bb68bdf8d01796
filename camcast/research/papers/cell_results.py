"""What was simulated for a plan, found again by the cell that it was simulated of.

There is no list of the cells. Tables, figures and evidence are put together from examples first;
the cells that they ask for are then simulated (`camcast.research.papers.paper.ByCells`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from camcast.research.sweeps import JSON, Cell

P = TypeVar("P")


class CellResults(ABC, Generic[P]):
    """The results of a plan's cells; without any, examples, and `asked` has the cells."""

    def __init__(self, plan: P, found: Mapping[str, JSON] | None = None) -> None:
        self.plan = plan
        self.asked: dict[str, Cell] = {}
        self._found = found

    def of(self, kind: str, *, runs: int | None = None, **given: Any) -> Any:
        """Return the result of a cell of the plan's seed, and of its runs unless they are given."""
        plan: Any = self.plan
        return self.of_cell({"kind": kind, **given, "runs": runs or plan.runs, "seed": plan.seed})

    def of_cell(self, cell: Cell) -> Any:
        """Return the result of a cell; raises `KeyError` for one that was not simulated."""
        key = json.dumps(cell, sort_keys=True)
        self.asked[key] = cell
        return self.example(cell) if self._found is None else self._found[key]

    @abstractmethod
    def example(self, cell: Cell) -> Any:
        """Return a result as cells of this kind have it."""

    @abstractmethod
    def turn(self, cell: Cell) -> Any:
        """Return the key that cells are sorted by before they are simulated."""
