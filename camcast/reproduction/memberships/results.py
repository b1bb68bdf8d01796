"""What was measured of the memberships in one world: figures, and the backends side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen

from camcast.measures import measure_of
from camcast.population.outcome import Interval, mean_interval
from camcast.reproduction.figure import Figure, Point
from camcast.reproduction.memberships.plan import Contender, World
from camcast.reproduction.memberships.upkeep import values_of

MEASURES: Final = ("reception", "reliability", "efficiency", "hops_mean", "upward")
"""The measures of the figures, in the paper's order."""
_FIRST_FIGURE: Final = 19  # [CAMCAST 6.2.2] two a measure, in the order of MEASURES
_DEVIATIONS: Final = {"hops_mean": " Nothing where no event arrived (the paper: 0)."}
"""By measure: where a figure is not as the paper's."""


@frozen(kw_only=True)
class Row:
    """A row of the comparison: one contender in one world, in the mean over all its p_sel.

    Reception, reliability, efficiency and hops are of d and a, the communities that an
    event climbs to; `reception_low` is the reception at the lowest p_sel.
    """

    world: World
    name: str
    """Of the contender."""
    runs: int
    reception: Interval
    reception_low: Interval
    reliability: Interval
    efficiency: Interval
    hops_mean: Interval
    upward: Interval
    """From g to d and from d to a, an event."""
    table_to_law: Interval
    """Mean size of the topic tables, as a share of the membership's law."""
    unlisted: Interval
    """Share of the processes that are in nobody's topic table, whom no event can reach."""
    start_seconds: Interval
    """From the first join until all have joined, in waves that double each community."""
    settle_seconds: Interval
    """From then until sizes and super-topic tables are known, `REST_SECONDS` included."""
    controls: Interval
    """Control messages received a process and second (not the datagrams of the DHT)."""
    parasites: int


_OF_RUNS: Final = ("table_to_law", "unlisted", "start_seconds", "settle_seconds", "controls")
COLUMNS: Final = (
    *("reception", "reception_low", "reliability", "efficiency", "hops_mean", "upward"),
    *_OF_RUNS,
)
"""The measures of a row of the comparison that have an interval."""


class Results:
    """The results of one world."""

    def __init__(
        self,
        world: World,
        runs: list[tuple[dict[str, Any], dict[str, Any]]],
        p_sel: tuple[float, ...],
        contenders: Iterable[Contender],
    ) -> None:
        self.world = world
        self.contenders = tuple(contenders)
        self.p_sel = p_sel
        self._results: dict[Contender, dict[int, dict[str, Any]]] = {c: {} for c in self.contenders}
        """By contender and run."""
        self._rows: dict[tuple[Contender, int, str, float], dict[str, Any]] = {}
        """By contender, run, community and p_sel."""
        for cell, result in runs:
            contender = Contender.of(cell)
            self._results[contender][cell["run"]] = result
            for row in result["rows"]:
                self._rows[contender, cell["run"], row["community"], row["p_sel"]] = row

    def has(self, backends: Iterable[str]) -> bool:
        """Say whether all of these memberships are compared, with all that they have."""
        return all(Contender(backend) in self.contenders for backend in backends)

    def values(self, contender: Contender, name: str) -> list[float]:
        """Return a measure of whole runs, run by run."""
        return values_of(self._results[contender].values(), name)

    def receptions(self, backend: str, community: str, p_sel: float) -> list[float]:
        """Return which share of a community got each event, those of all runs."""
        of_runs = self._rows_of(Contender(backend), community, p_sel)
        return [share for row in of_runs for share in row["by_event"]]

    def _rows_of(
        self, contender: Contender, community: str, p_sel: float
    ) -> Iterator[dict[str, Any]]:
        for run in self._results[contender]:
            if row := self._rows.get((contender, run, community, p_sel)):
                yield row

    def _of(self, contender: Contender, community: str, p_sel: float, measure: str) -> list[float]:
        """Return a measure, run by run."""
        rows = self._rows_of(contender, community, p_sel)
        return [row[measure] for row in rows if row[measure] is not None]

    # -- figures --------------------------------------------------------------------------------

    def figures(self) -> list[Figure]:
        """Return the figures, in the paper's order."""
        listed = [(measure, at) for measure in MEASURES for at in ("d", "a")]
        return [
            self._figure(_FIRST_FIGURE + index, measure, community)
            for index, (measure, community) in enumerate(listed)
        ]

    def _figure(self, number: int, measure: str, community: str) -> Figure:
        source = {"d": "g", "a": "d"}[community]
        where = f"from {source} to {community}" if measure == "upward" else f"in {community}"
        known = measure_of(measure)
        title = f"{known.title[0].upper()}{known.title[1:]} {where}"
        live = self.world == "live"
        at = source if measure == "upward" else community
        return Figure(
            name=f"figure{number}" if live else f"virtual_{measure}_{community}",
            title=title,
            x="inter-community dissemination probability, p_sel",
            y=known.title,
            notes=f"{known.meaning[0].upper()}{known.meaning[1:]}." + _DEVIATIONS.get(measure, ""),
            points=tuple(
                self._point(contender, at, p_sel, measure)
                for contender in self.contenders
                for p_sel in self.p_sel
            ),
            domain=(0, 1) if known.is_share else None,
            logarithmic="x",
            wide=False,
        )

    def _point(self, contender: Contender, community: str, p_sel: float, measure: str) -> Point:
        values = self._of(contender, community, p_sel, measure)
        interval = _interval(values, measure)
        # the model of reception, live (`camcast.models.camcast.reception`)
        predicted = self._of(contender, community, p_sel, "predicted")
        return Point(
            series=contender.name,
            x=p_sel,
            model=predicted[0] if measure == "reception" and predicted else None,
            runs=len(values),
            **interval.as_json(),
        )

    # -- the comparison -------------------------------------------------------------------------

    def comparison(self) -> list[Row]:
        """Return a row for each contender."""
        return [self._row(contender) for contender in self.contenders]

    def _row(self, who: Contender) -> Row:
        results = self._results[who].values()
        return Row(
            world=self.world,
            name=who.name,
            runs=len(results),
            **{measure: _interval(self.means(who, measure), measure) for measure in MEASURES},
            reception_low=_interval(self.means(who, "reception", self.p_sel[:1]), "reception"),
            **{name: mean_interval(np.array(self.values(who, name)), 0.0) for name in _OF_RUNS},
            parasites=sum(result["parasites"] for result in results),
        )

    def means(
        self,
        contender: Contender,
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
        for run in self._results[contender]:
            rows = (
                self._rows.get((contender, run, community, value))
                for community in communities
                for value in (self.p_sel if p_sel is None else p_sel)
            )
            values = [row[measure] for row in rows if row and row[measure] is not None]
            if values:
                means.append(factor * float(np.mean(values)))
        return means


def _interval(values: Sequence[float], measure: str) -> Interval:
    return mean_interval(np.array(values), 0.0, measure_of(measure).most)
