"""Memberships side by side: section 6.2 of the CAMCAST paper (000), Figures 19 to 28, and beyond.

Live, as the paper did: nodes are started anew for each run, and publish `events` events for each
p_sel. In the virtual network, beyond the paper: any memberships, what they cost, how soon they
notice, what they do without their first contact, and in loss and crashes (`virtual`).
All are cells of one sweep, whose results are kept line by line in ``cells.jsonl``; figures and
comparison are put together from the results alone (`reproduce`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import attrs
from attrs import frozen

from camcast.pipeline.compare.verdict import Verdict
from camcast.report.evidence import Evidence
from camcast.reproduction.figure import Figure
from camcast.reproduction.memberships.evidence import evidence, evidence_beyond
from camcast.reproduction.memberships.live import live_cells, run_live
from camcast.reproduction.memberships.plan import VARIANTS, Plan, World
from camcast.reproduction.memberships.ranking import Chance, chances_of
from camcast.reproduction.memberships.results import COLUMNS, Results, Row
from camcast.reproduction.memberships.upkeep import UpkeepRow, upkeep_rows
from camcast.reproduction.memberships.verdicts import verdicts_of
from camcast.reproduction.memberships.virtual import run_virtual, virtual_cells
from camcast.sweeps import JSON, Cell, finished, sweep


@frozen(kw_only=True)
class Memberships:
    """Everything that was measured."""

    plan: Plan
    runs_done: int
    runs_planned: int
    """Live and virtual; fewer are done if the reproduction was stopped."""
    verdicts: tuple[Verdict, ...]
    """Of the runs in the virtual network, a question each."""
    by_chance: tuple[Chance, ...]
    figures: tuple[Figure, ...]
    comparison: tuple[Row, ...]
    upkeep: tuple[UpkeepRow, ...]
    evidence: tuple[Evidence, ...]

    @property
    def tables(self) -> tuple[Sheet, Sheet]:
        """Comparison and upkeep, as they lie in the folder."""
        upkeep = [
            {"name": row.name, "measure": name, "runs": row.runs, **attrs.asdict(interval)}
            for row in self.upkeep
            for name, interval in row.measures.items()
        ]
        return (
            Sheet(
                name="comparison",
                about={"title": "The memberships side by side"},
                rows=[_flat(row) for row in self.comparison],
            ),
            Sheet(
                name="upkeep",
                about={"title": "What they cost, and how soon they notice"},
                rows=upkeep,
            ),
        )


@frozen(kw_only=True)
class Sheet:
    """A table as it lies in the folder."""

    name: str
    about: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {name: getattr(row, name) for name in ("world", "name", "runs")}
    for name in COLUMNS:
        interval = getattr(row, name)
        flat |= {name: interval.mean, f"{name}_from": interval.low, f"{name}_to": interval.high}
    return flat | {"parasites": row.parasites}


def compute(cell: Cell) -> JSON:
    """Carry out one run; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    return RUNS[given["kind"]](given)


RUNS: Final[Mapping[str, Callable[[Mapping[str, Any]], JSON]]] = {
    "live": run_live,
    "virtual": run_virtual,
}


def reproduce(
    plan: Plan,
    results: Path | None = None,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Memberships:
    """Carry out all runs, or those that the file `results` does not have yet.

    Live runs go one after the other, as each takes all cores; `workers` is for the virtual
    ones. Raises `SweepError`; see `camcast.sweeps.sweep`.
    """
    report = on_progress or (lambda _done, _total: None)
    live, virtual = cells_of(plan)
    found: list[tuple[Cell, JSON]] = []

    def show(before: int, done: int, _total: int) -> None:
        report(before + done, len(live) + len(virtual))

    for cells, at_once in ((live, 1), (virtual, workers)):
        shown = partial(show, len(found))
        swept = sweep(compute, cells, results=results, workers=at_once, on_progress=shown)
        found += zip(cells, swept, strict=True)
    return together(plan, found)


def cells_of(plan: Plan) -> tuple[list[Cell], list[Cell]]:
    """Return the live runs, which take all cores each, and the others."""
    return live_cells(plan), virtual_cells(plan)


def partial_of(plan: Plan, results: Path) -> Memberships:
    """Put together what the file has; raises `SweepError`."""
    live, virtual = cells_of(plan)
    return together(plan, finished(compute, [*live, *virtual], results))


def together(plan: Plan, found: Sequence[tuple[Cell, JSON]]) -> Memberships:
    """Put cells and their results together."""
    runs = [(cast(dict[str, Any], cell), cast(dict[str, Any], result)) for cell, result in found]
    values: Mapping[World, tuple[float, ...]] = {"live": plan.p_sel, "virtual": plan.virtual_p_sel}
    worlds = {
        world: Results(
            world,
            [run for run in runs if run[0]["kind"] == world],
            p_sel,
            plan.contenders(world),
        )
        for world, p_sel in values.items()
    }
    return Memberships(
        plan=plan,
        runs_done=len(runs),
        runs_planned=sum(map(len, cells_of(plan))),
        verdicts=tuple(verdicts_of(worlds["virtual"])),
        by_chance=tuple(chances_of(worlds.values())),
        figures=tuple(f for world in worlds.values() if world.contenders for f in world.figures()),
        comparison=tuple(r for world in worlds.values() for r in world.comparison()),
        upkeep=upkeep_rows(
            plan.contenders("virtual"), [run for run in runs if run[0]["kind"] == "virtual"]
        ),
        evidence=(
            (*evidence(worlds["live"]), *evidence_beyond(worlds["virtual"]))
            if worlds["live"].has(VARIANTS)
            else ()
        ),
    )
