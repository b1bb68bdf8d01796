"""Section 5 of the percolation paper (003), computed again: Figures 1 to 18.

What is computed is a sweep of *cells* (`cells`), each a corpus of networks at one
point, whose results are kept line by line in ``cells.jsonl``; the figures are put together from
the results and the model alone (`reproduce`).
"""

from __future__ import annotations

from typing import Final

from camcast.reproduction.paper import ByCells, figures_and_evidence
from camcast.reproduction.percolation.cells import Results, compute
from camcast.reproduction.percolation.evidence import evidence
from camcast.reproduction.percolation.figures import figures

reproduce: Final = ByCells(compute, Results, figures_and_evidence(figures, evidence))
"""Simulate all cells of a plan, or those that a file does not have yet."""
