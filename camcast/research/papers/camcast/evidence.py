"""What the CAMCAST paper (000) says up to section 6.1, beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import hypot, sqrt
from typing import Final

import numpy as np

from camcast.research.papers.camcast import plan
from camcast.research.papers.camcast.cells import Results
from camcast.research.papers.camcast.plan import COMMUNITIES, PARAMETERS, SIZES, SUCCESS
from camcast.research.papers.camcast.tables import (
    BY_EQUATION_5,
    BY_EQUATION_12,
    FAN_OUTS,
    Entry,
    Table,
)
from camcast.research.population.outcome import Interval
from camcast.research.report.evidence import (
    Evidence,
    between,
    drawing,
    exact,
    exceeds,
    half_of,
    statement,
    told_apart,
    value,
)
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast import memory
from camcast.research.systems.camcast.message_equations import (
    camcast_messages_order,
    gossip_messages,
)
from camcast.research.systems.camcast.reliability import climb_probability, gossip_reliability

EXPERIMENTS: Final = 100  # [CAMCAST 6.1.1] "averaged over 100 experiments"
_DEGRADED: Final = 0.05  # [CAMCAST 1.4: "degraded by only 5%"]
_NEAR: Final = 0.1  # chosen: "of an order of" N ln N
_BETTER: Final = 0.1  # chosen: "much better", in absolute terms
_ENOUGH: Final = 0.95  # chosen: "enough for disseminating the event to the upper communities"
_LINKS: Final = (PARAMETERS.z, PARAMETERS.z, 0)  # of a process of g, d and a to the community above
_HALF: Final = 0.5  # [CAMCAST 6.1.2: "almost half of the processes fail"]

_DRAWINGS: Final[Mapping[str, tuple[str, str]]] = {
    "Figure 1": ("Publication/Subscription alternatives.", "Bottom-up is the third of them."),
    "Figure 2": ("Dissemination in CAMCAST", "camcast.protocols.camcast does so."),
    "Figure 3": (
        "Super-topic and topic table for a process interested in topic t",
        "Their sizes are in 4.4.",
    ),
    "Figure 4": ("Bootstrapping", "tests/library/conversations has ours."),
    "Figure 5": (
        "Initialization algorithm",
        "It is the search of camcast.engine.super_topic_table.",
    ),
    "Figure 6": ("Algorithm used to maintain the link", "It is camcast.engine.super_topic_table."),
    "Figure 7": ("Subscription/Reception algorithm", "It is camcast.engine.intake."),
    "Figure 8": ("Dissemination algorithm", "It is camcast.protocols.camcast."),
    "Figure 9": ("Unstructured approach", "It is --membership scamp."),
    "Figure 10": ("Semi-structured approach", "It is --membership hybrid."),
    "Figure 11": ("Structured approach", "It is --membership dht."),
    "Figure 12": ("Dependencies between the packages", "docs/architecture.md has ours."),
}

_statement = partial(statement, "000")
_value = partial(value, "000")


def evidence(results: Results, tables: Sequence[Table]) -> tuple[Evidence, ...]:
    """Return what the paper says of the protocols that are chosen, beside what was found."""
    rows = [*table_rows("000", tables)]
    if results.plan.about("camcast"):
        rows += [drawing("000", item, *said) for item, said in _DRAWINGS.items()]
        rows += _involved(results)
        rows += _analysis(results)
        rows += _memory(results)
        rows += _figures(results)
        rows += _levels(tables)
    if results.plan.about("camcast", "broadcast"):
        rows += _beside_broadcast(results)
    return tuple(rows)


# -- Tables 1 and 2 -------------------------------------------------------------------------------

_WAYS: Final = {
    (1, plan.CAMCAST): "measured",
    (1, plan.BROADCAST): BY_EQUATION_12,  # "calculated using the analytical equations" (6.1.2)
    (1, plan.PMCAST): BY_EQUATION_5,
    (2, plan.CAMCAST): FAN_OUTS[plan.CAMCAST, "ceil"],
    (2, plan.BROADCAST): FAN_OUTS[plan.BROADCAST, "floor"],
}
"""Which of our ways to tell a table's entry its published value is compared with."""


