"""Section 6.1 of the CAMCAST paper (000), computed again: Figures 13 to 18, and what it says.

The setting is `camcast_setting`'s, and Tables 1 and 2 are `camcast_tables`'s. Where the paper
leaves a convention open, the table's or figure's notes say which one is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import fsum, hypot, prod
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen
from typing_extensions import override

from camcast.research.papers import camcast_memory, camcast_tables
from camcast.research.papers.camcast_setting import (
    COMMUNITIES,
    CRASHED,
    CRASHED_COMPARED,
    PARAMETERS,
    SETTINGS,
    SIZES,
    SPREAD,
    SUCCESS,
    Agreement,
    CamcastPlan,
    agreement_as_html,
    agreement_of,
    compared,
    group_of,
    intervals,
    made,
    model,
    setting_of,
    spread,
)
from camcast.research.papers.camcast_tables import (
    EXPERIMENTS,
    TOPOLOGIES,
    Table,
    as_html,
    table_rows,
    tables,
)
from camcast.research.papers.figure import Figure, Point
from camcast.research.papers.paper import (
    Given,
    Kinds,
    Paper,
    Parts,
    Reproduction,
    Results,
    Sheet,
    Shown,
    carry_out,
    collect,
    drawings,
)
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    Cause,
    Evidence,
    between,
    bounded,
    exact,
    exceeds,
    half_of,
    statement,
    told_apart,
    value,
)
from camcast.research.sweeps import JSON
from camcast.research.systems.camcast.message_equations import (
    camcast_messages_order,
    gossip_messages,
    upward_messages,
)
from camcast.research.systems.camcast.reliability import (
    climb_probability,
    exact_climb_probability,
    gossip_reliability,
)
from camcast.research.systems.registry import CAMCAST
from camcast.vocabulary.parameters import PRESETS, Parameters

_MODEL_ERROR: Final = 0.012  # measured: docs/research/models.md
_DEGRADED: Final = 0.05  # [CAMCAST 1.4: "degraded by only 5%"]
_NEAR: Final = 0.1  # chosen: "of an order of" N ln N
_BETTER: Final = 0.1  # chosen: "much better", in absolute terms
_ENOUGH: Final = 0.95  # chosen: "enough for disseminating the event to the upper communities"
_HALF: Final = 0.5  # [CAMCAST 6.1.2: "almost half of the processes fail"]

_SHARES: Final = {
    "reception": ("Reception probability", "alive processes that receive it"),
    "reliability": ("Reliability", "events that all alive receive"),
}
"""Title and axis of Figures 15 and 17, and of 16 and 18."""
_STILLBORN: Final = "Crashed: each process is dead from the beginning with this probability."
_WEAKLY: Final = (
    "Crashed: each copy meets its receiver crashed with this probability; nobody is dead, and"
    " everybody counts."
)
_CRASHED: Final = "share of crashed processes"
_COPIES: Final = "copies of one event"

_DRAWINGS: Final[Mapping[str, tuple[str, str]]] = {
    "Figure 1": ("Publication/Subscription alternatives.", "Bottom-up is the third of them."),
    "Figure 2": ("Dissemination in CAMCAST", "camcast.protocols.camcast does so."),
    "Figure 3": (
        "Super-topic and topic table for a process interested in topic t",
        "Their sizes are in 4.4.",
    ),
    "Figure 4": ("Bootstrapping", "tests/conversations has ours."),
    "Figure 5": ("Initialization algorithm", "It is the search of camcast.engine.links."),
    "Figure 6": ("Algorithm used to maintain the link", "It is camcast.engine.links."),
    "Figure 7": ("Subscription/Reception algorithm", "It is camcast.engine.intake."),
    "Figure 8": ("Dissemination algorithm", "It is camcast.protocols.camcast."),
    "Figure 9": ("Unstructured approach", "It is --membership scamp."),
    "Figure 10": ("Semi-structured approach", "It is --membership hybrid."),
    "Figure 11": ("Structured approach", "It is --membership dht."),
    "Figure 12": ("Dependencies between the packages", "docs/architecture.md has ours."),
}

_statement = partial(statement, "000")
_value = partial(value, "000")
_bound = partial(bounded, "000")

Found = Results[CamcastPlan]


# -- sections 1.4 and 7 ---------------------------------------------------------------------------


LIVE_SIZES: Final = (80, 30, 7)  # [CAMCAST 1.4, 7]
INVOLVED: Final = 0.07  # [CAMCAST 1.4, 7: "only involving 7% of the processes"]
SHARES_INVOLVED: Final = (0.01, 0.02, 0.04, INVOLVED, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
"""chosen: from the least to the most p_sel of 6.2.2, close together where reliability rises"""
LIVE_PARAMETERS: Final = Parameters(**PRESETS["paper"], c=0, a=2, z=4)  # [CAMCAST 6.2.1]
EASED: Final[Mapping[str, Parameters]] = {
    "g = 10": Parameters(c=5, g=10, a=1, z=3),
    "a = 3, so that p_a = 1": Parameters(c=5, g=5, a=3, z=3),
    "z = 6, with p_a = 1/3": Parameters(c=5, g=5, a=2, z=6),
}
"""[CAMCAST 6.1.2: "we can easily adjust zt, pat and gt"] chosen: twice, or all there is"""
ALONE: Final = 1096  # chosen: ln N = 6.9994, so that ln N + c is a fan-out for whole c
ALONE_C: Final = (0, 2, 5)  # chosen: unlikely, likely and nearly certain that all receive it


def involved(share: float) -> dict[str, Any]:
    """Return what `setting_of` is given of 1.4 and 7, where this share of g and d links upward."""
    parameters = attrs.evolve(LIVE_PARAMETERS, p_sel=share)
    return {"sizes": LIVE_SIZES, "parameters": parameters, "success": 1.0}


def alone(c: int) -> dict[str, Any]:
    """Return what `setting_of` is given of a single community without loss (2.2)."""
    return {"sizes": (ALONE,), "parameters": attrs.evolve(PARAMETERS, c=c), "success": 1.0}


def _involved_upward(results: Found) -> Shown:
    of = intervals(results, "reliability", **involved(INVOLVED))
    received = intervals(results, "reception", **involved(INVOLVED))
    all_ten = (of[-1].mean or 0.0) ** 10, (of[-1].mean or 0.0) ** 5
    yield _value(
        "1.4 and 7, 7 %",
        "it is possible to achieve 100% reliability among a hierarchy of three communities of"
        " 80, 30 and 7 processes, respectively, while only involving 7% of the processes in the"
        " propagation of the events in between the communities",
        1.0,
        of[-1],
        f"With p_sel = {INVOLVED:g}, c = 0, a = 2, z = 4 as in 6.2.1 and nothing lost, all"
        f" processes of a community receive {_percent(of)} of the events, and a process"
        f" {_percent(received)}. Ten such experiments would all succeed in {all_ten[0]:.1%} of"
        f" the cases, five in {all_ten[1]:.0%}.",
        cause=_cause_of_seven_percent(results),
    )
    sizes = ", ".join(
        f"{size} in {name}" for name, size in zip(COMMUNITIES, LIVE_SIZES, strict=True)
    )
    yield Figure(
        name="involved",
        title="Reliability by the share of processes involved in climbing",
        x="share of processes that send upward, p_sel",
        y="events that all receive",
        notes=f"Sections 1.4 and 7, without a figure in the paper: {sizes}; c = 0, a = 2 and z = 4"
        f" as in 6.2.1, nothing lost, nobody crashed, p_a = a/z as printed. The paper has 100 % at"
        f" {INVOLVED:.0%}.",
        points=tuple(
            Point(
                series=community,
                x=share,
                model=model(**involved(share))[at].reliability,
                runs=results.plan.runs,
                **spread(results, **involved(share))["communities"][at]["reliability"],
            )
            for at, community in enumerate(COMMUNITIES)
            for share in SHARES_INVOLVED
        ),
        domain=(0, 1),
        logarithmic="x",
    )


def _cause_of_seven_percent(results: Found) -> Cause:
    """Return what no membership can pass: that the event climbs, even if all below have it.

    And the least p_sel with which five such experiments are as likely as not to succeed.
    """
    setting = setting_of(**involved(INVOLVED))
    pairs = zip(setting.communities, LIVE_SIZES[1:], strict=False)
    most = prod(
        float(exact_climb_probability(one.size, one.p_sel, one.p_a(above), one.links(above), 1.0))
        for one, above in pairs
    )
    reached = (
        share
        for share in SHARES_INVOLVED
        if (intervals(results, "reliability", **involved(share))[-1].mean or 0.0) ** 5 >= _HALF
    )
    enough = next(reached, None)
    return Cause.of_paper(
        f"Even if all of g and d had the event, it would get to a in {most:.1%}, and in ten of ten"
        f" in {most**10:.0%}: no membership can pass that bound. "
        + (
            f"Five of five succeed as likely as not from p_sel = {enough:g} on."
            if enough
            else "No p_sel has five of five succeed as likely as not."
        ),
        holds=most**10 < _HALF,
    )


# -- sections 2 to 4 ------------------------------------------------------------------------------


def _analysis(results: Found) -> Shown:
    for c in ALONE_C:
        yield _value(
            f"2.2, c = {c}",
            "the probability that every process receives an event goes to e^(-e^-ct) as Nt goes to"
            " infinity",
            float(gossip_reliability(c)),
            intervals(results, "reliability", **alone(c))[0],
            f"A community of {ALONE:,}, where ln N + c is a whole fan-out; nothing is lost.",
        )
    sent = intervals(results, "upward_messages")
    size = SIZES[0]
    yield _value(
        "4.3.1, nbUpwardMsg",
        "nbUpwardMsg = N · psel · pa · z · psucc",
        PARAMETERS.g * PARAMETERS.a * SUCCESS,
        sent[0].times(SUCCESS),
        f"From g, of {size:,} without crashes: {sent[0].mean:.2f} copies are sent, and {SUCCESS:g}"
        " of them arrive.",
    )
    total = fsum(interval.mean or 0.0 for interval in (*intervals(results, "messages"), *sent))
    bound = camcast_messages_order(len(SIZES), max(SIZES), PARAMETERS.c, PARAMETERS.z)
    yield _bound(
        "4.3.1, Equation 3",
        "maxNbMsgSent ≤ x · Nmax · ln Nmax · (1 + cmax + zmax)",
        float(bound),
        exact(total),
        "All copies of an event without crashes, in the mean; the bound is"
        f" {bound / total:.0f} times as many.",
        side="most",
    )
    reliability = intervals(results, "reliability")
    setting, predicted = setting_of(), model()
    pit = [
        float(climb_probability(at.size, at.p_sel, at.p_a(above), at.links(above), SUCCESS))
        for at, above in zip(setting.communities, SIZES[1:], strict=False)
    ]
    for at, community in enumerate(COMMUNITIES):
        printed = float(np.prod([gossip_reliability(PARAMETERS.c)] * (at + 1))) * np.prod(pit[:at])
        yield _value(
            f"4.5.1, Equation 6, {community}",
            "reliability = ∏ (e^(-e^-c) · pit)",
            float(printed),
            reliability[at],
            f"Of {community} without crashes. The formula leaves the 15 % of copies that are lost"
            " out of e^(-e^-c), has the mean number of upward messages in the place of their law,"
            " and is that of all communities up to this one together.",
            cause=Cause.of_paper(
                "With the law of the number of upward messages, and copies that are lost, it is"
                f" {predicted[at].reliability or 0.0:.3f}: ours is"
                f" {reliability[at].mean or 0.0:.3f}.",
                holds=bool(
                    between(
                        reliability[at],
                        (predicted[at].reliability or 0.0) - _MODEL_ERROR,
                        (predicted[at].reliability or 0.0) + _MODEL_ERROR,
                    )
                ),
            ),
        )
    worse = partial(intervals, results, "reliability", crash=CRASHED_COMPARED)
    harder = worse()[-1]
    easier = {how: worse(parameters=parameters)[-1] for how, parameters in EASED.items()}
    yield _statement(
        "6.1.2, better reliability",
        "to achieve better reliability, we can easily adjust zt, pat and gt",
        [exceeds(interval, harder) for interval in easier.values()],
        f"Of a with 30 % dead: {harder.mean:.1%}; with "
        + "; with ".join(f"{how}: {interval.mean:.1%}" for how, interval in easier.items())
        + ".",
    )


# -- Figures 13 to 18 -----------------------------------------------------------------------------


def _figure_13(results: Found) -> Shown:
    yield Figure(
        name="figure13",
        title="Number of events sent in each community",
        x=_CRASHED,
        y=_COPIES,
        notes="Copies sent within the community, whatever becomes of them. Dotted: N (ln N"
        " + c), the paper's order N ln N with its constant (4.3.1). The fan-out is"
        " ⌈ln N + c⌉, so that a community in which all are alive and reached sends up to"
        f" one copy a process more. {_STILLBORN}",
        points=_points(results, "messages", formula=_gossip_messages, panels=True),
    )
    bounds = [_gossip_messages(at, 0.0) for at in range(len(SIZES))]
    sent = intervals(results, "messages")
    ratios = [of.times(1 / bound) for of, bound in zip(sent, bounds, strict=True)]
    yield _statement(
        "Figure 13",
        "The message complexity is of an order of Nt · ln Nt as expected.",
        [between(ratio, 1 - _NEAR, 1 + _NEAR) for ratio in ratios],
        f"Without crashes a community sends this share of N (ln N + c): {_percent(ratios)}.",
    )


def _figure_14(results: Found) -> Shown:
    yield Figure(
        name="figure14",
        title="Number of upward messages sent to the super-community",
        x=_CRASHED,
        y=_COPIES,
        notes="Copies sent by the links of the community, whatever becomes of them. Dotted:"
        " the paper's nbUpwardMsg = N p_sel p_a z p_succ (4.3.1), p_succ = 0.85 · (share"
        " alive), the copies that would be received if all N members sent; it is the same"
        f" for g and d. The line is at one copy. {_STILLBORN}",
        points=_points(results, "upward_messages", COMMUNITIES[:-1], _upward_messages),
        rule=1.0,
    )
    half = intervals(results, "reception", crash=_HALF)
    upward = intervals(results, "upward_messages", crash=_HALF)[:-1]
    climbing = spread(results, crash=_HALF)["upward_share"]
    yield _bound(
        "Figure 14",
        "even if almost half of the processes fail, at least one event is sent to the community of"
        " processes participating in the super-community",
        1.0,
        min(upward, key=lambda interval: interval.mean or 0.0),
        f"With half of them dead, {upward[0].mean:.2f} copies are sent from g and"
        f" {upward[1].mean:.2f} from d, in the mean.",
        side="least",
    )
    enough = [
        crash
        for crash in CRASHED
        if min(spread(results, crash=crash)["upward_share"][:-1]) >= _ENOUGH
    ]
    holds = f"up to {max(enough):.0%} dead" if enough else "with nobody dead either"
    yield _statement(
        "6.1.2, Figure 14",
        "This is enough for disseminating the event to the upper communities.",
        [share >= _ENOUGH for share in climbing[:-1]],
        f"With half of them dead, at least one copy is sent from g in {climbing[0]:.0%} of the"
        f" runs, and from d in {climbing[1]:.0%}; of those alive {_percent(half)} receive it.",
        cause=Cause.of_paper(
            "A mean above one is not one in each run: both send at least one copy in"
            f" {_ENOUGH:.0%} of the runs {holds if enough else 'never, ' + holds}.",
            holds=all((interval.mean or 0.0) >= 1 for interval in upward),
        ),
    )


def _figure_15(results: Found) -> Shown:
    yield by_crashed(results, 15, "reception")
    yield smaller_above(
        results,
        "000",
        "Figure 15",
        "the reception probability is smaller for processes interested in a",
    )
    none, half = (intervals(results, "reception", crash=crash) for crash in (0.0, _HALF))
    yield _statement(
        "6.1.2, Figure 15",
        "the reception probability depends on the average probability that a process crashes",
        [exceeds(*pair) for pair in zip(none, half, strict=True)],
        f"With none dead: {_percent(none)}; with 50 %: {_percent(half)}.",
    )


def _figure_16(results: Found) -> Shown:
    yield by_crashed(results, 16, "reliability")
    crashes = _HALF, CRASHED_COMPARED, 0.0
    rising = {crash: intervals(results, "reliability", crash=crash) for crash in crashes}
    strong = rising[CRASHED_COMPARED]
    yield _statement(
        "Figure 16",
        "the reliability depends on the community in which the event is disseminated to",
        [told_apart(*pair) for pair in pairwise(strong)],
        f"With 30 % dead: {_percent(strong)}. The larger a community, the harder it is to complete,"
        " so that with many dead g is the least reliable, not a.",
    )
    yield _statement(
        "6.1.2, Figure 16",
        "As soon as the percentage of alive processes increases in Πd and Πa, the reliability"
        " increases rapidly.",
        [exceeds(m, f) for few, many in pairwise(rising.values())
         for f, m in zip(few[1:], many[1:], strict=True)],
        "; ".join(f"{crash:.0%} dead: {_percent(row)}" for crash, row in rising.items()) + ".",
    )  # fmt: skip


def _figures_17_and_18(results: Found) -> Shown:
    for at, measure in ((17, "reception"), (18, "reliability")):
        yield by_crashed(results, at, measure, weak=True)
        yield much_better(results, "000", f"Figure {at}", measure)


def by_crashed(results: Found, at: int, measure: str, *, weak: bool = False) -> Figure:
    """Return Figure 15, 16, 17 or 18."""
    title, axis = _SHARES[measure]
    return Figure(
        name=f"figure{at}",
        title=title + (", weakly consistent membership" if weak else ""),
        x=_CRASHED,
        y=axis,
        notes=_WEAKLY if weak else _STILLBORN,
        points=_points(results, measure, weak=weak),
        domain=(0, 1),
    )


def _points(
    results: Found,
    measure: str,
    communities: Sequence[str] = COMMUNITIES,
    formula: Callable[[int, float], float] | None = None,
    *,
    weak: bool = False,
    panels: bool = False,
) -> tuple[Point, ...]:
    """Return a measure by the share of crashed; `formula` is of a community and that share."""
    return tuple(
        Point(
            series=community,
            x=crash,
            model=getattr(model(crash=crash, weak=weak)[at], measure),
            formula=None if formula is None else formula(at, crash),
            runs=results.plan.runs,
            panel=f"{community}: {SIZES[at]:,} processes" if panels else "",
            **spread(results, crash=crash, weak=weak)["communities"][at][measure],
        )
        for at, community in enumerate(communities)
        for crash in CRASHED
    )


def _gossip_messages(at: int, _crash: float) -> float:
    return float(gossip_messages(SIZES[at], PARAMETERS.c))


def _upward_messages(at: int, crash: float) -> float:
    community, above = setting_of().communities[at], SIZES[at + 1]
    arriving = SUCCESS * (1 - crash)
    p_a, links = community.p_a(above), community.links(above)
    return float(upward_messages(community.size, community.p_sel, p_a, links, arriving))


def much_better(results: Found, paper: str, item: str, measure: str) -> Evidence:
    """Judge that a weakly consistent membership does better than one with stillborn processes."""
    stillborn = intervals(results, measure, crash=CRASHED_COMPARED)
    weak = intervals(results, measure, crash=CRASHED_COMPARED, weak=True)
    return statement(
        paper,
        item,
        "We achieve a much better reliability for a weakly connected system than in the preceding"
        " scenarios.",
        [
            exceeds(better, worse, _BETTER)
            for better, worse in zip(weak, stillborn, strict=True)
            if (worse.mean or 0.0) <= 1 - _BETTER
        ],
        f"{measure.capitalize()} with 30 % crashed, weakly: {_percent(weak)}; stillborn:"
        f" {_percent(stillborn)}. Much better is {_BETTER:.0%} more, where there is room for it."
        " Upward messages have more senders and no link is dead for good; but the same share of"
        " copies is lost, and more processes must be reached for all to be.",
    )


def smaller_above(results: Found, paper: str, item: str, quote: str) -> Evidence:
    """Judge that fewer of a super-community receive an event than of the community below."""
    crashes = CRASHED_COMPARED, _HALF
    third, half = (intervals(results, "reception", crash=crash) for crash in crashes)
    return statement(
        paper,
        item,
        quote,
        [exceeds(more, less) for row in (third, half) for more, less in pairwise(row)],
        f"With 30 % dead: {_percent(third)}; with 50 %: {_percent(half)}.",
    )


def _levels(results: Found) -> Shown:
    three, five = (
        Interval(**spread(results, TOPOLOGIES[name])["rounds_to_reach_all"])
        for name in ("100 (j = 2)", "100 (j = 4)")
    )
    yield _statement(
        "6.1.2, Table 1",
        "The results [...] convey the impact of the number of levels in a hierarchy on the latency"
        " complexity.",
        [exceeds(five, three)],
        f"Three communities of 100 take {three.mean:.2f} rounds, five {five.mean:.2f}.",
    )


# -- beside gossip broadcast ----------------------------------------------------------------------


def _beside_broadcast(results: Found) -> Shown:
    broadcast, of_all = (
        Interval(**spread(results, sizes, CRASHED_COMPARED)["reception_of_all"])
        for sizes in (group_of(SIZES), SIZES)
    )
    quote = (
        "the reception probability of an event is degraded by only 5% despite the crash of 30% of"
        " the processes with respect to a gossip-based approach"
    )
    root = intervals(results, "reliability")[-1]
    (everybody,) = intervals(results, "reliability", sizes=group_of(SIZES))
    yield _statement(
        "4.5.2",
        "The probability that every processes receive an event is thus smaller with CAMCAST than"
        " with other algorithms in the general case, especially for the processes interested in the"
        " root topic.",
        [exceeds(everybody, root)],
        f"Without crashes all of the root community receive {root.mean:.1%} of the events, and all"
        f" processes {everybody.mean:.1%} of those of gossip broadcast.",
    )
    shares = intervals(results, "reception", crash=CRASHED_COMPARED)
    less = [_less(share, broadcast) for share in shares]
    all_of_them = _less(of_all, broadcast)
    by_size, alike = _weighted(less), fsum(one.mean or 0.0 for one in less) / len(less)
    yield _statement(
        "1.4, 5 %",
        quote,
        [between(one, high=_DEGRADED) for one in (all_of_them, *less)],
        f"Of all alive processes {of_all.mean:.1%} receive it, with gossip broadcast"
        f" {broadcast.mean:.1%}: {all_of_them.mean:.1%} less, which is"
        f" {_DEGRADED - (all_of_them.mean or 0.0):.1%} below the bound, as nine in ten of all"
        f" processes are in g. Less by community: {_percent(less)}.",
        cause=Cause.of_paper(
            f"Neither weights of the communities by size make {_DEGRADED:.0%} of these nor equal"
            f" ones: {by_size:.1%} and {alike:.1%}.",
            holds=all(f"{mean:.0%}" != f"{_DEGRADED:.0%}" for mean in (by_size, alike)),
        ),
    )


def _weighted(shares: Sequence[Interval]) -> float:
    """Return the mean of shares of the communities by their sizes."""
    weighted = (size * (one.mean or 0.0) for size, one in zip(SIZES, shares, strict=True))
    return fsum(weighted) / sum(SIZES)


# -- intervals ------------------------------------------------------------------------------------


def _less(one: Interval, other: Interval) -> Interval:
    """Return by which share of the other one mean is less, of independent runs."""
    if one.mean is None or not other.mean:
        return Interval(None, None, None)
    ratio = one.mean / other.mean
    halves = half_of(one), half_of(other)
    if None in halves or not one.mean:
        return Interval(1 - ratio, None, None)
    error = ratio * hypot((halves[0] or 0.0) / one.mean, (halves[1] or 0.0) / other.mean)
    return Interval(1 - ratio, 1 - ratio - error, 1 - ratio + error)


def _percent(intervals: Sequence[Interval]) -> str:
    named = zip(COMMUNITIES, intervals, strict=True)
    return ", ".join(f"{name} {interval.mean or 0.0:.1%}" for name, interval in named)


# -- the whole ------------------------------------------------------------------------------------


@frozen(kw_only=True)
class CamcastReproduction(Reproduction[CamcastPlan]):
    """Everything that was computed again."""

    tables: tuple[Table, ...]
    agreement: tuple[Agreement, ...]
    runs_compared: Mapping[str, int]
    """How many runs of each simulator the agreement is of."""

    @property
    @override
    def sheets(self) -> list[Sheet]:
        """The paper's tables, as they lie in the folder."""
        return [table.sheet for table in self.tables]


