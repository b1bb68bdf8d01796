"""Measurements of section 6.2: the runs in one world as figures, tables, and what decides.

A run has rows by community and p_sel, and numbers of its own; here they are put together over the
runs in one world (`memberships_runs`), live or the virtual network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.memberships_runs import (
    Contender,
    MembershipsPlan,
    World,
)
from camcast.research.papers.paper import Results
from camcast.research.pipeline.compare.verdict import Verdict, verdict_on
from camcast.research.population.outcome import Interval, clustered_interval, mean_interval
from camcast.research.report.measures import measure_of

MEASURES: Final = ("reception", "reliability", "efficiency", "hops_mean", "upward")
"""The measures of the figures, in the paper's order."""
_OF_EVENTS: Final = ("reception", "reliability")
_OF_RUNS: Final = ("table_to_law", "unlisted", "start_seconds", "settle_seconds", "controls")
COLUMNS: Final = (
    *("reception", "reception_low", "reliability", "efficiency", "hops_mean", "upward"),
    *_OF_RUNS,
)
"""The measures of the comparison: those of the figures, and of whole runs."""
UPKEEP: Final = (
    *("copies_each", "bootstrap_seconds", "chi_square", "control_kilobytes", "newcomer_seconds"),
    *("listed_seconds", "dropped_seconds", "reception_alone", "joined_alone", "reception_storm"),
    *("overtaken", "past_seconds"),
)
"""Measures of cost and of delay (`camcast.research.report.measures`), which 6.2 leaves out."""
_QUESTIONS: Final = {
    "reception": "reception",
    "efficiency": "cost of events",
    "control_kilobytes": "cost of upkeep",
    "listed_seconds": "joining",
    "dropped_seconds": "healing",
    "reception_storm": "reception in loss and crashes",
}
"""Questions that the verdicts answer, by the measure that decides each."""
_FIRST_FIGURE: Final = 19  # [CAMCAST 6.2.2] two a measure, in the order of MEASURES
_DEVIATIONS: Final = {"hops_mean": " Nothing where no event arrived (the paper: 0)."}
"""By measure: where a figure is not as the paper's."""


# -- what was measured ----------------------------------------------------------------------------


Row = Mapping[str, Any]
"""A row of the comparison: ``world``, ``name`` of the contender, ``runs``, an `Interval` for each
of `COLUMNS`, and ``parasites``, which are counted."""


@frozen(kw_only=True)
class UpkeepRow:
    """The measures of `UPKEEP` of one contender, over its runs."""

    name: str
    runs: int
    measures: Mapping[str, Interval]


