"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

What is computed is a sweep of `hpmcast_cells`, each a simulation of one setting with its model.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from camcast.reproduction.figures_and_claims import FiguresAndClaims, figures_and_claims
from camcast.reproduction.hpmcast.cells import cells, compute
from camcast.reproduction.hpmcast.claims import claims
from camcast.reproduction.hpmcast.figures import Figure, figures
from camcast.reproduction.hpmcast.plan import Plan
from camcast.reproduction.hpmcast.results import Results

Reproduction: TypeAlias = FiguresAndClaims[Plan, Figure]

reproduce: Final = figures_and_claims(cells, compute, Results, figures, claims)
"""Simulate all cells of a plan, or those that a file does not have yet; see `Reproduce`."""
