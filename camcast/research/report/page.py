"""The common part of the pages of reproductions: each is one file, without network or server.

The pictures are in the page as SVG, and are there without JavaScript; with it, they are drawn
again from their specifications, so that a point tells its numbers. The specifications are packed,
since they say much of each point; the libraries for that are in the page once. It follows the
reader's light or dark, and a phone's width.
"""

from __future__ import annotations

import json
import platform
import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined

from camcast import __version__
from camcast.ops.page_security import policy_element
from camcast.research.population.outcome import Interval
from camcast.research.report.drawing import Drawing, library_versions, script

NOTHING: Final = "\N{EN DASH}"

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
.pairs { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
.pairs figure { flex: 1 1 26rem; min-width: 0; max-width: 30rem; }
#vg-tooltip-element { font-family: inherit; }
"""

_SHOW: Final = """
const packed = Uint8Array.from(atob(document.getElementById("specs").textContent),
  letter => letter.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
const specs = await new Response(unpacked).json();
for (const [id, spec] of Object.entries(specs)) {
  const place = document.getElementById(id);
  const drawn = document.createElement("div");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const tooltip = {theme: dark ? "dark" : "light"};
  vegaEmbed(drawn, spec, {actions: false, ast: true, renderer: "svg", tooltip})
    .then(() => place.replaceChildren(drawn), error => console.error(id, error));
}
"""


def document(
    title: str, parts: Iterable[str], drawings: Mapping[str, Drawing], style: str = ""
) -> str:
    """Return a page; `parts` have, for each of the `drawings`, what `picture` makes of it."""
    specs = json.dumps({name: drawing.spec for name, drawing in drawings.items()})
    packed = b64encode(zlib.compress(specs.encode())).decode()
    shows = in_script(script()) + _SHOW
    lines = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        policy_element(shows),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}{style}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *parts,
        f'<script type="application/octet-stream" id="specs">{packed}</script>',
        f'<script type="module">{shows}</script>',
        "</body></html>",
    )
    return "".join(f"{line}\n" for line in lines)


def picture(name: str, label: str, notes: str, drawing: Drawing) -> str:
    """Return a figure with its caption."""
    return (
        f'<figure role="group" aria-label="{escape(label)}">'
        f'<div id="{escape(name)}">{drawing.svg}</div>'
        f"<figcaption>{escape(notes)} Data: {escape(name)}.csv.</figcaption></figure>"
    )


def in_script(text: str) -> str:
    """Return JavaScript such that nothing in a string of it ends its element."""
    return re.sub(r"</(?=script)", r"<\\/", text, flags=re.IGNORECASE)


def grid(heads: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table of rows in HTML, which a narrow screen scrolls."""
    row = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return (
        f'<div class="scroll"><table><thead><tr>{row}</tr></thead><tbody>'
        + "".join(rows)
        + "</tbody></table></div>"
    )


def notes_list(notes: Iterable[str]) -> str:
    """Return notes as a list that folds away."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<details><summary>Notes</summary><ul class="notes">{items}</ul></details>'


def number(value: float) -> str:
    """Return a number with as many digits as are of interest."""
    if value == 0:
        return "0"
    decimals = 0 if abs(value) >= 1000 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}"


def interval_cell(interval: Interval) -> str:
    """Return a mean with its interval below."""
    if interval.mean is None:
        return NOTHING
    if interval.low is None or interval.high is None:
        return number(interval.mean)
    low, high = number(interval.low), number(interval.high)
    return f"{number(interval.mean)}<small>{low} to {high}</small>"


def versions(packages: Iterable[str]) -> str:
    """Return what a page was made with: camcast, Python, these packages, and the libraries."""
    made_with = {
        "camcast": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in packages},
        **library_versions(),
    }
    return ", ".join(f"{name} {release}" for name, release in made_with.items())


_ENVIRONMENT = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def fill(package: str, name: str, **values: object) -> str:
    """Return the template `name` that lies in `package`, with its values.

    Nothing is written unescaped that is not marked as markup.

    Raises `jinja2.UndefinedError` for a value that the template asks for and is not given.
    """
    text = files(package).joinpath(name).read_text("utf-8")
    return _ENVIRONMENT.from_string(text).render(values)