class Measured:
    """The runs in one world, and what was measured in them."""

    def __init__(self, world: World, results: Results[MembershipsPlan]) -> None:
        plan = results.plan
        self.world = world
        self.p_sel = plan.p_sel if world == "live" else plan.virtual_p_sel
        self.contenders = tuple(plan.contenders(world))
        self._runs: dict[Contender, list[dict[str, Any]]] = {who: [] for who in self.contenders}
        for cell in plan.cells(world):
            if (result := results.of_cell(cell)) is not None:
                rows = {(row["community"], row["p_sel"]): row for row in result["rows"]}
                self._runs[Contender(cell["backend"], cell["printed"])].append(
                    {**result, "rows": rows}
                )

    @property
    def done(self) -> int:
        """How many runs are done."""
        return sum(map(len, self._runs.values()))

    @property
    def backends(self) -> tuple[str, ...]:
        """The memberships that are compared with all that they have."""
        return tuple(who.backend for who in self.contenders if not who.printed)

    def receptions(self, backend: str, community: str, p_sel: float) -> list[float]:
        """Return which share of a community got each event, those of all runs."""
        at = community, p_sel
        of_runs = (run["rows"].get(at, {"by_event": ()}) for run in self._runs[Contender(backend)])
        return [share for row in of_runs for share in row["by_event"]]

    def means(
        self,
        who: Contender,
        measure: str,
        p_sel: Sequence[float] | None = None,
        communities: Sequence[str] | None = None,
    ) -> list[float]:
        """Return, run by run, the mean of a measure over d and a and all p_sel, or those given.

        Of upward messages: the sum of those from g and those from d.
        """
        if communities is None:
            communities = ("g", "d") if measure == "upward" else ("d", "a")
        factor = len(communities) if measure == "upward" else 1
        means = []
        for run in self._runs[who]:
            places = product(communities, self.p_sel if p_sel is None else p_sel)
            found = (run["rows"].get(place, {}).get(measure) for place in places)
            if values := [value for value in found if value is not None]:
                means.append(factor * float(np.mean(values)))
        return means

    def interval(
        self,
        who: Contender,
        measure: str,
        p_sel: Sequence[float] | None = None,
        communities: Sequence[str] | None = None,
    ) -> Interval:
        """Return the mean of `means` over the runs, with its interval.

        Reception and reliability have one over runs and events; others over runs alone.
        """
        if measure in _OF_EVENTS:
            places = p_sel or self.p_sel, communities or "da"
            runs = [list(_events(run["rows"], measure, *places)) for run in self._runs[who]]
            return clustered_interval([groups for groups in runs if groups])
        return _interval(self.means(who, measure, p_sel, communities), measure)

    def of_upkeep(self, who: Contender, name: str) -> Interval:
        """Return one of `UPKEEP` of a contender, in the mean over its runs."""
        return _interval(self._of_runs(who, name), name)

    def _of_runs(self, who: Contender, name: str) -> list[float]:
        """Return a measure of whole runs, without the runs that it could not be measured in."""
        return [run[name] for run in self._runs[who] if run.get(name) is not None]

    # -- figures --------------------------------------------------------------------------------

    def figures(self) -> Iterator[Figure]:
        """Yield the figures, in the paper's order."""
        for number, (measure, community) in enumerate(product(MEASURES, "da"), _FIRST_FIGURE):
            yield self._figure(number, measure, community)

    def _figure(self, number: int, measure: str, community: str) -> Figure:
        source = {"d": "g", "a": "d"}[community]
        upward, known = measure == "upward", measure_of(measure)
        where = f"from {source} to {community}" if upward else f"in {community}"
        at = source if upward else community
        return Figure(
            name=f"figure{number}" if self.world == "live" else f"virtual_{measure}_{community}",
            title=f"{known.title[0].upper()}{known.title[1:]} {where}",
            x="inter-community dissemination probability, p_sel",
            y=known.title,
            notes=f"{known.meaning[0].upper()}{known.meaning[1:]}." + _DEVIATIONS.get(measure, ""),
            points=tuple(
                self._point(who, at, p_sel, measure)
                for who in self.contenders
                for p_sel in self.p_sel
            ),
            domain=(0, 1) if known.is_share else None,
            logarithmic="x",
            wide=False,
        )

    def _point(self, who: Contender, community: str, p_sel: float, measure: str) -> Point:
        values = self.means(who, measure, (p_sel,), (community,))
        # the model of reception, live (`camcast.research.systems.camcast.reception`)
        predicted = self.means(who, "predicted", (p_sel,), (community,))
        return Point(
            series=who.name,
            x=p_sel,
            model=predicted[0] if measure == "reception" and predicted else None,
            runs=len(values),
            **self.interval(who, measure, (p_sel,), (community,)).as_json(),
        )

    # -- tables and verdicts --------------------------------------------------------------------

    def comparison(self) -> Iterator[Row]:
        """Yield a row for each contender, on average over all its p_sel.

        Reception, reliability, efficiency and hops are of d and a, the communities that an event
        climbs to; ``reception_low`` is the reception at the lowest p_sel.
        """
        for who in self.contenders:
            measures = {measure: self.interval(who, measure) for measure in MEASURES}
            measures["reception_low"] = self.interval(who, "reception", self.p_sel[:1])
            for name in _OF_RUNS:
                measures[name] = mean_interval(np.array(self._of_runs(who, name)), 0.0)
            yield {
                "world": self.world,
                "name": who.name,
                "runs": len(self._runs[who]),
                **{name: measures[name] for name in COLUMNS},
                "parasites": sum(run["parasites"] for run in self._runs[who]),
            }

    def upkeep(self) -> Iterator[UpkeepRow]:
        """Yield what each contender costs."""
        for who in self.contenders:
            measures = {name: self.of_upkeep(who, name) for name in UPKEEP}
            yield UpkeepRow(name=who.name, runs=len(self._runs[who]), measures=measures)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield the answer to each question that two contenders have runs for.

        All comparisons of a question hold together with 95 % confidence.
        """
        for metric, question in _QUESTIONS.items():
            values_of = self.means if metric in MEASURES else self._of_runs
            values = {who.name: values_of(who, metric) for who in self.contenders}
            found = {name: of_runs for name, of_runs in values.items() if of_runs}
            if len(found) > 1:
                yield verdict_on(metric, question, found)


def _events(
    rows: Mapping[tuple[str, float], Mapping[str, Any]],
    measure: str,
    p_sel: Sequence[float],
    communities: Sequence[str],
) -> Iterator[NDArray[np.float64]]:
    """Yield, by p_sel, a measure of each event of a run in the mean over communities.

    The communities of an event have it by the same climb, so that they are drawn together.
    """
    for value in p_sel:
        found = [rows[at]["by_event"] for at in product(communities, (value,)) if at in rows]
        if found:
            shares = np.array(found)
            yield (shares == 1.0 if measure == "reliability" else shares).mean(axis=0)


def _interval(values: Sequence[float], measure: str) -> Interval:
    return mean_interval(np.array(values), 0.0, measure_of(measure).most)
