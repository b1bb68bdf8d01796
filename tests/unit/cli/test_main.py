"""The entry point: Ctrl-C at any moment ends without a traceback."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_SECONDS


def test_ctrl_c_while_modules_are_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        [sys.executable, "-m", "camcast", "model", "--sizes", "10"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
