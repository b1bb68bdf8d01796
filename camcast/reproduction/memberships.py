"""The three memberships side by side: section 6.2 of the CAMCAST paper (000), Figures 19 to 28.

Live, as the paper did: nodes are started anew for each run, and publish `events` events for each
p_sel. In the virtual network, which the paper could not do: 1,110 processes, loss and crashes.
Both are cells of one sweep, whose results are kept line by line in ``cells.jsonl``; figures and
comparison are put together from the results alone (`reproduce`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import hypot, inf, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, cast

import attrs
import numpy as np
from attrs import field, frozen

from camcast.experiment.conductor import conduct
from camcast.experiment.output import OutputFolder
from camcast.experiment.probabilities_apart import read_apart
from camcast.experiment.reading import Reading
from camcast.experiment.scenario import Scenario, chain
from camcast.experiment.summary import CommunitySummary, Summary, summarise
from camcast.experiment.workload import Workload
from camcast.parameters import Parameters
from camcast.reproduction.claim import Claim
from camcast.simulation.scenario import Crashes, Links, VirtualScenario
from camcast.simulation.scenario_run import run_scenario
from camcast.simulation.spread import Interval, mean_interval
from camcast.sweeps import JSON, Cell, sweep
from camcast.topics import Topic

World = Literal["live", "virtual"]

VARIANTS: Final = {"scamp": "V1", "hybrid": "V2", "dht": "V3"}
"""The paper's names: unstructured, semi-structured, structured. [CAMCAST 5.2, 6.2.2]"""
VIRTUAL_BACKENDS: Final = ("scamp", "dht")
"""V2 keeps V1's tables, and with an ideal directory it is V1."""

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.2.1] published in g; the root is a
SIZES: Final[Mapping[str, tuple[int, ...]]] = {  # [CAMCAST 6.2.1]
    "scamp": (84, 27, 7),
    "hybrid": (79, 28, 7),
    "dht": (79, 28, 7),
}
P_SEL: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # [CAMCAST 6.2.1, 6.2.2: 0.01 is in Fig. 24]
PARAMETERS: Final = Parameters(c=0, a=2, z=4)  # [CAMCAST 6.2.1]

RUNS: Final = 3  # chosen: 8 minutes on two cores; the paper has 10 of V1, 5 of V2 and V3
EVENTS: Final = 100
"""For each p_sel in a run. chosen: a mean over the events of a run is known to ±0.1 or less."""
RATE: Final = 50.0  # chosen: a third of the copies a second that one machine can carry
JOIN_SECONDS_MAX: Final = 120.0  # chosen: a wave; look-ups of a busy machine time out, and repeat
SETTLE_SECONDS_MAX: Final = 15.0  # chosen: as `Scenario`
REST_SECONDS: Final = 12.0
"""Until publishing starts. chosen: SCAMP settles in some heartbeats of 1 s, and the dht draws
tables anew 5 s after something has changed."""
PROCESSES: Final = 2  # chosen: as many as the smallest machine has cores

VIRTUAL_SIZES: Final = (1000, 100, 10)  # [CAMCAST 6.1.1]
VIRTUAL_P_SEL: Final = (0.01, 0.1, 1.0)  # chosen: the ends and the middle of the axis
VIRTUAL_EVENTS_MAX: Final = 20  # chosen: 13,000 copies each; 10 s a cell in all
VIRTUAL_RATE: Final = 20.0  # chosen: all are published before anybody misses the crashed
VIRTUAL_SETTLE_SECONDS: Final = 20.0  # chosen: as REST_SECONDS
VIRTUAL_SECONDS: Final = 5.0  # chosen: three after the last event; one takes one to spread
LOSS: Final = 0.15  # [CAMCAST 6.1.1: a copy arrives with probability 0.85]
CRASHED: Final = 0.1  # [issue 4]

MEASURES: Final = {
    "reception": "event reception probability",
    "reliability": "reliability",
    "efficiency": "efficiency",
    "hops": "latency in hops",
    "upward": "upward messages an event",
}
SHARES: Final = ("reception", "reliability", "efficiency")
"""The measures that are between 0 and 1."""
_FIRST_FIGURE: Final = 19  # [CAMCAST 6.2.2] two a measure, in the order of MEASURES
_LOW_P_SEL: Final = 0.1  # [CAMCAST 6.2.2: "even with low [...] probability (0.1)"]
_CONVERGED: Final = 0.99  # chosen: "converge to a reception probability of 100%"


