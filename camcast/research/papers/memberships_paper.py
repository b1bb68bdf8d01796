"""Memberships side by side: section 6.2 of the CAMCAST paper (000), Figures 19 to 28, and beyond.

Beyond the paper are the memberships in the virtual network: what they cost, how soon they notice,
what they do without their first contact, and in loss and crashes. How runs are carried out is the
matter of `memberships_runs`. Parts of a statement are intervals over runs: with few runs most of
them can be told from chance by nobody, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import permutations, product
from math import inf, isclose
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from typing_extensions import override

from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.memberships_runs import (
    PARAMETERS,
    RATE,
    SETTLE_SECONDS_MAX,
    UPKEEP_NOTES,
    VARIANTS,
    VIRTUAL_EVENTS_MAX,
    Contender,
    MembershipsPlan,
    World,
    run_live,
    run_virtual,
)
from camcast.research.papers.paper import (
    Given,
    Kind,
    Kinds,
    Paper,
    Reproduction,
    Results,
    Sheet,
    carry_out,
)
from camcast.research.pipeline.compare.verdict import Verdict, verdict_on
from camcast.research.pipeline.compare.words import choice, sentence
from camcast.research.population.outcome import Interval, mean_interval
from camcast.research.report.evidence import (
    Evidence,
    between,
    exceeds,
    half_of,
    statement,
    told_apart,
    value,
)
from camcast.research.report.measures import measure_of
from camcast.research.report.page import grid, interval_cell, notes_list
from camcast.research.sweeps import JSON

MEASURES: Final = ("reception", "reliability", "efficiency", "hops_mean", "upward")
"""The measures of the figures, in the paper's order."""
_OF_RUNS: Final = ("table_to_law", "unlisted", "start_seconds", "settle_seconds", "controls")
COLUMNS: Final = (
    *("reception", "reception_low", "reliability", "efficiency", "hops_mean", "upward"),
    *_OF_RUNS,
)
"""The measures of the comparison: those of the figures, and of whole runs."""
UPKEEP: Final = (
    *("copies_each", "bootstrap_seconds", "chi_square", "control_kilobytes", "newcomer_seconds"),
    *("listed_seconds", "dropped_seconds", "reception_alone", "joined_alone", "reception_storm"),
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

_LOW_P_SEL: Final = 0.1  # [CAMCAST 6.2.2: "even with low [...] probability (0.1)"]
_CONVERGED: Final = 0.99  # chosen: "converge to a reception probability of 100%"
_VERY_GOOD: Final = 0.9  # chosen: "very good", "very high"
_MINOR: Final = 0.2  # chosen: "minor differences"; the sizes alone make 6 %

_STRUCTURED: Final = (
    "the more structured the membership algorithm, the better the overall performance"
)
_STRUCTURED_FIRST: Final = (("dht", "hybrid"), ("hybrid", "scamp"), ("dht", "scamp"))

_statement = partial(statement, "000")
_value = partial(value, "000")


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

    def has(self, backends: Iterable[str]) -> bool:
        """Say whether all of these memberships are compared, with all that they have."""
        return all(Contender(backend) in self.contenders for backend in backends)

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
        """Return the mean of `means` over the runs, with its interval."""
        return _interval(self.means(who, measure, p_sel, communities), measure)

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
            **_interval(values, measure).as_json(),
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
            measures = {name: _interval(self._of_runs(who, name), name) for name in UPKEEP}
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


def _interval(values: Sequence[float], measure: str) -> Interval:
    return mean_interval(np.array(values), 0.0, measure_of(measure).most)


# -- what the paper says --------------------------------------------------------------------------


def evidence(results: Measured) -> Iterator[Evidence]:
    """Yield the paper's conclusions beside what was found live."""
    for at, community in enumerate("da"):
        yield from _reception(results, 19 + at, community)
        yield _reliability(results, 21 + at, community)
        yield _falls(
            results,
            23 + at,
            community,
            "efficiency",
            "a higher inter-community dissemination probability increases the number of duplicate"
            " messages in the system",
        )
        yield _order(
            results,
            f"6.2.2, Figure {23 + at}, order",
            "The structured approach behaves better than the semi-structured approach, which is"
            " better than the unstructured approach.",
            "efficiency",
            communities=community,
        )
        yield _falls(
            results,
            25 + at,
            community,
            "hops_mean",
            "the latency complexity decreases while the inter-community dissemination probability"
            " increases",
        )
        yield _upward(results, 27 + at, {"d": "g", "a": "d"}[community])
    yield _order(results, "6.2", _STRUCTURED, "reception")
    below_half = tuple(p for p in results.p_sel if p < 0.5) or results.p_sel[:1]
    of = _of_each(results, "reception", p_sel=below_half)
    apart = told_apart(of["scamp"], of["hybrid"]) or None  # not told apart is not the same
    difference = _difference(of, "scamp", "hybrid")
    yield _statement(
        "6.2.2, p_sel < 0.5",
        "for the test where psel < 0.5, the unstructured (V1) and semi-structured (V2) approaches"
        " perform differently",
        [apart],
        f"reception at p_sel ≤ {max(below_half):g}: {difference}{_alone(of)}.",
    )


def evidence_beyond(results: Measured) -> Iterator[Evidence]:
    """Yield the paper's ranking beside what was found in the virtual network."""
    for measure in ("reception", "reliability", "efficiency"):
        item = f"6.2, in the virtual network: {measure}"
        yield _order(results, item, _STRUCTURED, measure, (("dht", "scamp"),))


def _of_each(
    results: Measured, measure: str, communities: str = "da", p_sel: Sequence[float] | None = None
) -> dict[str, Interval]:
    """Return by backend the mean of a measure over communities and p_sel, all if None."""
    return {
        backend: results.interval(Contender(backend), measure, p_sel, communities)
        for backend in VARIANTS
    }


# -- figure by figure -----------------------------------------------------------------------------


def _reception(results: Measured, number: int, community: str) -> Iterator[Evidence]:
    at = partial(_of_each, results, "reception", community)
    most = at(results.p_sel[-1:])
    yield _value(
        f"Figure {number}",
        "all three approaches converge to a reception probability of 100%",
        1.0,
        min(most.values(), key=lambda interval: interval.mean or 0.0),
        f"At p_sel = {results.p_sel[-1]:g}: {_listed(most)}. The least is compared.",
    )
    low = tuple(p for p in results.p_sel if p <= _LOW_P_SEL) or results.p_sel[:1]
    few, near = at(low), at((_near(results),))["dht"]
    yield _statement(
        f"6.2.2, Figure {number}, low p_sel",
        "The structured approach ensures very good results even for a low inter-community"
        " dissemination probability.",
        [between(near, _VERY_GOOD), *(exceeds(few["dht"], few[b]) for b in ("scamp", "hybrid"))],
        f"V3 at p_sel = {_near(results):g}: {_number(near)}; at p_sel ≤ {max(low):g}:"
        f" {_listed(few)}. Very good is {_VERY_GOOD:.0%}, and more than the others.",
    )
    of_each = {p: at((p,)) for p in results.p_sel}
    first = {
        backend: next(
            (p for p, of in of_each.items() if (of[backend].mean or 0) >= _CONVERGED), inf
        )
        for backend in VARIANTS
    }
    shown = ", ".join(f"{VARIANTS[b]} {'none' if p == inf else f'{p:g}'}" for b, p in first.items())
    yield _statement(
        f"6.2.2, Figure {number}, convergence",
        "The structured approach converges the fastest",
        [None if first["dht"] == first[b] else first["dht"] < first[b]
         for b in ("scamp", "hybrid")],
        f"The lowest p_sel with {_CONVERGED:.0%} reception in the mean: {shown}.",
    )  # fmt: skip


def _reliability(results: Measured, number: int, community: str) -> Evidence:
    of = _of_each(results, "reliability", community, (_near(results),))
    return _statement(
        f"Figure {number}",
        "the reliability of all approaches is very high, even with low inter-community"
        " dissemination probability (0.1)",
        [between(interval, _VERY_GOOD) for interval in of.values()],
        f"At p_sel = {_near(results):g}: {_listed(of)}; very high is {_VERY_GOOD:.0%}.",
    )


def _falls(results: Measured, number: int, community: str, measure: str, quote: str) -> Evidence:
    ends = results.p_sel[:1], results.p_sel[-1:]
    first, last = (_of_each(results, measure, community, end) for end in ends)
    shown = (f"{name} {_number(first[b])} to {_number(last[b])}" for b, name in VARIANTS.items())
    return _statement(
        f"Figure {number}",
        quote,
        [exceeds(first[backend], last[backend]) for backend in VARIANTS],
        f"{measure_of(measure).title.capitalize()} from the lowest p_sel to the highest:"
        f" {', '.join(shown)}.",
    )


def _upward(results: Measured, number: int, community: str) -> Evidence:
    of = _of_each(results, "upward", community)
    return _statement(
        f"Figure {number}",
        "The minor differences between the three approaches come from the different number of"
        " reached super-processes.",
        [exceeds(one.times(1 + _MINOR), other) for one, other in permutations(of.values(), 2)],
        f"Upward messages of an event from {community}: {_listed(of)}; minor is less than"
        f" {_MINOR:.0%}.",
    )


# -- backends beside each other -------------------------------------------------------------------


def _order(
    results: Measured,
    item: str,
    quote: str,
    measure: str,
    pairs: Sequence[tuple[str, str]] = _STRUCTURED_FIRST,
    communities: str = "da",
) -> Evidence:
    of = _of_each(results, measure, communities)
    return _statement(
        item,
        quote,
        [exceeds(of[better], of[worse]) for better, worse in pairs],
        "; ".join(_difference(of, *pair) for pair in pairs) + _alone(of) + ".",
    )


def _difference(of: Mapping[str, Interval], one: str, other: str) -> str:
    more = exceeds(of[one], of[other])
    said = {None: "not told apart", True: "more", False: "less"}[more]
    difference = (of[one].mean or 0.0) - (of[other].mean or 0.0)
    return f"{VARIANTS[one]} - {VARIANTS[other]} = {difference:+.3f} ({said})"


def _alone(of: Mapping[str, Interval]) -> str:
    single = any(half_of(interval) is None for interval in of.values())
    return "; a single run has no interval, and tells nothing apart" if single else ""


def _near(results: Measured) -> float:
    return min(results.p_sel, key=lambda p_sel: abs(p_sel - _LOW_P_SEL))


def _listed(of: Mapping[str, Interval]) -> str:
    return ", ".join(f"{VARIANTS[backend]} {_number(interval)}" for backend, interval in of.items())


def _number(interval: Interval) -> str:
    if interval.mean is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f}"
    below, above = interval.mean - interval.low, interval.high - interval.mean
    if isclose(below, above, abs_tol=0.001):
        return f"{interval.mean:.3f} ± {above:.3f}"
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"  # a bound has cut it


