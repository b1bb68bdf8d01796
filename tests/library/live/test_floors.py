"""The oldest releases that pyproject.toml admits: installed together, and tried."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
EXTRAS = ("examples", "lan", "metrics", "report", "sim", "spark")
TESTED_BY = ("pytest", "pytest-benchmark", "pytest-xdist", "hypothesis", "jsonschema")
LIBRARY = ("app", "cli", "live", "observe", "ops", "overlays", "security")
RESEARCH = ("models", "report")
TRIED = (
    *(f"tests/library/unit/{name}" for name in LIBRARY),
    *(f"tests/research/unit/{name}" for name in RESEARCH),
    "tests/library/live/test_examples_beside.py",
    "tests/library/live/test_stats.py",
)
"""Each of the packages is used by a test of these folders, but for Spark, of which no other release
is admitted."""


def floors() -> Iterator[str]:
    """Yield `name==version` for the lower bound of each requirement."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for extra in EXTRAS for text in extras[extra])]
    texts += [text for text in extras["dev"] if Requirement(text).name in TESTED_BY]
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate():
            bounds = {bound.operator: bound.version for bound in requirement.specifier}
            yield f"{requirement.name}=={bounds.get('>=') or bounds.get('~=') or bounds['==']}"


@pytest.mark.slow  # fetches 600 MB, if nothing is cached
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the oldest numpy has wheels up to 3.12")
def test_the_oldest_releases_that_are_admitted_work(tmp_path: Path) -> None:
    venv.create(tmp_path / "oldest", with_pip=True)
    python, constraints = tmp_path / "oldest/bin/python", tmp_path / "floors.txt"
    constraints.write_text("\n".join(floors()))
    install = (
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--editable",
        f"{ROOT}[{','.join(EXTRAS)}]",
    )
    subprocess.run([python, *install, *TESTED_BY, "--constraint", constraints], check=True)
    subprocess.run([tmp_path / "oldest/bin/camcast", "--help"], check=True, capture_output=True)
    # old releases warn of what newer ones of others have given up
    options = ("-q", "-n", "2", "-W", "ignore::DeprecationWarning")
    subprocess.run([python, "-m", "pytest", *options, *TRIED], cwd=ROOT, check=True)
