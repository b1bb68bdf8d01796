"""What was simulated for a plan, found again by the cell that it was simulated of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from camcast.sweeps import JSON, Cell

P = TypeVar("P")


class CellResults(Generic[P]):
    """The results of a sweep of `listed`, in its order."""

    def __init__(self, plan: P, listed: Sequence[Cell], found: Sequence[JSON]) -> None:
        self.plan = plan
        self._found = dict(zip(map(_key, listed), found, strict=True))

    def of_cell(self, cell: Cell) -> Any:
        """Return the result of a cell; raises `KeyError` for one that was not listed."""
        return self._found[_key(cell)]


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)
