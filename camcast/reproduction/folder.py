"""The output folder of the reproduction of section 6.1: tables 1 and 2, figures 13 to 18."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from camcast.reproduction.camcast_paper import Reproduction, reproduce
from camcast.reproduction.camcast_plan import Plan
from camcast.reproduction.figures import draw
from camcast.reproduction.page import html
from camcast.reproduction.plan_folder import PlanFolder

_POINT: Final = (
    *("community", "crashed", "measure", "mean", "low", "high", "model", "simulator", "runs"),
)
_ENTRY: Final = (
    *("approach", "how", "topology", "published", "mean", "low", "high", "deviation"),
    *("simulator", "runs"),
)


class ReproductionFolder(PlanFolder):
    """A folder for one plan; see `PlanFolder`."""

    def __init__(self, path: Path, paper: str, plan: Plan) -> None:
        super().__init__(path, paper, plan)
        self._plan = plan

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        plan = self._plan
        parts = ["camcast", "reproduce", self.paper, "--runs", str(plan.runs)]
        parts += ["--seed", str(plan.seed), "--engine", plan.engine, "--output", str(self.path)]
        return shlex.join(parts)

    def reproduce(
        self, workers: int | None, on_progress: Callable[[int, int], None] | None = None
    ) -> Reproduction:
        """Simulate what is not there yet, and write everything; raises `SweepError`."""
        reproduction = reproduce(self._plan, self.cells, workers, on_progress)
        for table in reproduction.tables:
            rows = [{name: getattr(entry, name) for name in _ENTRY} for entry in table.entries]
            self.write_rows(table.name, {"title": table.title, "notes": table.notes}, rows)
        drawings = {}
        for figure in reproduction.figures:
            rows = [{name: getattr(point, name) for name in _POINT} for point in figure.points]
            self.write_rows(figure.name, {"title": figure.title, "notes": figure.notes}, rows)
            drawings[figure.name] = drawing = draw(figure)
            self.write_drawing(figure.name, drawing)
        self.write("index.html", html(reproduction, drawings, self.command).encode())
        return reproduction

    def as_json(self, reproduction: Reproduction) -> dict[str, Any]:
        """Return what was computed as JSON takes it, with what it was computed from."""
        return {"command": self.command, **attrs.asdict(reproduction)}
