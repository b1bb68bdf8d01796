"""Section 6 of Data-Aware Multicast (001), computed again: Tables 1 and 2, Figures 4 and 5.

Setting, tables and figures are those of CAMCAST's section 6.1 (000), which repeats them; the groups
T2, T1 and T0 are called g, d and a there, and here.
"""

from __future__ import annotations

from typing import Final

import attrs
from attrs import frozen

from camcast.research.papers.camcast import figures, page, plan
from camcast.research.papers.camcast.cells import Results, compute
from camcast.research.papers.camcast.evidence import (
    less_memory,
    much_better,
    smaller_above,
    table_rows,
)
from camcast.research.papers.camcast.paper import Reproduction
from camcast.research.papers.camcast.tables import tables
from camcast.research.papers.figure import Figure
from camcast.research.papers.page import PageText
from camcast.research.papers.paper import ByCells, Paper
from camcast.research.report.evidence import drawing

_DRAWINGS: Final = {
    "Figure 1": ("Publication/subscription alternatives.", "It is Figure 1 of 000."),
    "Figure 2": ("Dissemination in daMulticast.", "It is Figure 2 of 000."),
    "Figure 3": ("Bootstrapping.", "It is Figure 4 of 000."),
}
_FIGURES: Final = {"figure15": "figure4", "figure17": "figure5"}
"""By the names that they have in 000."""


@frozen(kw_only=True)
class Plan(plan.Plan):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "damulticast"


def _together(results: Results) -> Reproduction:
    found = tables(results)
    rows, drawn = [*table_rows("001", found)], tuple[Figure, ...]()
    if results.plan.about("camcast"):
        drawn = figures.figures(results)
        rows += [drawing("001", item, *shown) for item, shown in _DRAWINGS.items()]
        rows += [
            less_memory(
                "001",
                "5.5.2",
                "the memory complexity of a process is always smaller in our algorithm than in the"
                " other algorithms",
                ("(a)", "(b)", "(c)"),
            ),
            smaller_above(
                results,
                "001",
                "Figure 4",
                "the reliability is smaller for processes interested in T0",
            ),
            much_better(results, "001", "Figure 5", "reception"),
        ]
    return Reproduction(
        plan=results.plan,
        tables=found,
        figures=tuple(
            attrs.evolve(figure, name=_FIGURES[figure.name])
            for figure in drawn
            if figure.name in _FIGURES
        ),
        agreement=(),
        runs_compared={},
        evidence=tuple(rows),
    )


reproduce: Final = ByCells(compute, Results, _together)

TEXT: Final = PageText(
    title="Data-Aware Multicast, section 6, computed again",
    introduction=lambda found: (
        "Tables 1 and 2 and Figures 4 and 5 of S. Baehni, P. Th. Eugster, R. Guerraoui,"
        " <cite>Data-Aware Multicast</cite> (DSN 2004), which are those of <cite>CAMCAST</cite>,"
        " section 6.1. The captions call both figures reliability; the axis is the share of"
        f" processes that receive the event. {found.plan.runs:,} runs a point; intervals are of"
        " 95 %."
    ),
    tables=page.tables,
    made=page.made,
    conventions=page.SETTINGS,
)
PAPER: Final = Paper("damulticast", Plan, reproduce, TEXT)
