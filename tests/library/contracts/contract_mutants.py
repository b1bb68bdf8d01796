"""The mutants of the examples that keep their contracts, each with the reason.

`EQUIVALENT` ones behave as the plug does, so that no test can find them; `MISSED` ones do not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from camcast.testing.mutation_score import COUNT
from tests.library.example_packages import EXAMPLES, install
from tests.python_process import output_of

TABLE: Final = EXAMPLES.parent / "docs/plugs/testing.md"
FOUND_MIN: Final = 0.85
SECONDS: Final = 3600.0  # of a machine that other tests keep busy

EQUIVALENT: Final[Mapping[str, Mapping[str, str]]] = {
    "newscast": {
        "97: now - self._born[c.peer] before AGE_MAX: min(AGE_MAX, now - self._born[c.peer])": (
            "the least of two comes in any order"
        ),
        "121: options.view before size - 1: min(size - 1, options.view)": (
            "the least of two comes in any order"
        ),
    },
    "shared_directory": {
        "49: len(found) before 1.0: max(1.0, len(found))": "the greatest of two, in any order",
        "70: left out: continue": "nothing follows in the loop",
    },
    "push_pull": {},
}
MISSED: Final[Mapping[str, Mapping[str, str]]] = {
    "newscast": {
        "67: 51 for 5: 5": "more heartbeats: no contract says how many are too many",
        "89: 1.0 for 0.0: 0.0": "a peer is taken for older by one period: within the scatter",
        "89: no bound: :VIEW_MAX": "the view is cut anyway; a long message costs time",
        "109: the first only: for contact in"
        " [c for c in self._table if fresh.get(c.peer) not in kept]:": (
            "peers that are not among the freshest stay for some periods"
        ),
        "109: for all: for c in self._table if fresh.get(c.peer) not in kept": (
            "peers that stay leave the table and come back at once"
        ),
    },
    "shared_directory": {
        "19: 100001 for 10000: 10000": "a bound of another size is a bound",
        "64: no bound: :FILES_MAX": "no contract writes ten thousand entries",
        "64: list for sorted: sorted(folder.iterdir())": (
            "this file system lists two equal folders in one order"
        ),
        "69: FileNotFoundError passes: except (FileNotFoundError, ValueError):": (
            "on virtual time nobody removes a file while another process reads it"
        ),
    },
    "push_pull": {
        "62: False for True: True": "pulls alone reach everybody, too, only later",
        "67: no bound: :IDS_MAX": "a long message costs time",
        "69: never: if message.answer:": "pulls alone reach everybody, too, only later",
        "70: left out: self._context.outlet.send([source], self._digest(now, answer=False))": (
            "pulls alone reach everybody, too, only later"
        ),
    },
}


def assert_found(package: str, site: Path) -> None:
    """Assert that an example's contract finds `FOUND_MIN` of what can be found, all but `MISSED`.

    The page of docs has the same numbers.
    """
    made = judged(package, site)
    survivors = {mutant for mutant, found_by in made.items() if found_by == "SURVIVES"}
    assert survivors <= EQUIVALENT[package].keys() | MISSED[package].keys()
    assert row(package, len(made)) in TABLE.read_text()
    missed = len(MISSED[package])
    assert 1 - missed / (COUNT - len(EQUIVALENT[package])) >= FOUND_MIN


def row(package: str, drawn: int) -> str:
    """Return the row of an example in the table of docs/plugs/testing.md."""
    equivalent, missed = len(EQUIVALENT[package]), len(MISSED[package])
    found = drawn - equivalent - missed
    share = found / (found + missed)
    return f"| {package} | {drawn} | {equivalent} | {found} | {missed} | {share:.0%} |"


def judged(package: str, site: Path, *options: str) -> dict[str, str]:
    """Return the mutants of an example, each with the test of its contract that finds it."""
    install(site, package)
    folder = EXAMPLES / package
    printed = output_of(
        *("-m", "camcast.testing.mutation_score"),
        *(folder / f"{package}.py", folder / f"tests/test_{package}.py", *options),
        seconds=SECONDS,
        PYTHONPATH=os.pathsep.join([str(site), *filter(None, sys.path)]),
    )
    *lines, _ = printed.splitlines()
    made = dict[str, str]()
    for line in lines:
        mutant, found_by = line.rsplit(": ", 1)
        made[f"{mutant}, again" if mutant in made else mutant] = found_by  # of two on one line
    return made