def table_rows(paper: str, tables: Sequence[Table]) -> Iterator[Evidence]:
    """Return a row for each published value of Tables 1 and 2."""
    for table in tables:
        rounded = 0.005 if table.number == 1 else 0.5
        for entry in table.entries:
            way = _WAYS.get((table.number, entry.approach), "F = 4: copies")
            if entry.published is None or not entry.how.endswith(way):
                continue
            yield value(
                paper,
                f"Table {table.number}, {entry.approach}, {entry.topology}",
                table.title,
                entry.published,
                _interval(entry),
                f"{entry.how}; {entry.runs:,} runs." if entry.runs else f"{entry.how}.",
                rounded=rounded,
                error=_error(entry) if (table.number, entry.approach) == (1, plan.CAMCAST) else 0.0,
            )


def _interval(entry: Entry) -> Interval:
    if entry.simulator == "formula":
        return Interval(entry.mean, entry.mean, entry.mean)
    return Interval(entry.mean, entry.low, entry.high)


def _error(entry: Entry) -> float:
    """Return the standard error of the paper's mean, if its runs scatter as ours do."""
    half = half_of(_interval(entry))
    return 0.0 if half is None else half / 1.96 * sqrt((entry.runs or 0) / EXPERIMENTS)


def _levels(tables: Sequence[Table]) -> Iterator[Evidence]:
    of = {
        entry.topology: _interval(entry)
        for entry in tables[0].entries
        if (entry.approach, entry.how) == (plan.CAMCAST, "measured")
    }
    three, five = of["100 (j = 2)"], of["100 (j = 4)"]
    yield _statement(
        "6.1.2, Table 1",
        "The results [...] convey the impact of the number of levels in a hierarchy on the latency"
        " complexity.",
        [exceeds(five, three)],
        f"Three communities of 100 take {three.mean:.2f} rounds, five {five.mean:.2f}.",
    )


# -- Figures 13 to 18 -----------------------------------------------------------------------------


def _figures(results: Results) -> Iterator[Evidence]:
    of = results.intervals
    none, half = of("reception"), of("reception", crash=_HALF)
    bounds = [float(bound) for bound in gossip_messages(np.array(SIZES), PARAMETERS.c)]
    ratios = [sent.times(1 / b) for sent, b in zip(of("messages"), bounds, strict=True)]
    yield _statement(
        "Figure 13",
        "The message complexity is of an order of Nt · ln Nt as expected.",
        [between(ratio, 1 - _NEAR, 1 + _NEAR) for ratio in ratios],
        f"Without crashes a community sends this share of N (ln N + c): {_percent(ratios)}.",
    )
    upward = of("upward_messages", crash=_HALF)[:-1]
    climbing = results.spread(crash=_HALF)["upward_share"]
    yield _value(
        "Figure 14",
        "even if almost half of the processes fail, at least one event is sent to the community of"
        " processes participating in the super-community",
        1.0,
        min(upward, key=lambda interval: interval.mean or 0.0),
        f"With half of them dead, {upward[0].mean:.2f} copies are sent from g and"
        f" {upward[1].mean:.2f} from d, in the mean.",
        bound="least",
    )
    yield _statement(
        "6.1.2, Figure 14",
        "This is enough for disseminating the event to the upper communities.",
        [share >= _ENOUGH for share in climbing[:-1]],
        f"With half of them dead, at least one copy is sent from g in {climbing[0]:.0%} of the"
        f" runs, and from d in {climbing[1]:.0%}; of those alive {_percent(half)} receive it.",
    )
    yield smaller_above(
        results,
        "000",
        "Figure 15",
        "the reception probability is smaller for processes interested in a",
    )
    yield _statement(
        "6.1.2, Figure 15",
        "the reception probability depends on the average probability that a process crashes",
        [exceeds(*pair) for pair in zip(none, half, strict=True)],
        f"With none dead: {_percent(none)}; with 50 %: {_percent(half)}.",
    )
    yield from _reliability(results)


def _reliability(results: Results) -> Iterator[Evidence]:
    crashes = _HALF, plan.CRASHED_COMPARED, 0.0
    rising = {crash: results.intervals("reliability", crash=crash) for crash in crashes}
    strong = rising[plan.CRASHED_COMPARED]
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
    for figure, measure in ((17, "reception"), (18, "reliability")):
        yield much_better(results, "000", f"Figure {figure}", measure)


