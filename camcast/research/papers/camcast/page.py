"""The page of section 6.1: everything of the reproduction in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from camcast.research.papers.camcast import plan
from camcast.research.papers.camcast.evidence import EXPERIMENTS
from camcast.research.papers.camcast.paper import Agreement, Reproduction, reproduce
from camcast.research.papers.camcast.plan import Plan
from camcast.research.papers.camcast.tables import Entry, Table
from camcast.research.papers.page import PageText
from camcast.research.papers.paper import Paper
from camcast.research.report.page import NOTHING, grid, interval_cell, notes_list, number
from camcast.research.systems.registry import CAMCAST

_ROUNDED: Final = 0.005  # chosen: smaller deviations are told to 0.001 %
_CHAIN: Final = "a hierarchy of three topics, the root a, then d, then g;"
_P: Final = plan.PARAMETERS
SETTINGS: Final = (
    (
        None,
        f"Communities of {', '.join(f'{size:,}' for size in plan.SIZES)}; c = {_P.c:g}, g ="
        f" {_P.g:g}, a = {_P.a:g}, z = {_P.z}; a copy arrives with probability {plan.SUCCESS} (000,"
        " 6.1.1).",
    ),
    (
        CAMCAST,
        "Tables are static, uniform and independent: a topic table of ⌈ln N + c⌉ others and a"
        " super-topic table of z. Nobody replaces a crashed process in them. The publisher is"
        " alive, and links upward like anyone else: with p_sel = g/N, to each of z entries with"
        " p_a = a/z.",
    ),
    (
        None,
        "Rounds are synchronous: who receives the event in one round sends it in the next, once.",
    ),
    (
        CAMCAST,
        "Reception: the share of a community's alive processes that have the event in the end, in"
        " the mean over runs (Student's interval). Reliability: the share of runs in which all of"
        " them have it (Wilson's interval). The paper does not say what becomes of a run in which"
        " nobody of a community is alive; here it says nothing of its reception and reliability. If"
        " all were said to have received it, that of a with a share p of crashed would be"
        " p^10 + (1 - p^10) of what is shown: with 70 % crashed 9.4 % instead of 6.8 %.",
    ),
    (
        CAMCAST,
        "The model is camcast.research.systems.camcast.model. It is not meant for gossip that"
        " hardly"
        " survives: beyond 80 % crashed it is too high.",
    ),
    (None, "All points are simulated with the same seed."),
)
"""The conventions, by the protocol that they are about; None: of all."""


def introduction(found: Reproduction) -> str:
    """Say what was computed again, and how often."""
    sizes = ", ".join(
        f"{size:,} in {name}" for name, size in zip(plan.COMMUNITIES, plan.SIZES, strict=True)
    )
    return (
        "Tables 1 and 2 and Figures 13 to 18 of S. Baehni, P. Th. Eugster, R. Guerraoui,"
        f" <cite>CAMCAST</cite>, simulated again in the setting of its section 6.1.1: {_CHAIN}"
        f" {sizes}; an event is published in g. {found.plan.runs:,} runs a point with the"
        f" {found.plan.engine} simulator, where the paper has {EXPERIMENTS} experiments. Intervals"
        " are of 95 %."
    )


def made(given: Plan) -> str:
    """Say what was given."""
    return f"Seed {given.seed}, {given.runs:,} runs, simulator {given.engine}."


def tables(found: Reproduction) -> dict[str, str]:
    """Return the paper's tables by their headings, and that of the simulators."""
    shown = {f"Table {table.number}. {table.title}": _table(table) for table in found.tables}
    if found.agreement:
        agreement = _agreement(found.agreement, found.runs_compared)
        shown["Three simulators, one setting"] = agreement
    return shown


def _table(table: Table) -> str:
    body = []
    for approach, how, entries in table.lines:
        row, shown = ('<tr class="published">', _published) if approach else ("<tr>", _entry)
        cells = "".join(f"<td>{shown(entry)}</td>" for entry in entries)
        named = f'<td>{escape(approach)}</td><td class="how">{escape(how)}</td>'
        body.append(f"{row}{named}{cells}</tr>")
    heads = ["", "", *plan.TOPOLOGIES]
    return grid(heads, body) + notes_list(table.notes)


def _published(entry: Entry) -> str:
    return NOTHING if entry.published is None else f"{entry.published:,g}"


def _entry(entry: Entry) -> str:
    if entry.mean is None:
        return NOTHING
    small = []
    if entry.low is not None and entry.high is not None:
        small.append(f"{number(entry.low)} to {number(entry.high)}")
    if entry.deviation is not None:
        small.append(f"{entry.deviation:+.{1 if abs(entry.deviation) >= _ROUNDED else 3}%}")
    return number(entry.mean) + "".join(f"<small>{escape(text)}</small>" for text in small)


def _agreement(agreement: Sequence[Agreement], runs: Mapping[str, int]) -> str:
    what = {
        "population": "every process by itself, tables drawn when needed",
        "chain": "only how many processes have the event",
        "virtual": "the shipped node, encoding and decoding, in a virtual network",
    }
    rows = [
        f"<tr><td>{escape(row.community)}</td><td class='how'>"
        f"{escape(row.measure.replace('_', ' '))}</td>"
        + "".join(f"<td>{interval_cell(row.by_simulator[name])}</td>" for name in runs)
        + f"<td>{NOTHING if row.model is None else number(row.model)}</td></tr>"
        for row in agreement
    ]
    heads = ["", "", *(f"{name} ({count:,} runs)" for name, count in runs.items()), "model"]
    return (
        f"<p>Beyond the paper: the same cell, {plan.CRASHED_COMPARED:.0%} of the processes dead"
        " from the beginning, in all three simulators and in the model, which simulates"
        " nothing.</p>" + grid(heads, rows) + notes_list(f"{name}: {what[name]}." for name in runs)
    )


TEXT: Final = PageText(
    title="CAMCAST, section 6.1, computed again",
    introduction=introduction,
    tables=tables,
    made=made,
    conventions=SETTINGS,
)
PAPER: Final = Paper("camcast", Plan, reproduce, TEXT)
