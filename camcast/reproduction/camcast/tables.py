"""Tables 1 and 2 of the CAMCAST paper (000, 6.1.2): what is published, and what is found here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import floor, log
from typing import Any, Final

import numpy as np
from attrs import frozen

from camcast.models.baselines import predict_baseline
from camcast.models.camcast.latency import hierarchical_latency, multicast_latency, rounds
from camcast.models.camcast.parasites import flooded_parasites
from camcast.models.camcast.prediction import Prediction
from camcast.models.rfpbcast import completion_rounds, pittel_rounds
from camcast.population.outcome import mean_interval
from camcast.reproduction.camcast.approaches import (
    BROADCAST,
    CAMCAST,
    DIVIDED,
    FAN_OUTS,
    FAN_OUTS_PMCAST,
    MULTICAST,
    PMCAST,
    approaches,
)
from camcast.reproduction.camcast.notes import PARASITES_NOTES, ROUNDS_NOTES, notes
from camcast.reproduction.camcast.plan import PARAMETERS, SUCCESS, TOPOLOGIES, setting_of
from camcast.reproduction.camcast.pmcast_rows import DEPTH, REDUNDANCY, expected_parasites
from camcast.reproduction.camcast.results import Results, group_of, model
from camcast.settings.baselines import baseline

ROUNDS: Final = {  # [CAMCAST Table 1]
    CAMCAST: (8.91, 8.83, 13.08),
    BROADCAST: (4.63, 4.39, 4.31),
    PMCAST: (6.61, 5.44, 5.89),
}
PARASITES: Final = {  # [CAMCAST Table 2]
    CAMCAST: (0, 0, 0),
    BROADCAST: (11216, 1699, 3739),
    PMCAST: (453, 369, 615),
}

_COLUMNS: Final = (
    *("approach", "how", "topology", "published", "mean", "low", "high", "deviation"),
    *("simulator", "runs"),
)
_F: Final = FAN_OUTS_PMCAST[-1]
BY_EQUATION_12: Final = "ln n / ln ln n + 1"
BY_EQUATION_5: Final = f"T(n, F) (002, Equation 5), F = {_F}, 0.85 arrive"
"""The formulas that come closest to the published rounds of gossip broadcast and PMcast."""


@frozen(kw_only=True)
class Entry:
    """A row of a table: an approach in one topology, by one way to tell."""

    approach: str
    how: str
    topology: str
    published: float | None
    """None of what the paper's table leaves out."""
    mean: float | None
    low: float | None = None
    high: float | None = None
    simulator: str
    runs: int | None = None

    @property
    def deviation(self) -> float | None:
        """From the published value, as a share of it."""
        return self.mean / self.published - 1 if self.published and self.mean is not None else None

    @property
    def row(self) -> dict[str, Any]:
        """As it lies in the folder."""
        return {name: getattr(self, name) for name in _COLUMNS}


@frozen(kw_only=True)
class Table:
    """A table of the paper."""

    number: int
    title: str
    notes: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of its files, without what follows the dot."""
        return f"table{self.number}"

    @property
    def about(self) -> dict[str, Any]:
        """What there is to say about its rows."""
        return {"title": self.title, "notes": self.notes}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The entries, as they lie in the folder."""
        return [entry.row for entry in self.entries]

    @property
    def lines(self) -> Iterator[tuple[str, str, list[Entry]]]:
        """The lines to print: approach, way to tell, and the entries of the topologies in turn.

        An approach has a line of its published values first, and only this one has its name.
        """
        found: dict[str, dict[str, list[Entry]]] = {}
        for entry in self.entries:
            found.setdefault(entry.approach, {}).setdefault(entry.how, []).append(entry)
        for approach, ways in found.items():
            yield approach, "published", next(iter(ways.values()))
            for how, entries in ways.items():
                yield "", how, entries


