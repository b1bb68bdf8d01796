"""The output folder of any reproduction, which a stopped one is continued in.

* ``plan.json``: what was asked for; written first, and a folder takes no other;
* ``cells.jsonl``: the sweep, a line for each finished cell;
* tables and figures as ``.csv`` and ``.json``, the figures as ``.svg``, ``.png`` and, for
  Vega-Lite, ``.vl.json``;
* ``index.html``: all of it.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from camcast.reproduction.results_folder import ResultsFolder, as_bytes

PLAN_FILE: Final = "plan.json"
CELLS_FILE: Final = "cells.jsonl"


class FolderError(ValueError):
    """The folder holds something else; the message says what, and what to do."""


class PlanFolder(ResultsFolder):
    """A folder for one plan: new, empty, or with what a run of the same plan left behind.

    Raises `FolderError`, and `OSError` when it cannot be used.
    """

    def __init__(self, path: Path, paper: str, plan: attrs.AttrsInstance) -> None:
        super().__init__(path)
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


def _in_words(asked: Any) -> str:
    if not isinstance(asked, dict):
        return "nobody knows what"
    return ", ".join(f"{name} {value}" for name, value in asked.items())
