"""The page of the four stories: its commands do what it says, for one who knows nothing else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs.test_names import ROOT

PAGE: Final = (ROOT / "docs/signed-system.md").read_text()
BLOCKS: Final = re.findall(r"^```console\n(.*?)^```", PAGE, re.M | re.S)
# chosen: the page waits for some 60 s of clocks, and starts Python thirty times; on a machine with
# thirty other busy processes it took five minutes
PATIENCE_SECONDS: Final = 1200


def steps(block: str) -> list[tuple[str, str]]:
    """Return each command of a block, with the lines that it is to print."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    return [(command, printed) for command, printed in found]


def pattern(printed: str) -> str:
    """Return the regular expression of what the page says.

    ``…`` is anything within a line, and columns may be wider or narrower.
    """
    lines = [re.escape(line).replace("…", ".*") for line in printed.splitlines()]
    return "".join(re.sub(r"(\\ ){2,}", " +", line) + " *\n" for line in lines)


def test_every_line_of_a_block_belongs_to_a_command() -> None:
    assert len(BLOCKS) > 4
    for block in BLOCKS:
        assert "".join(f"$ {command}\n{printed}" for command, printed in steps(block)) == block


@pytest.mark.slow
def test_the_four_stories_run_from_their_page(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin/camcast"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -W error -m camcast "$@"\n')
    command.chmod(0o755)
    todo = [step for block in BLOCKS for step in steps(block)]
    # Each command's output is between two marks; whatever it ends with is said as on the page.
    script = "".join(
        f"echo '\1'\n{{ {command} {'' if command.endswith('&') else ';'} }} 2>&1\n"
        'code=$?; test $code = 0 || echo "[$code]"\n'
        for command, _ in todo
    )
    paths = {"PYTHONPATH": str(ROOT), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | paths,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=PATIENCE_SECONDS)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
    wrong = [
        f"$ {given}\n{got}instead of\n{printed}"
        for (given, printed), got in zip(todo, output.split("\1\n")[1:], strict=True)
        if not re.fullmatch(pattern(printed), got)
    ]
    assert not wrong, "\n".join(wrong)