# -- by chance ------------------------------------------------------------------------------------


PRINTED_EVENTS: Final = {"scamp": 10, "hybrid": 5, "dht": 5}  # [CAMCAST 6.2.1] a point
ORDER: Final = ("dht", "hybrid", "scamp")  # [CAMCAST 6.2] the best first
DRAWN: Final = 4000  # chosen: a share of 1/6 is known to 0.6 points
_SEED: Final = 1  # chosen: a page is the same each time that it is made


@frozen(kw_only=True)
class Chance:
    """How often the paper's order by mean reception comes out of experiments of its size."""

    world: World
    if_alike: float
    """If the three did not differ."""
    as_measured: float
    """If they differ as they did here."""


def chances_of(worlds: Iterable[Measured]) -> Iterator[Chance]:
    """Yield the chances in each world that has runs of all three."""
    for results in worlds:
        if results.has(VARIANTS):
            found = {
                (backend, community, p_sel): np.array(results.receptions(backend, community, p_sel))
                for backend in VARIANTS
                for community in ("d", "a")
                for p_sel in results.p_sel
            }
            alike = {
                (backend, community, p_sel): np.concatenate(
                    [found[other, community, p_sel] for other in VARIANTS]
                )
                for backend, community, p_sel in found
            }
            if all(len(of_point) for of_point in found.values()):
                yield Chance(
                    world=results.world, if_alike=ranked_so(alike), as_measured=ranked_so(found)
                )


