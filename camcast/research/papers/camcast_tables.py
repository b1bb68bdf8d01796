"""Tables 1 and 2 of the CAMCAST paper (000, 6.1.2): their rows, runs, notes and evidence.

The rows of PMcast are those of its successor, hpmcast (002), among as many processes as the tables
have: PMcast is the paper's [22]. What becomes of an event is
`camcast.research.systems.hpmcast.level_gossip`, in which a period is a round. Neither 1,110 nor 300
nor 500 is a whole number to the power of three. The hierarchy has the least arity that takes so
many, and the addresses in use lie evenly among all there are, so that the subsystems of a level
differ by one process at most.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import groupby
from math import floor, fsum, hypot, log, prod, sqrt
from random import Random
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen

from camcast.research.papers.camcast_setting import (
    PARAMETERS,
    SUCCESS,
    CamcastPlan,
    group_of,
    model,
    setting_of,
    spread,
)
from camcast.research.papers.paper import Given, Kind, Kinds, Results, Sheet
from camcast.research.population.interested_draw import COLUMNS, PARASITE_COPIES
from camcast.research.population.interested_draw import ROUNDS as ROUNDS_COLUMN
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.population.xoshiro import seeded
from camcast.research.report.evidence import (
    EDGE,
    UNKNOWN,
    Cause,
    Evidence,
    half_of,
    jointly,
    unpublished,
    value,
)
from camcast.research.report.page import NOTHING, grid, notes_list, number
from camcast.research.simulation.static_network import DealtNetwork
from camcast.research.sweeps import JSON
from camcast.research.systems.baselines import population as baselines
from camcast.research.systems.baselines.model import predict_baseline
from camcast.research.systems.baselines.setting import Protocol, baseline
from camcast.research.systems.camcast.latency import hierarchical_latency, multicast_latency, rounds
from camcast.research.systems.camcast.message_equations import flooded_parasites
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.level_gossip import all_measured, tree_of
from camcast.research.systems.hpmcast.level_gossip import spread as gossip
from camcast.research.systems.rfpbcast.rfpbcast_equations import completion_rounds, pittel_rounds
from camcast.vocabulary.parameters import PRESETS
from camcast.vocabulary.streams import stream

TOPOLOGIES: Final[Mapping[str, tuple[int, ...]]] = {  # [CAMCAST Tables 1 and 2]
    "1000, 100, 10": (1000, 100, 10),
    "100 (j = 2)": (100,) * 3,
    "100 (j = 4)": (100,) * 5,
}

CAMCAST, BROADCAST, PMCAST = "(1) CAMCAST", "(2) gossip broadcast", "(3) PMcast"
MULTICAST, HIERARCHICAL = "4.2 (b) gossip multicast", "4.2 (c) hierarchical gossip broadcast"
APPROACHES: Final[Mapping[str, tuple[str, ...]]] = {
    CAMCAST: ("camcast",),
    BROADCAST: ("broadcast",),
    # [CAMCAST 2] "In PMcast [22] [...] the processes are arranged into a hierarchy": by either name
    PMCAST: ("pmcast", "hpmcast"),
    MULTICAST: ("multicast",),
    HIERARCHICAL: ("hierarchical",),
}
"""The rows of Tables 1 and 2 (6.1.2), by the names of protocols that choose them."""
DIVIDED: Final[Mapping[str, Protocol]] = {MULTICAST: "multicast", HIERARCHICAL: "hierarchical"}
"""The approaches that the paper's tables leave out."""

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
"""The measurements of Table 2, by approach and rounding of the fan-out."""
FAN_OUTS_PMCAST: Final = (2, 4)
"""[hpmcast 5.3: F = 2] [chosen: 4, as of whole numbers it is nearest in Table 1's formula]"""
EXPERIMENTS: Final = 100  # [CAMCAST 6.1.1] "averaged over 100 experiments"
_ROUNDED: Final = 0.005  # chosen: smaller deviations are told to 0.001 %
RUNS_PARASITES_MAX: Final = 20  # chosen: ±0.2 % of Table 2's largest number; 200 s of CPU in all
RUNS_MULTICAST_MAX: Final = 50  # chosen: ±6 % of any number, mostly ±3 %; 15 s in all
DEPTH: Final = 3  # [hpmcast 5.3, Figures 7, 8]
REDUNDANCY: Final = 3  # [hpmcast 5.3, Figures 7, 8]

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

    results: Results[CamcastPlan]
    approach: str
    topology: str
    published: float | None

    @property
    def sizes(self) -> tuple[int, ...]:
        return TOPOLOGIES[self.topology]

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
        runs = min(self.results.plan.runs, RUNS_MULTICAST_MAX)
        for measure, name in counted.items():
            for fan_out in FAN_OUTS_PMCAST:
                given = {"interested": interested, "fan_out": fan_out, "runs": runs}
                found = self.results.of("multicast", processes=self.processes, **given)
                how = f"measured, hpmcast R = {REDUNDANCY}, l = {DEPTH}, F = {fan_out}: {name}"
                yield self.counted(how, found[measure], "hpmcast")

    def parasites(self, fan_out: str) -> Any:
        """Return, run by run, the copies that the uninterested get."""
        ours = self.approach == CAMCAST
        return self.results.of(
            "parasites",
            sizes=list(self.sizes if ours else group_of(self.sizes)),
            interested=None if ours else self.sizes[-1],
            fan_out=fan_out,
            runs=min(self.results.plan.runs, RUNS_PARASITES_MAX),
        )

    def baseline(self, published_in: int) -> Any:
        """Return what a baseline made of an event of a community: 0 is the bottom-most."""
        protocol, sizes = DIVIDED[self.approach], list(self.sizes)
        return self.results.of(
            "baseline", protocol=protocol, sizes=sizes, published_in=published_in
        )

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


