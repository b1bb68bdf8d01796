"""Section 5 of the percolation paper (003), computed again: Figures 1 to 18.

What is computed is a sweep of *cells* (`percolation_cells`), each a corpus of networks at one
point, whose results are kept line by line in ``cells.jsonl``; the figures are put together from
the results and the model alone (`reproduce`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from camcast.reproduction.claim import Claim
from camcast.reproduction.percolation_cells import cells, compute
from camcast.reproduction.percolation_claims import claims
from camcast.reproduction.percolation_plan import Plan
from camcast.reproduction.percolation_points import Figure, figures
from camcast.reproduction.percolation_results import Results
from camcast.sweeps import sweep


@frozen(kw_only=True)
class Reproduction:
    """Everything that was computed again."""

    plan: Plan
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]


def reproduce(
    plan: Plan,
    results: Path | None = None,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Simulate all cells, or those that the file `results` does not have yet.

    Raises `SweepError`; see `camcast.sweeps.sweep`.
    """
    listed = cells(plan)
    found = sweep(compute, listed, results=results, workers=workers, on_progress=on_progress)
    simulated = Results(plan, listed, found)
    return Reproduction(plan=plan, figures=figures(simulated), claims=claims(simulated))