def ranked_so(events: Mapping[tuple[str, str, float], NDArray[np.float64]]) -> float:
    """Return the share of drawn experiments in the paper's order, without ties.

    `events` has the reception of each event by membership, community and p_sel.
    """
    rng = np.random.default_rng(_SEED)
    means = dict.fromkeys(VARIANTS, np.zeros(DRAWN))
    for (backend, _, _), of_point in events.items():
        drawn = rng.choice(of_point, size=(DRAWN, PRINTED_EVENTS[backend]))
        means[backend] = means[backend] + drawn.mean(axis=1)
    best, second, third = (means[backend] for backend in ORDER)
    return float(np.mean((best > second) & (second > third)))


# -- the whole ------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Memberships(Reproduction[MembershipsPlan]):
    """Everything that was measured."""

    runs_done: int
    runs_planned: int
    """Live and virtual; fewer are done if the reproduction was stopped."""
    verdicts: tuple[Verdict, ...]
    """Answers from the runs in the virtual network, one for each question."""
    by_chance: tuple[Chance, ...]
    comparison: tuple[Row, ...]
    upkeep: tuple[UpkeepRow, ...]

    @property
    @override
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
    for name, of in row.items():
        if isinstance(of, Interval):
            yield from zip((name, f"{name}_from", f"{name}_to"), attrs.astuple(of), strict=True)
        else:
            yield name, of


