"""The output folder of the memberships: figures 19 to 28, the virtual ones, the comparison."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from camcast.reproduction.memberships import Memberships, reproduce
from camcast.reproduction.memberships_figures import draw
from camcast.reproduction.memberships_page import html
from camcast.reproduction.memberships_plan import Plan
from camcast.reproduction.memberships_results import COLUMNS, Row
from camcast.reproduction.plan_folder import PlanFolder

_POINT: Final = (
    *("backend", "community", "p_sel", "measure", "mean", "low", "high", "model", "runs"),
)


class MembershipsFolder(PlanFolder):
    """A folder for one plan; see `PlanFolder`."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, "memberships", plan)
        self._plan = plan

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        plan = self._plan
        parts = ["camcast", "reproduce", self.paper, "--runs", str(plan.runs)]
        parts += ["--events", str(plan.events), "--seed", str(plan.seed)]
        return shlex.join([*parts, "--output", str(self.path)])

    def reproduce(
        self, workers: int | None, on_progress: Callable[[int, int], None] | None = None
    ) -> Memberships:
        """Carry out what is not there yet, and write everything; raises `SweepError`."""
        found = reproduce(self._plan, self.cells, workers, on_progress)
        drawings = {}
        for figure in found.figures:
            rows = [{name: getattr(point, name) for name in _POINT} for point in figure.points]
            about = {"title": figure.title, "world": figure.world, "notes": figure.notes}
            self.write_rows(figure.name, about, rows)
            drawings[figure.name] = drawing = draw(figure)
            self.write_drawing(figure.name, drawing)
        self.write_rows(
            "comparison",
            {"title": "The memberships side by side"},
            [_flat(row) for row in found.comparison],
        )
        upkeep = [
            {"backend": row.backend, "measure": name, "runs": row.runs, **attrs.asdict(interval)}
            for row in found.upkeep
            for name, interval in row.measures.items()
        ]
        self.write_rows("upkeep", {"title": "What they cost, and how soon they notice"}, upkeep)
        claims = [attrs.asdict(claim) for claim in found.claims]
        self.write_rows("claims", {"title": "What the paper concludes"}, claims)
        self.write("index.html", html(found, drawings, self.command).encode())
        return found

    def as_json(self, found: Memberships) -> dict[str, Any]:
        """Return what was measured as JSON takes it."""
        return {"command": self.command, **attrs.asdict(found)}


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {
        name: getattr(row, name) for name in ("world", "backend", "variant", "runs")
    }
    for name in COLUMNS:
        interval = getattr(row, name)
        flat |= {name: interval.mean, f"{name}_from": interval.low, f"{name}_to": interval.high}
    return flat | {"parasites": row.parasites}
