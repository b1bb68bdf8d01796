"""The command line, run in this process."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from camcast.cli.app import app
from tests.printed_json import checked
from tests.python_process import python

Capture = pytest.CaptureFixture[str]


def camcast(*arguments: object) -> int:
    """Run a command; return its exit code."""
    try:
        code = app([str(argument) for argument in arguments], prog_name="camcast")
    except SystemExit as exit:
        code = exit.code
    return int(code or 0)


def answer(capfd: Capture, *arguments: object) -> Any:
    """Run a command with --json; return what it prints, which follows its schema."""
    assert camcast(*arguments, "--json") == 0
    return checked(json.loads(capfd.readouterr().out))


def refusal(capfd: Capture, *arguments: object) -> tuple[int, str]:
    """Run a command that fails; return its exit code and the one sentence that it says.

    Below the sentence it may show the place in what was given.
    """
    code = camcast(*arguments)
    printed, error = capfd.readouterr()
    assert printed == ""
    assert error.startswith("camcast: ")
    assert all(line.startswith("  ") for line in error.splitlines()[1:])
    return code, error


def camcast_alone(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as on a machine without the extras: their packages cannot be imported."""
    for package in ("numpy", "numba"):
        (path / f"{package}.py").write_text(f"raise ImportError('no', name='{package}')")
    path_before = f"{path}:{os.environ.get('PYTHONPATH', '')}"
    return python("-m", "camcast", *arguments, PYTHONPATH=path_before)


def all_commands() -> dict[str, Any]:
    """Return every command by its words, those of entry points and of groups included."""
    return dict(_commands(typer.main.get_command(app), ""))


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield f"{path} {name}".strip(), command
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}".strip())
