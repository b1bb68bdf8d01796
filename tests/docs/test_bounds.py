"""Every bound of the library and of its plugs stands in docs/bounds.md, with its value."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.docs.test_names import ROOT

PAGE: Final = ROOT / "docs/bounds.md"
BOUND: Final = re.compile(r"_?[A-Z][A-Z0-9_]*(_MAX|_A_PERIOD|_A_SECOND|_REMEMBERED|AT_ONCE)|SHARE")
LIVE_RESEARCH: Final = (
    *("hpmcast/protocol", "hpmcast/rounds", "hpmcast/audience", "hpmcast/budget"),
    *("hpmcast/membership", "hpmcast/view_tables", "hpmcast/view_messages", "hpmcast/hierarchy"),
    *("hpmcast/address", "percolation/links", "rfpbcast/protocol"),
)
"""Modules of systems that live processes run; the other modules of research hear nobody."""


def modules() -> list[Path]:
    """Return the modules that live processes run."""
    found = [
        path
        for folder in ("camcast", "membership", "overlays")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "research" not in path.parts
    ]
    systems = ROOT / "camcast/research/systems"
    return [*found, *(systems / f"{name}.py" for name in LIVE_RESEARCH)]


def bounds() -> dict[str, object]:
    """Return the bounds of these modules with their values."""
    found = dict[str, object]()
    for path in modules():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for line in ast.parse(path.read_text()).body:
            targets = (
                [line.target] if isinstance(line, ast.AnnAssign) else getattr(line, "targets", [])
            )
            for target in targets:
                if isinstance(target, ast.Name) and BOUND.fullmatch(target.id):
                    found[f"{name}.{target.id}"] = getattr(import_module(name), target.id)
    return found


def in_the_page() -> dict[str, list[str]]:
    """Return the cells that follow each bound in the tables of the page."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    ]
    assert len({row[0] for row in rows}) == len(rows), "a bound stands there twice"
    return {row[0].strip("`"): row[1:] for row in rows}


def test_every_bound_stands_in_the_page_with_its_value() -> None:
    found, listed = bounds(), in_the_page()
    assert len(found) > 150
    assert sorted(found) == sorted(listed)
    values = {name: row[0] for name, row in listed.items()}
    assert values == {name: f"{value:,}" for name, value in found.items()}


def test_a_bound_that_cuts_says_what_happens_and_who_is_told() -> None:
    """Rows have the bound, its value and why it cuts nothing, or what it cuts, what happens then
    and who is told."""
    for name, cells in in_the_page().items():
        assert len(cells) in (2, 4), name
        assert all(cells), name
