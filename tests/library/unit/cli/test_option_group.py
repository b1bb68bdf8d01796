"""Options that a command takes as a group: typer sees each, and the command gets the group."""

from __future__ import annotations

from typing import Annotated

import typer
from attrs import frozen
from typer.testing import CliRunner

from camcast.cli.option_group import grouped

Name = Annotated[str, typer.Option("--name")]
Port = Annotated[int, typer.Option("--port")]


@frozen
class Inner:
    port: Port = 1


@frozen
class Outer:
    name: Name = "nobody"
    inner: Inner = Inner()


PRESET = Outer("ada", Inner(7))


def run(*arguments: str) -> tuple[Outer, bool]:
    got: list[tuple[Outer, bool]] = []
    app = typer.Typer()

    @app.command()
    @grouped
    def command(group: Outer = PRESET, loud: bool = False) -> None:
        got.append((group, loud))

    assert CliRunner().invoke(app, arguments).exit_code == 0
    return got[0]


def test_the_defaults_are_those_of_the_instance_and_of_the_groups_in_it() -> None:
    assert run() == (PRESET, False)


def test_what_is_given_reaches_the_group_that_has_it() -> None:
    assert run("--port", "9", "--loud") == (Outer("ada", Inner(9)), True)
