"""``camcast watch``: the measures of a run while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.output import PlainConsole, print_json, wide_console
from camcast.research.cli.measures_table import measures_table
from camcast.research.cli.spark_options import Conf, Master, conf_of
from camcast.research.sweeps.sigterm import sigterm_stops

if TYPE_CHECKING:
    from camcast.research.pipeline.watching import Update

_COLUMNS: Final = (
    *("processes", "events", "view_mean", "reception", "reliability", "efficiency", "hops_mean"),
    *("latency_ms_p50", "latency_ms_p99", "upward_messages", "duplicates", "parasites"),
    "control_bytes",
)


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The output folder of a run.")],
    once: Annotated[
        bool, typer.Option("--once", help="Measure what is there by now, and end.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    json: options.Json = False,
) -> None:
    """Follow a running experiment: its measures so far, by community, kept current.

    Reads the run's traces as a stream, with Spark, and ends when the run does, or with Ctrl-C. What
    is there already is shown at once, as the summary of a run has it, while Spark starts. An event
    that is still under way counts as lost until it arrives. With --json one line for each update
    of Spark's, with every metric of docs/formats.md. Needs the extra camcast[spark]; Java is found,
    or comes with it.
    """
    with (
        clear_failures(ValueError, RuntimeError, OSError),
        suppress(KeyboardInterrupt),  # the reader has seen enough
        sigterm_stops(),
    ):
        settings = conf_of(conf)
        if json:
            _follow(
                run, once, master, settings, lambda update: print_json(update.as_json(), "watch/1")
            )
        elif sys.stdout.isatty():
            spinner = Spinner("dots", "starting")
            with Live(spinner, console=PlainConsole(), transient=False) as live:

                def show(update: Update) -> None:
                    shown = _shown(update)
                    live.update(shown if update.finished else Group(shown, spinner), refresh=True)
                    spinner.update(text="following")

                _look(run, once, show)
                _follow(run, once, master, settings, show)
        else:
            console = wide_console()
            _look(run, once, lambda update: console.print(_shown(update)))
            _follow(run, once, master, settings, lambda update: console.print(_shown(update)))


def _look(run: Path, once: bool, show: Callable[[Update], None]) -> None:
    """Show what is known before Spark has started, unless only the end's figures are wanted."""
    with extras_named("spark"):
        from camcast.research.pipeline.watching import first_look
    if not once and (update := first_look(run)):
        show(update)


def _follow(
    run: Path,
    once: bool,
    master: str | None,
    settings: dict[str, str],
    show: Callable[[Update], None],
) -> None:
    with extras_named("spark"):
        from camcast.research.pipeline.compare.inputs import are_light
        from camcast.research.pipeline.ingest.run_to_read import read_run_folder
        from camcast.research.pipeline.spark.session import open_spark
        from camcast.research.pipeline.watching import watch as follow

        read_run_folder(run)  # a wrong folder is reported before Spark starts
    ends: list[OSError | SystemExit] = []

    def print_or_end(update: Update) -> None:
        # Spark calls this: what it raised would come back as pages of Java's, and a broken pipe,
        # which py4j takes for one of its own, not at all.
        try:
            show(update)
        except (OSError, SystemExit) as error:
            ends.append(error)
            raise RuntimeError("stdout takes no more") from None

    try:
        with open_spark(
            "camcast watch", master=master, conf=settings, light=are_light([run])
        ) as spark:
            follow(spark, run, print_or_end, once=once)
    except Exception:
        if ends:
            raise ends[0] from None
        raise


def _shown(update: Update) -> Group:
    table = measures_table(
        ["community"],
        _COLUMNS,
        (([community or "all"], values) for community, values in update.communities.items()),
    )
    words = f"{update.records:,} records"
    if update.quarantined:
        words += f", and {update.quarantined:,} that are none"
    words += "; the run is over" if update.finished else "; the run goes on"
    return Group(table, Text(words))
