"""The outcome of an experiment for people: a table of its communities, and the run in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from rich.console import Console

from camcast.cli.failure import remark
from camcast.research.cli.measures_table import measures_table
from camcast.research.cli.wide_table import WideTable
from camcast.research.experiment.run import Outcome
from camcast.research.report.measures import measure_of, repair_in_words
from camcast.research.runs.summary import Summary

if TYPE_CHECKING:  # the simulator is not needed for a live run
    from camcast.research.simulation.run_record import VirtualOutcome

COLUMNS: Final = (
    *("processes", "view_mean", "view_law", "reception", "predicted", "reliability"),
    *("reach_p5",),
    *("efficiency", "hops_mean", "latency_ms_p50", "latency_ms_p99", "upward_messages"),
    *("duplicates", "parasites"),
)
_OUTSIDE: Final = ("never_joined", "reception_of_all")
_VIEWS: Final = ("processes", "view_mean", "view_law", "dead_entries")


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Print a line for each community, then what the run came to in words."""
    console.print(summary_table(outcome.summary))
    if outcome.kill is not None:
        _print_kill(outcome.kill, console)
    summary = outcome.summary
    interrupted = "interrupted: " if outcome.interrupted else ""
    console.print(
        f"{interrupted}{summary.events} events, {summary.deliveries} deliveries,"
        f" {summary.lost} lost, {outcome.parasites} parasite, {repair_in_words(outcome.repair)}",
        highlight=False,
    )


def outside_in_words(never_joined: int, joined: int) -> str:
    """Say how many processes never became members."""
    return f"{never_joined:,} of {never_joined + joined:,} processes never became members"


def complain_of_outside(outcome: Outcome | VirtualOutcome) -> None:
    """Say on standard error how many processes never became members, if there are any."""
    if outcome.never_joined:
        outside = outside_in_words(outcome.never_joined, outcome.joined)
        remark(f"{outside}; of the measures reception_of_all alone counts them")


def summary_table(summary: Summary) -> WideTable:
    """Return a table with a line for each community."""
    outside = any(community.never_joined for community in summary.communities)
    return measures_table(
        ["community"],
        (*COLUMNS, *(_OUTSIDE if outside else ())),
        (([community.topic], attrs.asdict(community)) for community in summary.communities),
    )


def _print_kill(kill: dict[str, Any], console: Console) -> None:
    views = measures_table(
        ["community", "when"],
        _VIEWS,
        (
            ([row["topic"], when], row)
            for when, communities in kill["views"].items()
            for row in communities
        ),
    )
    console.print()
    console.print(
        f"Killed {kill['processes_killed']} processes with {kill['nodes_killed']} nodes; the views"
        " of the others:",
        highlight=False,
    )
    console.print(views)
    for what, events, receptions in (
        ("after the kill", kill["events_after"], kill["reception_after"]),
        (
            f"from {kill['tables_seconds']:g} s after the kill",
            kill["events_after_tables"],
            kill["reception_after_tables"],
        ),
    ):
        reception = measure_of("reception")
        each = ", ".join(f"{topic} {reception.text(value)}" for topic, value in receptions.items())
        console.print(f"reception of {events} events {what}: {each}", highlight=False)
    joined = ", ".join(
        f"{'not at all' if n['join_seconds'] is None else format(n['join_seconds'], '.2f') + ' s'}"
        f" ({n['seconds_after']:.0f} s after)"
        for n in kill["newcomers"]
    )
    console.print(f"newcomers joined within {joined}", highlight=False)
    console.print(f"entries of dead peers at the end: {kill['dead_entries']}", highlight=False)
    console.print()
