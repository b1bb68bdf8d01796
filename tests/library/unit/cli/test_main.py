"""The entry point: neither Ctrl-C at any moment nor a closed stream ends in a traceback."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_SECONDS
from tests.python_process import python


def test_ctrl_c_while_modules_are_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    path_before = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    done = python("-m", "camcast", "model", "--sizes", "10", PYTHONPATH=path_before)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_sign_that_the_terminal_has_not_ends_nothing() -> None:
    about = "model", "--sizes", "20,5", "--protocol", "percolation"
    done = python("-m", "camcast", *about, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "? = 0.85 is above the threshold" in done.stdout  # the sign is Gamma


def test_closed_streams_are_as_dev_null() -> None:
    """A supervisor may start a service without any; `publish` reads stdin, and says it is empty."""
    done = subprocess.run(
        ["sh", "-c", '"$0" -m camcast publish .a --wait 0 <&- >&-', sys.executable],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("camcast: nobody else was found in .a or above it")
    assert len(done.stderr.splitlines()) == 1
