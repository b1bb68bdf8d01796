"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

What is computed is a sweep of `hpmcast_cells`, each a simulation of one setting with its model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from camcast.reproduction.claim import Claim
from camcast.reproduction.hpmcast_cells import cells, compute
from camcast.reproduction.hpmcast_claims import claims
from camcast.reproduction.hpmcast_plan import Plan
from camcast.reproduction.hpmcast_points import Figure, figures
from camcast.reproduction.hpmcast_results import Results
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
    found = Results(
        plan,
        listed,
        sweep(compute, listed, results=results, workers=workers, on_progress=on_progress),
    )
    return Reproduction(plan=plan, figures=figures(found), claims=claims(found))
