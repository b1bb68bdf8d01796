"""The entry point: Ctrl-C at any moment ends without a traceback."""

import os
from pathlib import Path

from tests.python_process import python


def test_ctrl_c_while_modules_are_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    path_before = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    done = python("-m", "camcast", "model", "--sizes", "10", PYTHONPATH=path_before)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