@frozen
class _Column:
    """A topology of a table, whose entries are made here."""

    results: Results
    published: Mapping[str, tuple[float, ...]]
    topology: str

    @property
    def sizes(self) -> tuple[int, ...]:
        return TOPOLOGIES[self.topology]

    @property
    def processes(self) -> int:
        return sum(self.sizes)

    def told(self, approach: str, how: str, mean: float) -> Entry:
        """Return what a formula says."""
        return self._entry(approach, how, {"mean": mean}, "formula", None)

    def measured(self, approach: str, how: str, interval: Mapping[str, Any]) -> Entry:
        """Return what the plan's engine says."""
        plan = self.results.plan
        return self._entry(approach, how, interval, plan.engine, plan.runs)

    def counted(self, approach: str, how: str, counts: Sequence[int], simulator: str) -> Entry:
        """Return the mean of counts, with its interval unless there is no spread to tell it by."""
        values = np.array(counts, dtype=np.int64)
        alike = np.ptp(values) == 0
        interval = {"mean": float(values[0])} if alike else mean_interval(values, 0.0).as_json()
        return self._entry(approach, how, interval, simulator, len(values))

    def _entry(
        self,
        approach: str,
        how: str,
        interval: Mapping[str, Any],
        simulator: str,
        runs: int | None,
    ) -> Entry:
        published = self.published.get(approach)
        return Entry(
            approach=approach,
            how=how,
            topology=self.topology,
            published=None if published is None else published[[*TOPOLOGIES].index(self.topology)],
            simulator=simulator,
            runs=runs,
            **interval,
        )


def tables(results: Results) -> tuple[Table, Table]:
    """Return both tables, with the rows of the plan's approaches."""
    chosen = approaches(results.plan)

    def entries(published: Mapping[str, tuple[float, ...]], rows: _Rows) -> tuple[Entry, ...]:
        return tuple(
            entry
            for topology in TOPOLOGIES
            for approach in chosen
            for entry in rows[approach](_Column(results, published, topology))
        )

    return (
        Table(
            number=1,
            title="Average number of rounds to disseminate an event in all communities",
            notes=notes(ROUNDS_NOTES, chosen),
            entries=entries(ROUNDS, _ROUNDS_OF),
        ),
        Table(
            number=2,
            title="Total number of parasite events",
            notes=notes(PARASITES_NOTES, chosen),
            entries=entries(PARASITES, _PARASITES_OF),
        ),
    )


# -- Table 1 --------------------------------------------------------------------------------------


def _rounds_of_camcast(column: _Column) -> Iterable[Entry]:
    found = column.results.spread(column.sizes)["rounds_to_reach_all"]
    yield column.measured(CAMCAST, "measured", found)
    yield column.told(CAMCAST, "model", _rounds_of_all(model(column.sizes)))


def _rounds_of_broadcast(column: _Column) -> Iterable[Entry]:
    n = column.processes
    fan_out = floor(log(n) + PARAMETERS.c)
    told = {
        "ln n / ln ln n (Equation 12)": rounds(n),
        BY_EQUATION_12: rounds(n, 1),
        "Pittel, F = 0.85 ⌊ln n + c⌋, + 1": pittel_rounds(n, fan_out, SUCCESS, 1),
    }
    for how, mean in told.items():
        yield column.told(BROADCAST, how, float(mean))
    found = column.results.spread(group_of(column.sizes))["rounds_to_reach_all"]
    yield column.measured(BROADCAST, "measured", found)


def _rounds_of_pmcast(column: _Column) -> Iterable[Entry]:
    n = column.processes
    yield column.told(PMCAST, BY_EQUATION_5, float(pittel_rounds(n, _F, SUCCESS)))
    how = f"until all have it (002, Equation 2), F = {_F}, 0.85"
    yield column.told(PMCAST, how, completion_rounds(n, _F, SUCCESS))
    counted = {"last": "until the last has it", "rounds": "until nobody gossips"}
    yield from _multicasts(column, n, counted)


