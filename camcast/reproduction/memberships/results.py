"""What was measured of the memberships in one world: figures, and the backends side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen

from camcast.measures import measure_of
from camcast.population.outcome import Interval, mean_interval
from camcast.reproduction.figure import Figure, Point
from camcast.reproduction.memberships.plan import VARIANTS, World

MEASURES: Final = ("reception", "reliability", "efficiency", "hops_mean", "upward")
"""The measures of the figures, in the paper's order."""
_FIRST_FIGURE: Final = 19  # [CAMCAST 6.2.2] two a measure, in the order of MEASURES
_DEVIATIONS: Final = {"hops_mean": " Nothing where no event arrived (the paper: 0)."}
"""By measure: where a figure is not as the paper's."""


@frozen(kw_only=True)
class Row:
    """A row of the comparison: one backend in one world, in the mean over all its p_sel.

    Reception, reliability, efficiency and hops are of d and a, the communities that an
    event climbs to; `reception_low` is the reception at the lowest p_sel.
    """

    world: World
    backend: str
    variant: str
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
    ) -> None:
        self.world = world
        self.backends = tuple(VARIANTS)
        self.p_sel = p_sel
        self._results: dict[str, dict[int, list[dict[str, Any]]]] = {b: {} for b in VARIANTS}
        """By backend and run: one result live, one for each p_sel in the virtual network."""
        self._rows: dict[tuple[str, int, str, float], dict[str, Any]] = {}
        """By backend, run, community and p_sel."""
        for cell, result in runs:
            self._results[cell["backend"]].setdefault(cell["run"], []).append(result)
            for row in result["rows"]:
                key = (cell["backend"], cell["run"], row["community"], row["p_sel"])
                self._rows[key] = row

    def _of(self, backend: str, community: str, p_sel: float, measure: str) -> list[float]:
        """Return a measure, run by run."""
        rows = (self._rows.get((backend, run, community, p_sel)) for run in self._results[backend])
        return [row[measure] for row in rows if row and row[measure] is not None]

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
                self._point(backend, at, p_sel, measure)
                for backend in self.backends
                for p_sel in self.p_sel
            ),
            domain=(0, 1) if known.is_share else None,
            logarithmic="x",
            wide=False,
        )

    def _point(self, backend: str, community: str, p_sel: float, measure: str) -> Point:
        values = self._of(backend, community, p_sel, measure)
        interval = _interval(values, measure)
        # the model of reception, live (`camcast.models.camcast.reception`)
        predicted = self._of(backend, community, p_sel, "predicted")
        return Point(
            series=f"{VARIANTS[backend]} {backend}",
            x=p_sel,
            model=predicted[0] if measure == "reception" and predicted else None,
            runs=len(values),
            mean=interval.mean,
            low=interval.low,
            high=interval.high,
        )

    # -- the comparison -------------------------------------------------------------------------

    def comparison(self) -> list[Row]:
        """Return a row for each backend."""
        return [self._row(backend) for backend in self.backends]

    def _row(self, backend: str) -> Row:
        def whole(name: str, low: float = 0.0) -> Interval:
            runs = self._results[backend].values()
            means = [[r[name] for r in run if name in r] for run in runs]
            return mean_interval(np.array([np.mean(run) for run in means if run]), low)

        return Row(
            world=self.world,
            backend=backend,
            variant=VARIANTS[backend],
            runs=len(self._results[backend]),
            **{measure: _interval(self.means(backend, measure), measure) for measure in MEASURES},
            reception_low=_interval(self.means(backend, "reception", self.p_sel[:1]), "reception"),
            **{name: whole(name) for name in _OF_RUNS},
            parasites=sum(r["parasites"] for run in self._results[backend].values() for r in run),
        )

    def means(
        self,
        backend: str,
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
        for run in self._results[backend]:
            rows = (
                self._rows.get((backend, run, community, value))
                for community in communities
                for value in (self.p_sel if p_sel is None else p_sel)
            )
            values = [row[measure] for row in rows if row and row[measure] is not None]
            if values:
                means.append(factor * float(np.mean(values)))
        return means


def _interval(values: Sequence[float], measure: str) -> Interval:
    return mean_interval(np.array(values), 0.0, measure_of(measure).most)
