"""The output folder of any reproduction, which a stopped one is continued in.

* ``plan.json``: what was asked for; written first, and a folder takes no other;
* ``cells.jsonl``: the sweep, a line for each finished cell;
* tables and figures as ``.csv`` and ``.json``, the figures as ``.svg``, ``.png`` and, for
  Vega-Lite, ``.vl.json``;
* ``index.html``: all of it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from camcast.reproduction.drawing import Drawing

PLAN_FILE: Final = "plan.json"
CELLS_FILE: Final = "cells.jsonl"


class FolderError(ValueError):
    """The folder holds something else; the message says what, and what to do."""


class PlanFolder:
    """A folder for one plan: new, empty, or with what a run of the same plan left behind.

    Raises `FolderError`, and `OSError` when it cannot be used.
    """

    def __init__(self, path: Path, paper: str, plan: attrs.AttrsInstance) -> None:
        self.path = path
        self.paper = paper
        given = {"paper": paper, **attrs.asdict(plan), "camcast": version("camcast")}
        asked = msgspec.json.decode(msgspec.json.encode(given))
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
            file.write_bytes(as_bytes(asked))

    @property
    def cells(self) -> Path:
        """The results file of the sweep."""
        return self.path / CELLS_FILE

    def write_rows(
        self, name: str, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write rows as CSV, and as JSON with what there is to say about them."""
        text = StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self.write(f"{name}.csv", text.getvalue().encode())
        self.write(f"{name}.json", as_bytes({**about, "rows": rows}))

    def write_drawing(self, name: str, drawing: Drawing) -> None:
        """Write a figure's pictures."""
        self.write(f"{name}.vl.json", as_bytes(drawing.spec))
        self.write(f"{name}.svg", drawing.svg_file.encode())
        self.write(f"{name}.png", drawing.png)

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        (self.path / name).write_bytes(content)


def as_bytes(value: object) -> bytes:
    """Return a value as JSON to read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _in_words(asked: Any) -> str:
    if not isinstance(asked, dict):
        return "nobody knows what"
    return ", ".join(f"{name} {value}" for name, value in asked.items())
