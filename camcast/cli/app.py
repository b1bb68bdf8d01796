"""The command ``camcast``: its subcommands, and how it speaks to a person."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated, Final

import typer

from camcast import __version__
from camcast.cli.ask import peers, status, topics
from camcast.cli.certify import certify
from camcast.cli.compare import compare
from camcast.cli.compare_protocols import compare_protocols
from camcast.cli.dashboard import dashboard
from camcast.cli.demo import demo
from camcast.cli.doctor import doctor
from camcast.cli.failure import EXIT_FAILED, UNWRITABLE, complain
from camcast.cli.finite_numbers import Command
from camcast.cli.gateway import gateway
from camcast.cli.keys import keys
from camcast.cli.logs import LogForm, set_up_logs
from camcast.cli.model import model
from camcast.cli.plan import plan
from camcast.cli.publish import publish
from camcast.cli.reproduce import reproduce
from camcast.cli.revoke import revoke
from camcast.cli.run import run
from camcast.cli.simulate import simulate
from camcast.cli.subscribe import subscribe
from camcast.cli.sweep import sweep
from camcast.cli.trace import trace
from camcast.cli.watch import watch

app = typer.Typer(
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
        LogForm, typer.Option(help="How to say it: as text, or as JSON lines.")
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
    demo: "demo --membership scamp --json",
    run: "run --scenario paper --p-sel 0.1 --events 200 --rate 50",
    simulate: "",
    model: "model --sizes 1000,100,10 --crash 0.1",
    plan: "plan --sizes 1000,100,10 --crash 0.1 --reliability 0.95 --check",
    reproduce: "reproduce camcast --runs 100 --output section6",
    compare: "compare runs/scamp-* runs/dht-* bench.json --output report",
    compare_protocols: "compare-protocols --workload departures --events 30",
    watch: "watch runs/paper-20260801-120000",
    dashboard: "dashboard /run/user/1000/camcast.sock",
    sweep: "sweep town.toml --grid links.loss=0,0.05 --grid membership=scamp,dht --engine spark"
    " --output town-sweep",
    subscribe: "subscribe .soccer --gateway tcp://127.0.0.1:7000",
    publish: "publish .soccer.italy 'Goal!' --gateway tcp://127.0.0.1:7000",
    gateway: "gateway --bind tcp://127.0.0.1:7000",
    keys: "",
    certify: "certify --with root.key --for ada.pub --topic .soccer --may join,publish --days 7"
    " > ada.cert",
    revoke: "revoke --with root.key 2f0c8f5e19a3b6d7 > root.list",
    status: "status /run/user/1000/camcast.sock",
    peers: "peers /run/user/1000/camcast.sock",
    topics: "topics /run/user/1000/camcast.sock",
    doctor: "doctor --gateway tcp://192.0.2.1:7000",
    trace: "trace 2f0c8f5e19a3b6d72f0c8f5e19a3b6d7-1795351636-3 a.sock b.sock",
}
"""The commands in the order of the help, each with an example; a group has its own examples."""

for _command, _example in _COMMANDS.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command)
    else:
        app.command(cls=Command, epilog=f"Example: camcast {_example}")(_command)


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
