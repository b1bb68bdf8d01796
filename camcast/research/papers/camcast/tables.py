"""Tables 1 and 2 of the CAMCAST paper (000, 6.1.2): what is published, and what is found here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, log
from typing import Any, Final

import numpy as np
from attrs import frozen

from camcast.research.papers.camcast import plan
from camcast.research.papers.camcast.cells import Results, model
from camcast.research.papers.camcast.notes import PARASITES_NOTES, ROUNDS_NOTES, notes
from camcast.research.papers.camcast.plan import BROADCAST, CAMCAST, DIVIDED, MULTICAST, PMCAST
from camcast.research.papers.camcast.pmcast_rows import DEPTH, REDUNDANCY, expected_parasites
from camcast.research.papers.paper import Sheet
from camcast.research.population.outcome import mean_interval
from camcast.research.systems.baselines.model import predict_baseline
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast.latency import hierarchical_latency, multicast_latency, rounds
from camcast.research.systems.camcast.parasite_equations import flooded_parasites
from camcast.research.systems.rfpbcast.rfpbcast_equations import completion_rounds, pittel_rounds

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
FAN_OUTS: Final = {
    (CAMCAST, "ceil"): "measured at real nodes, an event of every topic",
    (BROADCAST, "floor"): "measured at real nodes, fan-out ⌊ln n + c⌋",
    (BROADCAST, "ceil"): "measured at real nodes, fan-out ⌈ln n + c⌉, as CAMCAST's is here",
}
"""What the measurement of Table 2 is of, by approach and rounding of the fan-out."""
FAN_OUTS_PMCAST: Final = (2, 4)
"""[hpmcast 5.3: F = 2] [chosen: 4, as of whole numbers it is nearest in Table 1's formula]"""

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


@frozen(kw_only=True)
class Table:
    """A table of the paper."""

    number: int
    title: str
    notes: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def sheet(self) -> Sheet:
        """The entries as they lie in the folder."""
        return Sheet(
            f"table{self.number}",
            {"title": self.title, "notes": self.notes},
            [{name: getattr(entry, name) for name in _COLUMNS} for entry in self.entries],
        )

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
    """An approach in one topology, whose entries are made here."""

    results: Results
    approach: str
    topology: str
    published: float | None

    @property
    def sizes(self) -> tuple[int, ...]:
        return plan.TOPOLOGIES[self.topology]

    @property
    def processes(self) -> int:
        return sum(self.sizes)

    def told(self, how: str, mean: float) -> Entry:
        """Return what a formula says."""
        return self._entry(how, {"mean": mean}, "formula")

    def measured(self, interval: Mapping[str, Any]) -> Entry:
        """Return what the plan's engine says."""
        plan = self.results.plan
        return self._entry("measured", interval, plan.engine, plan.runs)

    def counted(self, how: str, counts: Sequence[int], simulator: str) -> Entry:
        """Return the mean of counts, with its interval unless there is no spread to tell it by."""
        values = np.array(counts, dtype=np.int64)
        alike = np.ptp(values) == 0
        interval = {"mean": float(values[0])} if alike else mean_interval(values, 0.0).as_json()
        return self._entry(how, interval, simulator, len(values))

    def multicasts(self, interested: int, counted: Mapping[str, str]) -> Iterator[Entry]:
        """Yield what hpmcast was measured to do, by measure and fan-out."""
        for measure, name in counted.items():
            for fan_out in FAN_OUTS_PMCAST:
                found = self.results.multicast(self.processes, interested, fan_out)
                how = f"measured, hpmcast R = {REDUNDANCY}, l = {DEPTH}, F = {fan_out}: {name}"
                yield self.counted(how, found[measure], "hpmcast")

    def _entry(
        self, how: str, interval: Mapping[str, Any], simulator: str, runs: int | None = None
    ) -> Entry:
        return Entry(
            approach=self.approach,
            how=how,
            topology=self.topology,
            published=self.published,
            simulator=simulator,
            runs=runs,
            **interval,
        )


def tables(results: Results) -> tuple[Table, Table]:
    """Return both tables, with the rows of the plan's approaches."""
    chosen = results.plan.approaches()

    def entries(published: Mapping[str, tuple[float, ...]], rows: _Rows) -> tuple[Entry, ...]:
        return tuple(
            entry
            for at, topology in enumerate(plan.TOPOLOGIES)
            for approach in chosen
            for number in (published[approach][at] if approach in published else None,)
            for entry in rows[approach](_Column(results, approach, topology, number))
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


def _rounds_of_camcast(column: _Column) -> Iterator[Entry]:
    yield column.measured(column.results.spread(column.sizes)["rounds_to_reach_all"])
    predictions = model(sizes=column.sizes)
    arrivals = [*(prediction.arrival for prediction in predictions), 0.0]
    # the mean round of the last to send, in whichever community the event ends
    last = sum(
        (arrivals[at] - arrivals[at + 1]) * (prediction.rounds or 0.0)
        for at, prediction in enumerate(predictions)
    )
    yield column.told("model", last)


def _rounds_of_broadcast(column: _Column) -> Iterator[Entry]:
    n = column.processes
    fan_out = floor(log(n) + plan.PARAMETERS.c)
    told = {
        "ln n / ln ln n (Equation 12)": rounds(n),
        BY_EQUATION_12: rounds(n, 1),
        "Pittel, F = 0.85 ⌊ln n + c⌋, + 1": pittel_rounds(n, fan_out, plan.SUCCESS, 1),
    }
    for how, mean in told.items():
        yield column.told(how, float(mean))
    yield column.measured(column.results.spread(plan.group_of(column.sizes))["rounds_to_reach_all"])


def _rounds_of_pmcast(column: _Column) -> Iterator[Entry]:
    n = column.processes
    yield column.told(BY_EQUATION_5, float(pittel_rounds(n, _F, plan.SUCCESS)))
    how = f"until all have it (002, Equation 2), F = {_F}, 0.85"
    yield column.told(how, completion_rounds(n, _F, plan.SUCCESS))
    counted = {"last": "until the last has it", "rounds": "until nobody gossips"}
    yield from column.multicasts(n, counted)


def _rounds_of_divided(column: _Column) -> Iterator[Entry]:
    setting = baseline(DIVIDED[column.approach], plan.setting_of(column.sizes))
    found = column.results.baseline(column.approach, column.sizes, root=False)
    yield column.counted("measured", found["rounds"], "baselines")
    predicted = predict_baseline(setting).rounds
    assert predicted is not None, "everybody sends from both tables"
    yield column.told("model", predicted)
    asymptote = (
        multicast_latency(column.sizes)
        if column.approach == MULTICAST
        else hierarchical_latency(setting.clusters, setting.processes / setting.clusters)
    )
    yield column.told("Equation 12, as 4.6.2 has it", float(asymptote))


# -- Table 2 --------------------------------------------------------------------------------------


def _parasites_of_nodes(column: _Column) -> Iterator[Entry]:
    """Yield those of CAMCAST or gossip broadcast."""
    n, sizes = column.processes, column.sizes
    if column.approach == BROADCAST:
        mean = flooded_parasites(floor(log(n) + plan.PARAMETERS.c), n, sizes[-1], plan.SUCCESS)
        yield column.told("⌊ln n + c⌋ · 0.85 · (uninterested processes)", float(mean))
    for (of, fan_out), how in FAN_OUTS.items():
        if of == column.approach:
            yield column.counted(how, column.results.parasites(of, sizes, fan_out), "virtual")


def _parasites_of_pmcast(column: _Column) -> Iterator[Entry]:
    interested = column.sizes[-1]
    how = f"uninterested delegates, R = {REDUNDANCY}, l = {DEPTH}: processes"
    yield column.told(how, expected_parasites(column.processes, interested))
    yield from column.multicasts(
        interested, {"parasites": "processes", "parasite_copies": "copies"}
    )


def _parasites_of_divided(column: _Column) -> Iterator[Entry]:
    root = len(column.sizes) - 1
    setting = baseline(DIVIDED[column.approach], plan.setting_of(column.sizes), root)
    found = column.results.baseline(column.approach, column.sizes, root=True)
    yield column.counted("measured", found["parasites"], "baselines")
    yield column.told("model", predict_baseline(setting).parasite_copies)


_Rows = Mapping[str, Callable[[_Column], Iterator[Entry]]]
_ROUNDS_OF: Final[_Rows] = {
    CAMCAST: _rounds_of_camcast,
    BROADCAST: _rounds_of_broadcast,
    PMCAST: _rounds_of_pmcast,
    MULTICAST: _rounds_of_divided,
    plan.HIERARCHICAL: _rounds_of_divided,
}
_PARASITES_OF: Final[_Rows] = {
    CAMCAST: _parasites_of_nodes,
    BROADCAST: _parasites_of_nodes,
    PMCAST: _parasites_of_pmcast,
    MULTICAST: _parasites_of_divided,
    plan.HIERARCHICAL: _parasites_of_divided,
}