def tables(results: Results[CamcastPlan]) -> tuple[Table, Table]:
    """Return both tables, with the rows of the plan's approaches."""
    chosen = tuple(name for name, by in APPROACHES.items() if any(map(results.plan.about, by)))

    def entries(published: Mapping[str, tuple[float, ...]], rows: _Rows) -> tuple[Entry, ...]:
        return tuple(
            entry
            for at, topology in enumerate(TOPOLOGIES)
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
    yield column.measured(spread(column.results, column.sizes)["rounds_to_reach_all"])
    predictions = model(sizes=column.sizes)
    arrivals = [*(prediction.arrival for prediction in predictions), 0.0]
    # the mean round of the last to send, in whichever community the event ends
    last = fsum(
        (arrivals[at] - arrivals[at + 1]) * (prediction.rounds or 0.0)
        for at, prediction in enumerate(predictions)
    )
    yield column.told("model", last)


def _rounds_of_broadcast(column: _Column) -> Iterator[Entry]:
    n = column.processes
    fan_out = floor(log(n) + PARAMETERS.c)
    told = {
        "ln n / ln ln n (Equation 12)": rounds(n),
        BY_EQUATION_12: rounds(n, 1),
        "Pittel, F = 0.85 ⌊ln n + c⌋, + 1": pittel_rounds(n, fan_out, SUCCESS, 1),
    }
    for how, mean in told.items():
        yield column.told(how, float(mean))
    yield column.measured(spread(column.results, group_of(column.sizes))["rounds_to_reach_all"])


def _rounds_of_pmcast(column: _Column) -> Iterator[Entry]:
    n = column.processes
    yield column.told(BY_EQUATION_5, float(pittel_rounds(n, _F, SUCCESS)))
    how = f"until all have it (002, Equation 2), F = {_F}, 0.85"
    yield column.told(how, completion_rounds(n, _F, SUCCESS))
    counted = {"last": "until the last has it", "rounds": "until nobody gossips"}
    yield from column.multicasts(n, counted)


def _rounds_of_divided(column: _Column) -> Iterator[Entry]:
    setting = baseline(DIVIDED[column.approach], setting_of(column.sizes))
    found = column.baseline(published_in=0)
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
        mean = flooded_parasites(floor(log(n) + PARAMETERS.c), n, sizes[-1], SUCCESS)
        yield column.told("⌊ln n + c⌋ · 0.85 · (uninterested processes)", float(mean))
    for (of, fan_out), how in FAN_OUTS.items():
        if of == column.approach:
            yield column.counted(how, column.parasites(fan_out), "virtual")


def _parasites_of_pmcast(column: _Column) -> Iterator[Entry]:
    interested = column.sizes[-1]
    how = f"uninterested delegates, R = {REDUNDANCY}, l = {DEPTH}: processes"
    yield column.told(how, expected_parasites(column.processes, interested))
    yield from column.multicasts(
        interested, {"parasites": "processes", "parasite_copies": "copies"}
    )


def _parasites_of_divided(column: _Column) -> Iterator[Entry]:
    root = len(column.sizes) - 1
    setting = baseline(DIVIDED[column.approach], setting_of(column.sizes), root)
    found = column.baseline(published_in=root)
    yield column.counted("measured", found["parasites"], "baselines")
    yield column.told("model", predict_baseline(setting).parasite_copies)


_Rows = Mapping[str, Callable[[_Column], Iterator[Entry]]]
_ROUNDS_OF: Final[_Rows] = {
    CAMCAST: _rounds_of_camcast,
    BROADCAST: _rounds_of_broadcast,
    PMCAST: _rounds_of_pmcast,
    MULTICAST: _rounds_of_divided,
    HIERARCHICAL: _rounds_of_divided,
}
_PARASITES_OF: Final[_Rows] = {
    CAMCAST: _parasites_of_nodes,
    BROADCAST: _parasites_of_nodes,
    PMCAST: _parasites_of_pmcast,
    MULTICAST: _parasites_of_divided,
    HIERARCHICAL: _parasites_of_divided,
}


# -- runs -----------------------------------------------------------------------------------------


def _parasites(given: Given) -> JSON:
    """Return, run by run, how many copies uninterested processes received.

    With CAMCAST one event of every topic is published, and their copies are added up.
    """
    sizes, runs, seed = given["sizes"], range(given["runs"]), given["seed"]
    # ceil(x - 1) is floor(x), but for whole x, which ln n + 5 is for no n
    c = PARAMETERS.c - (1 if given["fan_out"] == "floor" else 0)
    setting = setting_of(sizes, parameters=attrs.evolve(PARAMETERS, c=c))
    if given["interested"] is not None:
        return [copies_outside(setting, 0, given["interested"], seed, run) for run in runs]
    everywhere = range(len(sizes))
    return [
        sum(copies_outside(setting, at, sizes[at], seed, run) for at in everywhere) for run in runs
    ]


def copies_outside(
    setting: Setting, publisher_in: int, interested: int, seed: int, run: int
) -> int:
    """Publish one event in a community, and count its copies at those it is not for.

    These are all members of the communities before (below) the publisher's, and of its own all
    but the first `interested`, of whom the publisher is one. A copy that a node counts as a
    parasite counts, whoever the node is. The nodes are those of
    `camcast.research.simulation.static_network`: shipped code, dealt tables, one second a round.
    Each frame is counted by the node that it arrives at (`NodeCounters`); nothing is concluded from
    what was sent.
    """
    dealt = DealtNetwork(setting, stream(seed, "workload", "parasites", run))
    dealt.publish(publisher_in)
    found = 0
    for index, living in enumerate(dealt.alive):
        for position, process in living.items():
            counters = process.node.counters
            found += counters.parasites
            if index < publisher_in or (index == publisher_in and position >= interested):
                found += counters.events + counters.duplicates + counters.late
    return found


def _multicast(given: Given) -> JSON:
    """Return what became of an event each run, measure by measure."""
    what = given["processes"], given["interested"], given["fan_out"], SUCCESS
    runs = (stream(given["seed"], "workload", "multicast", run) for run in range(given["runs"]))
    found = [attrs.asdict(multicast(*what, dice)) for dice in runs]
    return {measure: [run[measure] for run in found] for measure in found[0]}


def _baseline(given: Given) -> JSON:
    """Return what became of an event each run, measure by measure."""
    setting = baseline(given["protocol"], setting_of(given["sizes"]), given["published_in"])
    found = baselines.simulate(setting, given["runs"], given["seed"])
    return {"rounds": found.rounds.tolist(), "parasites": found.parasite_copies.tolist()}


KINDS: Final[Kinds] = {
    "parasites": Kind(_parasites, lambda _cell: [1], turn=lambda _cell: 1),
    "multicast": Kind(
        _multicast,
        lambda _cell: {key: [1] for key in ("last", "rounds", "parasites", "parasite_copies")},
        turn=lambda _cell: 3,
    ),
    "baseline": Kind(
        _baseline, lambda _cell: {"rounds": [1], "parasites": [1]}, turn=lambda _cell: 4
    ),
}


# -- hpmcast --------------------------------------------------------------------------------------


@frozen
class Multicast:
    """The outcome of one event."""

    last: int
    """The round in which the last process receives it for the first time."""
    rounds: int
    """Rounds until gossip ends."""
    delivered: int
    """Interested processes that have it in the end, the publisher among them."""
    parasites: int
    """Uninterested processes that received it."""
    parasite_copies: int
    """Copies that arrived at uninterested processes, each counted."""


def arity_of(processes: int, depth: int = DEPTH) -> int:
    """Return the least a with a^l >= n."""
    return next(a for a in range(1, processes + 1) if a**depth >= processes)


def addresses_of(processes: int, depth: int = DEPTH) -> list[Address]:
    """Return so many addresses, smallest first, evenly among the a^l there are."""
    a, levels = arity_of(processes, depth), range(depth - 1, -1, -1)
    numbers = _numbers(processes, depth)
    return [tuple(number // a**level % a for level in levels) for number in numbers]


def _numbers(processes: int, depth: int) -> list[int]:
    """Return the addresses as numbers in base a."""
    a = arity_of(processes, depth)
    return [process * a**depth // processes for process in range(processes)]


def expected_parasites(
    processes: int, interested: int, depth: int = DEPTH, redundancy: int = REDUNDANCY
) -> float:
    """Return how many uninterested processes `multicast` reaches on average, if it misses nobody.

    Who is a delegate up to level i < l receives what interests somebody of its subsystem of that
    level (002, 5.1.1): of m processes, drawn among n with n_1 interested, nobody is with
    probability C(n-m, n_1) / C(n, n_1).
    """
    addresses = addresses_of(processes, depth)
    uninterested = 1 - interested / processes
    company: dict[Address, int] = {}  # by delegate, of the largest subsystem that it stands for
    for level in range(1, depth):
        for _, members in groupby(addresses, partial(branch, level=level)):
            line = list(members)
            company |= dict.fromkeys(line[:redundancy], len(line))

    def nobody(members: int) -> float:
        left = processes - members
        return prod((left - k) / (processes - k) for k in range(interested)) if left else 0.0

    return sum(uninterested - nobody(members) for members in company.values())


def multicast(
    processes: int,
    interested: int,
    fan_out: int,
    success: float,
    dice: Random,
    depth: int = DEPTH,
    redundancy: int = REDUNDANCY,
) -> Multicast:
    """Publish an event that interests some, the publisher among them; return what became of it.

    Who is interested is drawn, any as likely as any other (002, 5.2). A copy arrives with
    probability `success`.
    """
    wanting = dice.sample(range(processes), interested)
    wants = np.isin(np.arange(processes), wanting)
    a = arity_of(processes, depth)
    groups = np.array(_numbers(processes, depth), np.uint64) // np.uint64(a)
    tree = tree_of(groups, a, depth, redundancy)
    counts = np.zeros(COLUMNS, np.int64)
    received = gossip(
        *(seeded(dice), tree, redundancy, fan_out, 0, *all_measured(depth), 1 - success),
        *(wants, np.ones(processes, np.bool_), wanting[0], counts),
        *(np.zeros(processes, np.int32) for _ in ("sent", "arrived")),
    )
    delivered = int(np.count_nonzero(wants & (received >= 0)))
    return Multicast(
        last=int(received.max()),
        rounds=int(counts[ROUNDS_COLUMN]),
        delivered=delivered,
        parasites=int(np.count_nonzero(received >= 0)) - delivered,
        parasite_copies=int(counts[PARASITE_COPIES]),
    )


# -- evidence -------------------------------------------------------------------------------------


_WAYS: Final = {
    (1, CAMCAST): "measured",
    (1, BROADCAST): BY_EQUATION_12,
    (1, PMCAST): BY_EQUATION_5,
    (2, CAMCAST): FAN_OUTS[CAMCAST, "ceil"],
    (2, BROADCAST): FAN_OUTS[BROADCAST, "floor"],
}
"""Which of our ways to tell a table's entry its published value is compared with."""
_UNPUBLISHED: Final = ((1, BROADCAST), (1, PMCAST), (2, PMCAST))
"""[CAMCAST 6.1.2] "calculated using the analytical equations", which it does not give."""
_QUOTES: Final[Mapping[str, tuple[str, str]]] = {
    "000": (
        "Average number of rounds to disseminate an event in all communities",
        "Total number of parasite events",
    ),
    "001": ("Average number of rounds.", "Total number of parasite messages."),
}
"""The captions of the tables."""
_CONVENTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "⌊ln N + c⌋ + 1 copies, as Figure 8's loop": {
        "parameters": attrs.evolve(PARAMETERS, **PRESETS["paper"])
    },
    "no copy lost": {"success": 1.0},
}
"""Other readings of 6.1.1 that Table 1 may have been simulated by."""


def table_rows(
    paper: str, tables: Sequence[Table], results: Results[CamcastPlan]
) -> Iterator[Evidence]:
    """Return a row for each published value of Tables 1 and 2, and one for CAMCAST's rounds."""
    rounds_of_camcast: list[Evidence] = []
    edges: list[float] = []
    for table in tables:
        rounded = 0.005 if table.number == 1 else 0.5
        for entry in table.entries:
            at = table.number, entry.approach
            if entry.published is None or not entry.how.endswith(_WAYS.get(at, "F = 4: copies")):
                continue
            item = f"Table {table.number}, {entry.approach}, {entry.topology}"
            quote = _QUOTES[paper][table.number - 1]
            found = f"{entry.how}; {entry.runs:,} runs." if entry.runs else f"{entry.how}."
            ours = _interval(entry)
            if at in _UNPUBLISHED:
                yield unpublished(paper, item, quote, entry.published, ours, found)
                continue
            simulated = at == (1, CAMCAST)
            row = value(
                paper,
                item,
                quote,
                entry.published,
                ours,
                found,
                rounded=rounded,
                error=_error(entry) if simulated else 0.0,
                cause=_OPEN if simulated else UNKNOWN,
            )
            if simulated:
                rounds_of_camcast.append(row)
                edges.append(rounded + hypot(half_of(ours) or 0.0, EDGE * _error(entry)))
            yield row
    if rounds_of_camcast:
        yield jointly(
            paper,
            f"Table 1, {CAMCAST}, jointly",
            _QUOTES[paper][0],
            rounds_of_camcast,
            _other_readings(results, rounds_of_camcast, edges),
        )


_OPEN: Final = Cause("open", "The row of the three together has other readings.")


def _other_readings(
    results: Results[CamcastPlan], rows: Sequence[Evidence], edges: Sequence[float]
) -> Cause:
    """Return what other readings make of Table 1's rounds of CAMCAST.

    One that is no farther from any published number than the number's edge is the cause: the paper
    does not say by which reading it simulated.
    """
    told, agrees = [], False
    for words, convention in _CONVENTIONS.items():
        means = list(_rounds_by(results, convention))
        near = all(
            abs(mean - (row.published or 0.0)) <= edge
            for mean, row, edge in zip(means, rows, edges, strict=True)
        )
        agrees |= near
        told.append(
            f"{words}: {', '.join(f'{mean:.2f}' for mean in means)}"
            + (", which agrees" if near else "")
        )
    end = "" if agrees else " No reading tried makes all three agree."
    return Cause.of_paper(f"{'; '.join(told)}.{end}", holds=agrees)


def _rounds_by(results: Results[CamcastPlan], convention: Mapping[str, Any]) -> Iterator[float]:
    """Yield Table 1's rounds of CAMCAST by another reading."""
    for sizes in TOPOLOGIES.values():
        yield spread(results, sizes, **convention)["rounds_to_reach_all"]["mean"]


def _interval(entry: Entry) -> Interval:
    if entry.simulator == "formula":
        return Interval(entry.mean, entry.mean, entry.mean)
    return Interval(entry.mean, entry.low, entry.high)


def _error(entry: Entry) -> float:
    """Return the standard error of the paper's mean, if its runs scatter as ours do."""
    half = half_of(_interval(entry))
    return 0.0 if half is None else half / EDGE * sqrt((entry.runs or 0) / EXPERIMENTS)


# -- words ----------------------------------------------------------------------------------------


Notes = Mapping[str | None, Sequence[str]]
"""By approach; None: of all."""

ROUNDS_NOTES: Final[Notes] = {
    None: (
        "Measured: the publisher sends in round 1; rounds are counted until nobody of any"
        " community has anything left to send, over all runs, those included in which the"
        " event does not climb. Nobody crashes; a copy arrives with probability 0.85.",
    ),
    CAMCAST: ("The model takes the last round of the highest community that the event gets to.",),
    BROADCAST: (
        'Gossip broadcast was "calculated using the analytical equations" (6.1.2), which'
        " the paper does not give. Of the formulas tried, ln n / ln ln n + 1 (Equation 12"
        " with O(1) = 1) comes closest: 3 % off at most. No formula that grows with n can"
        " have 4.39 for n = 300 and 4.31 for n = 500, though; with these two exchanged it"
        " would be within 1 %. Measured with our fan-out ⌈ln n + c⌉, broadcast takes more"
        " rounds than the formula says, as Equation 12 is an asymptote.",
    ),
    PMCAST: (
        'PMcast was "calculated", too. The paper names neither equations nor parameters, and'
        " what it cites [22] is not at hand. Ours is its successor hpmcast (002), where the sum"
        " over all levels is T(n, F) for any depth if an event interests all (Equation 28)."
        " With the 0.85 of 6.1.1 and a whole F, F = 4 comes closest, 3 % too high at most;"
        " F = 3 is 25 % too high, F = 5 is 12 % too low.",
        "The published three lie on a straight line in ln n, within their rounding, as Equation"
        " 5 does if a constant is added: F (1-ε)(1-τ) from 3.80 to 3.87, the constant from"
        " 0.30 to 0.36. F = 4, ε = 0.04 and 1/3 is one of many settings that have this; F = 5,"
        " ε = 0.15, τ = 0.1 is another. Two numbers fit three values: that says which form it"
        " had, perhaps, but not which setting.",
        "Equation 5 is an asymptote; by the chain that it stands for all have the event 0.9 rounds"
        " later. Measured are processes in step that disseminate as live ones do (002, Figure 6): R"
        f" = {REDUNDANCY} and l = {DEPTH} as 002 simulates (5.3), F = 2 as there and F = 4 as in"
        " the formula; the least arity that takes so many (11, 7, 8); addresses lie evenly. They"
        " take longer than Equation 5 says, since each level begins with delegates anew, lasts a"
        " whole number of rounds, and at level 1 counts each process R times (Figure 6, line 27).",
    ),
    MULTICAST: (
        "Gossip multicast is not in the paper's table. It is one group of all who are interested,"
        " here everybody: a broadcast. Equation 12 is for all communities at once (4.6.2).",
    ),
    HIERARCHICAL: (
        "Hierarchical gossip broadcast is not in the paper's table. Everybody sends from both of"
        " its tables, among √n clusters (4.4.2, Equation 5). Equation 12 is for passing the"
        " clusters, and then one of them (4.6.2).",
    ),
}

PARASITES_NOTES: Final[Notes] = {
    None: (
        'The worst case: "a publisher publishes an event of the root topic" (6.1.2), so'
        " that all processes but those of the root community are uninterested. Every copy"
        " that one of them receives is counted, duplicates included.",
    ),
    BROADCAST: (
        "The published numbers of gossip broadcast are the formula's, to within 0.06 %;"
        " they take the fan-out for ⌊ln n + c⌋, one less than ours. Both are measured: one"
        " group of all n processes, of shipped nodes with dealt tables, in the virtual"
        " network; what arrives is counted where it arrives.",
    ),
    CAMCAST: (
        "CAMCAST: the same nodes in their communities; one event of each topic, the root's"
        " among them. Copies that reach somebody the event is not for would count.",
    ),
    PMCAST: (
        "PMcast's numbers are of a formula, too, which is not given; 002 has none. They count"
        " copies: 369 and 615 are more than the 200 and 400 uninterested processes. Ours are of"
        f" hpmcast's uninterested delegates (002, 5.1.1), with R = {REDUNDANCY} and l = {DEPTH} as"
        " in Table 1, the root community being any of the processes. Processes: who of them"
        " receives it; the formula is exact if nobody is missed. Copies: as in the other rows.",
        "They do not come out as published, least of all for 10 interested of 1,110. These have"
        " fewer uninterested delegates than 100 of 300 have, in every tree tried, and so fewer"
        " copies come; the paper has more. Its numbers are 1.23 a process of 300 and of 500 alike,"
        " whoever is interested, and 0.41 of 1,110. What was computed there is not known.",
    ),
    MULTICAST: (
        "Gossip multicast is not in the paper's table: its group holds the interested alone.",
    ),
    HIERARCHICAL: (
        "Hierarchical gossip broadcast is not in the paper's table. Its clusters ignore interests,"
        " and its processes send from two tables each.",
    ),
}


def notes(listed: Notes, chosen: Container[str]) -> tuple[str, ...]:
    """Return the notes on some approaches."""
    return tuple(
        note
        for approach, of_it in listed.items()
        if approach is None or approach in chosen
        for note in of_it
    )


def as_html(table: Table) -> str:
    """Return a table of the page, with its notes."""
    body = []
    for approach, how, entries in table.lines:
        row, shown = ('<tr class="published">', _published) if approach else ("<tr>", _entry)
        cells = "".join(f"<td>{shown(entry)}</td>" for entry in entries)
        named = f'<td>{escape(approach)}</td><td class="how">{escape(how)}</td>'
        body.append(f"{row}{named}{cells}</tr>")
    heads = ["", "", *TOPOLOGIES]
    return grid(heads, body) + notes_list(table.notes)


def _published(entry: Entry) -> str:
    return NOTHING if entry.published is None else f"{entry.published:,g}"


def _entry(entry: Entry) -> str:
    if entry.mean is None:
        return NOTHING
    small = []
    if entry.low is not None and entry.high is not None:
        small.append(f"{number(entry.low)} to {number(entry.high)}")
    if entry.deviation is not None:
        small.append(f"{entry.deviation:+.{1 if abs(entry.deviation) >= _ROUNDED else 3}%}")
    return number(entry.mean) + "".join(f"<small>{escape(text)}</small>" for text in small)
