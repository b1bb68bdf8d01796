"""What Figures 7 to 13 of the hpmcast paper (002, 5.3, 5.4) show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.hpmcast import plan
from camcast.research.papers.hpmcast.cells import Results, deep, flat_interested, infections, scaled
from camcast.research.papers.hpmcast.plan import DEPTHS, FLAT_PROCESSES, HPMCAST, PMCAST, RFPBCAST
from camcast.research.systems.hpmcast.depth import needed_rounds
from camcast.research.systems.hpmcast.tree_setting import FAN_OUT, REDUNDANCY
from camcast.research.systems.pmcast.pmcast_equations import pmcast_law, pmcast_rounds
from camcast.research.systems.rfpbcast.rfpbcast_equations import pittel_rounds

_DELIVERY: Final = "share of the interested that deliver"
_INTERESTED: Final = "interested processes, p₁"
_EXPECTED: Final = "rounds from expected p₁"
_MEASURED: Final = "rounds from measured p₁"
_HIERARCHY: Final = "n = 22³, R = 3, F = 2"
_CHAIN: Final = (
    " Dashed: the exact chain, in which the F that one sender chooses are distinct. Dotted: "
)
_INFECTION_NOTES: Final = {
    RFPBCAST: "Beyond the paper's figures: its Figure 1, process by process. It is the same whoever"
    f" is interested.{_CHAIN}Equations 2 and 3, by which it may choose the same process twice.",
    PMCAST: "Beyond the paper's figures: its Figure 2, process by process; nobody else gets it."
    f"{_CHAIN}Equations 7 and 8, those of rfpbcast for n p₁ processes and a fan-out of F p₁.",
}


def figures(results: Results) -> tuple[Figure, ...]:
    """Return the figures of the protocols that are chosen: the paper's, then those beyond it."""
    about = results.plan.about
    return (
        *(_interest(results) if about(HPMCAST) else ()),
        *((_flat_rounds(results),) if about(PMCAST) else ()),
        *(_varied(results) if about(HPMCAST) else ()),
        *((_depth(results),) if about(HPMCAST) else ()),
        *(_infection(results, protocol) for protocol in (RFPBCAST, PMCAST) if about(protocol)),
    )


def _curves(
    results: Results,
    series: Mapping[str, Mapping[Any, dict[str, Any]]],
    measure: str = "reception",
) -> tuple[Point, ...]:
    """Return what was measured of settings, by the name of their series and by their x."""
    return tuple(
        Point(
            series=name,
            x=x,
            model=found["model"].get(measure),
            runs=results.plan.runs,
            **found[measure],
        )
        for name, settings in series.items()
        for x, setting in settings.items()
        for found in (results.hierarchy(**setting),)
    )


def _interest(results: Results) -> tuple[Figure, Figure]:
    expected = {p: {"interested": p} for p in plan.SHARES}
    measured = {p: {"interested": p, "estimate": "measured"} for p in plan.SHARES}
    curves = _curves(results, {_EXPECTED: expected, _MEASURED: measured})
    printed = [
        results.hierarchy(interested=p)["model"]["reception_printed"]
        for p in plan.SHARES
        if p >= 0.1
    ]
    how = (
        " Expected: the number of rounds follows from p_i of Equation 19, as in the paper's"
        " simulation. Measured: from getprob (Figure 6), as in a live process, which needs no"
        " repair where few are interested, but more rounds."
    )
    return (
        Figure(
            name="figure7",
            title=f"Varying p₁; {_HIERARCHY}",
            x=_INTERESTED,
            y=_DELIVERY,
            notes="Everybody is interested with probability p₁, and alive; no copy is lost. The"
            " axis is logarithmic, unlike the paper's, to show the dip: below p₁ = 1/66"
            " the lowest level gets no rounds, and only its 3 delegates of 22 have the event."
            + how,
            points=curves,
            domain=(0, 1),
            logarithmic="x",
        ),
        Figure(
            name="figure8",
            title=f"Reliability depending on p₁; {_HIERARCHY}",
            x=_INTERESTED,
            y=_DELIVERY,
            notes="Figure 7 from 0.1 on; the paper's axis begins at 0.9982. Equation 23's r₁r₂r₃,"
            " which begins each level with one participant, is pessimistic:"
            f" {min(printed):.4f} to {max(printed):.4f}." + how,
            points=tuple(point for point in curves if point.x >= 0.1),
            domain=(0.998, 1),
        ),
    )


