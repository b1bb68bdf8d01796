"""The mutation score: a mutant is found by the test that fails for it, or it survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.testing.mutation_score import ENDLESS
from tests.python_process import python

PLUG = """
def least(one, other):
    return one if one < other else other
"""
TESTS = """
from plug import least

class TestLeast:
    def test_the_least_comes_first(self):
        assert least(1, 2) == 1

    def test_the_least_comes_last(self):
        assert least(2, 1) == 1
"""
MISTAKES = """
import plug

def no_mistake_at_all():
    '''Nothing.'''

def never_ending():
    '''A loop.'''
    def least(one, other):
        while True:
            pass
    plug.least = least

def the_end_of_the_process():
    '''Exit.'''
    def least(one, other):
        raise SystemExit
    plug.least = least
"""

OF_ONE = """
def one_is_one():
    plug.least = lambda one, other: 2
"""
DEAR = """        from time import process_time
        end = process_time() + 0.3
        while process_time() < end:
            pass
        assert least(1"""


def score(folder: Path, *options: str) -> tuple[int, list[str]]:
    (folder / "plug.py").write_text(PLUG)
    (folder / "test_plug.py").write_text(TESTS)
    (folder / "mistakes.py").write_text(MISTAKES)
    command = "-m", "camcast.testing.mutation_score", "plug.py", "test_plug.py"
    done = python(*command, *options, cwd=folder)
    return done.returncode, done.stdout.splitlines()


def test_each_mutant_is_found_by_a_test_that_fails_for_it(tmp_path: Path) -> None:
    code, lines = score(tmp_path)
    found = dict(line.rsplit(": ", 1) for line in lines[:-1])
    assert code == 0
    assert found["3: always: one if one < other else other"] == "test_the_least_comes_last"
    assert found["3: never: one if one < other else other"] == "test_the_least_comes_first"
    assert found["3: nothing returned: return one if one < other else other"].startswith("test_")
    assert lines[-1] == f"found: {len(found)} of {len(found)}"


def test_mistakes_that_end_nothing_or_everything_are_found_and_no_mistake_survives(
    tmp_path: Path,
) -> None:
    assert score(tmp_path, "--mistakes", "mistakes.py")[1] == [
        "0: no mistake at all: SURVIVES",
        f"0: never ending: {ENDLESS}",
        "0: the end of the process: test_the_least_comes_first",
        "found: 2 of 3",
    ]


def test_cheap_tests_are_tried_before_dear_ones(tmp_path: Path) -> None:
    (tmp_path / "plug.py").write_text(PLUG)
    (tmp_path / "mistakes.py").write_text(MISTAKES.split("def never")[0] + OF_ONE)
    (tmp_path / "test_plug.py").write_text(TESTS.replace("        assert least(1", DEAR))
    command = "-m", "camcast.testing.mutation_score", "plug.py", "test_plug.py"
    done = python(*command, "--mistakes", "mistakes.py", cwd=tmp_path)
    assert "0: one is one: test_the_least_comes_last" in done.stdout.splitlines()


@pytest.mark.parametrize(("found", "first"), [(1, "last"), (9, "first")])
def test_what_a_test_has_found_for_its_cpu_says_when_it_is_tried(
    found: int, first: str, tmp_path: Path
) -> None:
    """The dear test has found so many mistakes, and the next one either test would find."""
    finds = "".join(
        f"\ndef the_other_{number}():\n    plug.least = lambda one, other: other\n"
        for number in range(found)
    )
    (tmp_path / "plug.py").write_text(PLUG)
    (tmp_path / "mistakes.py").write_text("import plug\n" + finds + OF_ONE)
    (tmp_path / "test_plug.py").write_text(TESTS.replace("        assert least(1", DEAR))
    command = "-m", "camcast.testing.mutation_score", "plug.py", "test_plug.py"
    done = python(*command, "--mistakes", "mistakes.py", cwd=tmp_path)
    assert "0: the other 0: test_the_least_comes_first" in done.stdout.splitlines()
    assert f"0: one is one: test_the_least_comes_{first}" in done.stdout.splitlines()


def test_a_plug_that_fails_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plug.py").write_text(PLUG.replace("<", ">"))
    (tmp_path / "test_plug.py").write_text(TESTS)
    command = "-m", "camcast.testing.mutation_score", "plug.py", "test_plug.py"
    done = python(*command, cwd=tmp_path)
    assert done.returncode == 1
    assert "plug.py is not fit to be mutated: it fails in test_the_least_comes" in done.stderr
