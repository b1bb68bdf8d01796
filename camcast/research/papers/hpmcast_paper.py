"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

A run simulates one setting, and computes its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise, product
from typing import Any, Final, TypeVar

import attrs
from attrs import frozen

from camcast.research.papers import hpmcast_flat
from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.hpmcast_flat import INTERESTED, PMCAST, RFPBCAST
from camcast.research.papers.paper import (
    ONE,
    Given,
    Kind,
    Kinds,
    Paper,
    Parts,
    Plan,
    Results,
    Shown,
    carry_out,
    drawings,
    reproduction_of,
)
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    Cause,
    between,
    bounded,
    exact,
    exceeds,
    statement,
    told_apart,
    value,
)
from camcast.research.sweeps import JSON
from camcast.research.systems.hpmcast.equations import needed_rounds, shortened_rounds
from camcast.research.systems.hpmcast.tree_model import predict
from camcast.research.systems.hpmcast.tree_population import reception, simulate
from camcast.research.systems.hpmcast.tree_setting import FAN_OUT, REDUNDANCY, HpmcastSetting
from camcast.research.systems.hpmcast.view import processes_of, tables
from camcast.research.systems.hpmcast.view_equations import (
    average_informed,
    average_level,
    view_size,
)
from camcast.research.systems.rfpbcast.rfpbcast_equations import pittel_rounds

HPMCAST: Final = "hpmcast"

SHARES_SMALL: Final = (0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07)
"""p_1 where Figure 7 has its dip. chosen: evenly in their logarithm, but finer at the edge."""
SHARES: Final = (*SHARES_SMALL, *(twentieth / 20 for twentieth in range(2, 21)))
"""p_1 of Figure 7; from 0.1 on that of Figure 8, whose axis begins there."""
SHARES_COMPARED: Final = (0.2, 0.5, 1.0)  # chosen: few, half, all
SHARES_LOW: Final = (0.02, 0.1, 0.5)  # chosen: one in the dip of Figure 7
SHARES_SCALED: Final = (0.05, 0.2, 0.5)  # chosen: with a = 40 a lower one takes minutes to model

_MEASURES: Final = ("reception", "rounds", "messages", "parasites", "parasite_copies")

FAN_OUTS: Final = tuple(range(1, 9))  # chosen: the caption of Figure 10 is not in the text we have
ARITIES: Final = (10, 15, 20, 25, 30, 35, 40)  # chosen: 64,000 processes at the most
REDUNDANCIES: Final = tuple(range(1, 7))  # chosen: the caption of Figure 12 is not in our text
THRESHOLDS: Final = (0, 6, 12)  # chosen: 5.4.2 names no D; multiples of R add whole lines
DEPTH_PROCESSES: Final = 4096  # chosen: a power with many roots
DEPTHS: Final = (1, 2, 3, 4, 6)  # of 4096: a = 4096, 64, 16, 8, 4; below, there are no R = 3

_AXIS: Final = 0.9982  # [hpmcast Figure 8] where the axis begins
_VERY_GOOD: Final = 0.998  # chosen: "very good", as Figure 8 has it
_LITTLE: Final = 0.1  # chosen: "only little more", of what the second delegate gains

_DELIVERY: Final = "share of the interested that deliver"
_EXPECTED: Final = "rounds from expected p₁"
_MEASURED: Final = "rounds from measured p₁"
_HIERARCHY: Final = "n = 22³, R = 3, F = 2"
_ROOM: Final = "It is camcast.research.systems"
_DRAWINGS: Final = {
    RFPBCAST: {"Figure 1": ("Receiver Filtering Broadcast Algorithm", f"{_ROOM}.rfpbcast")},
    PMCAST: {"Figure 2": ("Probabilistic Multicast Algorithm", f"{_ROOM}.pmcast.protocol.")},
    HPMCAST: {
        "Figure 3": ("Electing Delegates for a Group of Level 1", "It is --membership hpmcast."),
        "Figure 4": ("Electing Delegates Recursively (R = 3)", "It is --membership hpmcast."),
        "Figure 5": ("Hierarchical Membership View", f"{_ROOM}.hpmcast.view."),
        "Figure 6": ("Hierarchical Probabilistic Multicast Algorithm", f"{_ROOM}.hpmcast."),
    },
}

