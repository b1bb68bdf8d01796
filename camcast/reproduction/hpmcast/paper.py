"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

What is computed is a sweep of cells, each a simulation of one setting with its model.
"""

from __future__ import annotations

from typing import Final

from camcast.reproduction.hpmcast.cells import Results, compute
from camcast.reproduction.hpmcast.evidence import evidence
from camcast.reproduction.hpmcast.figures import figures
from camcast.reproduction.paper import ByCells, figures_and_evidence

reproduce: Final = ByCells(compute, Results, figures_and_evidence(figures, evidence))
"""Simulate all cells of a plan, or those that a file does not have yet."""
