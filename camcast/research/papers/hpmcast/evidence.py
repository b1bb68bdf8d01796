"""What the hpmcast paper (002) says, beside what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise, product
from math import ceil
from typing import Any, Final, TypeVar

from camcast.research.papers.hpmcast import plan
from camcast.research.papers.hpmcast.cells import Results, deep, flat_interested, infections, scaled
from camcast.research.papers.hpmcast.plan import DEPTHS, FLAT_PROCESSES, HPMCAST, PMCAST, RFPBCAST
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    Evidence,
    between,
    drawing,
    exact,
    exceeds,
    statement,
    told_apart,
    value,
)
from camcast.research.systems.hpmcast.depth import needed_rounds
from camcast.research.systems.hpmcast.equations import shortened_rounds
from camcast.research.systems.hpmcast.pmcast_law import completion_rounds
from camcast.research.systems.hpmcast.tree_setting import FAN_OUT, REDUNDANCY, HpmcastSetting
from camcast.research.systems.hpmcast.view import processes_of, tables
from camcast.research.systems.hpmcast.view_equations import (
    average_informed,
    average_level,
    view_size,
)
from camcast.research.systems.pmcast.pmcast_equations import pmcast_rounds
from camcast.research.systems.rfpbcast.rfpbcast_equations import pittel_rounds

_AXIS: Final = 0.9982  # [hpmcast Figure 8] where the axis begins
_VERY_GOOD: Final = 0.998  # chosen: "very good", as Figure 8 has it
_LITTLE: Final = 0.1  # chosen: "only little more", of what the second delegate gains
_NEARLY: Final = 0.9  # chosen: of an asymptote, which leaves an O(1) out

X = TypeVar("X", float, int)

_DRAWINGS: Final = {
    RFPBCAST: {
        "Figure 1": (
            "Receiver Filtering Broadcast Algorithm",
            "It is camcast.research.systems.rfpbcast.protocol.",
        ),
    },
    PMCAST: {
        "Figure 2": (
            "Probabilistic Multicast Algorithm",
            "It is camcast.research.systems.pmcast.protocol.",
        ),
    },
    HPMCAST: {
        "Figure 3": ("Electing Delegates for a Group of Level 1", "It is --membership hpmcast."),
        "Figure 4": ("Electing Delegates Recursively (R = 3)", "It is --membership hpmcast."),
        "Figure 5": (
            "Hierarchical Membership View",
            "It is camcast.research.systems.hpmcast.view.",
        ),
        "Figure 6": (
            "Hierarchical Probabilistic Multicast Algorithm",
            "It is camcast.research.systems.hpmcast.",
        ),
    },
}

_statement = partial(statement, "002")
_value = partial(value, "002")


def evidence(results: Results) -> tuple[Evidence, ...]:
    """Return what the paper says of the protocols that are chosen, beside what was found."""
    rows = []
    for protocol, said in {
        RFPBCAST: (_necessary,),
        HPMCAST: (_interest, _fan_out, _scale, _redundancy, _audience, _view, _broadcast, _levels),
        PMCAST: (_rounds_formula,),
    }.items():
        if results.plan.about(protocol):
            rows += [drawing("002", item, *shown) for item, shown in _DRAWINGS[protocol].items()]
            rows += [row for rows_of in said for row in rows_of(results)]
    return tuple(rows)


def _reception(results: Results, **setting: Any) -> Interval:
    return Interval(**results.hierarchy(**setting)["reception"])


def _least(of: Mapping[X, Interval]) -> X:
    """Return where the mean is smallest."""
    return min(of, key=lambda at: of[at].mean or 0.0)


# -- rfpbcast and pmcast --------------------------------------------------------------------------


def _necessary(results: Results) -> Iterator[Evidence]:
    held, found = [], []
    for n, fan_out in infections(RFPBCAST):
        rounds = float(pittel_rounds(n, fan_out))
        share = Interval(**results.infection(RFPBCAST, n, fan_out)["shares"][ceil(rounds)])
        held.append(between(share, _NEARLY))
        needed = completion_rounds(n - 1, n - 1, fan_out)
        found.append(
            f"T({n}, {fan_out}) = {rounds:.2f}: after {ceil(rounds)} rounds {share.mean:.1%} have"
            f" it, and all after {needed:.1f} in the mean (exact chain)."
        )
    yield _statement(
        "2.1.2, Equation 4",
        "the total number of rounds necessary to infect an entire system of size n (large)",
        held,
        f"{' '.join(found)} The asymptote leaves an O(1) out; nearly all is {_NEARLY:.0%}.",
    )


def _rounds_formula(results: Results) -> Iterator[Evidence]:
    curve = {n_1: float(pmcast_rounds(FLAT_PROCESSES, n_1 / FLAT_PROCESSES, FAN_OUT))
             for n_1 in range(1, FLAT_PROCESSES + 1)}  # fmt: skip
    yield _value(
        "Figure 9, at np₁ = 1",
        "becoming 0 in p1 n = 1",
        0.0,
        exact(curve[1]),
        "T(np₁, Fp₁), Equation 9: a formula, which nothing is simulated for.",
    )
    needed = {n_1: Interval(**results.flat(n_1)["completion"]) for n_1 in flat_interested()}
    top = max(needed, key=lambda n_1: needed[n_1].mean or 0.0)
    yield _statement(
        "Figure 9",
        "the computed expected number of rounds increases first with a decreasing p1, before"
        " decreasing quickly",
        [exceeds(needed[top], needed[FLAT_PROCESSES]), exceeds(needed[top], needed[1])],
        f"pmcast takes {needed[FLAT_PROCESSES].mean:.1f} rounds if all {FLAT_PROCESSES} are"
        f" interested, {needed[top].mean:.1f} if {top} are, and {needed[1].mean:.0f} for one;"
        f" Equation 9 says {curve[FLAT_PROCESSES]:.1f}, {curve[top]:.1f} and {curve[1]:.0f}.",
    )


# -- hpmcast, 5.3 and 5.4 -------------------------------------------------------------------------


def _interest(results: Results) -> Iterator[Evidence]:
    shares = [p for p in plan.SHARES if p >= 0.1]  # the axis of Figure 8
    of = {p: _reception(results, interested=p) for p in shares}
    measured = [_reception(results, interested=p, estimate="measured") for p in shares]
    worst = _least(of)
    yield _statement(
        "Figure 7",
        "a very good overall degree of reliability",
        [between(interval, _VERY_GOOD) for interval in of.values()],
        f"For p₁ from 0.1 on, {of[worst].mean:.4%} at the least (p₁ = {worst:g}), and"
        f" {of[1.0].mean:.4%} of a broadcast; with measured rounds"
        f" {min(interval.mean or 0.0 for interval in measured):.4%} at the least.",
    )
    yield _value(
        "Figure 8, its axis",
        "Probability of Delivery [the axis begins at 0.9982]",
        _AXIS,
        of[worst],
        f"The least is at p₁ = {worst:g}.",
        bound="least",
    )
    few = {p: _reception(results, interested=p) for p in plan.SHARES_SMALL}
    yield _statement(
        "Figure 8",
        "the decrease of reliability with small values for p1",
        [exceeds(of[more], of[less]) for less, more in ((0.1, 0.2), (0.2, 0.5), (0.5, 1.0))],
        f"In the figure's range: {_listed({p: of[p] for p in (0.1, 0.2, 0.5, 1.0)})}. The decrease"
        f" is below it: {_listed(few)}.",
    )


def _fan_out(results: Results) -> Iterator[Evidence]:
    rows = {
        p: [Interval(**results.hierarchy(fan_out=F, interested=p)["rounds"]) for F in plan.FAN_OUTS]
        for p in plan.SHARES_COMPARED
    }
    half = ", ".join(f"{interval.mean:.0f}" for interval in rows[0.5])
    yield _statement(
        "Figure 10",
        "increasing the fanout decreases the number of rounds necessary to infect the concerned"
        " participants",
        [exceeds(row[0], row[-1]) for row in rows.values()],
        f"From F = 1 to 8, for p₁ = 0.5: {half} rounds. The sentence is of 5.3.2; the caption of"
        " Figure 10 is not in the text we have.",
    )


def _scale(results: Results) -> Iterator[Evidence]:
    large = [arity for arity in plan.ARITIES if arity >= 20]
    of = {p: {a: _reception(results, **scaled(a, p)) for a in large} for p in plan.SHARES_SCALED}
    yield _statement(
        "Figure 11",
        "hpmcast shows very good scalability properties when increasing a in a hierarchy of fixed"
        " depth",
        [between(interval, _VERY_GOOD) for row in of.values() for interval in row.values()],
        "From 8,000 to 64,000 processes, at the least:"
        f" {_listed({p: row[_least(row)] for p, row in of.items()}, 4)}.",
    )


def _redundancy(results: Results) -> Iterator[Evidence]:
    rows = {
        p: [_reception(results, redundancy=R, interested=p) for R in plan.REDUNDANCIES]
        for p in plan.SHARES_LOW
    }
    half = ", ".join(f"{interval.mean:.2%}" for interval in rows[0.5])
    yield _statement(
        "5.3.5, Figure 12",
        "Increasing redundancy obviously increases reliability",
        [exceeds(row[-1], row[0]) for row in rows.values()],
        f"For p₁ = 0.5 and R = 1 to {plan.REDUNDANCIES[-1]}: {half}.",
    )
    second = {p: _difference(row[1], row[0]) for p, row in rows.items()}
    further = {p: _difference(row[-1], row[1]) for p, row in rows.items()}
    yield _statement(
        "Figure 12",
        "any redundancy factor R > 1 leads to multiplying the number of potentially interested"
        " participants by R. Hence, when further increasing R, only little more reliability is"
        " gained",
        [further[p] <= _LITTLE * second[p] for p in plan.SHARES_LOW],
        f"From R = 1 to 2 the share that deliver grows by {_points(second)} of all; from 2 to"
        f" {plan.REDUNDANCIES[-1]} by {_points(further)}. As Figure 6 has it, R multiplies the"
        " lowest level's rounds, too, and so moves the dip to smaller p₁.",
    )


def _audience(results: Results) -> Iterator[Evidence]:
    of = {
        D: {p: _reception(results, interested=p, threshold=D) for p in plan.SHARES_SMALL}
        for D in plan.THRESHOLDS
    }
    original, improved = of[plan.THRESHOLDS[0]], of[plan.THRESHOLDS[-1]]
    worst = {D: row[_least(row)] for D, row in of.items()}
    yield _statement(
        "Figure 13",
        "The result of such an improvement is illustrated by Figure 13, which compares the original"
        " degree of reliability with the improved one",
        [exceeds(improved[p], original[p]) for p in plan.SHARES_SMALL
         if (original[p].mean or 0.0) < _VERY_GOOD],
        f"At the least, for p₁ from {plan.SHARES_SMALL[0]:g} to {plan.SHARES_SMALL[-1]:g}: "
        + ", ".join(f"{interval.mean:.2%} with D = {D}" for D, interval in worst.items())
        + ".",
    )  # fmt: skip


# -- hpmcast, 6 -----------------------------------------------------------------------------------


def _broadcast(results: Results) -> Iterator[Evidence]:
    given = [(deep(depth)["arity"], depth, REDUNDANCY, FAN_OUT) for depth in DEPTHS]
    whole = float(pittel_rounds(plan.DEPTH_PROCESSES, FAN_OUT))
    quote = (
        "the depth of the hierarchy has no impact on the time it takes to broadcast an event in"
        " the entire system"
    )
    yield _statement(
        "6.2, Equation 28",
        quote,
        [abs(shortened_rounds(*setting) - whole) < 1e-9 for setting in given],
        f"Of the asymptote: it is {whole:.2f} for l = {', '.join(map(str, DEPTHS))}. The rounds"
        f" that the levels need are {', '.join(f'{needed_rounds(*one):.1f}' for one in given)}:"
        " each adds a constant that the asymptote leaves out.",
    )
    gossiped = [Interval(**results.hierarchy(**deep(depth))["rounds"]) for depth in DEPTHS]
    yield _statement(
        "6.2, as Figure 6 gossips",
        quote,
        [not told_apart(deeper, gossiped[0]) for deeper in gossiped[1:]],
        f"Figure 6 gossips for {', '.join(f'{one.mean:.0f}' for one in gossiped)} rounds in"
        f" l = {', '.join(map(str, DEPTHS))} levels: it does not subtract T(R, F).",
    )


def _view(_results: Results) -> Iterator[Evidence]:
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


def _levels(_results: Results) -> Iterator[Evidence]:
    depths = [depth for depth in DEPTHS if deep(depth)["arity"] >= REDUNDANCY]
    settings = [(deep(depth)["arity"], depth, REDUNDANCY) for depth in depths]
    formula = " These are formulas, which nothing is simulated for."
    for item, quote, of, falls in (
        ("6.3.1, Equation 30", "m decreases as l increases, as long as l < log n", view_size, True),
        (
            "6.3.2, Equation 35",
            "the average number of participants whose membership views have to be updated upon"
            " failure of any given participant decreases as l increases",
            average_informed,
            True,
        ),
        (
            "6.3.2, Equation 36",
            "the average level of a participant in the hierarchy increases as the number of levels"
            " increases",
            average_level,
            False,
        ),
    ):
        values = [float(of(*setting)) for setting in settings]
        yield _statement(
            item,
            quote,
            [(one > other) == falls for one, other in pairwise(values)],
            f"Of {plan.DEPTH_PROCESSES:,} processes, R = {REDUNDANCY}, l ="
            f" {', '.join(map(str, depths))}: {', '.join(f'{one:,.2f}' for one in values)}."
            f"{formula}",
        )


def _difference(one: Interval, other: Interval) -> float:
    return (one.mean or 0.0) - (other.mean or 0.0)


def _listed(shares: Mapping[float, Interval], decimals: int = 2) -> str:
    return ", ".join(f"{one.mean:.{decimals}%} (p₁ = {p:g})" for p, one in shares.items())


def _points(shares: Mapping[float, float]) -> str:
    return ", ".join(f"{share:.2%} (p₁ = {p:g})" for p, share in shares.items())