def _flat_rounds(results: Results) -> Figure:
    formula = [
        Point(
            series="T(np₁, Fp₁), Equation 9",
            x=p,
            formula=float(pmcast_rounds(FLAT_PROCESSES, p, FAN_OUT)),
        )
        for p in (0.006, 0.007, 0.008, 0.009, *(percent / 100 for percent in range(1, 101)))
    ]
    needed = [
        Point(
            series="rounds until all have it, pmcast",
            x=interested / FLAT_PROCESSES,
            model=found["model"],
            runs=results.plan.runs,
            **found["completion"],
        )
        for interested in flat_interested()
        for found in (results.flat(interested),)
    ]
    return Figure(
        name="figure9",
        title="Rounds depending on p₁; n = 100, F = 2",
        x=_INTERESTED,
        y="rounds",
        notes="Dotted: the formula, 0 where one process is interested, and negative below (the"
        " paper's axis is labelled “Fanout”, and goes down to -120). Beyond the paper: how many"
        " rounds pmcast takes until all the interested have the event; dashed: its exact chain.",
        points=(*needed, *formula),
    )


def _varied(results: Results) -> Iterator[Figure]:
    """Yield Figures 10 to 13, which vary one number of Figure 7's hierarchy each, and parasites."""
    fan_outs = {
        f"p₁ = {p:g}": {F: {"fan_out": F, "interested": p} for F in plan.FAN_OUTS}
        for p in plan.SHARES_COMPARED
    }
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
    arities = {f"p₁ = {p:g}": {a: scaled(a, p) for a in plan.ARITIES} for p in plan.SHARES_SCALED}
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
    redundancies = {
        f"p₁ = {p:g}": {R: {"redundancy": R, "interested": p} for R in plan.REDUNDANCIES}
        for p in plan.SHARES_LOW
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
    thresholds = {
        f"D = {D}" if D else "original": {
            p: {"interested": p, "threshold": D} for p in (*plan.SHARES_SMALL, 0.1)
        }
        for D in plan.THRESHOLDS
    }
    yield Figure(
        name="figure13",
        title=f"Increasing the audience to D; {_HIERARCHY}",
        x=_INTERESTED,
        y=_DELIVERY,
        notes="5.4.2: where fewer than D of a view are interested, its D first are sent the event,"
        " too. The paper does not say what its D is. Rounds from expected p₁.",
        points=_curves(results, thresholds),
        domain=(0, 1),
        logarithmic="x",
    )
    shares = {p: {"interested": p} for p in plan.SHARES}
    yield Figure(
        name="parasites",
        title=f"Uninterested processes that receive the event; {_HIERARCHY}",
        x=_INTERESTED,
        y="processes",
        notes="Beyond the paper's figures (6.3.2 names the number): “a feigned multicast” (5.1.1),"
        " so that delegates receive what interests somebody they stand for.",
        points=_curves(results, {"delegates": shares}, "parasites"),
    )


def _depth(results: Results) -> Figure:
    whole = float(pittel_rounds(plan.DEPTH_PROCESSES, FAN_OUT))
    formulas: dict[str, Callable[[int], float]] = {
        f"T(n, F) = {whole:.2f}, Equation 28": lambda _depth: whole,
        "needed by a group of each level": lambda depth: _needed(depth, of_all=False),
        "needed by all groups of each level": lambda depth: _needed(depth, of_all=True),
    }
    return Figure(
        name="depth",
        title="Rounds of a broadcast through l levels; n = 4,096, R = 3, F = 2",
        x="levels, l",
        y="rounds",
        notes="6.2, without a figure in the paper. Equation 28 is an identity of asymptotes: each"
        " level adds a constant that it leaves out. Needed: by the chain of Equation 2, from one"
        " publisher at the top and R delegates below. What Figure 6 does is Equation 20, which has"
        " (l - 1) T(R, F) more, with R lines' processes in level 1, too, and whole rounds.",
        points=(
            *_curves(results, {"gossiped, Figure 6": {at: deep(at) for at in DEPTHS}}, "rounds"),
            *(
                Point(series=series, x=depth, formula=formula(depth))
                for series, formula in formulas.items()
                for depth in DEPTHS
            ),
        ),
    )


def _needed(depth: int, *, of_all: bool) -> float:
    return needed_rounds(deep(depth)["arity"], depth, REDUNDANCY, FAN_OUT, of_all=of_all)


def _infection(results: Results, protocol: str) -> Figure:
    filters = protocol == PMCAST
    measured, equation = [], []
    for interested, fan_out in infections(protocol):
        found = results.infection(protocol, interested, fan_out)
        p = interested / FLAT_PROCESSES
        name = f"p₁ = {p:g}" if filters else f"F = {fan_out}"
        for rounds, (share, model) in enumerate(zip(found["shares"], found["models"], strict=True)):
            measured.append(
                Point(series=name, x=rounds, model=model, runs=results.plan.runs, **share)
            )
            law = pmcast_law(FLAT_PROCESSES, p, fan_out, rounds)
            mean = float(law @ np.arange(len(law))) / interested
            equation.append(Point(series=f"{name}, by equation", x=rounds, formula=mean))
    return Figure(
        name=protocol,
        title=f"{protocol}, round by round; n = {FLAT_PROCESSES}"
        + (f", F = {FAN_OUT}" if filters else ""),
        x="rounds",
        y="share of the interested that have it" if filters else "share that have the event",
        notes=_INFECTION_NOTES[protocol],
        points=(*measured, *equation),
        domain=(0, 1),
    )
