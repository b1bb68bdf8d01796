"""The page of the three memberships: comparison, conclusions and figures in one file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from camcast.measures import measure_of
from camcast.report.page import grid, interval_cell, notes_list
from camcast.reproduction.figure import Figure
from camcast.reproduction.memberships import upkeep
from camcast.reproduction.memberships.comparison import Memberships
from camcast.reproduction.memberships.live import RATE, SETTLE_SECONDS_MAX
from camcast.reproduction.memberships.plan import PARAMETERS, VARIANTS, World
from camcast.reproduction.memberships.results import COLUMNS, Row
from camcast.reproduction.memberships.upkeep import UPKEEP, UpkeepRow
from camcast.reproduction.memberships.virtual import CRASHED, LOSS, VIRTUAL_EVENTS_MAX
from camcast.reproduction.page import PageText

_WORLDS: Final[Mapping[World, str]] = {
    "live": "Live",
    "virtual": "In the virtual network, beyond the paper",
}
_SETTINGS: Final = (
    f"c = {PARAMETERS.c:g}, a = {PARAMETERS.a:g}, z = {PARAMETERS.z} (6.2.1); the membership's own"
    " c is 0, too. Everything else has the defaults of the backends: V1 and V2 have sponsors and"
    " indirection of SCAMP, which the paper has not and V3 has no counterpart of; --preset"
    " paper is without them.",
    "Each run starts its nodes anew, with another seed. All p_sel are measured among the same"
    " nodes, as an event may have a p_sel of its own: a run's values are not independent of"
    " each other, different runs' are.",
    "Two backends are told apart if the difference of their means over runs exceeds the root"
    " of the sum of the squares of their intervals' halves.",
    "A live run is not repeatable byte for byte; a virtual one is.",
)


def _introduction(found: Memberships) -> str:
    stopped = (
        ""
        if found.runs_done == found.runs_planned
        else (
            f" <strong>Stopped: {found.runs_done} of {found.runs_planned} runs are done.</strong>"
            " The command at the end continues."
        )
    )
    return (
        "Figures 19 to 28 of S. Baehni, P. Th. Eugster, R. Guerraoui, <cite>CAMCAST</cite>,"
        " measured again: V1 (unstructured, scamp), V2 (semi-structured, hybrid) and V3"
        " (structured, dht), with an event published in g that climbs to d and to the root a."
        f" {found.plan.runs} runs, where the paper has 10 of V1 and 5 of V2 and V3. Intervals are"
        f" of 95 %, over runs.{stopped}"
    )


def _tables(found: Memberships) -> dict[str, str]:
    return {
        "The comparison": _comparison(found.comparison, found.plan.rest_seconds),
        "What they cost, and how soon they notice": _upkeep(found.upkeep),
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


def _comparison(rows: tuple[Row, ...], rest_seconds: float) -> str:
    heads = ["", "", *(measure_of(name).column for name in (*COLUMNS, "parasites"))]
    body = (
        f"<tr><td>{escape(row.world)}</td><td class='how'>{row.variant} {escape(row.backend)}</td>"
        + "".join(f"<td>{interval_cell(getattr(row, name))}</td>" for name in COLUMNS)
        + f"<td>{row.parasites}</td></tr>"
        for row in rows
    )
    return grid(heads, body) + notes_list(
        (
            "Reception, reliability, efficiency and hops: of d and a, in the mean over all p_sel"
            " of the figures. Upward messages: from g and from d together.",
            "Tables / law: the mean size of the topic tables when the run ended, as a share of"
            " what the membership's own law says.",
            "In nobody's table: the share of processes that no event can reach within their"
            " community. Of uniform tables as large as 6.2.1 has them it is about one in N.",
            "All joined: processes join in waves, each of which doubles a community, and the"
            " next wave waits for the one before. Settled: until then sizes and super-topic"
            f" tables are known ({SETTLE_SECONDS_MAX:g} s at most), and a rest of"
            f" {rest_seconds:g} s.",
            "Controls: messages of membership and super-topic tables that a process receives,"
            " over the whole run. The DHT's datagrams are not among them.",
        )
    )


def _upkeep(rows: tuple[UpkeepRow, ...]) -> str:
    headings = ["", *(f"{row.variant} {row.backend}" for row in rows)]
    body = (
        f"<tr><td class='how'>{escape(measure_of(name).column)}</td>"
        + "".join(f"<td>{interval_cell(row.measures[name])}</td>" for row in rows)
        + "</tr>"
        for name in UPKEEP
    )
    return grid(headings, body) + notes_list(
        (
            "In the virtual network with the sizes of the live runs, latencies between hosts of"
            " the Internet (median 68 ms one way), gateways for V1 and the real Kademlia package"
            " for V2 and V3. All join in the same instant, through one first contact.",
            f"The in-degree is looked at {upkeep.REST_SECONDS:g} s later: its chi-square against a"
            " binomial is about its degrees of freedom if tables are uniform, less if everybody"
            " is in as many tables as everybody else, more if some are neglected.",
            f"Control: everything that is sent in {upkeep.COUNTED_SECONDS:g} s without events, the"
            " DHT's datagrams included, headers of TCP, UDP and IP not.",
            f"{upkeep.NEWCOMERS} newcomers join g one after the other; then {upkeep.VICTIMS} of g"
            " crash at once. What took longer than"
            f" {upkeep.NOTICE_SECONDS_MAX:g} s counts as that.",
            f"Then the first contact is killed, {upkeep.REPAIR_SECONDS:g} s later {upkeep.EVENTS}"
            f" events are published in g, and {upkeep.NEWCOMERS} newcomers join through an"
            " arbitrary member.",
        )
    )


def _setting(found: Memberships, world: World) -> str:
    plan = found.plan
    if world == "live":
        sizes = "; ".join(
            f"{VARIANTS[backend]} {'/'.join(map(str, plan.sizes_of(backend)))}"
            for backend in VARIANTS
        )
        return (
            f"Processes in g/d/a: {sizes} (6.2.1). Nodes with sockets of their own, on one"
            f" machine; nothing is lost and nobody crashes. {plan.events} events for each p_sel,"
            f" {RATE:g} a second, the values in turn."
        )
    sizes = "/".join(f"{size:,}" for size in plan.virtual_sizes)
    return (
        f"{sizes} processes; a copy is lost with probability {LOSS:g}, and"
        f" {CRASHED:.0%} of the processes crash just before the first event, so that all"
        " tables name them. An ideal directory instead of gateways or DHT: V2 is V1 but for chance."
        f" {min(plan.events, VIRTUAL_EVENTS_MAX)} events a run."
    )


TEXT: Final = PageText(
    title="CAMCAST, section 6.2: three memberships side by side",
    introduction=_introduction,
    tables=_tables,
    sections=_sections,
    made=lambda plan: f"Seed {plan.seed}, {plan.runs} runs, {plan.events} events.",
    conventions=[(None, words) for words in _SETTINGS],
    packages=("numpy",),
)
