"""The options that several commands share, and the functions that read their values.

An option of a command or a group is named as its parameter, which is what typer does, unless it
says another name. A flag always says its name: typer would add a ``--no-`` form.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from camcast.cli.failure import CommandError
from camcast.doors.options import OptionError

MEMBERSHIP = typer.Option(
    "--membership",
    "-m",
    help="Who keeps the membership tables: scamp, hybrid, dht, cyclon, hyparview"
    " (docs/choosing.md), or a plug of yours (docs/plugs.md).",
)
MembershipOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the membership, e.g. c=2 or heartbeat_seconds=1. Repeatable.",
    ),
]
Transport = Annotated[
    str | None,
    typer.Option(
        "--transport", help="zmtp, tcp or zmq: how frames travel; all understand each other."
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="Serve metrics for Prometheus there; without a host, on the loopback.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of all random choices; default: 1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

REPAIR = typer.Option(
    "--repair/--no-repair",
    help="Ask again for what was missed, or lose it as the paper does.",
    show_default=False,
)


class SpreadName(StrEnum):
    """How events spread inside a community (`Parameters.spread`)."""

    INFECT = "infect"
    TREE = "tree"


Spread = Annotated[
    SpreadName | None,
    typer.Option(
        "--spread",
        help="infect (default): every process sends an event to a few others; tree: the events of"
        " a busy publisher take a copy a process.",
    ),
]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given, that is, are not None, by their names."""
    return {name: value for name, value in options.items() if value is not None}


def named_values(pairs: list[str] | None, option: str = "--set") -> dict[str, object]:
    """Read the NAME=VALUE pairs of an option; raises `OptionError` naming a wrong one."""
    options: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise OptionError(f"{option} takes NAME=VALUE, not {pair!r}")
        options[name.strip()] = value.strip()
    return options


def refuse(ctx: typer.Context, names: Mapping[str, str], why: str) -> None:
    """Raise `CommandError` for an option that was given and would be ignored.

    `names` are the parameters of the command, each with what to do instead.
    """
    for name, instead in names.items():
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise CommandError(f"{option} {why}" + (f"; {instead}" if instead else ""))
