"""The page of the memberships: verdict, comparison, conclusions and figures in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Final

from camcast.research.papers.figure import Figure
from camcast.research.papers.memberships import virtual
from camcast.research.papers.memberships.comparison import Memberships, partial_of, reproduce
from camcast.research.papers.memberships.live import RATE, SETTLE_SECONDS_MAX
from camcast.research.papers.memberships.plan import PARAMETERS, VIRTUAL_EVENTS_MAX, Plan, World
from camcast.research.papers.memberships.ranking import Chance
from camcast.research.papers.memberships.results import COLUMNS, UPKEEP
from camcast.research.papers.page import PageText
from camcast.research.papers.paper import Paper
from camcast.research.pipeline.compare.words import choice, sentence
from camcast.research.population.outcome import Interval
from camcast.research.report.measures import measure_of
from camcast.research.report.page import grid, interval_cell, notes_list

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
"""With ``{rest}`` for the plan's `rest_seconds`."""
_UPKEEP_NOTES: Final = (
    "In the virtual network, with latencies between hosts of the Internet (median 68 ms one"
    " way), and the discovery that each has live: gateways, or the real Kademlia. All join"
    " in the same instant, through one first contact.",
    "Copies: of an event, sent by a process that has it to others of its community, over"
    " all three communities.",
    f"The in-degree is looked at {virtual.REST_SECONDS:g} s later: its chi-square against a"
    " binomial is about its degrees of freedom if tables are uniform, less if everybody"
    " is in as many tables as everybody else, more if some are neglected.",
    f"Control: everything that is sent in {virtual.COUNTED_SECONDS:g} s without events, the"
    " DHT's datagrams included, headers of TCP, UDP and IP not.",
    f"{virtual.NEWCOMERS} newcomers join g one after the other; then {virtual.VICTIMS} of g crash"
    f" at once. What took longer than {virtual.NOTICE_SECONDS_MAX:g} s counts as that.",
    f"Then the first contact is killed, {virtual.REPAIR_SECONDS:g} s later {virtual.EVENTS} events"
    f" are published in g, and {virtual.NEWCOMERS} newcomers join through an arbitrary member. In"
    f" the end {virtual.VICTIMS} more crash, a copy is lost with probability {virtual.LOSS:g} from"
    f" then on, and {virtual.EVENTS} events are published at once.",
)


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
        + notes_list(_UPKEEP_NOTES),
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


TEXT: Final = PageText(
    title="CAMCAST, section 6.2: memberships side by side",
    introduction=_introduction,
    tables=_tables,
    sections=_sections,
    made=lambda plan: f"Seed {plan.seed}, {plan.runs} runs, {plan.events} events.",
    conventions=[(None, words) for words in _SETTINGS],
    packages=("numpy",),
)
PAPER: Final = Paper("memberships", Plan, reproduce, TEXT, partial_of)