_statement = partial(statement, "002")
_value = partial(value, "002")
_bound = partial(bounded, "002")


X = TypeVar("X", float, int)


@frozen(kw_only=True)
class HpmcastPlan(Plan):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "hpmcast"
    RUNS = 100  # chosen: a reliability of Figure 8 to ±0.0001; some minutes on two cores


Found = Results[HpmcastPlan]


# -- runs -----------------------------------------------------------------------------------------


def _hierarchy(given: Given) -> JSON:
    """Return what became of events in a hierarchy, and the model of it."""
    names = [field.name for field in attrs.fields(HpmcastSetting)]
    setting = HpmcastSetting(**{name: given[name] for name in names})
    spread = simulate(setting, given["runs"], given["seed"])
    measures = {**spread.measures(), "reception": reception(spread)}
    return {
        **{name: measures[name].as_json() for name in _MEASURES},
        "model": attrs.asdict(predict(setting)),
    }


def hierarchy(results: Found, **setting: Any) -> Any:
    """Return what became of events in a hierarchy; what is not given is as in Figure 7."""
    return results.of("tree", **attrs.asdict(HpmcastSetting(**setting)))


def scaled(arity: int, interested: float) -> dict[str, Any]:
    """Return a setting of Figure 11."""
    # [hpmcast Figure 11: "= 3, R = 4, F = 3" is left of its caption]
    fixed = {"depth": 3, "redundancy": 4, "fan_out": 3}
    return {**fixed, "arity": arity, "interested": interested}


def deep(depth: int) -> dict[str, Any]:
    """Return a setting of 6.2: a broadcast through so many levels."""
    return {"arity": round(DEPTH_PROCESSES ** (1 / depth)), "depth": depth, "interested": 1.0}


Series = Mapping[Any, Mapping[Any, Mapping[str, Any]]]
"""Settings of hierarchies by the series and the x of their points."""


def _curves(results: Found, series: Series, measure: str = "reception") -> tuple[Point, ...]:
    """Return a measure of settings; a series is named, or is of one p₁."""
    return tuple(
        Point(
            series=name if isinstance(name, str) else f"p₁ = {name:g}",
            x=x,
            model=found["model"].get(measure),
            runs=results.plan.runs,
            **found[measure],
        )
        for name, settings in series.items()
        for x, setting in settings.items()
        for found in (hierarchy(results, **setting),)
    )


def _intervals(
    results: Found, settings: Mapping[X, Mapping[str, Any]], measure: str = "reception"
) -> dict[X, Interval]:
    """Return a measure of settings."""
    return {x: Interval(**hierarchy(results, **of)[measure]) for x, of in settings.items()}


def _least(of: Mapping[X, Interval]) -> X:
    """Return where the mean is smallest."""
    return min(of, key=lambda at: of[at].mean or 0.0)


# -- Figures 7 and 8 ------------------------------------------------------------------------------