KINDS: Final[Kinds] = {"live": Kind(run_live, alone=True), "virtual": Kind(run_virtual)}


def compute(cell: Given) -> JSON:
    """Carry out one run; the task of the sweep."""
    return carry_out(KINDS, cell)


def _together(results: Results[MembershipsPlan]) -> Memberships:
    plan = results.plan
    live, virtual = worlds = [Measured(world, results) for world in _WORLDS]
    compared = live.has(VARIANTS)
    return Memberships(
        plan=plan,
        runs_done=live.done + virtual.done,
        runs_planned=len(results.asked),
        verdicts=tuple(virtual.verdicts()),
        by_chance=tuple(chances_of(worlds)),
        figures=tuple(f for world in worlds if world.contenders for f in world.figures()),
        comparison=tuple(row for world in worlds for row in world.comparison()),
        upkeep=tuple(virtual.upkeep()),
        evidence=(*evidence(live), *evidence_beyond(virtual)) if compared else (),
    )


# -- the page -------------------------------------------------------------------------------------


_WORLDS: Final[Mapping[World, str]] = {
    "live": "Live",
    "virtual": "In the virtual network, beyond the paper",
}
_SETTINGS: Final = (
    f"c = {PARAMETERS.c:g}, a = {PARAMETERS.a:g}, z = {PARAMETERS.z} (6.2.1). All contenders send"
    " the same number of copies: ln N, rounded up, of tables that hold at least that, since each"
    " membership has its default options. With tables of ln N in the mean, as the paper's, V1 and"
    " V2 send fewer copies than V3, whose tables are all of one size, and that alone decides the"
    " order in efficiency; --preset paper has them.",
    "As printed: without what a membership has besides its paper; of SCAMP, which keeps the tables"
    " of V1 and V2, those are sponsors and indirection.",
    "Each run starts its nodes anew, with another seed. Live, all p_sel are measured among the same"
    " nodes, as an event may have a p_sel of its own: a run's values are not independent of"
    " each other, different runs' are.",
    "The verdict is of the runs in the virtual network, its reception and efficiency of d and a in"
    " the mean over p_sel. All comparisons of a question hold together with 95 % confidence (Welch,"
    " Bonferroni).",
    "In the table of what the paper says, two are told apart if the difference of their means over"
    " runs exceeds the root of the sum of the squares of their intervals' halves.",
    "A live run is not repeatable byte for byte; a virtual one is.",
)
_COMPARISON_NOTES: Final = (
    "Reception, reliability, efficiency and hops: of d and a, in the mean over all p_sel"
    " of the figures. Upward messages: from g and from d together.",
    "Tables / law: the mean size of the topic tables when the run ended, as a share of"
    " what the membership's own law says.",
    "In nobody's table: the share of processes that no event can reach within their"
    " community. Of uniform tables as large as 6.2.1 has them it is about one in N.",
    "All joined: processes join in waves, each of which doubles a community, and the"
    " next wave waits for the one before. Settled: until then sizes and super-topic"
    f" tables are known ({SETTLE_SECONDS_MAX:g} s at most), and a rest of"
    " {rest:g} s.",
    "Controls: messages of membership and super-topic tables that a process receives,"
    " over the whole run. The DHT's datagrams are not among them.",
)
"""``{rest}`` stands for the plan's `rest_seconds`."""


