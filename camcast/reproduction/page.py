"""The page: everything of a reproduction in one file that needs neither network nor server.

The pictures are in the page as SVG, and are there without JavaScript; with it, they are drawn
again from their specifications, so that a point tells its numbers. The libraries for that are in
the page once. It follows the reader's light or dark, and a phone's width.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from typing import Final

from camcast.reproduction.camcast_paper import (
    COMMUNITIES,
    CRASHED_COMPARED,
    PARAMETERS,
    SIZES,
    SUCCESS,
    TOPOLOGIES,
    Agreement,
    Claim,
    Entry,
    Figure,
    Reproduction,
    Table,
)
from camcast.reproduction.figures import Drawing, library_versions, script
from camcast.simulation.spread import Interval

_NOTHING: Final = "\N{EN DASH}"
_ROUNDED: Final = 0.005  # chosen: smaller deviations are told to 0.001 %
_TITLE: Final = "CAMCAST, section 6.1, computed again"

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8885; --soft: #8881; --quiet: #666; }
@media (prefers-color-scheme: dark) { :root { --quiet: #aaa; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; margin: 0 auto;
  max-width: 62rem; padding: 1rem; color: CanvasText; background: Canvas; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p, li { max-width: 46rem; }
.notes, figcaption { color: var(--quiet); font-size: .9rem; }
.notes li { margin: .3rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; }
th:first-child, td:first-child, .words td, .words th, td.how { text-align: left; }
td small { display: block; color: var(--quiet); white-space: nowrap; }
tr.published td { background: var(--soft); font-weight: 600; }
figure { margin: 1.5rem 0; }
figure svg { max-width: 100%; height: auto; }
figure .vega-embed { width: 100%; }
code { font-size: .9em; background: var(--soft); padding: .1em .3em; border-radius: 3px;
  overflow-wrap: anywhere; }
blockquote { margin: 0; }
#vg-tooltip-element { font-family: inherit; }
"""

_SHOW: Final = """
for (const [id, spec] of Object.entries(JSON.parse(document.getElementById("specs").textContent))) {
  const place = document.getElementById(id);
  const drawn = document.createElement("div");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const tooltip = {theme: dark ? "dark" : "light"};
  vegaEmbed(drawn, spec, {actions: false, renderer: "svg", tooltip})
    .then(() => place.replaceChildren(drawn), error => console.error(id, error));
}
"""


def html(reproduction: Reproduction, drawings: Mapping[str, Drawing], command: str) -> str:
    """Return the page; `drawings` by the figures' names, `command` is what made it."""
    specs = {name: drawing.spec for name, drawing in drawings.items()}
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(_TITLE)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(_TITLE)}</h1>",
        _introduction(reproduction),
        *map(_table, reproduction.tables),
        "<h2>Figures</h2>",
        *(_figure(figure, drawings[figure.name]) for figure in reproduction.figures),
        _claims(reproduction.claims),
        _agreement(reproduction.agreement, reproduction.runs_compared),
        _how(reproduction, command),
        f'<script type="application/json" id="specs">{_in_script(json.dumps(specs))}</script>',
        f'<script type="module">{_in_script(script())}{_SHOW}</script>',
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _in_script(text: str) -> str:
    """Return JSON or JavaScript such that nothing in a string of it ends its element."""
    return re.sub(r"</(?=script)", r"<\\/", text, flags=re.IGNORECASE)


def _introduction(reproduction: Reproduction) -> str:
    plan = reproduction.plan
    sizes = ", ".join(f"{size:,} in {name}" for name, size in zip(COMMUNITIES, SIZES, strict=True))
    return (
        "<p>Tables 1 and 2 and Figures 13 to 18 of S. Baehni, P. Th. Eugster, R. Guerraoui,"
        " <cite>CAMCAST</cite>, simulated again in the setting of its section 6.1.1: a hierarchy"
        f" of three topics, the root a, then d, then g; {escape(sizes)}; an event is published"
        f" in g. {plan.runs:,} runs a point with the {escape(plan.engine)} simulator, where the"
        " paper has 100 experiments. Intervals are of 95 %.</p>"
    )


# -- tables -------------------------------------------------------------------------------------


def _table(table: Table) -> str:
    rows: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in table.entries:
        rows.setdefault((entry.approach, entry.how), {})[entry.topology] = entry
    body, before = [], ""
    for (approach, how), by_topology in rows.items():
        entries = [by_topology[topology] for topology in TOPOLOGIES]
        if approach != before:
            published = (f"<td>{entry.published:,g}</td>" for entry in entries)
            body.append(
                f'<tr class="published"><td>{escape(approach)}</td><td class="how">published</td>'
                + "".join(published)
                + "</tr>"
            )
            before = approach
        body.append(
            f'<tr><td></td><td class="how">{escape(how)}</td>'
            + "".join(f"<td>{_entry(entry)}</td>" for entry in entries)
            + "</tr>"
        )
    heads = ["", "", *TOPOLOGIES]
    return (
        f"<h2>Table {table.number}. {escape(table.title)}</h2>"
        + _grid(heads, body)
        + _list(table.notes)
    )


