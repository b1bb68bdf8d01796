"""What was simulated of section 6.1, and what the model says of the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from camcast.models.camcast.prediction import Prediction, predict
from camcast.reproduction.camcast.cells import spread_cell
from camcast.reproduction.camcast.plan import SIZES, Plan, setting_of
from camcast.reproduction.cell_results import CellResults
from camcast.sweeps import JSON, Cell


class Results(CellResults[Plan]):
    """What was simulated, by cell, and what is predicted."""

    def __init__(self, plan: Plan, listed: Sequence[Cell], found: Sequence[JSON]) -> None:
        super().__init__(plan, listed, found)
        self._predictions: dict[tuple[tuple[int, ...], float, bool], list[Prediction]] = {}

    def spread(self, *arguments: Any, **options: Any) -> Any:
        """Return the result of `spread_cell` with these arguments."""
        return self.of_cell(spread_cell(self.plan, *arguments, **options))

    def model(
        self, sizes: tuple[int, ...] = SIZES, crash: float = 0.0, weak: bool = False
    ) -> list[Prediction]:
        """Return the model's predictions of a setting, by community."""
        key = (sizes, crash, weak)
        if key not in self._predictions:
            self._predictions[key] = predict(setting_of(sizes, crash, weak))
        return self._predictions[key]
