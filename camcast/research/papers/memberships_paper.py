"""Memberships side by side: section 6.2 of the CAMCAST paper (000), Figures 19 to 28, and beyond.

Beyond the paper are the memberships in the virtual network: what they cost, how soon they notice,
what they do without their first contact, and in loss and crashes. Runs are carried out by
`memberships_runs` and put together by `memberships_measured`; the paper's statements are judged by
`memberships_statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from typing_extensions import override

from camcast.research.papers.figure import Figure
from camcast.research.papers.memberships_measured import COLUMNS, UPKEEP, Measured, Row, UpkeepRow
from camcast.research.papers.memberships_runs import (
    PARAMETERS,
    RATE,
    REPAIR,
    SETTLE_SECONDS_MAX,
    UPKEEP_NOTES,
    VARIANTS,
    VIRTUAL_EVENTS,
    MembershipsPlan,
    World,
    run_live,
    run_virtual,
)
from camcast.research.papers.memberships_statements import evidence, evidence_beyond
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
from camcast.research.pipeline.compare.verdict import Verdict
from camcast.research.pipeline.compare.verdict_words import table, told
from camcast.research.population.outcome import Interval
from camcast.research.report.measures import measure_of, repair_in_words
from camcast.research.report.page import grid, interval_cell, notes_list
from camcast.research.sweeps import JSON

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
        if set(VARIANTS) <= set(results.backends):
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
    return Memberships(
        plan=plan,
        runs_done=live.done + virtual.done,
        runs_planned=len(results.asked),
        verdicts=tuple(virtual.verdicts()),
        by_chance=tuple(chances_of(worlds)),
        figures=tuple(f for world in worlds if world.contenders for f in world.figures()),
        comparison=tuple(row for world in worlds for row in world.comparison()),
        upkeep=tuple(virtual.upkeep()),
        evidence=(*evidence(live), *evidence_beyond(virtual, live)),
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
    "Without sponsors and indirection: SCAMP, which keeps the tables of V1 and V2, with less. The"
    " sponsors are this project's; indirection is in the paper on SCAMP that CAMCAST cites.",
    "All runs are without repair, which is in no paper: reception is that of the first try.",
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
    chosen, sentences = told(found.verdicts, repair_in_words(REPAIR))
    lines = [*sentences, *map(_chance, found.by_chance)]
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    heads, rows = table(() if sentences else found.verdicts)
    cells = ("".join(f'<td class="how">{escape(text)}</td>' for text in row) for row in rows)
    questions = grid(heads, (f"<tr>{row}</tr>" for row in cells)) if rows else ""
    return (
        f"{stopped}<strong>{escape(chosen)}</strong></p>{questions}<ul>{listed}</ul><p>"
        "Figures 19 to 28 of S. Baehni, P. Th. Eugster, R. Guerraoui, <cite>CAMCAST</cite>,"
        " measured again: V1 (unstructured, scamp), V2 (semi-structured, hybrid) and V3"
        " (structured, dht), with an event published in g that climbs to d and to the root a."
        f" Compared here: {', '.join(found.plan.memberships)}."
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
        f" figures have spread. {VIRTUAL_EVENTS * plan.events} events for each p_sel."
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
