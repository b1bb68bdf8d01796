"""What the folder of every finished reproduction has, whatever the paper."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args
from xml.etree import ElementTree

import pytest
import vl_convert

from camcast.research.papers.paper import Paper
from camcast.research.papers.plan_folder import PlanFolder
from camcast.research.report.evidence import VERDICTS, Whose
from tests.python_process import python
from tests.research.unit.papers.page import Page, specs_in

TIMEOUT_SECONDS = 900.0  # until what must come counts as never
FIGURE_ENDS = (".csv", ".json", ".svg", ".png", ".vl.json")
EVIDENCE = [
    *("paper", "item", "quote", "published", "ours", "low", "high", "z", "verdict", "found"),
    *("whose", "shown", "command"),
]
POINT = [*("series", "x", "mean", "low", "high", "model", "formula", "runs", "panel", "sample")]
_SVG = "{http://www.w3.org/2000/svg}"


def reproduce(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run `camcast reproduce` as a user does."""
    command = ("-W", "error", "-m", "camcast", "reproduce")
    done = python(*command, *arguments, seconds=TIMEOUT_SECONDS)
    assert not check or done.returncode == 0, done.stderr
    return done


def fits_a_terminal(printed: str) -> bool:
    """Say whether no line is wider than 80 columns, but for a path."""
    lines = [line for line in printed.splitlines() if not line.startswith("output: ")]
    return bool(lines) and max(map(len, lines)) <= 80


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every picture be an empty one: what is drawn, its specification, stays."""
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *_given, **_named: "<svg></svg>")
    monkeypatch.setattr(vl_convert, "svg_to_png", lambda *_given, **_named: b"")


class FolderContract:
    """The tests; a subclass says of which paper and plan its fixture `folder` is."""

    PAPER: ClassVar[Paper[Any, Any]]
    PLAN: ClassVar[Any]
    FIGURES: ClassVar[Sequence[str]]
    """In the order of the page."""
    TABLES: ClassVar[Sequence[str]] = ()
    TORN: ClassVar[bytes] = b""
    """What is in those lines of cells that are torn off: the cheap ones, where cells differ."""

    def test_it_has_every_table_and_figure(self, folder: Path) -> None:
        expected = {"plan.json", "cells.jsonl", "index.html"}
        tables = (*self.TABLES, "evidence")
        expected |= {f"{name}{end}" for name in tables for end in (".csv", ".json")}
        expected |= {f"{name}{end}" for name in self.FIGURES for end in FIGURE_ENDS}
        assert {path.name for path in folder.iterdir()} == expected

    def test_json_has_what_csv_has(self, folder: Path) -> None:
        for name in (*self.TABLES, *self.FIGURES):
            as_json = json.loads((folder / f"{name}.json").read_text())
            assert as_json["title"]
            assert as_json.get("notes", name in self.TABLES)
            plain = [
                {key: "" if value is None else str(value) for key, value in row.items()}
                for row in as_json["rows"]
            ]
            assert plain == rows(folder / f"{name}.csv"), name

    def test_a_figure_s_rows_are_points(self, folder: Path) -> None:
        for name in self.FIGURES:
            found = rows(folder / f"{name}.csv")
            assert list(found[0]) == POINT
            for row in found:
                assert any(row[of] for of in ("mean", "model", "formula")) or row["runs"]
                if row["low"]:
                    assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])

    def test_the_evidence_has_its_columns_and_a_command_a_row(self, folder: Path) -> None:
        listed = json.loads((folder / "evidence.json").read_text())
        assert len(listed) == len(rows(folder / "evidence.csv")) > 0
        for row in listed:
            assert list(row) == EVIDENCE
            assert row["verdict"] in VERDICTS
            assert row["quote"]
            assert row["found"]
            assert row["command"].startswith(f"camcast reproduce {self.PAPER.name} ")
            if row["verdict"] in ("agrees", "differs") and row["published"] is not None:
                assert row["ours"] is not None
            if row["verdict"] == "differs":
                assert row["whose"] in get_args(Whose)
                assert row["shown"]
        assert len({(row["paper"], row["item"]) for row in listed}) == len(listed)

    def test_pictures_are_pictures(self, folder: Path) -> None:
        for name in self.FIGURES:
            svg = ElementTree.parse(folder / f"{name}.svg").getroot()
            assert svg.tag == f"{_SVG}svg"
            assert len(list(svg.iter(f"{_SVG}path"))) > 10, name
            assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
            assert "vega-lite" in json.loads((folder / f"{name}.vl.json").read_text())["$schema"]

    def test_the_page_needs_no_network_and_shows_every_figure(self, folder: Path) -> None:
        text = (folder / "index.html").read_text()
        page = Page(text)
        assert page.loads == []
        assert page.tags.count("script") == 2  # the data, and the libraries with what uses them
        assert text.count("window.vegaEmbed=") == 1
        style = text[text.index("<style>") : text.index("</style>")]
        assert "url(" not in style
        assert "@import" not in style
        assert "prefers-color-scheme: dark" in style
        assert 'name="viewport"' in text
        assert [name for name in page.ids if name in self.FIGURES] == [*self.FIGURES]
        assert page.tags.count("svg") == len(self.FIGURES)  # there without JavaScript
        assert sorted(specs_in(text)) == sorted(self.FIGURES)
        assert PlanFolder(folder, self.PAPER, self.PLAN).command in text

    def test_a_torn_run_continues_and_comes_to_the_same(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after a kill -9: the plan, and the cells but for a half."""
        draw_nothing(monkeypatch)
        shutil.copy(folder / "plan.json", tmp_path)
        lines = (folder / "cells.jsonl").read_bytes().splitlines(keepends=True)
        lines.sort(key=lambda line: self.TORN in line)  # one of them is torn
        (tmp_path / "cells.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
        done = list[int]()
        again = PlanFolder(tmp_path, self.PAPER, self.PLAN)
        again.reproduce(1, lambda now, _total: done.append(now))
        assert done[-2:] == [len(lines) - 1, len(lines)]  # the first: as found
        continued = (tmp_path / "cells.jsonl").read_bytes().splitlines(keepends=True)
        assert sorted(continued) == sorted(lines)
        for path in folder.iterdir():
            if path.suffix in (".csv", ".json"):
                assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
