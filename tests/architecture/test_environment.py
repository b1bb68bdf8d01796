"""The Makefile's environment: made by a Python that is new enough, and again for another."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
# A Python that makes its environment at once: it answers the two calls that the Makefile makes.
if test "$1" = -c; then
    python=$(echo "$2" | sed 's/sys.version_info/({version})/g')
    exec {python} -c "$(echo "$python" | sed 's/sys.version,/"{version}",/')"
fi
mkdir -p "$3" && echo "{version}" >> "$3/made"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the Makefile alone."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    return folder


def python(folder: Path, version: str) -> Path:
    path = folder / f"python{version.replace(', ', '.')}"
    path.write_text(PYTHON.replace("{version}", version).replace("{python}", sys.executable))
    path.chmod(0o755)
    return path


def make(folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", ".venv/python", f"PYTHON={python}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_is_made_anew_where_the_python_or_the_folder_is_another(checkout: Path) -> None:
    made = checkout / ".venv/made"
    older, newer = python(checkout, "3, 11"), python(checkout, "3, 13")
    for _ in range(2):
        assert make(checkout, older).returncode == 0
        assert made.read_text() == "3, 11\n"
    for _ in range(2):
        assert make(checkout, newer).returncode == 0
        assert made.read_text() == "3, 13\n"
    made.write_text("")
    moved = checkout.rename(checkout.with_name("moved"))
    assert make(moved, python(moved, "3, 13")).returncode == 0
    assert (moved / ".venv/made").read_text() == "3, 13\n"


def test_a_python_that_is_too_old_is_named_and_leaves_nothing(checkout: Path) -> None:
    old = python(checkout, "3, 10")
    said = make(checkout, old)
    assert said.returncode != 0
    assert f"CAMCAST needs Python 3.11 or newer, and {old} is 3.10" in said.stderr
    assert not (checkout / ".venv").exists()
    assert make(checkout, python(checkout, "3, 12")).returncode == 0
