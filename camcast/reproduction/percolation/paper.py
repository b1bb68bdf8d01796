"""Section 5 of the percolation paper (003), computed again: Figures 1 to 18.

What is computed is a sweep of *cells* (`percolation_cells`), each a corpus of networks at one
point, whose results are kept line by line in ``cells.jsonl``; the figures are put together from
the results and the model alone (`reproduce`).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from camcast.reproduction.figures_and_claims import FiguresAndClaims, figures_and_claims
from camcast.reproduction.percolation.cells import cells, compute
from camcast.reproduction.percolation.claims import claims
from camcast.reproduction.percolation.figures import Figure, figures
from camcast.reproduction.percolation.plan import Plan
from camcast.reproduction.percolation.results import Results

Reproduction: TypeAlias = FiguresAndClaims[Plan, Figure]

reproduce: Final = figures_and_claims(cells, compute, Results, figures, claims)
"""Simulate all cells of a plan, or those that a file does not have yet; see `Reproduce`."""
