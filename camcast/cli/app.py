"""The command ``camcast``: its subcommands, and how it speaks to a person."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated, Final

import typer

from camcast import __version__
from camcast.cli.ask import peers, ready, status, topics
from camcast.cli.certify import certify
from camcast.cli.command_group import CommandGroup, add_command
from camcast.cli.dashboard import dashboard
from camcast.cli.doctor import doctor
from camcast.cli.events import events
from camcast.cli.failure import EXIT_FAILED, UNWRITABLE, complain
from camcast.cli.gateway import gateway
from camcast.cli.history import history
from camcast.cli.keys import keys
from camcast.cli.latest import latest
from camcast.cli.logs import LogForm, complaints, set_up_logs
from camcast.cli.ping import ping
from camcast.cli.plugs import plugs
from camcast.cli.publish import publish
from camcast.cli.revoke import revoke
from camcast.cli.subscribe import subscribe
from camcast.cli.system import system
from camcast.cli.top import top
from camcast.cli.trace import trace
from camcast.cli.tune import tune

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    # A traceback of ours is for a bug report, and shows no values of a user's.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"camcast {__version__}")
        raise typer.Exit


def _choose_form(form: LogForm) -> LogForm:
    """Complain in this form from now on, also of the rest of the command line."""
    complaints.form = form
    return form


@app.callback()
def camcast(
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Say on stderr what happens to the process; -vv also to its tables.",
        ),
    ] = 0,
    log: Annotated[
        LogForm,
        typer.Option(
            callback=_choose_form, is_eager=True, help="How to say it: as text, or as JSON lines."
        ),
    ] = LogForm.TEXT,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Publish/subscribe without a broker, over hierarchical topics, on gossip."""
    set_up_logs(verbose, log)


_COMMANDS: Final[dict[Callable[..., None] | typer.Typer, str]] = {
    subscribe: "subscribe .soccer --gateway tcp://127.0.0.1:7000",
    publish: "publish .soccer.italy 'Goal!' --gateway tcp://127.0.0.1:7000",
    latest: "latest .plant --gateway tcp://127.0.0.1:7000",
    gateway: "gateway --bind tcp://127.0.0.1:7000",
    system: "",
    keys: "",
    certify: "certify --with root.key --for ada.pub --topic .soccer --may join,publish --days 7"
    " --output ada.cert",
    revoke: "revoke --with root.key 2f0c8f5e19a3b6d7 --output root.list",
    status: "status /run/user/1000/camcast.sock",
    ready: "ready /run/user/1000/camcast.sock",
    peers: "peers /run/user/1000/camcast.sock",
    topics: "topics /run/user/1000/camcast.sock",
    tune: "tune /run/user/1000/camcast.sock .soccer g=20",
    doctor: "doctor --gateway tcp://192.0.2.1:7000",
    top: "top /run/user/1000/camcast",
    events: "events /run/user/1000/camcast --follow",
    ping: "ping .soccer.italy /run/user/1000/camcast --gateway tcp://127.0.0.1:7000",
    plugs: "plugs",
    trace: "trace 2f0c8f5e19a3b6d72f0c8f5e19a3b6d7-1795351636-3 a.sock b.sock",
    history: "history events.archive --export events.jsonl",
    dashboard: "dashboard /run/user/1000/camcast.sock",
}
"""The library's commands in the order of the help, each with an example; a group has its own."""

for _command, _example in _COMMANDS.items():
    add_command(app, _command, _example, "Commands")


def main() -> None:
    """Run the command line.

    It complains of results that cannot be written, as on a full disk, but not of a reader of stdout
    that has gone, as ``head`` goes.
    """
    try:
        try:
            app(prog_name="camcast")
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        # The rest of the buffer goes nowhere: else Python fails once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:
            complain(f"cannot write the output: {error.strerror}")
        sys.exit(EXIT_FAILED)
