"""Python in a process of its own, run to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_SECONDS


def python(
    *arguments: object,
    stdin: str | None = None,
    cwd: Path | None = None,
    seconds: float = PATIENCE_SECONDS,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run Python with these variables besides; none of pytest's, which are for its own workers."""
    inherited = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=stdin,
        cwd=cwd,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def output_of(
    *arguments: object,
    cwd: Path | None = None,
    seconds: float = PATIENCE_SECONDS,
    **environment: str,
) -> str:
    """Run Python, which has to end well; return what it prints."""
    done = python(*arguments, cwd=cwd, seconds=seconds, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