def _rounds_of_divided(approach: str, column: _Column) -> Iterable[Entry]:
    setting = baseline(DIVIDED[approach], setting_of(column.sizes))
    yield _baseline(approach, column, "rounds", root=False)
    model = predict_baseline(setting).rounds
    assert model is not None, "everybody sends from both tables"
    yield column.told(approach, "model", model)
    asymptote = (
        multicast_latency(column.sizes)
        if approach == MULTICAST
        else hierarchical_latency(setting.clusters, setting.processes / setting.clusters)
    )
    yield column.told(approach, "Equation 12, as 4.6.2 has it", float(asymptote))


def _rounds_of_all(predictions: Sequence[Prediction]) -> float:
    """Return the mean round of the last to send, in whichever community the event ends."""
    arrivals = [*(prediction.arrival for prediction in predictions), 0.0]
    return sum(
        (arrivals[at] - arrivals[at + 1]) * (prediction.rounds or 0.0)
        for at, prediction in enumerate(predictions)
    )


# -- Table 2 --------------------------------------------------------------------------------------


def _parasites_of_nodes(approach: str, column: _Column) -> Iterable[Entry]:
    """Yield those of CAMCAST or gossip broadcast."""
    n, sizes = column.processes, column.sizes
    if approach == BROADCAST:
        mean = flooded_parasites(floor(log(n) + PARAMETERS.c), n, sizes[-1], SUCCESS)
        yield column.told(approach, "⌊ln n + c⌋ · 0.85 · (uninterested processes)", float(mean))
    for (of, fan_out), how in FAN_OUTS.items():
        if of == approach:
            counts = column.results.parasites(approach, sizes, fan_out)
            yield column.counted(approach, how, counts, "virtual")


def _parasites_of_pmcast(column: _Column) -> Iterable[Entry]:
    interested = column.sizes[-1]
    how = f"uninterested delegates, R = {REDUNDANCY}, l = {DEPTH}: processes"
    yield column.told(PMCAST, how, expected_parasites(column.processes, interested))
    counted = {"parasites": "processes", "parasite_copies": "copies"}
    yield from _multicasts(column, interested, counted)


def _parasites_of_divided(approach: str, column: _Column) -> Iterable[Entry]:
    setting = baseline(DIVIDED[approach], setting_of(column.sizes), len(column.sizes) - 1)
    yield _baseline(approach, column, "parasites", root=True)
    yield column.told(approach, "model", predict_baseline(setting).parasite_copies)


# -- either ---------------------------------------------------------------------------------------


def _multicasts(column: _Column, interested: int, counted: Mapping[str, str]) -> Iterable[Entry]:
    """Yield what hpmcast was measured to do, by measure and fan-out."""
    for measure, name in counted.items():
        for fan_out in FAN_OUTS_PMCAST:
            found = column.results.multicast(column.processes, interested, fan_out)
            how = f"measured, hpmcast R = {REDUNDANCY}, l = {DEPTH}, F = {fan_out}: {name}"
            yield column.counted(PMCAST, how, found[measure], "hpmcast")


def _baseline(approach: str, column: _Column, measure: str, *, root: bool) -> Entry:
    found = column.results.baseline(approach, column.sizes, root=root)
    return column.counted(approach, "measured", found[measure], "baselines")


_Rows = Mapping[str, Callable[[_Column], Iterable[Entry]]]
_ROUNDS_OF: Final[_Rows] = {
    CAMCAST: _rounds_of_camcast,
    BROADCAST: _rounds_of_broadcast,
    PMCAST: _rounds_of_pmcast,
    **{approach: partial(_rounds_of_divided, approach) for approach in DIVIDED},
}
_PARASITES_OF: Final[_Rows] = {
    PMCAST: _parasites_of_pmcast,
    **{approach: partial(_parasites_of_nodes, approach) for approach in (CAMCAST, BROADCAST)},
    **{approach: partial(_parasites_of_divided, approach) for approach in DIVIDED},
}
