"""Section 6 of Data-Aware Multicast (001), computed again: Tables 1 and 2, Figures 4 and 5.

Data-Aware Multicast, of which 004 is another text, is CAMCAST before it had the name. Setting,
tables and figures are those of CAMCAST's section 6.1 (000), which repeats them; the groups T2, T1
and T0 are called g, d and a there, and here.
"""

from __future__ import annotations

from typing import Final

import attrs
from attrs import frozen

from camcast.research.papers.camcast_memory import less_memory
from camcast.research.papers.camcast_paper import (
    KINDS,
    CamcastReproduction,
    Found,
    by_crashed,
    compute,
    much_better,
    smaller_above,
    tables_as_html,
)
from camcast.research.papers.camcast_setting import SETTINGS, CamcastPlan, made
from camcast.research.papers.camcast_tables import table_rows, tables
from camcast.research.papers.paper import Paper, Parts, Shown, collect, drawings
from camcast.research.systems.registry import CAMCAST

_DRAWINGS: Final = {
    "Figure 1": ("Publication/subscription alternatives.", "It is Figure 1 of 000."),
    "Figure 2": ("Dissemination in daMulticast.", "It is Figure 2 of 000."),
    "Figure 3": ("Bootstrapping.", "It is Figure 4 of 000."),
}


@frozen(kw_only=True)
class DamulticastPlan(CamcastPlan):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "damulticast"


def _memory(_results: Found) -> Shown:
    yield less_memory(
        "001",
        "5.5.2",
        "the memory complexity of a process is always smaller in our algorithm than in the"
        " other algorithms",
        ("(a)", "(b)", "(c)"),
    )


def _figure_4(results: Found) -> Shown:
    """Yield Figure 15 of 000, and what is said of it."""
    yield attrs.evolve(by_crashed(results, 15, "reception"), name="figure4")
    yield smaller_above(
        results, "001", "Figure 4", "the reliability is smaller for processes interested in T0"
    )


def _figure_5(results: Found) -> Shown:
    """Yield Figure 17 of 000, and what is said of it."""
    yield attrs.evolve(by_crashed(results, 17, "reception", weak=True), name="figure5")
    yield much_better(results, "001", "Figure 5", "reception")


_PARTS: Final[Parts] = (((CAMCAST,), (drawings("001", _DRAWINGS), _memory, _figure_4, _figure_5)),)


def _together(results: Found) -> CamcastReproduction:
    both = tables(results)
    figures, evidence = collect(results, _PARTS)
    return CamcastReproduction(
        plan=results.plan,
        tables=both,
        figures=figures,
        agreement=(),
        runs_compared={},
        evidence=(*table_rows("001", both, results), *evidence),
    )


PAPER: Final[Paper[CamcastPlan, CamcastReproduction]] = Paper(
    plan=DamulticastPlan,
    compute=compute,
    kinds=KINDS,
    together=_together,
    title="Data-Aware Multicast, section 6, computed again",
    introduction=lambda found: (
        "Tables 1 and 2 and Figures 4 and 5 of S. Baehni, P. Th. Eugster, R. Guerraoui,"
        " <cite>Data-Aware Multicast</cite> (DSN 2004), which are those of <cite>CAMCAST</cite>,"
        " section 6.1. The captions call both figures reliability; the axis is the share of"
        f" processes that receive the event. {found.plan.runs:,} runs a point; intervals are of"
        " 95 %."
    ),
    tables=tables_as_html,
    made=made,
    conventions=SETTINGS,
)
