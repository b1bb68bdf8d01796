"""A paper, or a part of one, that can be computed again: what its folder is made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs
from attrs import frozen

from camcast.research.papers.cell_results import CellResults
from camcast.research.papers.figure import Figure
from camcast.research.papers.page import PageText
from camcast.research.report.evidence import Evidence
from camcast.research.sweeps import Cell, sweep
from camcast.research.sweeps.sweep import Task


@frozen
class Sheet:
    """Rows without a picture, as they lie in the folder."""

    name: str
    """Of its files, without what follows the dot."""
    about: Mapping[str, Any]
    """What there is to say about the rows."""
    rows: Sequence[Mapping[str, Any]]
    """At least one; all have the same columns."""


P = TypeVar("P", bound=attrs.AttrsInstance)


@frozen(kw_only=True)
class Reproduction(Generic[P]):
    """What was computed again."""

    plan: P
    figures: tuple[Figure, ...]
    evidence: tuple[Evidence, ...]
    """What the paper says, beside what was found."""

    @property
    def sheets(self) -> Sequence[Sheet]:
        """What has no picture."""
        return ()


R = TypeVar("R", bound=Reproduction[Any])
S = TypeVar("S", bound=CellResults[Any])
OnProgress = Callable[[int, int], None]


@frozen
class Paper(Generic[P, R]):
    """What is computed of a paper, and how it is shown."""

    name: str
    """As `camcast reproduce` takes it."""
    plan: type[P]
    """Raises `ValueError` for a value out of range."""
    reproduce: Callable[[P, Path | None, int | None, OnProgress | None], R]
    """Carries a plan out: see `camcast.research.sweeps.sweep` for results, workers and progress."""
    text: PageText
    """The words of its page."""
    partial: Callable[[P, Path], R] | None = None
    """What a file of results has of a plan that was stopped; None: nothing without all cells."""


@frozen
class ByCells(Generic[S, R]):
    """How a plan is carried out whose cells are one sweep, of the task `compute`."""

    compute: Task
    results: Callable[..., S]
    """Of a plan, and of what was found; see `CellResults`."""
    together: Callable[[S], R]
    """Puts together what was found."""

    def cells(self, plan: Any) -> list[Cell]:
        """Return what is to be simulated: every cell that is asked for, once, in its turn."""
        recorder = self.results(plan)
        self.together(recorder)
        return sorted(recorder.asked.values(), key=recorder.turn)

    def __call__(
        self,
        plan: Any,
        results: Path | None = None,
        workers: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> R:
        """Compute all cells, or those that the file `results` does not have yet.

        Raises `SweepError`; see `camcast.research.sweeps.sweep` for the arguments.
        """
        cells = self.cells(plan)
        found = sweep(
            self.compute, cells, results=results, workers=workers, on_progress=on_progress
        )
        keys = (json.dumps(cell, sort_keys=True) for cell in cells)
        return self.together(self.results(plan, dict(zip(keys, found, strict=True))))