_PARTS: Final[Parts] = (
    (
        (CAMCAST,),
        (drawings("000", _DRAWINGS), _involved_upward, _analysis, camcast_memory.memory_complexity),
    ),
    ((CAMCAST,), (_figure_13, _figure_14, _figure_15, _figure_16, _figures_17_and_18, _levels)),
    ((CAMCAST, "broadcast"), (_beside_broadcast,)),
)
KINDS: Final[Kinds] = {"spread": SPREAD, **camcast_tables.KINDS}


def compute(cell: Given) -> JSON:
    """Carry out one run; the task of the sweep."""
    return carry_out(KINDS, cell)


def _together(results: Found) -> CamcastReproduction:
    plan = results.plan
    ours = plan.about(CAMCAST)
    both = tables(results)
    figures, evidence = collect(results, _PARTS)
    return CamcastReproduction(
        plan=plan,
        tables=both,
        figures=figures,
        agreement=agreement_of(results) if ours else (),
        runs_compared=compared(plan) if ours else {},
        evidence=(*table_rows("000", both, results), *evidence),
    )


# -- the page -------------------------------------------------------------------------------------


_CHAIN: Final = "a hierarchy of three topics, the root a, then d, then g;"


def _introduction(found: CamcastReproduction) -> str:
    """Say what was computed again, and how often."""
    sizes = ", ".join(f"{size:,} in {name}" for name, size in zip(COMMUNITIES, SIZES, strict=True))
    return (
        "Tables 1 and 2 and Figures 13 to 18 of S. Baehni, P. Th. Eugster, R. Guerraoui,"
        f" <cite>CAMCAST</cite>, simulated again in the setting of its section 6.1.1: {_CHAIN}"
        f" {sizes}; an event is published in g. {found.plan.runs:,} runs a point with the"
        f" {found.plan.engine} simulator, where the paper has {EXPERIMENTS} experiments. Intervals"
        " are of 95 %."
    )


def tables_as_html(found: CamcastReproduction) -> dict[str, str]:
    """Return the paper's tables by their headings, and that of the simulators."""
    shown = {f"Table {table.number}. {table.title}": as_html(table) for table in found.tables}
    if found.agreement:
        shown["Three simulators, one setting"] = agreement_as_html(
            found.agreement, found.runs_compared
        )
    return shown


PAPER: Final = Paper(
    plan=CamcastPlan,
    compute=compute,
    kinds=KINDS,
    together=_together,
    title="CAMCAST, section 6.1, computed again",
    introduction=_introduction,
    tables=tables_as_html,
    made=made,
    conventions=SETTINGS,
)
