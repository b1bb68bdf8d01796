"""The group of all commands: the library's, and those that installed packages add.

A package adds commands by an entry point in the group ``camcast.commands``, which names a
`typer.Typer`. The library thus knows none of the commands of research, and its own commands do not
wait for the modules of research: added commands are imported once the help is asked for, or a
command that is not the library's. A command is added only under a name that no other has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from camcast.cli.failure import EXIT_USAGE, complain
from camcast.cli.logs import LogForm, complaints
from camcast.cli.strict_command import Command
from camcast.doors.plugs import CAMCAST, COMMAND_GROUP, Offer, load, offers
from camcast.vocabulary.errors import CamcastError

_WrongCommandLine: Any = typer.BadParameter.__base__
"""The error of a wrong command line, for which typer has no public name."""


def add_command(
    app: typer.Typer,
    command: Callable[..., None] | typer.Typer,
    example: str,
    panel: str,
    kind: type[Command] = Command,
) -> None:
    """Add a command to an app, under a heading of the help.

    `example` has the arguments of the command's example; a group's commands have their own.
    """
    if isinstance(command, typer.Typer):
        app.add_typer(command, rich_help_panel=panel)
    else:
        epilog = f"Example: camcast {example}"
        app.command(cls=kind, epilog=epilog, rich_help_panel=panel)(command)


def _commands_of(offer: Offer) -> Mapping[str, Any]:
    """Return the commands that a package adds; one broken package leaves the others usable."""
    try:
        return typer.main.get_group(load(offer, "commands")).commands
    except CamcastError as error:
        complain(str(error))
    except Exception as error:
        complain(f"the commands {offer.name!r} of {offer.package}: {error}")
    return {}


class CommandGroup(TyperGroup):
    """The command ``camcast``: its own commands, and the commands of entry points."""

    _complete = False
    """Whether the commands of entry points are among the commands."""

    def _complete_commands(self) -> None:
        if not self._complete:
            self._complete = True
            owners: dict[str, list[str]] = {name: [CAMCAST] for name in self.commands}
            for offer in offers(COMMAND_GROUP):
                for name, command in _commands_of(offer).items():
                    owners.setdefault(name, []).append(offer.package)
                    self.commands.setdefault(name, command)
            for name, packages in owners.items():
                if len(packages) > 1:
                    complain(
                        f"the command {name!r} is offered by {' and by '.join(packages)}: a name"
                        " means one command, so uninstall all but one of these packages"
                    )
                    if packages[0] != CAMCAST:
                        del self.commands[name]

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        self._complete_commands()
        return super().list_commands(ctx)

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name, or None."""
        if cmd_name not in self.commands:
            self._complete_commands()
        return super().get_command(ctx, cmd_name)

    @override
    def invoke(self, ctx: Any) -> Any:
        """Run a command; a wrong command line is one line of JSON where the log is JSON."""
        try:
            return super().invoke(ctx)
        except _WrongCommandLine as error:
            if complaints.form is LogForm.TEXT:
                raise
            complain(error.format_message())
            raise typer.Exit(EXIT_USAGE) from None

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the headings that they were added with."""
        width = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        panels: dict[str, list[tuple[str, str]]] = {}
        command: Any  # typer's commands and groups have a heading, and their common class has none
        for name, command in self.commands.items():
            help_text = command.get_short_help_str(width)
            panels.setdefault(command.rich_help_panel, []).append((name, help_text))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)
