"""The options that several commands share, and the functions that read their values.

An option of a command or a group is named as its parameter, which is what typer does, unless it
says another name. A flag always says its name: typer would add a ``--no-`` form.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import typer

from camcast.app.settings import Option
from camcast.cli.failure import CommandError
from camcast.doors.options import OptionError

Health = Annotated[
    str | None,
    typer.Option(
        "--health",
        metavar="[HOST:]PORT",
        help="Serve /livez, /readyz and /metrics there; without a host, on the loopback.",
    ),
]
Retry = Annotated[
    bool,
    typer.Option("--retry", help="Keep asking gateways that do not answer, instead of failing."),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of all random choices; default: 1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
WholeOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write it to this file, whole or not at all, instead of printing it.",
    ),
]
ClockIsRight = Annotated[
    bool,
    typer.Option(
        "--clock-is-right",
        help="Sign though this machine's clock is far from what stands beside the key.",
    ),
]


class SpreadName(StrEnum):
    """How events spread inside a community (`CommunitySettings.spread`)."""

    AUTO = "auto"
    INFECT = "infect"
    TREE = "tree"


KINDS: Final[Mapping[str, Any]] = {
    "spread": SpreadName,
    "parameters": Path,
    "peers": list[str],
    "certificates": list[Path],
    "trust": list[Path],
    "revocations": list[Path],
}
"""The types of options that are not those of the settings' fields."""


def option_of(record: type[Any], name: str) -> Any:
    """Return the option of a field of `camcast.app.settings`, for typer."""
    one = attrs.fields_dict(record)[name]
    said = Option.of(one)
    flag = one.default is False
    names = [said.name] if said.name else ["--" + name.replace("_", "-")] if flag else []
    return typer.Option(
        *names,
        *filter(None, [said.short]),
        help=said.help,
        metavar=said.metavar,
        min=said.least,
        max=said.most,
        show_default="/" not in (said.name or ""),
    )


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