def _interest(results: Found) -> Shown:
    expected = {p: {"interested": p} for p in SHARES}
    measured = {p: {"interested": p, "estimate": "measured"} for p in SHARES}
    curves = _curves(results, {_EXPECTED: expected, _MEASURED: measured})
    shares = [p for p in SHARES if p >= 0.1]  # the axis of Figure 8
    printed = [hierarchy(results, interested=p)["model"]["reception_printed"] for p in shares]
    how = (
        " Expected: the number of rounds follows from p_i of Equation 19, as in the paper's"
        " simulation. Measured: from getprob (Figure 6), as in a live process, which needs no"
        " repair where few are interested, but more rounds."
    )
    yield Figure(
        name="figure7",
        title=f"Varying p₁; {_HIERARCHY}",
        x=INTERESTED,
        y=_DELIVERY,
        notes="Everybody is interested with probability p₁, and alive; no copy is lost. The"
        " axis is logarithmic, unlike the paper's, to show the dip: below p₁ = 1/66"
        " the lowest level gets no rounds, and only its 3 delegates of 22 have the event." + how,
        points=curves,
        domain=(0, 1),
        logarithmic="x",
    )
    yield Figure(
        name="figure8",
        title=f"Reliability depending on p₁; {_HIERARCHY}",
        x=INTERESTED,
        y=_DELIVERY,
        notes="Figure 7 from 0.1 on; the paper's axis begins at 0.9982. Equation 23's r₁r₂r₃,"
        " which begins each level with one participant, is pessimistic:"
        f" {min(printed):.4f} to {max(printed):.4f}." + how,
        points=tuple(point for point in curves if point.x >= 0.1),
        domain=(0.998, 1),
    )
    of = _intervals(results, expected)
    from_measured = _intervals(results, {p: measured[p] for p in shares}).values()
    worst = _least({p: of[p] for p in shares})
    yield _statement(
        "Figure 7",
        "a very good overall degree of reliability",
        [between(of[p], _VERY_GOOD) for p in shares],
        f"For p₁ from 0.1 on, {of[worst].mean:.4%} at the least (p₁ = {worst:g}), and"
        f" {of[1.0].mean:.4%} of a broadcast; with measured rounds"
        f" {min(interval.mean or 0.0 for interval in from_measured):.4%} at the least.",
    )
    yield _bound(
        "Figure 8, its axis",
        "Probability of Delivery [the axis begins at 0.9982]",
        _AXIS,
        of[worst],
        f"The least is at p₁ = {worst:g}.",
        side="least",
    )
    yield _statement(
        "Figure 8",
        "the decrease of reliability with small values for p1",
        [exceeds(of[more], of[less]) for less, more in ((0.1, 0.2), (0.2, 0.5), (0.5, 1.0))],
        f"In the figure's range: {_listed({p: of[p] for p in (0.1, 0.2, 0.5, 1.0)})}. The decrease"
        f" is below it: {_listed({p: of[p] for p in SHARES_SMALL})}.",
    )


# -- Figure 9 -------------------------------------------------------------------------------------


# -- Figures 10 to 13 -----------------------------------------------------------------------------


def _fan_out(results: Found) -> Shown:
    fan_outs = {p: {F: {"fan_out": F, "interested": p} for F in FAN_OUTS} for p in SHARES_COMPARED}
    notes = " n = 22³, R = 3. The caption of Figure 10 is not in the text we have; F is chosen."
    yield Figure(
        name="figure10",
        title="Fan-out: reliability",
        x="fan-out, F",
        y=_DELIVERY,
        notes="5.3.2: what counts is how good the estimate of the number of rounds is." + notes,
        points=_curves(results, fan_outs),
        domain=(0.998, 1),
    )
    yield Figure(
        name="figure10_rounds",
        title="Fan-out: rounds",
        x="fan-out, F",
        y="rounds until nobody gossips any more",
        notes="5.3.2: “increasing the fanout decreases the number of rounds”." + notes,
        points=_curves(results, fan_outs, "rounds"),
    )
    rows = {p: [*_intervals(results, row, "rounds").values()] for p, row in fan_outs.items()}
    half = ", ".join(f"{interval.mean:.0f}" for interval in rows[0.5])
    yield _statement(
        "Figure 10",
        "increasing the fanout decreases the number of rounds necessary to infect the concerned"
        " participants",
        [exceeds(row[0], row[-1]) for row in rows.values()],
        f"From F = 1 to 8, for p₁ = 0.5: {half} rounds. The sentence is of 5.3.2; the caption of"
        " Figure 10 is not in the text we have.",
    )


def _scale(results: Found) -> Shown:
    arities = {p: {a: scaled(a, p) for a in ARITIES} for p in SHARES_SCALED}
    yield Figure(
        name="figure11",
        title="Varying a; n = a³, l = 3, R = 4, F = 3",
        x="subsystems of each, a",
        y=_DELIVERY,
        notes="1,000 to 64,000 processes. p₁ is chosen; of the caption only “= 3, R = 4, F = 3” is"
        " left in the text we have.",
        points=_curves(results, arities),
        domain=(0.998, 1),
    )
    large = {p: {a: row[a] for a in ARITIES if a >= 20} for p, row in arities.items()}
    of = {p: _intervals(results, row) for p, row in large.items()}
    yield _statement(
        "Figure 11",
        "hpmcast shows very good scalability properties when increasing a in a hierarchy of fixed"
        " depth",
        [between(interval, _VERY_GOOD) for row in of.values() for interval in row.values()],
        "From 8,000 to 64,000 processes, at the least:"
        f" {_listed({p: row[_least(row)] for p, row in of.items()}, 4)}.",
    )


