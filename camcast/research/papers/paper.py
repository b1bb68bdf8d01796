"""A paper, or a part of one, that can be computed again: its plan, its runs, and what they show.

A paper is written down in *parts*, a function for each figure or statement, which asks for the runs
that it needs and yields the figure and the evidence. There is no list of the runs: the parts are
put together from examples first, and the runs they ask for are then carried out, as one sweep of
*cells*, whose results are kept line by line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

import attrs
from attrs import field, frozen

from camcast.research.papers.figure import Figure
from camcast.research.report.evidence import Evidence, drawing
from camcast.research.sweeps import JSON, Cell, finished, sweep
from camcast.research.sweeps.sweep import Task
from camcast.research.systems.registry import SYSTEMS, find_system

OnProgress = Callable[[int, int], None]
Given = Mapping[str, Any]
"""A cell whose values are known by their names."""


# -- plans ----------------------------------------------------------------------------------------


def protocols_of(paper: str) -> tuple[str, ...]:
    """Return the protocols with rows or figures in a paper, as `camcast reproduce` names it."""
    return tuple(name for name, system in SYSTEMS.items() if paper in system.papers)


def choose(paper: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the protocols of these names in the paper's order; None if they are all it has.

    Raises `UnknownPlugError` for a name that no protocol has, and `ValueError` for one that no
    table or figure of the paper is about.
    """
    about = protocols_of(paper)
    for name in names:
        others = sorted(find_system(name).papers)
        if name not in about:
            raise ValueError(
                f"no table or figure of {paper} is about {name}, but of {' and '.join(others)};"
                f" those of {paper} are about {', '.join(about)}"
            )
    chosen = tuple(name for name in about if name in names)
    return None if chosen == about else chosen


@frozen(kw_only=True)
class Plan:
    """All that determines a reproduction; a paper's own plan has its name, and more options.

    Raises `ValueError` for a value out of range, and as `choose`.
    """

    PAPER: ClassVar[str]
    RUNS: ClassVar[int]
    LEAST: ClassVar[Mapping[str, int]] = {"runs": 2}  # an interval needs two
    """The least value of fields that have one."""

    runs: int = field(default=attrs.Factory(lambda self: self.RUNS, takes_self=True))
    """How often each setting is simulated."""
    seed: int = 1
    protocols: tuple[str, ...] | None = None
    """Protocols whose figures, tables and evidence are computed; None: all."""

    def __attrs_post_init__(self) -> None:
        for name, least in self.LEAST.items():
            if (value := getattr(self, name)) < least:
                why = ", for an interval" if least > 1 else ""
                raise ValueError(f"{name} is {value}; give {least} or more{why}")
        if self.protocols is not None and not self.protocols:
            listed = ", ".join(protocols_of(self.PAPER))
            raise ValueError(f"no protocol is chosen; {self.PAPER} has {listed}")
        choose(self.PAPER, self.protocols or ())

    def about(self, *protocols: str) -> bool:
        """Return whether all of these are chosen."""
        chosen = protocols_of(self.PAPER) if self.protocols is None else self.protocols
        return set(protocols) <= set(chosen)


P = TypeVar("P", bound=Plan)


# -- runs and their results -----------------------------------------------------------------------


@frozen
class Kind:
    """A kind of runs, each of which is a cell of the sweep."""

    compute: Callable[[Given], JSON]
    """Carries out one run."""
    example: Callable[[Given], Any] = lambda _cell: None
    """Returns a result of the form that a cell's has; None of a run that may be left out."""
    turn: Callable[[Given], Any] = lambda _cell: 0
    """Returns the key that cells are sorted by: runs that take long come first."""
    alone: bool = False
    """Whether a run takes all cores, so that no other is carried out beside it."""


Kinds = Mapping[str, Kind]
ONE: Final = {"mean": 1.0, "low": 1.0, "high": 1.0}
"""An interval, for examples."""


def carry_out(kinds: Kinds, cell: Given) -> JSON:
    """Carry out one run."""
    return kinds[cell["kind"]].compute(cell)


class Results(Generic[P]):
    """The results of a plan's runs; without any, examples, and `asked` has the cells."""

    def __init__(self, plan: P, kinds: Kinds, found: Mapping[str, JSON] | None = None) -> None:
        self.plan = plan
        self.asked: dict[str, Cell] = {}
        self._kinds = kinds
        self._found = found

    def of(self, kind: str, *, runs: int | None = None, **given: Any) -> Any:
        """Return the result of a cell of the plan's seed, and of its runs unless they are given."""
        plan = self.plan
        return self.of_cell({"kind": kind, **given, "runs": runs or plan.runs, "seed": plan.seed})

    def of_cell(self, cell: Given) -> Any:
        """Return the result of a cell; raises `KeyError` for one that was not asked for before.

        It is None for a run that was not carried out, where a paper has a partial page.
        """
        key = key_of(cell)
        self.asked[key] = cell
        return self._kinds[cell["kind"]].example(cell) if self._found is None else self._found[key]


def key_of(cell: Given) -> str:
    """Return what a cell's result is found by."""
    return json.dumps(cell, sort_keys=True)


# -- what is made of them -------------------------------------------------------------------------