def _introduction(found: Memberships) -> str:
    stopped = (
        ""
        if found.runs_done == found.runs_planned
        else (
            f"<strong>Stopped: {found.runs_done} of {found.runs_planned} runs are done.</strong>"
            " The command at the end continues. "
        )
    )
    lines = [*map(sentence, found.verdicts), *map(_chance, found.by_chance)]
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f"{stopped}<strong>{escape(choice(found.verdicts))}</strong></p><ul>{listed}</ul><p>"
        "Figures 19 to 28 of S. Baehni, P. Th. Eugster, R. Guerraoui, <cite>CAMCAST</cite>,"
        " measured again: V1 (unstructured, scamp), V2 (semi-structured, hybrid) and V3"
        " (structured, dht), with an event published in g that climbs to d and to the root a; and"
        " every membership that is installed, in the virtual network."
        f" {found.plan.runs} runs live and {found.plan.virtual_runs} virtual, where the paper has"
        " 10 single events of V1 and 5 of V2 and V3. Intervals are of 95 %, over runs."
    )


def _chance(chance: Chance) -> str:
    """Say what the paper's order is worth, of as many events as the paper has."""
    where = {"live": "live", "virtual": "in the virtual network"}[chance.world]
    return (
        "By chance: 10, 5 and 5 single events a point, as the paper has, rank reception V3 > V2 >"
        f" V1 in {chance.if_alike:.0%} of experiments if the three do not differ at all, and in"
        f" {chance.as_measured:.0%} if they are as measured here {where}."
    )


def _tables(found: Memberships) -> dict[str, str]:
    compared = {f"{row['world']}: {row['name']}": row.__getitem__ for row in found.comparison}
    upkeep = {row.name: row.measures.__getitem__ for row in found.upkeep}
    return {
        "The comparison": _grid((*COLUMNS, "parasites"), compared)
        + notes_list(note.format(rest=found.plan.rest_seconds) for note in _COMPARISON_NOTES),
        "What they cost, and how soon they notice": _grid(UPKEEP, upkeep)
        + notes_list(UPKEEP_NOTES),
        "The settings": notes_list(
            f"{title}: {_setting(found, world)}" for world, title in _WORLDS.items()
        ),
    }


def _sections(found: Memberships) -> dict[str, list[Figure]]:
    return {
        title: [
            figure
            for figure in found.figures
            if figure.name.startswith("virtual_") == (world == "virtual")
        ]
        for world, title in _WORLDS.items()
    }


def _grid(names: Iterable[str], columns: Mapping[str, Callable[[str], Interval | int]]) -> str:
    """Return a line for each measure; a column is its heading, and what returns its values."""
    body = (
        f"<tr><td class='how'>{escape(measure_of(name).column)}</td>"
        + "".join(f"<td>{_cell(value_of(name))}</td>" for value_of in columns.values())
        + "</tr>"
        for name in names
    )
    return grid(["", *columns], body)


def _cell(value: Interval | int) -> str:
    return str(value) if isinstance(value, int) else interval_cell(value)


def _setting(found: Memberships, world: World) -> str:
    plan = found.plan
    sizes = "; ".join(
        f"{contender.name} {'/'.join(map(str, plan.sizes_of(contender.backend)))}"
        for contender in plan.contenders(world)
        if not contender.printed
    )
    if world == "live":
        return (
            f"Processes in g/d/a: {sizes} (6.2.1). Nodes with sockets of their own, on one"
            f" machine; nothing is lost and nobody crashes. {plan.events} events for each p_sel,"
            f" {RATE:g} a second, the values in turn."
        )
    return (
        f"Processes in g/d/a: {sizes}. Nothing is lost and nobody crashes until the events of the"
        f" figures have spread. {min(plan.events, VIRTUAL_EVENTS_MAX)} events for each p_sel."
    )


PAPER: Final = Paper(
    plan=MembershipsPlan,
    compute=compute,
    kinds=KINDS,
    together=_together,
    partial=True,
    title="CAMCAST, section 6.2: memberships side by side",
    introduction=_introduction,
    tables=_tables,
    sections=_sections,
    made=lambda plan: f"Seed {plan.seed}, {plan.runs} runs, {plan.events} events.",
    conventions=dict.fromkeys(_SETTINGS),
    packages=("numpy",),
)
