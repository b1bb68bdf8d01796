"""The output folder of a reproduction, which a stopped run is continued in.

* ``plan.json``: what was asked for; written first, and a folder takes no other;
* ``cells.jsonl``: the sweep, a line for each finished cell;
* ``table1.csv`` … ``figure18.csv``, the same as ``.json``, the figures as ``.svg``, ``.png`` and,
  for Vega-Lite, ``.vl.json``;
* ``index.html``: all of it.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from camcast.reproduction.camcast_paper import Plan, Reproduction, reproduce
from camcast.reproduction.figures import draw
from camcast.reproduction.page import html

PLAN_FILE: Final = "plan.json"
CELLS_FILE: Final = "cells.jsonl"

_POINT: Final = (
    *("community", "crashed", "measure", "mean", "low", "high", "model", "simulator", "runs"),
)
_ENTRY: Final = (
    *("approach", "how", "topology", "published", "mean", "low", "high", "deviation"),
    *("simulator", "runs"),
)


class FolderError(ValueError):
    """The folder holds something else; the message says what, and what to do."""


class ReproductionFolder:
    """A folder for one plan: new, empty, or with what a run of the same plan left behind.

    Raises `FolderError`, and `OSError` when it cannot be used.
    """

    def __init__(self, path: Path, paper: str, plan: Plan) -> None:
        self.path = path
        self._plan = plan
        self._paper = paper
        asked = {"paper": paper, **attrs.asdict(plan), "camcast": version("camcast")}
        path.mkdir(parents=True, exist_ok=True)
        file = path / PLAN_FILE
        if file.exists():
            try:
                kept = msgspec.json.decode(file.read_bytes())
            except msgspec.DecodeError:
                kept = None
            if kept != asked:
                raise FolderError(
                    f"{path} has a reproduction of {_in_words(kept)}, not of {_in_words(asked)};"
                    " give another --output, or the same parameters"
                )
        elif any(path.iterdir()):
            raise FolderError(
                f"{path} is not empty and has no {PLAN_FILE}; give --output a new folder"
            )
        else:
            file.write_bytes(_json(asked))

    @property
    def command(self) -> str:
        """The command that makes this folder's content."""
        plan = self._plan
        parts = ["camcast", "reproduce", self._paper, "--runs", str(plan.runs)]
        parts += ["--seed", str(plan.seed), "--engine", plan.engine, "--output", str(self.path)]
        return shlex.join(parts)

    def reproduce(
        self, workers: int | None, on_progress: Callable[[int, int], None] | None = None
    ) -> Reproduction:
        """Simulate what is not there yet, and write everything; raises `SweepError`."""
        cells = self.path / CELLS_FILE
        reproduction = reproduce(self._plan, cells, workers, on_progress)
        for table in reproduction.tables:
            rows = [{name: getattr(entry, name) for name in _ENTRY} for entry in table.entries]
            self._write_rows(table.name, {"title": table.title, "notes": table.notes}, rows)
        drawings = {}
        for figure in reproduction.figures:
            rows = [{name: getattr(point, name) for name in _POINT} for point in figure.points]
            self._write_rows(figure.name, {"title": figure.title, "notes": figure.notes}, rows)
            drawings[figure.name] = drawing = draw(figure)
            self._write(f"{figure.name}.vl.json", _json(drawing.spec))
            self._write(f"{figure.name}.svg", drawing.svg_file.encode())
            self._write(f"{figure.name}.png", drawing.png)
        self._write("index.html", html(reproduction, drawings, self.command).encode())
        return reproduction

    def as_json(self, reproduction: Reproduction) -> dict[str, Any]:
        """Return what was computed as JSON takes it, with what it was computed from."""
        return {"command": self.command, **attrs.asdict(reproduction)}

    def _write_rows(
        self, name: str, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        text = StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self._write(f"{name}.csv", text.getvalue().encode())
        self._write(f"{name}.json", _json({**about, "rows": rows}))

    def _write(self, name: str, content: bytes) -> None:
        (self.path / name).write_bytes(content)


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _in_words(asked: Any) -> str:
    if not isinstance(asked, dict):
        return "nobody knows what"
    return ", ".join(f"{name} {value}" for name, value in asked.items())
