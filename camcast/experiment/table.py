"""The summary of a run as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from camcast.experiment.run import Outcome
from camcast.runs.summary import CommunitySummary, Summary

_COLUMNS = (
    "community",
    "proc.",
    "view",
    "law",
    "reception",
    "predicted",
    "reliability",
    "efficiency",
    "hops",
    "p50 ms",
    "p99 ms",
    "upward",
    "duplicates",
    "parasites",
)


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Print one row a community, then the run in words."""
    console.print(summary_table(outcome.summary))
    if outcome.kill is not None:
        _print_kill(outcome.kill, console)
    console.print(in_words(outcome), highlight=False)


def summary_table(summary: Summary) -> Table:
    """Return a table with one row a community."""
    table = Table(box=None, pad_edge=False)
    table.add_column(_COLUMNS[0], overflow="fold")
    for column in _COLUMNS[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    for community in summary.communities:
        table.add_row(*_row(community))
    return table


def in_words(outcome: Outcome) -> str:
    """Say the result in one line."""
    summary = outcome.summary
    text = (
        f"{summary.events} events, {summary.deliveries} deliveries, {summary.lost} lost,"
        f" {outcome.parasites} parasite"
    )
    return f"interrupted: {text}" if outcome.interrupted else text


def _row(community: CommunitySummary) -> list[str]:
    return [
        community.topic,
        str(community.processes),
        _number(community.view_mean, ".1f"),
        _number(community.view_law, ".1f"),
        _number(community.reception, ".3%"),
        _number(community.predicted, ".3%"),
        _number(community.reliability, ".2%"),
        _number(community.efficiency, ".1%"),
        _number(community.hops_mean, ".2f"),
        _number(community.latency_ms_p50, ".1f"),
        _number(community.latency_ms_p99, ".1f"),
        str(community.upward_messages),
        str(community.duplicates),
        str(community.parasites),
    ]


def _number(value: float | None, form: str) -> str:
    if value is None:
        return "-"
    text = format(value, form)
    return text.replace("100.000%", "100%").replace("100.00%", "100%")


def _print_kill(kill: dict[str, object], console: Console) -> None:
    table = Table("community", "when", box=None, pad_edge=False)
    for column in ("proc.", "view", "law", "dead entries"):
        table.add_column(column, justify="right")
    views = kill["views"]
    assert isinstance(views, dict)
    for when, communities in views.items():
        for row in communities:
            table.add_row(
                row["topic"],
                when,
                str(row["processes"]),
                f"{row['view_mean']:.1f}",
                f"{row['view_law']:.1f}",
                str(row["dead_entries"]),
            )
    console.print()
    console.print(
        f"Killed {kill['processes_killed']} processes with {kill['nodes_killed']} nodes; the views"
        " of the others:",
        highlight=False,
    )
    console.print(table)
    newcomers = kill["newcomers"]
    assert isinstance(newcomers, list)
    joined = ", ".join(
        f"{'not at all' if n['join_seconds'] is None else format(n['join_seconds'], '.2f') + ' s'}"
        f" ({n['seconds_after']:.0f} s after)"
        for n in newcomers
    )
    for what, events, receptions in (
        ("after the kill", kill["events_after"], kill["reception_after"]),
        (
            f"from {kill['tables_seconds']:g} s after the kill",
            kill["events_after_tables"],
            kill["reception_after_tables"],
        ),
    ):
        assert isinstance(receptions, dict)
        each = ", ".join(f"{topic} {_number(value, '.3%')}" for topic, value in receptions.items())
        console.print(f"reception of {events} events {what}: {each}", highlight=False)
    console.print(f"newcomers joined within {joined}", highlight=False)
    console.print(f"entries of dead peers at the end: {kill['dead_entries']}", highlight=False)
    console.print()