def _redundancy(results: Found) -> Shown:
    redundancies = {
        p: {R: {"redundancy": R, "interested": p} for R in REDUNDANCIES} for p in SHARES_LOW
    }
    yield Figure(
        name="figure12",
        title="Varying R; n = 22³, F = 2",
        x="delegates, R",
        y=_DELIVERY,
        notes="5.3.5. p₁ is chosen; the caption of Figure 12 is not in the text we have. R also"
        " lengthens the rounds of the lowest level, as Figure 6 counts |view| R processes there.",
        points=_curves(results, redundancies),
        domain=(0, 1),
    )
    rows = {p: [*_intervals(results, row).values()] for p, row in redundancies.items()}
    half = ", ".join(f"{interval.mean:.2%}" for interval in rows[0.5])
    yield _statement(
        "5.3.5, Figure 12",
        "Increasing redundancy obviously increases reliability",
        [exceeds(row[-1], row[0]) for row in rows.values()],
        f"For p₁ = 0.5 and R = 1 to {REDUNDANCIES[-1]}: {half}.",
    )
    second = {p: _difference(row[1], row[0]) for p, row in rows.items()}
    further = {p: _difference(row[-1], row[1]) for p, row in rows.items()}
    yield _statement(
        "Figure 12",
        "any redundancy factor R > 1 leads to multiplying the number of potentially interested"
        " participants by R. Hence, when further increasing R, only little more reliability is"
        " gained",
        [further[p] <= _LITTLE * second[p] for p in SHARES_LOW],
        f"From R = 1 to 2 the share that deliver grows by {_points(second)} of all; from 2 to"
        f" {REDUNDANCIES[-1]} by {_points(further)}. As Figure 6 has it, R multiplies the"
        " lowest level's rounds, too, and so moves the dip to smaller p₁.",
    )


def _audience(results: Found) -> Shown:
    thresholds = {
        f"D = {D}" if D else "original": {
            p: {"interested": p, "threshold": D} for p in (*SHARES_SMALL, 0.1)
        }
        for D in THRESHOLDS
    }
    yield Figure(
        name="figure13",
        title=f"Increasing the audience to D; {_HIERARCHY}",
        x=INTERESTED,
        y=_DELIVERY,
        notes="5.4.2: where fewer than D of a view are interested, its D first are sent the event,"
        " too. The paper does not say what its D is. Rounds from expected p₁.",
        points=_curves(results, thresholds),
        domain=(0, 1),
        logarithmic="x",
    )
    of = [_intervals(results, {p: row[p] for p in SHARES_SMALL}) for row in thresholds.values()]
    original, improved = of[0], of[-1]
    worst = {D: row[_least(row)] for D, row in zip(THRESHOLDS, of, strict=True)}
    yield _statement(
        "Figure 13",
        "The result of such an improvement is illustrated by Figure 13, which compares the original"
        " degree of reliability with the improved one",
        [exceeds(improved[p], original[p]) for p in SHARES_SMALL
         if (original[p].mean or 0.0) < _VERY_GOOD],
        f"At the least, for p₁ from {SHARES_SMALL[0]:g} to {SHARES_SMALL[-1]:g}: "
        + ", ".join(f"{interval.mean:.2%} with D = {D}" for D, interval in worst.items())
        + ".",
    )  # fmt: skip


def _parasites(results: Found) -> Shown:
    shares = {p: {"interested": p} for p in SHARES}
    yield Figure(
        name="parasites",
        title=f"Uninterested processes that receive the event; {_HIERARCHY}",
        x=INTERESTED,
        y="processes",
        notes="Beyond the paper's figures (6.3.2 names the number): “a feigned multicast” (5.1.1),"
        " so that delegates receive what interests somebody they stand for.",
        points=_curves(results, {"delegates": shares}, "parasites"),
    )


# -- section 6 ------------------------------------------------------------------------------------


