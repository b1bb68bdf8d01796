"""The output folder of the reproduction of the percolation paper: figures 1 to 18."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from camcast.reproduction.percolation_figures import draw
from camcast.reproduction.percolation_page import html
from camcast.reproduction.percolation_paper import Reproduction, reproduce
from camcast.reproduction.percolation_plan import Plan
from camcast.reproduction.plan_folder import PlanFolder

PAPER: Final = "percolation"


class PercolationFolder(PlanFolder):
    """A folder for one plan; see `PlanFolder`."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, PAPER, plan)
        self._plan = plan

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        plan = self._plan
        parts = ["camcast", "reproduce", PAPER, "--runs", str(plan.runs)]
        parts += ["--events", str(plan.events), "--seed", str(plan.seed)]
        return shlex.join([*parts, "--output", str(self.path)])

    def reproduce(
        self, workers: int | None, on_progress: Callable[[int, int], None] | None = None
    ) -> Reproduction:
        """Simulate what is not there yet, and write everything; raises `SweepError`."""
        reproduction = reproduce(self._plan, self.cells, workers, on_progress)
        drawings = {}
        for figure in reproduction.figures:
            rows = [attrs.asdict(point) for point in figure.points]
            self.write_rows(figure.name, {"title": figure.title, "notes": figure.notes}, rows)
            drawings[figure.name] = drawing = draw(figure)
            self.write_drawing(figure.name, drawing)
        self.write("index.html", html(reproduction, drawings, self.command).encode())
        return reproduction

    def as_json(self, reproduction: Reproduction) -> dict[str, Any]:
        """Return what was computed as JSON takes it, with what it was computed from."""
        return {"command": self.command, **attrs.asdict(reproduction)}
