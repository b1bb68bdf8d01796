"""The page of a reproduction, in one file: its words are data, and all pages are built here.

It opens with what came out, a line a verdict, and with a line of contents; conventions fold away.
What it says is computed here, and how it looks stands in ``paper_page.html.j2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from camcast.research.papers.figure import Figure
from camcast.research.papers.paper import Paper, R
from camcast.research.report.drawing import Drawing
from camcast.research.report.evidence import NO_DATA, VERDICTS, Evidence, Verdict, in_words
from camcast.research.report.page import NOTHING, document, fill, number, picture, versions

_EVIDENCE: Final = "What the paper says, and what was found"
_ITEMS_MAX: Final = 12  # chosen: items of a verdict that fit a line or two


def html(paper: Paper[Any, R], found: R, drawings: Mapping[str, Drawing], command: str) -> str:
    """Return the page; `drawings` by the figures' names, `command` is what made it."""
    chosen = found.plan.protocols
    tables, sections = paper.tables(found), paper.sections(found)
    sections = {heading: figures for heading, figures in sections.items() if figures}
    headings = [*tables, *sections, *([_EVIDENCE] if found.evidence else ())]
    conventions = [
        words
        for words, protocol in paper.conventions.items()
        if protocol is None or chosen is None or protocol in chosen
    ]
    body = fill(
        "camcast.research.papers",
        "paper_page.html.j2",
        introduction=paper.introduction(found),
        chosen=chosen,
        evidence=found.evidence,
        evidence_heading=_EVIDENCE,
        in_words=in_words(found.evidence),
        outcome={verdict: _items(found.evidence, verdict) for verdict in VERDICTS},
        headings=headings,
        tables=tables,
        sections={
            heading: list(_pictures(figures, drawings)) for heading, figures in sections.items()
        },
        command=command,
        made=paper.made(found.plan),
        versions=versions(paper.packages),
        conventions=conventions,
        anchor=_anchor,
        number=number,
        nothing=NOTHING,
    )
    return document(paper.title, [body], drawings)


def _items(evidence: Sequence[Evidence], verdict: Verdict) -> str:
    """Return the items that have a verdict."""
    rows = [row for row in evidence if row.verdict == verdict]
    items = [row.item for row in rows if not row.found.startswith(NO_DATA)]
    more = f" and {len(items) - _ITEMS_MAX} more" if len(items) > _ITEMS_MAX else ""
    if drawings := len(rows) - len(items):
        items.append(f"{drawings} drawings without data")
    return "; ".join(items[:_ITEMS_MAX]) + more if items else "nothing"


def _anchor(heading: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in heading.lower())


def _pictures(
    figures: Iterable[Figure], drawings: Mapping[str, Drawing]
) -> Iterator[tuple[bool, str]]:
    """Yield pictures, of which narrow ones in a row stand beside each other, and if they do not."""
    for wide, alike in groupby(figures, lambda figure: figure.wide):
        shown = (picture(one.name, one.heading, one.notes, drawings[one.name]) for one in alike)
        yield wide, "".join(shown)
