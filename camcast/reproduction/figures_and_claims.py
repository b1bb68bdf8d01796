"""A reproduction of figures and claims, without tables, from the cells of one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from camcast.report.claim import Claim
from camcast.reproduction.paper import Figure, P, Reproduce, by_one_sweep
from camcast.sweeps import JSON, Cell
from camcast.sweeps.sweep import Task

F = TypeVar("F", bound=Figure)
S = TypeVar("S")


@frozen(kw_only=True)
class FiguresAndClaims(Generic[P, F]):
    """Everything that was computed again."""

    plan: P
    figures: tuple[F, ...]
    claims: tuple[Claim, ...]

    @property
    def tables(self) -> tuple[()]:
        """The paper has none."""
        return ()


def figures_and_claims(
    cells: Callable[[P], Sequence[Cell]],
    compute: Task,
    results: Callable[[P, Sequence[Cell], Sequence[JSON]], S],
    figures: Callable[[S], tuple[F, ...]],
    claims: Callable[[S], tuple[Claim, ...]],
) -> Reproduce[P, FiguresAndClaims[P, F]]:
    """Return how a plan is carried out: both are made of the results of one sweep."""

    def together(plan: P, listed: Sequence[Cell], found: Sequence[JSON]) -> FiguresAndClaims[P, F]:
        simulated = results(plan, listed, found)
        return FiguresAndClaims(plan=plan, figures=figures(simulated), claims=claims(simulated))

    return by_one_sweep(cells, compute, together)
