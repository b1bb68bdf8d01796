"""A third party's membership, from a package of its own that is installed: examples/full_view."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.python_process import output_of

ROOT = Path(__file__).parents[3]
MEMBERS = 8  # of whom infect and die reaches all: a fan-out of ln 8 + 5 is everybody known
SCENARIO = f"""
membership = "full-view"
duration_seconds = 20
[communities]
".a" = {MEMBERS}
[workload]
topic = ".a"
events = 10
[[crashes]]
at_seconds = 3
share = 0.25
restart_seconds = 2
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a copy of the package into a folder, without an index."""
    source, site = tmp_path_factory.mktemp("full_view"), tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "examples/full_view", source, dirs_exist_ok=True)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(["-m", "pip", "install", *options, "--target", site, source], cwd=source)
    return site


def run(command: Sequence[object], cwd: Path, site: Path | None = None) -> str:
    path = [str(part) for part in (ROOT, site) if part is not None]
    return output_of(*command, cwd=cwd, PYTHONPATH=os.pathsep.join(path))


def camcast(package: Path, cwd: Path, *arguments: object) -> Any:
    return json.loads(run(["-m", "camcast", *arguments, "--json"], cwd, package))


@pytest.mark.slow  # 8 s; the contracts run on all that is installed in every run
def test_it_keeps_the_contract_that_is_shipped(package: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/full_view/tests/test_full_view.py", tmp_path)
    said = run(["-m", "pytest", "-q", tmp_path], tmp_path, package)
    assert " passed" in said


def test_it_runs_live(package: Path, tmp_path: Path) -> None:
    community = ("--community", f".a={MEMBERS}", "--events", 20, "--processes", 2)
    summary = camcast(
        package, tmp_path, "run", *community, "--membership=full-view", "--output", tmp_path / "out"
    )
    assert (summary["events"], summary["lost"], summary["parasites"]) == (20, 0, 0)
    assert summary["deliveries"] == 20 * (MEMBERS - 1)
    [row] = summary["communities"]
    assert row["view_mean"] == row["view_law"] == MEMBERS - 1


def test_it_runs_in_the_virtual_network(package: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "full_view.toml"
    scenario.write_text(SCENARIO)
    outcome = camcast(package, tmp_path, "simulate", "virtual", scenario)
    assert outcome["summary"]["events"] == 10
    assert outcome["summary"]["crashed"] == 2
    assert outcome["summary"]["dead_entries"] == 0


def test_an_unknown_option_lists_its_own(package: Path, tmp_path: Path) -> None:
    command = ["-m", "camcast", "run", "--membership=full-view", "--set", "c=2"]
    with pytest.raises(AssertionError, match="'full-view' has no option 'c'; it has: beat_seconds"):
        run(command, tmp_path, package)