def _broadcast(results: Found) -> Shown:
    whole = float(pittel_rounds(DEPTH_PROCESSES, FAN_OUT))
    given = [(deep(depth)["arity"], depth, REDUNDANCY, FAN_OUT) for depth in DEPTHS]
    needed = [needed_rounds(*setting) for setting in given]
    formulas = {
        f"T(n, F) = {whole:.2f}, Equation 28": [whole] * len(DEPTHS),
        "needed by a group of each level": needed,
        "needed by all groups of each level": [
            needed_rounds(*setting, of_all=True) for setting in given
        ],
    }
    depths = {depth: deep(depth) for depth in DEPTHS}
    yield Figure(
        name="depth",
        title="Rounds of a broadcast through l levels; n = 4,096, R = 3, F = 2",
        x="levels, l",
        y="rounds",
        notes="6.2, without a figure in the paper. Equation 28 is an identity of asymptotes: each"
        " level adds a constant that it leaves out. Needed: by the chain of Equation 2, from one"
        " publisher at the top and R delegates below. What Figure 6 does is Equation 20, which has"
        " (l - 1) T(R, F) more, with R lines' processes in level 1, too, and whole rounds.",
        points=(
            *_curves(results, {"gossiped, Figure 6": depths}, "rounds"),
            *(
                Point(series=series, x=depth, formula=rounds)
                for series, formula in formulas.items()
                for depth, rounds in zip(DEPTHS, formula, strict=True)
            ),
        ),
    )
    quote = (
        "the depth of the hierarchy has no impact on the time it takes to broadcast an event in"
        " the entire system"
    )
    yield _statement(
        "6.2, Equation 28",
        quote,
        [abs(shortened_rounds(*setting) - whole) < 1e-9 for setting in given],
        f"Of the asymptote: it is {whole:.2f} for l = {', '.join(map(str, DEPTHS))}. The rounds"
        f" that the levels need are {', '.join(f'{rounds:.1f}' for rounds in needed)}:"
        " each adds a constant that the asymptote leaves out.",
    )
    gossiped = [*_intervals(results, depths, "rounds").values()]
    yield _statement(
        "6.2, as Figure 6 gossips",
        quote,
        [not told_apart(deeper, gossiped[0]) for deeper in gossiped[1:]],
        f"Figure 6 gossips for {', '.join(f'{one.mean:.0f}' for one in gossiped)} rounds in"
        f" l = {', '.join(map(str, DEPTHS))} levels: it does not subtract T(R, F).",
        cause=Cause.of_paper(
            "Equation 28 drops the constant of each level. The rounds that the levels need by the"
            f" chain of Equation 2, whatever Figure 6 does, are"
            f" {', '.join(f'{rounds:.1f}' for rounds in needed)}.",
            holds=all(less < more for less, more in pairwise(needed)),
        ),
    )


def _view(_results: Found) -> Shown:
    given = HpmcastSetting()
    everybody = dict.fromkeys(product(range(given.arity), repeat=given.depth))
    views = tables((0,) * given.depth, everybody, given.redundancy, lambda _: None)
    known = sum(len(processes_of(table)) for table in views.values())
    yield _value(
        "5.2.1, Equation 18",
        "m = Ra(l-1) + a",
        view_size(given.arity, given.depth, given.redundancy),
        exact(known),
        "Entries in the tables of a process of Figure 7's hierarchy, elected and condensed as live"
        " processes do (camcast.research.systems.hpmcast.view).",
    )


def _levels(_results: Found) -> Shown:
    depths = [depth for depth in DEPTHS if deep(depth)["arity"] >= REDUNDANCY]
    settings = [(deep(depth)["arity"], depth, REDUNDANCY) for depth in depths]
    quotes = {
        "6.3.1, Equation 30": "m decreases as l increases, as long as l < log n",
        "6.3.2, Equation 35": "the average number of participants whose membership views have to be"
        " updated upon failure of any given participant decreases as l increases",
        "6.3.2, Equation 36": "the average level of a participant in the hierarchy increases as the"
        " number of levels increases",
    }
    formulas = ((view_size, True), (average_informed, True), (average_level, False))
    for (item, quote), (of, falls) in zip(quotes.items(), formulas, strict=True):
        values = [float(of(*setting)) for setting in settings]
        yield _statement(
            item,
            quote,
            [(one > other) == falls for one, other in pairwise(values)],
            f"Of {DEPTH_PROCESSES:,} processes, R = {REDUNDANCY}, l ="
            f" {', '.join(map(str, depths))}: {', '.join(f'{one:,.2f}' for one in values)}."
            " These are formulas, which nothing is simulated for.",
        )


