"""The comparison of two commits takes medians of rounds, and ratios of visits in a row."""

from __future__ import annotations

from pathlib import Path

from against import Subject, comparison, fleet_figures
from rich.console import Console

PAIR = (Subject("base", Path(), "zmtp"), Subject("zmtp", Path(), "zmtp"))


def test_a_visit_is_the_median_of_its_rounds_and_all_that_they_missed() -> None:
    rounds = [
        {"rate": 3.0, "missed": 1.0},
        {"rate": 1.0, "missed": 0.0},
        {"rate": 2.0, "missed": 4},
    ]
    assert fleet_figures({"fast": rounds}) == {("fast", "rate"): 2.0, ("fast", "missed"): 5.0}


def test_ratios_are_of_visits_in_a_row_and_not_of_medians() -> None:
    key = ("fast", "rate")
    measured = (
        [{key: value} for value in (100.0, 200.0, 400.0)],
        [{key: value} for value in (500.0, 400.0, 1200.0)],
    )
    console = Console(width=120, record=True)
    console.print(comparison("a title", [PAIR], [measured]))
    text = console.export_text()
    assert "200 (100-400)" in text
    assert "500 (400-1,200)" in text
    assert "3 (2-5)" in text


def test_what_is_none_with_the_base_has_no_ratio() -> None:
    key = ("fast", "missed")
    console = Console(width=120, record=True)
    console.print(comparison("a title", [PAIR], [([{key: 0}], [{key: 7}])]))
    assert [cell.strip() for cell in console.export_text().splitlines()[-2].split("│")] == [
        "", "fast", "missed", "0", "7", "", ""
    ]  # fmt: skip
