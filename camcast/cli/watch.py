"""``camcast watch``: the measures of a run while it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, wide_console
from camcast.cli.spark_options import Conf, Master, conf_of
from camcast.sweeps.sigterm import sigterm_stops

if TYPE_CHECKING:
    from camcast.pipeline.watch import Update

_WIDTH: Final = 140  # chosen: the columns beside a topic; a pipe has no width itself
_COLUMNS: Final = {  # as in the table that a run ends with (camcast.experiment.table)
    "proc.": ("processes", ",.0f"),
    "events": ("events", ",.0f"),
    "view": ("view_mean", ".1f"),
    "reception": ("reception", ".3%"),
    "reliability": ("reliability", ".2%"),
    "efficiency": ("efficiency", ".1%"),
    "hops": ("hops_mean", ".2f"),
    "p50 ms": ("latency_ms_p50", ".1f"),
    "p99 ms": ("latency_ms_p99", ".1f"),
    "upward": ("upward_messages", ",.0f"),
    "duplicates": ("duplicates", ",.0f"),
    "parasites": ("parasites", ",.0f"),
    "control kB": ("control_bytes", ",.0f"),
}
_KILO: Final = {"control kB": 1000.0}


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

    Reads the run's traces as a stream, with Spark, and ends when the run does, or with Ctrl-C. An
    event that is still under way counts as lost until it arrives. With --json one line for each
    update, with every metric of docs/traces.md. Needs the extra camcast[spark]; Java is found, or
    comes with it.

    Example: camcast watch runs/paper-20260801-120000
    """
    with clear_failures(ValueError, RuntimeError, OSError):
        settings = conf_of(conf)
        with extras_named("spark"):
            from camcast.pipeline.ingest.run_folder import read_run_folder
            from camcast.pipeline.spark.session import open_spark
            from camcast.pipeline.watch import watch as follow

            read_run_folder(run)  # what is wrong with it is said before Spark starts
        try:
            with (
                sigterm_stops(),
                open_spark("camcast watch", master=master, conf=settings) as spark,
            ):
                if json:
                    follow(spark, run, lambda update: print_json(update.as_json()), once=once)
                elif sys.stdout.isatty():
                    console = Console()
                    with Live(Text("starting"), console=console, auto_refresh=False) as live:
                        follow(
                            spark,
                            run,
                            lambda update: live.update(_shown(update), refresh=True),
                            once=once,
                        )
                else:
                    console = wide_console(_WIDTH)
                    follow(spark, run, lambda update: console.print(_shown(update)), once=once)
        except KeyboardInterrupt:
            pass  # whoever watches has seen enough


def _shown(update: Update) -> Group:
    table = Table(box=None, pad_edge=False)
    table.add_column("community", overflow="fold", min_width=len("community"))
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    for community, metrics in update.communities.items():
        row = []
        for column, (metric, form) in _COLUMNS.items():
            value = metrics[metric]
            row.append("-" if value is None else format(value / _KILO.get(column, 1), form))
        table.add_row(community or "all", *row)
    words = f"{update.records:,} records"
    if update.quarantined:
        words += f", and {update.quarantined:,} that are none"
    words += "; the run is over" if update.finished else "; the run goes on"
    return Group(table, Text(words))
