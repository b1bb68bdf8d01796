"""Section 6.1 of the CAMCAST paper (000), computed again: Tables 1 and 2, Figures 13 to 18.

What is computed is a sweep of cells, each a simulation of one setting, whose results
are kept line by line in ``cells.jsonl``; the tables and figures are put together from the results
alone (`reproduce`). How they are drawn is the matter of `figures` and `page`.

Where the paper leaves a convention open, the table's or figure's `notes` say which one is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from camcast.research.papers.camcast.cells import Results, compared, compute, model
from camcast.research.papers.camcast.evidence import evidence
from camcast.research.papers.camcast.figures import figures
from camcast.research.papers.camcast.plan import COMMUNITIES, CRASHED_COMPARED, Plan
from camcast.research.papers.camcast.tables import Table, tables
from camcast.research.papers.paper import ByCells, Sheet
from camcast.research.papers.paper import Reproduction as Base
from camcast.research.population.outcome import Interval


@frozen(kw_only=True)
class Agreement:
    """One measure of a community by every simulator, and by the model."""

    community: str
    measure: str
    by_simulator: Mapping[str, Interval]
    model: float | None


@frozen(kw_only=True)
class Reproduction(Base[Plan]):
    """Everything that was computed again."""

    tables: tuple[Table, ...]
    agreement: tuple[Agreement, ...]
    runs_compared: Mapping[str, int]
    """How many runs of each simulator the agreement is of."""

    @property
    def sheets(self) -> list[Sheet]:
        """The paper's tables, as they lie in the folder."""
        return [table.sheet for table in self.tables]


def _together(simulated: Results) -> Reproduction:
    plan = simulated.plan
    ours = plan.about("camcast")
    both = tables(simulated)
    return Reproduction(
        plan=plan,
        tables=both,
        figures=figures(simulated) if ours else (),
        agreement=_agreement(simulated) if ours else (),
        runs_compared=compared(plan) if ours else {},
        evidence=evidence(simulated, both),
    )


reproduce: Final = ByCells(compute, Results, _together)
"""Simulate all cells of a plan, or those that a file does not have yet."""


def _agreement(results: Results) -> tuple[Agreement, ...]:
    predicted = model(crash=CRASHED_COMPARED)
    measures = ("reception", "reliability", "messages", "upward_messages", "rounds")
    return tuple(
        Agreement(
            community=community,
            measure=measure,
            by_simulator={
                engine: results.intervals(
                    measure, crash=CRASHED_COMPARED, engine=engine, runs=runs
                )[at]
                for engine, runs in compared(results.plan).items()
            },
            model=getattr(predicted[at], measure),
        )
        for at, community in enumerate(COMMUNITIES)
        for measure in measures
        if not (measure == "upward_messages" and community == COMMUNITIES[-1])
    )
