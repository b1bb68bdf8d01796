"""Whatever a command prints as a measure is in the one table, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import attrs
import pytest

from camcast.research.cli.run_outcome import COLUMNS as SUMMARY
from camcast.research.papers.memberships_measured import COLUMNS, UPKEEP
from camcast.research.papers.protocol_comparison import Cost
from camcast.research.report.measures import MEASURES, measure_of
from camcast.research.runs.summary import CommunitySummary, Summary
from camcast.research.simulation.run_record import VirtualOutcome
from tests.camcast_command import Capture, answer

SOURCES = Path(__file__).parents[4] / "camcast"
SIZES = ("--sizes", "20,5")
SETTINGS = (
    *("setting", "parameters", "target", "size", "runs", "nodes", "simulator", "protocol"),
    *("holds", "not_counted"),
)
"""What JSON says beside the measures: what was simulated, and how often."""
NAMES = (
    *("topic", "communities", "summary", "digest", "virtual_seconds", "effort", "reached"),
    *("world", "name", "trace_failures", "repair"),
)
"""Fields that are no measures: names, times, a failure, whether a target was reached, repair."""


def measures_in(value: Any) -> Iterator[str]:
    """Yield the keys of numbers and of intervals in what a command printed."""
    if isinstance(value, list):
        for each in value:
            yield from measures_in(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in SETTINGS:
                continue
            if inner is None or isinstance(inner, int | float) or "low" in inner:
                yield key
            else:
                yield from measures_in(inner)


@pytest.mark.parametrize(
    "command",
    [
        ["model", *SIZES],
        ["model", *SIZES, "--protocol", "hierarchical"],
        ["model", *SIZES, "--protocol", "pmcast"],
        ["model", *SIZES, "--protocol", "hpmcast"],
        ["model", *SIZES, "--protocol", "percolation"],
        ["simulate", "chain", *SIZES, "--runs", "3"],
        [
            *("simulate", "population", *SIZES, "--runs", "3", "--workers", "1"),
            *("--protocol", "percolation"),
        ],
        ["simulate", "hpmcast", "--arity", "3", "--depth", "2", "--redundancy", "1", "--runs", "3"],
        [
            *("simulate", "percolation", "--degrees", "poisson:4,50", "--sigma", "0.2"),
            *("--gamma", "0.1", "--networks", "2", "--events", "3"),
        ],
        ["plan", *SIZES, "--reliability", "0.9", "--check", "--runs", "100", "--workers", "1"],
    ],
    ids=" ".join,
)
def test_every_measure_that_a_command_prints_is_known(capfd: Capture, command: list[str]) -> None:
    pytest.importorskip("numpy", reason="the extra sim is not installed")
    found = set(measures_in(answer(capfd, *command)))
    assert found
    assert found <= set(MEASURES)


@pytest.mark.parametrize("kind", [CommunitySummary, Summary, VirtualOutcome, Cost])
def test_every_measure_of_a_run_is_known(kind: type) -> None:
    fields = {field.name for field in attrs.fields(kind)}
    assert fields - set(NAMES) - set(SETTINGS) <= set(MEASURES)


def test_every_measure_is_used() -> None:
    sources = [path for path in SOURCES.rglob("*.py") if path != SOURCES / "measures.py"]
    words = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in sources)))
    assert set(MEASURES) <= words
    assert {*SUMMARY, *COLUMNS, *UPKEEP} <= set(MEASURES)


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("reception", (0.98765,), "98.765%"),
        ("reception", (1.0, 0.9287, 1.0), "100% [92.870%, 100%]"),
        ("hops_mean", (2.333,), "2.33"),
        ("parasites", (50307,), "50,307"),
        ("messages", (12.345, 11.0, 123.4), "12.35 [11, 123]"),
        ("predicted", (None,), "-"),
    ],
)
def test_how_values_are_written(name: str, values: tuple[float, ...], text: str) -> None:
    assert measure_of(name).text(*values) == text


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(KeyError):
        measure_of("nonsuch")


def test_the_page_of_all_measures_is_that_of_the_tables() -> None:
    """If not: ``python docs/measures_page.py``."""
    found = run_path(str(SOURCES.parent / "docs/measures_page.py"))
    assert found["PAGE"].read_text() == found["page"]()
