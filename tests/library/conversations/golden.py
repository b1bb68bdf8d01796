"""Golden texts: what a scenario says is compared with the file beside it that has its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import unified_diff
from pathlib import Path
from typing import Any

REWRITE = "CAMCAST_REWRITE_CONVERSATIONS"
LINES_MAX = 60
COLUMNS_MAX = 120

Scenario = Callable[[Any], None]
"""Tells a story, which then has its `text`; the docstring says what happens."""


def assert_says_what_is_written(folder: Path, scenario: Scenario, story: Any) -> None:
    scenario(story)
    about = "\n".join(line.strip() for line in (scenario.__doc__ or "").strip().splitlines())
    text = "\n".join([about, *story.text, ""])
    path = folder / f"{scenario.__name__}.txt"
    if os.environ.get(REWRITE):
        path.write_text(text, "utf-8")
    golden = path.read_text("utf-8")
    diff = unified_diff(golden.splitlines(), text.splitlines(), str(path), "now", lineterm="")
    assert text == golden, f"the conversation changed; {REWRITE}=1 rewrites it:\n" + "\n".join(diff)


def assert_short_enough_to_read(folder: Path, scenarios: Iterable[Scenario]) -> None:
    """And that every text belongs to a scenario."""
    files = sorted(folder.glob("*.txt"))
    assert [path.stem for path in files] == sorted(scenario.__name__ for scenario in scenarios)
    for path in files:
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= LINES_MAX, path
        assert max(map(len, lines)) <= COLUMNS_MAX, path
