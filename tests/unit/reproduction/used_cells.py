"""Which cells' results tables, figures and claims were put together from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from camcast.reproduction.cell_results import CellResults
from camcast.sweeps import Cell


def different(cells: Iterable[Cell]) -> set[str]:
    """Return the cells as text, equal ones once."""
    return {json.dumps(cell, sort_keys=True) for cell in cells}


def recorded(patch: pytest.MonkeyPatch) -> list[Cell]:
    """Return a list that every cell whose result is asked for comes to."""
    used: list[Cell] = []
    of_cell = CellResults.of_cell

    def record(results: CellResults[Any], cell: Cell) -> Any:
        used.append(cell)
        return of_cell(results, cell)

    patch.setattr(CellResults, "of_cell", record)
    return used