def much_better(results: Results, paper: str, item: str, measure: str) -> Evidence:
    """Judge that a weakly consistent membership does better than one with stillborn processes."""
    stillborn = results.intervals(measure, crash=plan.CRASHED_COMPARED)
    weak = results.intervals(measure, crash=plan.CRASHED_COMPARED, weak=True)
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


def smaller_above(results: Results, paper: str, item: str, quote: str) -> Evidence:
    """Judge that fewer of a super-community receive an event than of the community below."""
    crashes = plan.CRASHED_COMPARED, _HALF
    third, half = (results.intervals("reception", crash=crash) for crash in crashes)
    return statement(
        paper,
        item,
        quote,
        [exceeds(more, less) for row in (third, half) for more, less in pairwise(row)],
        f"With 30 % dead: {_percent(third)}; with 50 %: {_percent(half)}.",
    )


# -- sections 1 to 4 ------------------------------------------------------------------------------


def _involved(results: Results) -> Iterator[Evidence]:
    of = results.intervals("reliability", **plan.involved(plan.INVOLVED))
    received = results.intervals("reception", **plan.involved(plan.INVOLVED))
    all_ten = (of[-1].mean or 0.0) ** 10, (of[-1].mean or 0.0) ** 5
    for item in ("1.4, 7 %", "7"):
        yield _value(
            item,
            "it is possible to achieve 100% reliability among a hierarchy of three communities of"
            " 80, 30 and 7 processes, respectively, while only involving 7% of the processes in the"
            " propagation of the events in between the communities",
            1.0,
            of[-1],
            f"With p_sel = {plan.INVOLVED:g}, c = 0, a = 2, z = 4 as in 6.2.1 and nothing lost, all"
            f" processes of a community receive {_percent(of)} of the events, and a process"
            f" {_percent(received)}. Ten such experiments would all succeed in {all_ten[0]:.1%} of"
            f" the cases, five in {all_ten[1]:.0%}.",
        )


def _analysis(results: Results) -> Iterator[Evidence]:
    for c in plan.ALONE_C:
        yield _value(
            f"2.2, c = {c}",
            "the probability that every process receives an event goes to e^(-e^-ct) as Nt goes to"
            " infinity",
            float(gossip_reliability(c)),
            results.intervals("reliability", **plan.alone(c))[0],
            f"A community of {plan.ALONE:,}, where ln N + c is a whole fan-out; nothing is lost.",
        )
    sent = results.intervals("upward_messages")
    size = SIZES[0]
    yield _value(
        "4.3.1, nbUpwardMsg",
        "nbUpwardMsg = N · psel · pa · z · psucc",
        PARAMETERS.g * PARAMETERS.a * SUCCESS,
        sent[0].times(SUCCESS),
        f"From g, of {size:,} without crashes: {sent[0].mean:.2f} copies are sent, and {SUCCESS:g}"
        " of them arrive.",
    )
    total = sum(interval.mean or 0.0 for interval in (*results.intervals("messages"), *sent))
    bound = camcast_messages_order(len(SIZES), max(SIZES), PARAMETERS.c, PARAMETERS.z)
    yield _value(
        "4.3.1, Equation 3",
        "maxNbMsgSent ≤ x · Nmax · ln Nmax · (1 + cmax + zmax)",
        float(bound),
        exact(total),
        "All copies of an event without crashes, in the mean.",
        bound="most",
    )
    reliability = results.intervals("reliability")
    setting = plan.setting_of()
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
        )
    worse = partial(results.intervals, "reliability", crash=plan.CRASHED_COMPARED)
    harder = worse()[-1]
    easier = {how: worse(parameters=parameters)[-1] for how, parameters in plan.EASED.items()}
    yield _statement(
        "6.1.2, better reliability",
        "to achieve better reliability, we can easily adjust zt, pat and gt",
        [exceeds(interval, harder) for interval in easier.values()],
        f"Of a with 30 % dead: {harder.mean:.1%}; with "
        + "; with ".join(f"{how}: {interval.mean:.1%}" for how, interval in easier.items())
        + ".",
    )


