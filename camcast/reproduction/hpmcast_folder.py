"""The output folder of the hpmcast paper: Figures 7 to 13 and the claims."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from camcast.reproduction.hpmcast_figures import draw
from camcast.reproduction.hpmcast_page import html
from camcast.reproduction.hpmcast_paper import Reproduction, reproduce
from camcast.reproduction.hpmcast_plan import Plan
from camcast.reproduction.plan_folder import PlanFolder


class HpmcastFolder(PlanFolder):
    """A folder for one plan; see `PlanFolder`."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, "hpmcast", plan)
        self._plan = plan

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        plan = self._plan
        parts = ["camcast", "reproduce", self.paper, "--runs", str(plan.runs)]
        return shlex.join([*parts, "--seed", str(plan.seed), "--output", str(self.path)])

    def reproduce(
        self, workers: int | None, on_progress: Callable[[int, int], None] | None = None
    ) -> Reproduction:
        """Simulate what is not there yet, and write everything; raises `SweepError`."""
        found = reproduce(self._plan, self.cells, workers, on_progress)
        drawings = {}
        for figure in found.figures:
            rows = [attrs.asdict(point) for point in figure.points]
            about = {"title": figure.title, "x": figure.x, "y": figure.y, "notes": figure.notes}
            self.write_rows(figure.name, about, rows)
            drawings[figure.name] = drawing = draw(figure)
            self.write_drawing(figure.name, drawing)
        claims = [attrs.asdict(claim) for claim in found.claims]
        self.write_rows("claims", {"title": "What the paper concludes"}, claims)
        self.write("index.html", html(found, drawings, self.command).encode())
        return found

    def as_json(self, found: Reproduction) -> dict[str, Any]:
        """Return what was computed as JSON takes it."""
        return {"command": self.command, **attrs.asdict(found)}
