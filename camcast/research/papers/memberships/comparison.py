"""Memberships side by side: section 6.2 of the CAMCAST paper (000), Figures 19 to 28, and beyond.

Live, as the paper did: nodes are started anew for each run, and publish `events` events for each
p_sel. In the virtual network, beyond the paper: any memberships, what they cost, how soon they
notice, what they do without their first contact, and in loss and crashes (`virtual`).
All are cells of one sweep, whose results are kept line by line in ``cells.jsonl``; figures and
comparison are put together from the results alone (`reproduce`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import attrs
from attrs import frozen

from camcast.research.papers.memberships.evidence import evidence, evidence_beyond
from camcast.research.papers.memberships.live import run_live
from camcast.research.papers.memberships.plan import VARIANTS, Plan, World
from camcast.research.papers.memberships.ranking import Chance, chances_of
from camcast.research.papers.memberships.results import Results, Row, UpkeepRow
from camcast.research.papers.memberships.virtual import run_virtual
from camcast.research.papers.paper import OnProgress, Reproduction, Sheet
from camcast.research.pipeline.compare.verdict import Verdict
from camcast.research.population.outcome import Interval
from camcast.research.sweeps import JSON, Cell, finished, sweep


@frozen(kw_only=True)
class Memberships(Reproduction[Plan]):
    """Everything that was measured."""

    runs_done: int
    runs_planned: int
    """Live and virtual; fewer are done if the reproduction was stopped."""
    verdicts: tuple[Verdict, ...]
    """Of the runs in the virtual network, a question each."""
    by_chance: tuple[Chance, ...]
    comparison: tuple[Row, ...]
    upkeep: tuple[UpkeepRow, ...]

    @property
    def sheets(self) -> tuple[Sheet, Sheet]:
        """Comparison and upkeep, as they lie in the folder."""
        upkeep = [
            {"name": row.name, "measure": name, "runs": row.runs, **attrs.asdict(interval)}
            for row in self.upkeep
            for name, interval in row.measures.items()
        ]
        compared = [dict(_cells_of(row)) for row in self.comparison]
        return (
            Sheet("comparison", {"title": "The memberships side by side"}, compared),
            Sheet("upkeep", {"title": "What they cost, and how soon they notice"}, upkeep),
        )


def _cells_of(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a row: an interval has one for its mean, and one for either end."""
    for name, value in row.items():
        if isinstance(value, Interval):
            yield from zip((name, f"{name}_from", f"{name}_to"), attrs.astuple(value), strict=True)
        else:
            yield name, value


def compute(cell: Cell) -> JSON:
    """Carry out one run; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    return RUNS[given["kind"]](given)


RUNS: Final[Mapping[World, Callable[[Mapping[str, Any]], JSON]]] = {
    "live": run_live,
    "virtual": run_virtual,
}


def reproduce(
    plan: Plan,
    results: Path | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Memberships:
    """Carry out all runs, or those that the file `results` does not have yet.

    Live runs go one after the other, as each takes all cores; `workers` is for the virtual
    ones. Raises `SweepError`; see `camcast.research.sweeps.sweep`.
    """
    report = on_progress or (lambda _done, _total: None)
    total = sum(len(plan.cells(world)) for world in RUNS)
    found: list[tuple[Cell, JSON]] = []

    def show(before: int, done: int, _total: int) -> None:
        report(before + done, total)

    for world in RUNS:
        shown, at_once = partial(show, len(found)), 1 if world == "live" else workers
        cells = plan.cells(world)
        swept = sweep(compute, cells, results=results, workers=at_once, on_progress=shown)
        found += zip(cells, swept, strict=True)
    return together(plan, found)


def partial_of(plan: Plan, results: Path) -> Memberships:
    """Put together what the file has; raises `SweepError`."""
    cells = [cell for world in RUNS for cell in plan.cells(world)]
    return together(plan, finished(compute, cells, results))


def together(plan: Plan, found: Sequence[tuple[Cell, JSON]]) -> Memberships:
    """Put cells and their results together."""
    runs = cast(Sequence[tuple[dict[str, Any], dict[str, Any]]], found)
    live, virtual = worlds = [Results(world, plan, runs) for world in RUNS]
    return Memberships(
        plan=plan,
        runs_done=len(runs),
        runs_planned=sum(len(plan.cells(world)) for world in RUNS),
        verdicts=tuple(virtual.verdicts()),
        by_chance=tuple(chances_of(worlds)),
        figures=tuple(f for world in worlds if world.contenders for f in world.figures()),
        comparison=tuple(row for world in worlds for row in world.comparison()),
        upkeep=tuple(virtual.upkeep()),
        evidence=((*evidence(live), *evidence_beyond(virtual)) if live.has(VARIANTS) else ()),
    )
