"""The page of a reproduction, in one file: its words are data, and all pages are built here.

It opens with what came out, a line a verdict, and with a line of contents; conventions fold away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

from attrs import field, frozen

from camcast.report.drawing import Drawing
from camcast.report.evidence import NO_DATA, VERDICTS, Evidence, in_words
from camcast.report.page import (
    document,
    evidence_table,
    how_made,
    only_about,
    pairs,
    picture,
)
from camcast.reproduction.figure import Figure

_EVIDENCE: Final = "What the paper says, and what was found"
_ITEMS_MAX: Final = 12  # chosen: items of a verdict that fit a line or two


def _figures_alone(found: Any) -> Mapping[str, Sequence[Figure]]:
    return {"Figures": found.figures}


def _nothing(_found: Any) -> Mapping[str, str]:
    return {}


@frozen(kw_only=True)
class PageText:
    """What a page says; what it shows is the reproduction's."""

    title: str
    introduction: Callable[[Any], str]
    """Of what was found, as HTML."""
    tables: Callable[[Any], Mapping[str, str]] = _nothing
    """Of what was found: tables as HTML by their headings, before the figures."""
    sections: Callable[[Any], Mapping[str, Sequence[Figure]]] = _figures_alone
    """Of what was found: the figures by the headings that they stand under."""
    made: Callable[[Any], str]
    """Of the plan: what was given."""
    conventions: Sequence[tuple[str | None, str]] = field(factory=tuple)
    """Each with the protocol that it is about; None: all."""
    packages: Sequence[str] = ("numpy", "numba")
    """Those that computed, besides camcast."""


def html(text: PageText, found: Any, drawings: Mapping[str, Drawing], command: str) -> str:
    """Return the page; `drawings` by the figures' names, `command` is what made it."""
    chosen = getattr(found.plan, "protocols", None)
    tables, sections = text.tables(found), text.sections(found)
    sections = {heading: figures for heading, figures in sections.items() if figures}
    headings = [*tables, *sections, *([_EVIDENCE] if found.evidence else ())]
    conventions = [
        words
        for protocol, words in text.conventions
        if protocol is None or chosen is None or protocol in chosen
    ]
    parts = [
        f"<p>{text.introduction(found)}</p>",
        only_about(chosen),
        _outcome(found.evidence),
        _contents(headings),
        *(_heading(heading) + table for heading, table in tables.items()),
        *(
            _heading(heading) + _pictures(figures, drawings)
            for heading, figures in sections.items()
        ),
        (_heading(_EVIDENCE) + evidence_table(found.evidence)) if found.evidence else "",
        how_made(command, text.made(found.plan), text.packages, conventions),
    ]
    return document(text.title, parts, drawings)


def _outcome(evidence: Sequence[Evidence]) -> str:
    """Return a line for each verdict, with the items that have it."""
    if not evidence:
        return ""
    lines = []
    for verdict in VERDICTS:
        rows = [row for row in evidence if row.verdict == verdict]
        items = [row.item for row in rows if not row.found.startswith(NO_DATA)]
        more = f" and {len(items) - _ITEMS_MAX} more" if len(items) > _ITEMS_MAX else ""
        if drawings := len(rows) - len(items):
            items.append(f"{drawings} drawings without data")
        listed = "; ".join(items[:_ITEMS_MAX]) + more if items else "nothing"
        lines.append(f"<li><strong>{verdict}</strong>: {escape(listed)}</li>")
    return f"<p>{escape(in_words(evidence))}</p><ul>{''.join(lines)}</ul>"


def _contents(headings: Sequence[str]) -> str:
    links = (f'<a href="#{_anchor(heading)}">{escape(heading)}</a>' for heading in headings)
    return f"<p>{' · '.join(links)}</p>"


def _heading(heading: str) -> str:
    return f'<h2 id="{_anchor(heading)}">{escape(heading)}</h2>'


def _anchor(heading: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in heading.lower())


def _pictures(figures: Iterable[Figure], drawings: Mapping[str, Drawing]) -> str:
    """Return the figures, those that are narrow beside each other."""
    parts = []
    for wide, alike in groupby(figures, lambda figure: figure.wide):
        shown = [picture(one.name, one.heading, one.notes, drawings[one.name]) for one in alike]
        parts += shown if wide else [pairs(shown)]
    return "".join(parts)
