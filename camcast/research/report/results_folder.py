"""How results lie in a folder: rows as CSV and JSON, figures as SVG, PNG and Vega-Lite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from camcast.ops.output_place import make_output_folder
from camcast.research.report.csv_text import csv_text
from camcast.research.report.drawing import Drawing, render
from camcast.vocabulary.lasting_file import write_lasting


class ResultsFolder:
    """A folder that results are written to, made if it is not there. Raises `OutputError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_output_folder(path)

    def write_rows(
        self, name: str, about: Mapping[str, Any] | None, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write rows as CSV, and as JSON with what there is to say about them; None: a list."""
        self.write(f"{name}.csv", csv_text(rows).encode())
        self.write(f"{name}.json", as_bytes(rows if about is None else {**about, "rows": rows}))

    def write_figure(
        self,
        name: str,
        about: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]],
        chart: dict[str, Any],
    ) -> Drawing:
        """Write the rows of a figure, and the pictures of its chart, as `render` takes it."""
        self.write_rows(name, about, rows)
        drawing = render(chart)
        self.write(f"{name}.vl.json", as_bytes(drawing.spec))
        self.write(f"{name}.svg", drawing.svg_file.encode())
        self.write(f"{name}.png", drawing.png)
        return drawing

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        write_lasting(self.path / name, content, 0o644)


def as_bytes(value: object) -> bytes:
    """Return a value as JSON to read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
