"""The commands that packages add: none takes the name of another, and none stops the others."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from camcast.cli.app import app
from tests.camcast_command import Capture

COMMANDS = """
import typer
commands = typer.Typer()
for name in ("publish", "demo", "shout", "sing"):
    commands.command(name)(lambda: print("taken over"))
other = typer.Typer()
other.command("shout")(lambda: None)
other.command("hum")(lambda: None)
wrong = 7
"""
OFFERS = {"taker": "commands", "other": "other", "wrong": "wrong", "gone": "nothing"}


def test_each_command_has_one_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    (tmp_path / "more_commands.py").write_text(COMMANDS)
    for package, name in OFFERS.items():
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        point = f"[camcast.commands]\n{package} = more_commands:{name}\n"
        (info / "entry_points.txt").write_text(point)
    monkeypatch.syspath_prepend(tmp_path)
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    names = group.list_commands(None)  # type: ignore[arg-type]  # it asks for nothing in it
    assert {"publish", "demo", "sing", "hum", "doctor"} <= set(names)
    assert "shout" not in names
    for ours in ("publish", "demo"):
        assert "<lambda>" not in str(group.commands[ours].callback)
    said = capfd.readouterr().err
    for name in ("publish", "demo"):
        assert f"the command '{name}' is offered by camcast and by taker 1.0" in said
    assert "the command 'shout' is offered by" in said
    assert "the commands 'wrong' of wrong 1.0: " in said
    assert "commands 'gone' of gone 1.0" in said