@frozen
class Sheet:
    """Rows without a picture, as they lie in the folder."""

    name: str
    """The stem of its files."""
    about: Mapping[str, Any]
    """Title and notes of the rows, by name."""
    rows: Sequence[Mapping[str, Any]]
    """At least one; all have the same columns."""


@frozen(kw_only=True)
class Reproduction(Generic[P]):
    """The results of a plan, put together: figures, and evidence for each statement."""

    plan: P
    figures: tuple[Figure, ...]
    evidence: tuple[Evidence, ...]
    """Statements of the paper, each beside our result."""

    @property
    def sheets(self) -> Sequence[Sheet]:
        """Tables, which have no picture."""
        return ()


Shown = Iterator[Figure | Evidence]
"""Figures of a paper, or beyond it, and evidence beside them."""
Part = Callable[[Results[Any]], Shown]
"""Asks for runs, and shows what came of them."""
Parts = Sequence[tuple[tuple[str, ...], Sequence[Part]]]
"""Parts, and the protocols that they are about, all of which must be chosen."""


def drawings(paper: str, listed: Mapping[str, tuple[str, str]]) -> Part:
    """Return the part with a paper's drawings: by item, what it shows, and what we have of it."""
    return lambda _results: (drawing(paper, item, *said) for item, said in listed.items())


def collect(results: Results[Any], parts: Parts) -> tuple[tuple[Figure, ...], tuple[Evidence, ...]]:
    """Return figures and evidence of all parts that are chosen, in their order.

    The paper's figures are put in the order of their numbers, before those beyond it.
    """
    chosen = (part for about, some in parts if results.plan.about(*about) for part in some)
    shown = [one for part in chosen for one in part(results)]
    figures = [one for one in shown if isinstance(one, Figure)]
    figures.sort(key=lambda figure: inf if figure.number is None else figure.number)
    return tuple(figures), tuple(one for one in shown if isinstance(one, Evidence))


def reproduction_of(parts: Parts, results: Results[P]) -> Reproduction[P]:
    """Return what all parts show."""
    figures, evidence = collect(results, parts)
    return Reproduction(plan=results.plan, figures=figures, evidence=evidence)


R = TypeVar("R", bound=Reproduction[Any])


@frozen(kw_only=True)
class Paper(Generic[P, R]):
    """A paper that can be computed again: its plan and runs, and the words of its page."""

    plan: type[P]
    compute: Task
    """Carries out one run; a function at the top of its module, for the workers."""
    kinds: Kinds
    together: Callable[[Results[P]], R]
    """Makes everything of the results."""
    partial: bool = False
    """Whether a plan that was stopped has a page, of the runs that are done."""

    title: str
    introduction: Callable[[R], str]
    """Returns the first paragraph, as HTML."""
    tables: Callable[[R], Mapping[str, str]] = lambda _found: {}
    """Returns tables as HTML by their headings; they stand before the figures."""
    sections: Callable[[R], Mapping[str, Sequence[Figure]]] = lambda found: {
        "Figures": found.figures
    }
    """Returns the figures by the headings that they stand under."""
    made: Callable[[P], str]
    """Returns the options of a plan in a sentence."""
    conventions: Mapping[str, str | None]
    """In words, each with the protocol that it is about; None: all."""
    packages: Sequence[str] = ("numpy", "numba")
    """Those that computed, besides camcast."""

    @property
    def name(self) -> str:
        """The name that `camcast reproduce` takes."""
        return self.plan.PAPER

    def results(self, plan: P, found: Mapping[str, JSON] | None = None) -> Results[P]:
        """Return results by `key_of` their cells; None: examples."""
        return Results(plan, self.kinds, found)

    def cells(self, plan: P) -> list[Cell]:
        """Return what is to be carried out: every cell that is asked for, once, in its turn.

        Runs that take all cores are first.
        """
        recorder = self.results(plan)
        self.together(recorder)

        def turn(cell: Given) -> tuple[bool, Any]:
            kind = self.kinds[cell["kind"]]
            return not kind.alone, kind.turn(cell)

        return sorted(recorder.asked.values(), key=turn)

    def reproduce(
        self,
        plan: P,
        results: Path | None = None,
        workers: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> R:
        """Carry out all runs, or those that the file `results` does not have yet.

        Raises `SweepError`; see `camcast.research.sweeps.sweep` for the arguments.
        """
        cells = self.cells(plan)
        found: list[JSON] = []

        def show(done: int, _total: int) -> None:
            if on_progress is not None:
                on_progress(len(found) + done, len(cells))

        for alone, of_them in groupby(cells, lambda cell: self.kinds[str(cell["kind"])].alone):
            at_once = 1 if alone else workers
            found += sweep(
                self.compute, list(of_them), results=results, workers=at_once, on_progress=show
            )
        return self.together(self.results(plan, dict(zip(map(key_of, cells), found, strict=True))))

    def partial_of(self, plan: P, results: Path) -> R:
        """Make what can be made of the runs that a file has; raises `SweepError`."""
        cells = self.cells(plan)
        found: dict[str, JSON] = dict.fromkeys(map(key_of, cells))
        for cell, result in finished(self.compute, cells, results):
            found[key_of(cell)] = result
        return self.together(self.results(plan, found))
