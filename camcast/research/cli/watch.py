"""``camcast watch``: the measures of a run while it runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from camcast.cli import options
from camcast.cli.console import PlainConsole, wide_console
from camcast.cli.failure import clear_failures, remark
from camcast.cli.output import print_json
from camcast.research.cli.measures_table import measures_table
from camcast.research.report.measures import repair_in_words
from camcast.research.sweeps.sigterm import sigterm_stops

if TYPE_CHECKING:
    from camcast.research.pipeline.watching import Update

_COLUMNS: Final = (
    *("processes", "events", "view_mean", "reception", "reliability", "efficiency", "hops_mean"),
    *("latency_ms_p50", "latency_ms_p99", "upward_messages", "duplicates", "parasites"),
)


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The output folder of a run.")],
    once: Annotated[
        bool, typer.Option("--once", help="Measure what is there by now, and end.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Follow a running experiment: its measures so far, by community, kept current.

    Reads on in the run's traces every two seconds, and ends when the run does, or with Ctrl-C. An
    event that is still under way counts as lost until it arrives. With --json one line for each
    update. `camcast compare` has more measures, of a run that is over.
    """
    with (
        clear_failures(ValueError, OSError),
        suppress(KeyboardInterrupt),  # the reader has seen enough
        sigterm_stops(),
    ):
        from camcast.research.pipeline.watching import joining_of
        from camcast.research.pipeline.watching import watch as follow

        updates = follow(run, sleep, once=once)
        if json:
            for update in updates:
                print_json(update.as_json(), "watch/1")
        elif sys.stdout.isatty():
            spinner = Spinner("dots", "following")
            with Live(spinner, console=PlainConsole(), transient=False) as live:
                for update in updates:
                    shown = _shown(update)
                    live.update(shown if update.finished else Group(shown, spinner), refresh=True)
        else:
            console = wide_console()
            for update in updates:
                console.print(_shown(update))
        of_run = joining_of(run)
        if of_run.never_joined:
            from camcast.research.cli.run_outcome import outside_in_words

            outside = outside_in_words(of_run.never_joined, of_run.joined)
            remark(f"{outside}: the measures are of the others")


def _shown(update: Update) -> Group:
    table = measures_table(
        ["community"],
        _COLUMNS,
        (([community], values) for community, values in update.communities.items()),
    )
    words = f"{update.records:,} records"
    if update.quarantined:
        words += f", and {update.quarantined:,} that are none"
    words += "; the run is over" if update.finished else "; the run goes on"
    words += f", {repair_in_words(update.repair)}"
    return Group(table, Text(words))
