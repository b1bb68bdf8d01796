"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

What is computed is a sweep of cells, each a simulation of one setting with its model.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from camcast.reproduction.hpmcast.cells import compute
from camcast.reproduction.hpmcast.claims import claims
from camcast.reproduction.hpmcast.figures import Figure, figures
from camcast.reproduction.hpmcast.plan import Plan
from camcast.reproduction.hpmcast.results import Results
from camcast.reproduction.paper import ByCells, FiguresAndClaims

Reproduction: TypeAlias = FiguresAndClaims[Plan, Figure]


def _together(found: Results) -> Reproduction:
    return FiguresAndClaims(plan=found.plan, figures=figures(found), claims=claims(found))


reproduce: Final = ByCells[Plan, Results, Reproduction](compute, Results, _together)
"""Simulate all cells of a plan, or those that a file does not have yet."""