def _check_sizes(_plan: object, _field: object, sizes: tuple[int, ...]) -> None:
    if len(sizes) != len(COMMUNITIES):
        raise ValueError(f"{len(sizes)} sizes; give one for each of {', '.join(COMMUNITIES)}")


@frozen(kw_only=True)
class Plan:
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    runs: int = RUNS
    events: int = EVENTS
    seed: int = 1
    sizes: tuple[int, ...] | None = field(
        default=None, validator=attrs.validators.optional(_check_sizes)
    )
    """Of g, d and a, live; None: the paper's, by backend."""
    p_sel: tuple[float, ...] = P_SEL
    rest_seconds: float = REST_SECONDS
    virtual_sizes: tuple[int, ...] = field(default=VIRTUAL_SIZES, validator=_check_sizes)
    virtual_p_sel: tuple[float, ...] = VIRTUAL_P_SEL

    def __attrs_post_init__(self) -> None:
        for name in ("runs", "events"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give 1 or more")

    def sizes_of(self, backend: str) -> tuple[int, ...]:
        """Return how many processes g, d and a have, live."""
        return SIZES[backend] if self.sizes is None else self.sizes


@frozen(kw_only=True)
class Point:
    """A row of a figure: one measure of a community, by backend and p_sel."""

    backend: str
    community: str
    p_sel: float
    measure: str
    mean: float | None
    low: float | None
    high: float | None
    model: float | None
    """What the model says of reception, live (`camcast.models.reception`)."""
    runs: int
    """Those that had anything to measure."""


@frozen(kw_only=True)
class Figure:
    """A measure in one community, against p_sel; one of the paper's if it has a number."""

    name: str
    world: World
    number: int | None
    title: str
    measure: str
    axis: str
    notes: str
    points: tuple[Point, ...]


@frozen(kw_only=True)
class Row:
    """A row of the comparison: one backend in one world, in the mean over all its p_sel.

    Reception, reliability, efficiency and hops are those of d and a, the communities that an
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
    hops: Interval
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


COLUMNS: Final = {
    "reception": "reception",
    "reception_low": "reception at the lowest p_sel",
    "reliability": "reliability",
    "efficiency": "efficiency",
    "hops": "hops",
    "upward": "upward messages an event",
    "table_to_law": "tables / law",
    "unlisted": "in nobody's table",
    "start_seconds": "all joined, s",
    "settle_seconds": "settled, s",
    "controls": "controls a process and s",
}
"""The intervals of a row of the comparison, with their headings."""


@frozen(kw_only=True)
class Memberships:
    """Everything that was measured."""

    plan: Plan
    figures: tuple[Figure, ...]
    comparison: tuple[Row, ...]
    claims: tuple[Claim, ...]


# -- the cells ----------------------------------------------------------------------------------


def live_cells(plan: Plan) -> list[Cell]:
    """Return the live runs, those of each backend spread over the whole time."""
    return [
        {
            "kind": "live",
            "backend": backend,
            "sizes": list(plan.sizes_of(backend)),
            "p_sel": list(plan.p_sel),
            "events": plan.events,
            "rest_seconds": plan.rest_seconds,
            "seed": plan.seed,
            "run": run,
        }
        for run in range(plan.runs)
        for backend in VARIANTS
    ]


def virtual_cells(plan: Plan) -> list[Cell]:
    """Return the runs in the virtual network, what takes longest first."""
    return [
        {
            "kind": "virtual",
            "backend": backend,
            "sizes": list(plan.virtual_sizes),
            "p_sel": p_sel,
            "events": min(plan.events, VIRTUAL_EVENTS_MAX),
            "seed": plan.seed,
            "run": run,
        }
        for backend in VIRTUAL_BACKENDS
        for run in range(plan.runs)
        for p_sel in plan.virtual_p_sel
    ]


def compute(cell: Cell) -> JSON:
    """Carry out one run; the task of the sweep."""
    given = cast(Mapping[str, Any], cell)
    return _run_live(given) if given["kind"] == "live" else _run_virtual(given)


def _seed(given: Mapping[str, Any]) -> int:
    return int(given["seed"]) * 10_000 + int(given["run"])


def _setting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what scenarios of both worlds have in common."""
    return {
        "name": "memberships",
        "communities": chain(given["sizes"], ["d", "g"]),
        "membership": given["backend"],
        "options": {"c": 0},  # [CAMCAST 6.2.1] topic tables of ln N
        "seed": _seed(given),
    }


def _run_live(given: Mapping[str, Any]) -> JSON:
    values = tuple(given["p_sel"])
    scenario = Scenario(
        **_setting(given),
        parameters=PARAMETERS,
        workload=Workload(topic=_BOTTOM, events=given["events"] * len(values), rate=RATE),
        processes=PROCESSES,
        join_seconds=JOIN_SECONDS_MAX,
        settle_seconds=SETTLE_SECONDS_MAX,
        rest_seconds=given["rest_seconds"],
        upward_probabilities=values,
    )
    with TemporaryDirectory(prefix="camcast-") as place:
        folder = OutputFolder(Path(place))
        outcome = asyncio.run(conduct(scenario, folder, lambda _progress: None))
        if outcome.interrupted:
            raise KeyboardInterrupt
        readings = read_apart(scenario, folder)
    rows: list[JSON] = []
    for p_sel, reading in readings.items():
        described = attrs.evolve(scenario, parameters=attrs.evolve(PARAMETERS, p_sel=p_sel))
        rows += _rows(summarise(reading, described), p_sel)
    seconds = outcome.timings
    lived = sum(seconds.values()) - seconds["reading the traces"]
    return {
        "rows": rows,
        "table_to_law": _table_to_law(outcome.summary),
        "unlisted": _unlisted(next(iter(readings.values()))),
        "start_seconds": seconds["joining"],
        "settle_seconds": seconds["settling tables"],
        "controls": outcome.counters["controls"] / scenario.nodes / lived,
        "parasites": outcome.parasites,
    }


def _run_virtual(given: Mapping[str, Any]) -> JSON:
    p_sel = given["p_sel"]
    scenario = VirtualScenario(
        **_setting(given),
        parameters=attrs.evolve(PARAMETERS, p_sel=p_sel),
        settle_seconds=VIRTUAL_SETTLE_SECONDS,
        duration_seconds=VIRTUAL_SECONDS,
        links=Links(loss=LOSS),
        crashes=(Crashes(at_seconds=0.0, share=CRASHED),),
        workload=Workload(topic=_BOTTOM, events=given["events"], rate=VIRTUAL_RATE),
    )
    outcome = run_scenario(scenario)
    return {
        "rows": _rows(outcome.summary, p_sel),
        "table_to_law": _table_to_law(outcome.summary),
        "parasites": outcome.summary.parasites,
    }


_BOTTOM: Final = Topic(("d", "g"))
_NAMES: Final = dict(zip((".d.g", ".d", "."), COMMUNITIES, strict=True))


def _rows(summary: Summary, p_sel: float) -> list[JSON]:
    return [
        {
            "p_sel": p_sel,
            "community": _NAMES[community.topic],
            "reception": community.reception,
            "reliability": community.reliability,
            "efficiency": community.efficiency,
            "hops": community.hops_mean,
            "upward": community.upward_messages / summary.events,
            "predicted": community.predicted,
        }
        for community in summary.communities
    ]


def _unlisted(reading: Reading) -> float:
    """Return the share of members that nobody has in the topic table, before anybody leaves."""
    members = reading.members.values()
    views = reading.views(nextafter(min(member.left for member in members), -inf))
    listed = set().union(*views.values())
    return sum(member.node not in listed for member in members) / len(members)


def _table_to_law(summary: Summary) -> float:
    def entries(value: Callable[[CommunitySummary], float | None]) -> float:
        return sum((value(c) or 0.0) * c.processes for c in summary.communities)

    return entries(lambda c: c.view_mean) / max(1.0, entries(lambda c: c.view_law))


# -- putting it together ------------------------------------------------------------------------


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
    live, virtual = live_cells(plan), virtual_cells(plan)
    total = len(live) + len(virtual)
    of_live = sweep(
        compute,
        live,
        results=results,
        workers=1,
        on_progress=lambda done, _: report(done, total),
    )
    of_virtual = sweep(
        compute,
        virtual,
        results=results,
        workers=workers,
        on_progress=lambda done, _: report(len(live) + done, total),
    )
    return together(
        plan, [*zip(live, of_live, strict=True), *zip(virtual, of_virtual, strict=True)]
    )


def together(plan: Plan, found: Sequence[tuple[Cell, JSON]]) -> Memberships:
    """Put cells and their results together."""
    runs = [(cast(dict[str, Any], cell), cast(dict[str, Any], result)) for cell, result in found]
    worlds = {
        world: _World(world, backends, [run for run in runs if run[0]["kind"] == world], values)
        for world, backends, values in (
            ("live", tuple(VARIANTS), plan.p_sel),
            ("virtual", VIRTUAL_BACKENDS, plan.virtual_p_sel),
        )
    }
    return Memberships(
        plan=plan,
        figures=tuple(f for world in worlds.values() for f in world.figures()),
        comparison=tuple(r for world in worlds.values() for r in world.comparison()),
        claims=(*worlds["live"].claims(), *worlds["virtual"].claims_beyond()),
    )


class _World:
    """The results of one world."""

    def __init__(
        self,
        world: str,
        backends: tuple[str, ...],
        runs: list[tuple[dict[str, Any], dict[str, Any]]],
        p_sel: tuple[float, ...],
    ) -> None:
        self._world = cast(World, world)
        self._backends = backends
        self._p_sel = p_sel
        self._results: dict[str, dict[int, list[dict[str, Any]]]] = {b: {} for b in backends}
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
        rows = (self._rows[backend, run, community, p_sel] for run in self._results[backend])
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
        said = MEASURES[measure]
        title = f"{said[0].upper()}{said[1:]} {where}"
        live = self._world == "live"
        at = source if measure == "upward" else community
        return Figure(
            name=f"figure{number}" if live else f"virtual_{measure}_{community}",
            world=self._world,
            number=number if live else None,
            title=title,
            measure=measure,
            axis=said,
            notes=_NOTES[measure],
            points=tuple(
                self._point(backend, at, p_sel, measure)
                for backend in self._backends
                for p_sel in self._p_sel
            ),
        )

    def _point(self, backend: str, community: str, p_sel: float, measure: str) -> Point:
        values = self._of(backend, community, p_sel, measure)
        interval = _interval(values, measure)
        predicted = self._of(backend, community, p_sel, "predicted")
        return Point(
            backend=backend,
            community=community,
            p_sel=p_sel,
            measure=measure,
            mean=interval.mean,
            low=interval.low,
            high=interval.high,
            model=predicted[0] if measure == "reception" and predicted else None,
            runs=len(values),
        )

    # -- the comparison -------------------------------------------------------------------------

    def comparison(self) -> list[Row]:
        """Return a row for each backend."""
        return [self._row(backend) for backend in self._backends]

    def _row(self, backend: str) -> Row:
        def whole(name: str, low: float = 0.0) -> Interval:
            runs = self._results[backend].values()
            means = [[r[name] for r in run if name in r] for run in runs]
            return mean_interval(np.array([np.mean(run) for run in means if run]), low)

        return Row(
            world=self._world,
            backend=backend,
            variant=VARIANTS[backend],
            runs=len(self._results[backend]),
            **{measure: _interval(self.means(backend, measure), measure) for measure in MEASURES},
            reception_low=_interval(self.means(backend, "reception", self._p_sel[:1]), "reception"),
            table_to_law=whole("table_to_law"),
            unlisted=whole("unlisted"),
            start_seconds=whole("start_seconds"),
            settle_seconds=whole("settle_seconds"),
            controls=whole("controls"),
            parasites=sum(r["parasites"] for run in self._results[backend].values() for r in run),
        )

    def means(
        self, backend: str, measure: str, p_sel: Sequence[float] | None = None
    ) -> list[float]:
        """Return, run by run, the mean of a measure over d and a and all p_sel, or those given.

        Of upward messages: the sum of those from g and those from d.
        """
        communities = ("g", "d") if measure == "upward" else ("d", "a")
        factor = len(communities) if measure == "upward" else 1
        means = []
        for run in self._results[backend]:
            rows = (
                self._rows[backend, run, community, value]
                for community in communities
                for value in (self._p_sel if p_sel is None else p_sel)
            )
            values = [row[measure] for row in rows if row[measure] is not None]
            if values:
                means.append(factor * float(np.mean(values)))
        return means

    # -- what the paper says --------------------------------------------------------------------

    def claims(self) -> list[Claim]:
        """Return the paper's conclusions beside what was found live."""
        low = tuple(value for value in self._p_sel if value <= _LOW_P_SEL) or self._p_sel[:1]
        below_half = tuple(value for value in self._p_sel if value < 0.5) or self._p_sel[:1]
        return [
            self._converge(),
            self._claim(
                "The structured approach ensures very good results even for a low inter-community"
                " dissemination probability.",
                *self._best("dht", "reception", low),
            ),
            self._fastest(),
            self._claim(
                "for the test where psel < 0.5, the unstructured (V1) and semi-structured (V2)"
                " approaches perform differently",
                *self._differ("scamp", "hybrid", "reception", below_half),
            ),
            self._reliable(),
            self._claim(
                "The structured approach behaves better than the semi-structured approach, which"
                " is better than the unstructured approach. [efficiency]",
                *self._order(("dht", "hybrid", "scamp"), "efficiency"),
            ),
            self._claim(
                "the latency complexity decreases while the inter-community dissemination"
                " probability increases",
                *self._falls("hops"),
            ),
            self._claim(
                "a higher inter-community dissemination probability increases the number of"
                " duplicate messages in the system [efficiency falls]",
                *self._falls("efficiency"),
            ),
            self._claim(
                "The minor differences between the three approaches come from the different"
                " number of reached super-processes. [upward messages]",
                *self._minor(),
            ),
            self._claim(
                "the more structured the membership algorithm, the better the overall performance",
                *self._order(("dht", "hybrid", "scamp"), "reception"),
            ),
        ]

    def claims_beyond(self) -> list[Claim]:
        """Return the paper's ranking beside what was found in the virtual network."""
        where = "6.2, in the virtual network"
        return [
            Claim(
                where=where,
                quote=f"the more structured the membership algorithm, the better [{measure}]",
                holds=holds,
                found=found,
            )
            for measure in ("reception", "reliability", "efficiency")
            for holds, found in (self._order(("dht", "scamp"), measure),)
        ]

    @staticmethod
    def _claim(quote: str, holds: str, found: str) -> Claim:
        return Claim(where="6.2.2", quote=quote, holds=holds, found=found)

    def _difference(
        self, one: str, other: str, measure: str, p_sel: Sequence[float] | None = None
    ) -> tuple[float, float]:
        """Return by how much one backend has more than another, and how far that is certain."""
        pair = [np.array(self.means(backend, measure, p_sel)) for backend in (one, other)]
        if not all(len(values) for values in pair):
            return 0.0, inf
        difference = float(pair[0].mean() - pair[1].mean())
        errors = []
        for values in pair:
            interval = mean_interval(values)
            if interval.low is None or interval.high is None:
                return difference, inf
            errors.append((interval.high - interval.low) / 2)
        return difference, hypot(*errors)

    def _told(
        self, one: str, other: str, measure: str, p_sel: Sequence[float] | None = None
    ) -> tuple[int, str]:
        """Return 1, 0 or -1, as one backend has more, is not told apart, or has less."""
        difference, error = self._difference(one, other, measure, p_sel)
        sign = 0 if abs(difference) <= error else 1 if difference > 0 else -1
        within = "" if error == inf else f" ± {error:.3f}"
        verdict = {0: "not told apart", 1: "more", -1: "less"}[sign]
        named = f"{VARIANTS[one]} - {VARIANTS[other]}"
        return sign, f"{named} = {difference:+.3f}{within} ({verdict})"

    def _order(self, order: Sequence[str], measure: str) -> tuple[str, str]:
        pairs = list(pairwise(order))
        if len(order) > 2:
            pairs.append((order[0], order[-1]))
        told = [self._told(one, other, measure) for one, other in pairs]
        signs = [sign for sign, _ in told]
        holds = "no" if -1 in signs else "yes" if all(signs) else "in part" if 1 in signs else ""
        return holds or "not told apart", "; ".join(text for _, text in told)

    def _best(self, best: str, measure: str, p_sel: Sequence[float]) -> tuple[str, str]:
        told = [
            self._told(best, other, measure, p_sel) for other in self._backends if other != best
        ]
        means = ", ".join(
            f"{VARIANTS[b]} {_mean(self.means(b, measure, p_sel))}" for b in self._backends
        )
        signs = [sign for sign, _ in told]
        holds = "yes" if min(signs) > 0 else "no" if -1 in signs else "not told apart"
        detail = "; ".join(text for _, text in told)
        return holds, f"{measure} at p_sel ≤ {max(p_sel):g}: {means}; {detail}"

    def _differ(
        self, one: str, other: str, measure: str, p_sel: Sequence[float]
    ) -> tuple[str, str]:
        sign, text = self._told(one, other, measure, p_sel)
        return "yes" if sign else "not told apart", f"{measure} at p_sel ≤ {max(p_sel):g}: {text}"

    def _converge(self) -> Claim:
        top = self._p_sel[-1:]
        means = {b: self.means(b, "reception", top) for b in self._backends}
        reached = [bool(v) and float(np.mean(v)) >= _CONVERGED for v in means.values()]
        return self._claim(
            "all three approaches converge to a reception probability of 100%",
            "yes" if all(reached) else "in part" if any(reached) else "no",
            f"at p_sel = {top[0]:g}: "
            + ", ".join(f"{VARIANTS[b]} {_mean(v)}" for b, v in means.items()),
        )

    def _fastest(self) -> Claim:
        from_here = {
            backend: next(
                (
                    p_sel
                    for p_sel in self._p_sel
                    if np.mean(self.means(backend, "reception", (p_sel,))) >= _CONVERGED
                ),
                inf,
            )
            for backend in self._backends
        }
        others = min(value for backend, value in from_here.items() if backend != "dht")
        own = from_here["dht"]
        return self._claim(
            "The structured approach converges the fastest",
            "yes" if own < others else "no" if own > others else "not told apart",
            f"lowest p_sel with {_CONVERGED:.0%} reception: "
            + ", ".join(
                f"{VARIANTS[b]} {'none' if value == inf else format(value, 'g')}"
                for b, value in from_here.items()
            ),
        )

    def _reliable(self) -> Claim:
        near = min(self._p_sel, key=lambda value: abs(value - _LOW_P_SEL))
        means = {b: self.means(b, "reliability", (near,)) for b in self._backends}
        high = [bool(v) and float(np.mean(v)) >= 0.9 for v in means.values()]  # chosen: "very high"
        return self._claim(
            "the reliability of all approaches is very high, even with low inter-community"
            " dissemination probability (0.1)",
            "yes" if all(high) else "in part" if any(high) else "no",
            f"at p_sel = {near:g}: "
            + ", ".join(f"{VARIANTS[b]} {_mean(v)}" for b, v in means.items()),
        )

    def _falls(self, measure: str) -> tuple[str, str]:
        ends = {
            b: [_average(self.means(b, measure, (value,))) for value in self._p_sel]
            for b in self._backends
        }
        falls = []
        for values in ends.values():
            known = [value for value in values if value is not None]
            falls.append(len(known) > 1 and known[0] > known[-1])
        return (
            "yes" if all(falls) else "in part" if any(falls) else "no",
            f"{measure} from the lowest p_sel to the highest: "
            + ", ".join(
                f"{VARIANTS[b]} {_number(v[0])} to {_number(v[-1])}" for b, v in ends.items()
            ),
        )

    def _minor(self) -> tuple[str, str]:
        means = {b: _average(self.means(b, "upward")) or 0.0 for b in self._backends}
        least, most = min(means.values()), max(means.values())
        apart = most / least - 1 if least else inf
        return (
            "yes" if apart < 0.2 else "no",  # chosen: "minor"; the sizes alone make 6 %
            ", ".join(f"{VARIANTS[b]} {mean:.1f}" for b, mean in means.items())
            + f" an event; {apart:.0%} apart",
        )


_NOTES: Final = {
    "reception": "The share of (event, member) pairs that ended in a delivery.",
    "reliability": "The share of events that all members received.",
    "efficiency": "Useful copies of all that arrived: useful / (useful + duplicate).",
    "hops": "Of the deliveries, from the publisher. Nothing where no event arrived (the paper: 0).",
    "upward": "Copies sent to the super-community, an event.",
}


def _interval(values: Sequence[float], measure: str) -> Interval:
    high = 1.0 if measure in SHARES else inf
    return mean_interval(np.array(values), 0.0, high)


def _average(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _mean(values: Sequence[float]) -> str:
    return _number(_average(values))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
