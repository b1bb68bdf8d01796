"""Runs the contract of an example's plug on mutants of it; returns those that pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from camcast.testing.mutants import Mutant, draw
from tests.library.example_packages import EXAMPLES, install

ROOT = Path(__file__).parents[3]
TIMEOUT_SECONDS = 600.0  # a mutant that never ends is caught, too


def survivors(package: str, folder: Path, count: int = 40, seed: int = 1) -> list[Mutant]:
    """Return the mutants of an example that keep the contract of its own test."""
    source = (EXAMPLES / package / f"{package}.py").read_text()
    install(folder, package)
    for test in (EXAMPLES / package / "tests").glob("test_*.py"):
        shutil.copy(test, folder)
    passed = []
    for mutant in draw(source, count, seed):
        (folder / f"{package}.py").write_text(mutant.source)
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        if _keeps_contract(folder):
            passed.append(mutant)
    return passed


def _keeps_contract(folder: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(folder)]
    try:
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


if __name__ == "__main__":
    import tempfile

    for number, one in enumerate(survivors(sys.argv[1], Path(tempfile.mkdtemp()))):
        print(number, one.line, one.mistake)
