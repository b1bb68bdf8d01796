"""``camcast compare-protocols``: all protocols on one workload, equally reliable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import EXIT_FAILED, clear_failures, complain
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.doors.options import OptionError
from camcast.ops.output_place import output_file
from camcast.research.cli.measures_table import measures_table
from camcast.research.cli.run_outcome import outside_in_words
from camcast.research.cli.system_options import (
    DISCOVERY,
    DiscoveryOptions,
    Workers,
    probability_option,
)
from camcast.research.report.csv_text import csv_text
from camcast.research.report.measures import repair_in_words
from camcast.research.scenarios.workload import KINDS, Workload, workload_of
from camcast.research.sweeps import ProgressBar
from camcast.vocabulary.lasting_file import write_lasting

_MEASURES: Final = (
    *("processes", "reception", "deliveries", "parasites", "filtered", "event_copies"),
    *("redundancy", "control_copies", "table_entries", "latency_ms_p50", "latency_ms_p99"),
)


@grouped
def compare_protocols(
    workload: Annotated[
        str,
        typer.Option(
            metavar="KIND[:FILE]", help="departures (shipped), usenet:FILE or earthquakes:FILE."
        ),
    ] = "departures",
    events: Annotated[
        int | None, typer.Option(min=1, help="Publish the first so many events; default: 100.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONSTRAINT",
            help='What processes want of attributes, in turn: "mag >= 5", or "". Repeatable.',
        ),
    ] = None,
    reliability: Annotated[
        float | None, probability_option("Share of expected deliveries to reach; default: 0.99.")
    ] = None,
    protocols: Annotated[str | None, typer.Option(metavar="A,B,...", help="Default: all.")] = None,
    membership: Annotated[
        str | None,
        typer.Option(
            "--membership", "-m", help="The membership of protocols without one of their own."
        ),
    ] = None,
    discovery: DiscoveryOptions = DISCOVERY,
    loss: Annotated[
        float | None, probability_option("Share of copies that get lost; default: 0.05.")
    ] = None,
    members_max: Annotated[
        int | None, typer.Option(help="Processes of one community; default: 6.")
    ] = None,
    seed: options.Seed = None,
    workers: Workers = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the table there as well.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Keep what is done there; continue from it."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare all protocols on a workload: copies, parasites, state and latency.

    Each runs in the virtual network, on the same communities, loss and events, with the least
    effort that delivers the share asked for. Exit code 1: some protocol did not reach it.
    """
    with clear_failures(ValueError, LookupError, OSError), extras_named():
        if reliability == 0:
            raise OptionError("--reliability 0 asks for nothing; give more than 0")
        from camcast.research.papers.protocol_comparison import EVENTS, Comparison, compare, evenly

        kinds = [kind for kind in KINDS if kind != "synthetic"]
        chosen = Workload(**workload_of(workload, kinds), events=events or EVENTS)
        names = None if protocols is None else tuple(map(str.strip, protocols.split(",")))
        comparison = Comparison(
            workload=evenly(chosen),
            **options.given(
                target=reliability,
                constraints=None if where is None else tuple(where),
                protocols=names,
                membership=membership,
                **discovery.changes(),
                loss=loss,
                members_max=members_max,
                seed=seed,
            ),
        )
        with output_file(output):
            with ProgressBar("compare protocols") as bar:
                costs = compare(comparison, results, workers, bar.update)
            if output is not None:
                table = csv_text([attrs.asdict(cost) for cost in costs])
                write_lasting(output, table.encode(), 0o644)
    if json:
        print_json([attrs.asdict(cost) for cost in costs], "compare-protocols/1")
    else:
        lines = (([cost.protocol, cost.effort], attrs.asdict(cost)) for cost in costs)
        console = wide_console()
        console.print(measures_table(["protocol", "effort"], _MEASURES, lines))
        console.print(f"all {repair_in_words(costs[0].repair)}", highlight=False)
    for cost in costs:
        if cost.never_joined:
            complain(f"{cost.protocol}: {outside_in_words(cost.never_joined, cost.processes)}")
    if not all(cost.reached for cost in costs):
        raise typer.Exit(EXIT_FAILED)