def _memory(_results: Results) -> Iterator[Evidence]:
    """Compare the tables of section 4.4, which are formulas of the sizes alone."""
    low, high = [float(memory.gossip_table(size, PARAMETERS.c)) for size in SIZES], _entries()
    tables = [
        community.fan_out + links
        for community, links in zip(plan.setting_of().communities, _LINKS, strict=True)
    ]
    yield _statement(
        "1.3, 4.4.1",
        "ln Nt + ct ≤ totalMbInfo ≤ ln Nt + ct + zt",
        # a whole table has at most one more
        [least <= table < most + 1 for table, least, most in zip(tables, low, high, strict=True)],
        "Entries of whole tables: "
        + ", ".join(f"{name} {of}" for name, of in zip(COMMUNITIES, tables, strict=True))
        + "; ln N + c + z: "
        + ", ".join(f"{name} {of:.1f}" for name, of in zip(COMMUNITIES, high, strict=True))
        + ".",
    )  # fmt: skip
    yield less_memory(
        "000",
        "4.4.2, (b) and (c)",
        "the memory complexity of a process is always smaller in our algorithm than in approaches"
        " (b) and (c)",
        ("(b)", "(c)"),
    )
    yield less_memory("000", "4.4.2, (a)", "and sometimes even in approach (a)", ("(a)",), any)


def _entries() -> list[float]:
    """Return ln N + c + z of each community, the entries that CAMCAST keeps."""
    given = zip(SIZES, _LINKS, strict=True)
    return [float(memory.camcast_memory(size, PARAMETERS.c, links)) for size, links in given]


def less_memory(
    paper: str,
    item: str,
    quote: str,
    approaches: Sequence[str],
    of: Callable[[list[bool]], bool] | None = None,
) -> Evidence:
    """Judge that CAMCAST keeps fewer entries, for equal c: in each community, or `of` them."""
    c, n = PARAMETERS.c, sum(SIZES)
    clusters = baseline("hierarchical", plan.setting_of()).clusters
    entries = {
        "CAMCAST": _entries(),
        "(a)": [float(memory.gossip_table(n, c))] * 3,
        "(b)": memory.multicast_memory(SIZES, [c] * 3).tolist(),
        "(c)": [float(memory.hierarchical_memory(clusters, n / clusters, c, c))] * 3,
    }
    smaller = [
        one < other
        for approach in approaches
        for one, other in zip(entries["CAMCAST"], entries[approach], strict=True)
    ]
    listed = "; ".join(
        f"{name} {', '.join(f'{one:.1f}' for one in row)}" for name, row in entries.items()
    )
    return statement(
        paper,
        item,
        quote,
        smaller if of is None else [of(smaller)],
        f"Entries in g, d, a: {listed}. By formula, for equal c.",
    )


# -- beside gossip broadcast ----------------------------------------------------------------------


def _beside_broadcast(results: Results) -> Iterator[Evidence]:
    broadcast, of_all = (
        Interval(**results.spread(sizes, plan.CRASHED_COMPARED)["reception_of_all"])
        for sizes in (plan.group_of(SIZES), SIZES)
    )
    quote = (
        "the reception probability of an event is degraded by only 5% despite the crash of 30% of"
        " the processes with respect to a gossip-based approach"
    )
    yield _value(
        "1.4",
        quote,
        _DEGRADED,
        _less(of_all, broadcast),
        f"Of all alive processes {of_all.mean:.1%} receive it, with gossip broadcast"
        f" {broadcast.mean:.1%}.",
        bound="most",
    )
    root = results.intervals("reliability")[-1]
    (everybody,) = results.intervals("reliability", sizes=plan.group_of(SIZES))
    yield _statement(
        "4.5.2",
        "The probability that every processes receive an event is thus smaller with CAMCAST than"
        " with other algorithms in the general case, especially for the processes interested in the"
        " root topic.",
        [exceeds(everybody, root)],
        f"Without crashes all of the root community receive {root.mean:.1%} of the events, and all"
        f" processes {everybody.mean:.1%} of those of gossip broadcast.",
    )
    shares = results.intervals("reception", crash=plan.CRASHED_COMPARED)
    less = [_less(share, broadcast) for share in shares]
    worst = max(less, key=lambda interval: interval.mean or 0.0)
    yield _value(
        "1.4, of each community",
        quote,
        _DEGRADED,
        worst,
        f"Less by community: {_percent(less)}. Nine in ten of all processes are in g.",
        bound="most",
    )


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
