"""The contracts find the mistakes of plugs: mutants of the examples, drawn by a seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.contracts.contract_mutants import (
    EQUIVALENT,
    MISSED,
    TABLE,
    assert_found,
    judged,
    row,
)
from tests.library.example_packages import EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("package", ["newscast", "shared_directory"])
def test_mutants_of_an_example_do_not_keep_its_contract(package: str, tmp_path: Path) -> None:
    assert_found(package, tmp_path)


@pytest.mark.slow
def test_a_membership_with_a_mistake_that_somebody_made_does_not_keep_the_contract(
    tmp_path: Path,
) -> None:
    mistakes = EXAMPLES / "newscast/tests/mistakes.py"
    made = judged("newscast", tmp_path, "--mistakes", str(mistakes))
    assert len(made) == 24
    assert "SURVIVES" not in made.values()


def test_a_handful_of_mutants_does_not_keep_the_contract(tmp_path: Path) -> None:
    made = judged("shared_directory", tmp_path, "--count", "4", "--seed", "2")
    assert len(made) == 4
    assert "SURVIVES" not in made.values()


def test_the_page_says_how_many_are_drawn_and_found() -> None:
    assert all(row(package, 40) in TABLE.read_text() for package in EQUIVALENT)
    assert EQUIVALENT.keys() == MISSED.keys()