def _entry(entry: Entry) -> str:
    if entry.mean is None:
        return _NOTHING
    small = []
    if entry.low is not None and entry.high is not None:
        small.append(f"{_number(entry.low)} to {_number(entry.high)}")
    if entry.deviation is not None:
        small.append(f"{entry.deviation:+.{1 if abs(entry.deviation) >= _ROUNDED else 3}%}")
    return _number(entry.mean) + "".join(f"<small>{escape(text)}</small>" for text in small)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    decimals = 0 if abs(value) >= 1000 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}"


def _grid(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    row = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{row}</tr></thead><tbody>'
        + "".join(rows)
        + "</tbody></table></div>"
    )


def _list(notes: Iterable[str]) -> str:
    return '<ul class="notes">' + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


# -- the rest -----------------------------------------------------------------------------------


def _figure(figure: Figure, drawing: Drawing) -> str:
    return (
        f'<figure role="group" aria-label="Figure {figure.number}: {escape(figure.title)}">'
        f'<div id="{figure.name}">{drawing.svg}</div>'
        f"<figcaption>{escape(figure.notes)} Data: {figure.name}.csv.</figcaption></figure>"
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = (
        f"<tr><td>{escape(claim.where)}</td><td><blockquote>“{escape(claim.quote)}”</blockquote>"
        f"</td><td><strong>{escape(claim.holds)}</strong></td><td>{escape(claim.found)}</td></tr>"
        for claim in claims
    )
    return "<h2>What the paper concludes</h2>" + _grid(
        ["section", "claim", "holds", "here"], rows, "words"
    )


def _agreement(agreement: Sequence[Agreement], runs: Mapping[str, int]) -> str:
    what = {
        "population": "every process by itself, tables drawn when needed",
        "chain": "only how many processes have the event",
        "virtual": "the shipped node, encoding and decoding, in a virtual network",
    }
    rows = [
        f"<tr><td>{escape(row.community)}</td><td class='how'>"
        f"{escape(row.measure.replace('_', ' '))}</td>"
        + "".join(f"<td>{_interval(row.by_simulator[name])}</td>" for name in runs)
        + f"<td>{_NOTHING if row.model is None else _number(row.model)}</td></tr>"
        for row in agreement
    ]
    heads = ["", "", *(f"{name} ({count:,} runs)" for name, count in runs.items()), "model"]
    return (
        "<h2>Three simulators, one setting</h2><p>Beyond the paper: the same cell,"
        f" {CRASHED_COMPARED:.0%} of the processes dead from the beginning, in all three simulators"
        " and in the model, which simulates nothing.</p>"
        + _grid(heads, rows)
        + _list(f"{name}: {what[name]}." for name in runs)
    )


def _interval(interval: Interval) -> str:
    if interval.mean is None:
        return _NOTHING
    if interval.low is None or interval.high is None:
        return _number(interval.mean)
    low, high = _number(interval.low), _number(interval.high)
    return f"{_number(interval.mean)}<small>{low} to {high}</small>"


def _how(reproduction: Reproduction, command: str) -> str:
    plan = reproduction.plan
    p = PARAMETERS
    settings = (
        f"Communities of {', '.join(f'{size:,}' for size in SIZES)}; c = {p.c:g}, g = {p.g:g},"
        f" a = {p.a:g}, z = {p.z}; a copy arrives with probability {SUCCESS} (000, 6.1.1).",
        "Tables are static, uniform and independent: a topic table of ⌈ln N + c⌉ others and a"
        " super-topic table of z. Nobody replaces a crashed process in them. The publisher is"
        " alive, and links upward like anyone else: with p_sel = g/N, to each of z entries with"
        " p_a = a/z.",
        "Rounds are synchronous: who receives the event in one round sends it in the next, once.",
        "Reception: the share of a community's alive processes that have the event in the end, in"
        " the mean over runs (Student's interval). Reliability: the share of runs in which all of"
        " them have it (Wilson's interval). A run in which nobody of a community is alive says"
        " nothing of its reception and reliability.",
        "The model is camcast.models.prediction. It is not meant for gossip that hardly survives:"
        " beyond 80 % crashed it is too high.",
        "All points are simulated with the same seed.",
    )
    versions = {
        "camcast": version("camcast"),
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba")},
        **library_versions(),
    }
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        "<h2>How this was made</h2>"
        + f"<p><code>{escape(command)}</code></p><p>Seed {plan.seed}, {plan.runs:,} runs,"
        f" simulator {escape(plan.engine)}. {escape(listed)}.</p>" + _list(settings)
    )