# -- the whole ------------------------------------------------------------------------------------


def _difference(one: Interval, other: Interval) -> float:
    return (one.mean or 0.0) - (other.mean or 0.0)


def _listed(shares: Mapping[float, Interval], decimals: int = 2) -> str:
    return ", ".join(f"{one.mean:.{decimals}%} (p₁ = {p:g})" for p, one in shares.items())


def _points(shares: Mapping[float, float]) -> str:
    return ", ".join(f"{share:.2%} (p₁ = {p:g})" for p, share in shares.items())


_SETTINGS: Final[Mapping[str, str | None]] = {
    "Figure 6 process by process, all in step. Views are complete and static; the delegates"
    " are the R smallest addresses of a subsystem. The publisher is any process.": HPMCAST,
    "Nobody crashes and no copy is lost, as in the paper's captions.": None,
    "Reliability: the share of the interested processes, without the publisher, that deliver;"
    " the mean over runs, with Student's interval.": HPMCAST,
    "Line 27 of Figure 6 is taken as printed: |view| R processes in level 1, too, where a line"
    " is one process. With |view| there, as Equation 17 has it, 88 % instead of 99.95 % of"
    " Figure 7's deliver at p₁ = 0.1, and 99.88 % at p₁ = 1.": HPMCAST,
    "Line 35's share is hits / (processes of the view). Divided by R in level 1, too, 90 %"
    " deliver at p₁ = 0.1.": HPMCAST,
    "The model follows one process down the levels, exactly but for the publisher's own"
    " descent (camcast.research.systems.hpmcast.levels).": HPMCAST,
    "rfpbcast: Figure 1 process by process; everybody knows everybody.": RFPBCAST,
    "pmcast: Figure 2 process by process; everybody knows everybody's interests.": PMCAST,
    "All points are simulated with the same seed.": None,
}
"""The conventions, each with the protocol that it is about; None: all."""


_PARTS: Final[Parts] = (
    ((RFPBCAST,), (drawings("002", _DRAWINGS[RFPBCAST]), hpmcast_flat.necessary)),
    ((HPMCAST,), (drawings("002", _DRAWINGS[HPMCAST]), _interest, _fan_out, _scale, _redundancy)),
    ((HPMCAST,), (_audience, _parasites, _view, _broadcast, _levels)),
    ((PMCAST,), (drawings("002", _DRAWINGS[PMCAST]), hpmcast_flat.completion)),
    ((RFPBCAST,), (partial(hpmcast_flat.infection, RFPBCAST),)),
    ((PMCAST,), (partial(hpmcast_flat.infection, PMCAST),)),
)
KINDS: Final[Kinds] = {
    **hpmcast_flat.KINDS,
    "tree": Kind(
        _hierarchy,
        lambda _cell: {**dict.fromkeys(_MEASURES, ONE), "model": {"reception_printed": 1.0}},
        turn=lambda cell: -(cell["arity"] ** cell["depth"]),
    ),
}


def compute(cell: Given) -> JSON:
    """Carry out one run; the task of the sweep."""
    return carry_out(KINDS, cell)


PAPER: Final = Paper(
    plan=HpmcastPlan,
    compute=compute,
    kinds=KINDS,
    together=partial(reproduction_of, _PARTS),
    title="hpmcast, section 5.3 to 6.2, computed again",
    introduction=lambda found: (
        "Figures 7 to 13 of P. Th. Eugster, R. Guerraoui, <cite>Hierarchical"
        " Probabilistic Multicast</cite>, simulated again: an event spreads through a hierarchy of"
        " l levels, in which each subsystem has a subsystems of its own and R delegates. Beyond"
        " them rfpbcast and pmcast, of its section 2, round by round."
        f" {found.plan.runs:,} runs a point; intervals are of 95 %."
    ),
    made=lambda plan: f"Seed {plan.seed}, {plan.runs:,} runs.",
    conventions=_SETTINGS,
)
