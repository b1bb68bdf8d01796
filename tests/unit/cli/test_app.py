"""What all commands have in common: each is there with its help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from camcast.cli.app import app
from tests.camcast_command import Capture, camcast


def names(command: Any, name: str = "") -> Iterator[str]:
    for sub, inner in getattr(command, "commands", {}).items():
        yield f"{name} {sub}".strip()
        yield from names(inner, f"{name} {sub}".strip())


@pytest.mark.parametrize("command", [*names(typer.main.get_command(app))])
def test_help_has_an_example(command: str, capfd: Capture) -> None:
    assert camcast(*command.split(), "--help") == 0
    assert f"Example: camcast {command}" in " ".join(capfd.readouterr().out.split())


def test_the_version_is_told_and_a_missing_command_gets_help(capfd: Capture) -> None:
    assert camcast("--version") == 0
    assert capfd.readouterr().out.startswith("camcast 0.")
    camcast()
    assert "subscribe" in "".join(capfd.readouterr())
    assert camcast("shout") == 2
    assert "No such command" in capfd.readouterr().err
