"""The output folder of any reproduction, which a stopped one is continued in.

* ``plan.json``: what was asked for; written first, and a folder takes no other;
* ``cells.jsonl``: the sweep, a line for each finished cell;
* tables and figures as ``.csv`` and ``.json``, figures as ``.svg``, ``.png`` and, for Vega-Lite,
  ``.vl.json``, too;
* ``evidence.csv`` and ``.json``: a row for all that the paper says, with ours and a verdict;
* ``index.html``: all of it.

The chosen protocols are not part of the plan that a folder is for: a run with other protocols finds
the cells that are there, and adds its own. Figures of an earlier choice stay.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Generic

import attrs
import msgspec

from camcast import __version__
from camcast.research.papers.figure import chart_of
from camcast.research.papers.paper import OnProgress, P, Paper, R
from camcast.research.papers.paper_page import html
from camcast.research.report.results_folder import ResultsFolder, as_bytes
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import UNDECODABLE

_log = Logger(__name__)

PLAN_FILE: Final = "plan.json"
CELLS_FILE: Final = "cells.jsonl"
EVIDENCE: Final = "evidence"
"""The name of its files, without what follows the dot."""

_OPTIONS: Final = ("runs", "events", "seed", "engine", "preset")
"""The fields of plans that `camcast reproduce` has options for."""


class FolderError(CamcastError, ValueError):
    """The folder holds something else; the message says what, and what to do."""


class PlanFolder(ResultsFolder, Generic[P, R]):
    """A folder for one plan: new, empty, or with what a run of the same plan left behind.

    Raises `FolderError`, and `OutputError` when it cannot be used.
    """

    def __init__(self, path: Path, paper: Paper[P, R], plan: P) -> None:
        super().__init__(path)
        self.paper = paper
        self.plan = plan
        kept_apart = attrs.asdict(plan, filter=lambda field, _: field.name != "protocols")
        given = {"paper": paper.name, **kept_apart, "camcast": __version__}
        asked = msgspec.json.decode(msgspec.json.encode(given))
        file = path / PLAN_FILE
        if file.exists():
            try:
                kept = msgspec.json.decode(file.read_bytes())
            except UNDECODABLE:
                kept = None
            if kept is None and not self._has_others():
                # An earlier release wrote it in place, and was killed.
                _log.warning("%s is cut short, and is written again", file)
                self.write(PLAN_FILE, as_bytes(asked))
            elif kept != asked:
                raise FolderError(
                    f"{path} has a reproduction of {_in_words(kept)}, not of {_in_words(asked)};"
                    " give another --output, or the same parameters"
                )
        elif any(path.iterdir()):
            raise FolderError(
                f"{path} is not empty and has no {PLAN_FILE}; give --output a new folder"
            )
        else:
            self.write(PLAN_FILE, as_bytes(asked))

    def _has_others(self) -> bool:
        """Say whether anything is there but the plan and the cells, which name their own task."""
        return any(path.name not in (PLAN_FILE, CELLS_FILE) for path in self.path.iterdir())

    @property
    def cells(self) -> Path:
        """The results file of the sweep."""
        return self.path / CELLS_FILE

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        chosen = self.plan.protocols or ()
        return shlex.join([*self._command(chosen), "--output", str(self.path)])

    def _command(self, protocols: Sequence[str] = ()) -> list[str]:
        parts = ["camcast", "reproduce", self.paper.name]
        if protocols:
            parts += ["--protocol", ",".join(protocols)]
        given = attrs.asdict(self.plan)
        for name in _OPTIONS:
            if given.get(name) is not None:
                parts += [f"--{name}", str(given[name])]
        for name in given.get("memberships", ()):
            parts += ["--membership", name]
        return parts

    def reproduce(self, workers: int | None, on_progress: OnProgress | None = None) -> R:
        """Compute what is not there yet, and write everything; raises `SweepError`.

        An interrupt or an error passes; before, what is done is written if the paper has a partial
        page.
        """
        try:
            found = self.paper.reproduce(self.plan, self.cells, workers, on_progress)
        except BaseException:
            if self.paper.partial and self.cells.exists():
                self._write(self.paper.partial_of(self.plan, self.cells))
            raise
        self._write(found)
        return found

    def _write(self, found: R) -> None:
        for sheet in found.sheets:
            self.write_rows(sheet.name, sheet.about, sheet.rows)
        drawings = {}
        for figure in found.figures:
            points = [attrs.asdict(point) for point in figure.points]
            drawings[figure.name] = self.write_figure(
                figure.name, figure.about, points, chart_of(figure)
            )
        if rows := self.evidence(found):
            self.write_rows(EVIDENCE, None, rows)
        page = html(self.paper, found, drawings, self.command)
        self.write("index.html", page.encode())

    def evidence(self, found: R) -> list[dict[str, Any]]:
        """Return the rows of the evidence, each with the command that it is computed by."""
        command = shlex.join(self._command())
        return [attrs.asdict(row) | {"command": command} for row in found.evidence]

    def as_json(self, found: R) -> dict[str, Any]:
        """Return what was computed as JSON takes it, with what it was computed from."""
        return {"command": self.command, **attrs.asdict(found)}


def _in_words(asked: Any) -> str:
    if not isinstance(asked, dict):
        return "nobody knows what"
    return ", ".join(f"{name} {value}" for name, value in asked.items())
