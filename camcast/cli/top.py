"""``camcast top``: the processes of a folder, busiest first, again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from camcast.cli import options
from camcast.cli.ask import amount, communities_of, duration, print_table, wrong_with
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json
from camcast.cli.printed import TopRow
from camcast.ops.dashboard.gathering import sockets_of, status_of_all

EVERY_SECONDS: Final = 2.0  # chosen: as the dashboard
_CLEAR: Final = "\x1b[H\x1b[J"  # of terminals (ECMA-48): home, and erase what follows

Snapshots = Mapping[Path, dict[str, Any] | str]


def top(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="PLACE...", help="Control sockets, or folders of them."),
    ],
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How often to ask.")
    ] = EVERY_SECONDS,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many tables.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the processes in a folder, those that receive most first, until Ctrl-C.

    Rates are of the time since the last table. "wrong" has the conditions that camcast doctor
    explains. A process that gives no answer stands first. In a terminal each table takes the place
    of the one before; into a pipe they follow each other, with --json as a list on each line.
    """
    before: Snapshots = {}
    shown = 0
    with clear_failures():
        while True:
            snapshots = status_of_all(sockets_of(places))
            rows = rows_of(snapshots, before)
            if json:
                print_json(rows, "top/1")
            else:
                _show(rows, {path.name: one for path, one in snapshots.items()})
            shown += 1
            if shown == count:
                return
            before = snapshots
            time.sleep(every)


def rows_of(snapshots: Snapshots, before: Snapshots) -> list[TopRow]:
    """Return the rows of those that answered, those that receive most first."""
    rows = [
        _row(path.name, now, before.get(path))
        for path, now in snapshots.items()
        if not isinstance(now, str)
    ]
    return sorted(rows, key=lambda row: (-row["received_a_second"], row["process"]))


def _row(name: str, now: dict[str, Any], before: dict[str, Any] | str | None) -> TopRow:
    counters, seconds = now["counters"], now["up_seconds"]
    received, sent = counters["events"], counters["outputs"]["bytes_sent"]
    if isinstance(before, dict) and before["process"] == now["process"]:  # not started again
        seconds -= before["up_seconds"]
        received -= before["counters"]["events"]
        sent -= before["counters"]["outputs"]["bytes_sent"]
    seconds = max(seconds, 1e-3)  # of a process that has just started
    return TopRow(
        process=name,
        communities=communities_of(now),
        wrong=wrong_with(now),
        up_seconds=now["up_seconds"],
        peers=now["liveness"]["watched"],
        received_a_second=max(0.0, received / seconds),
        sent_bytes_a_second=max(0.0, sent / seconds),
        waiting=sum(
            queue["queued_events"] for one in now["communities"] for queue in one["subscriptions"]
        ),
        lost=counters["missed"] + counters["told_missed"],
    )


def _show(rows: list[TopRow], snapshots: Mapping[str, dict[str, Any] | str]) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    silent = [name for name, one in snapshots.items() if isinstance(one, str)]
    print_table(
        ("process", "communities", "wrong", "up", "peers", "events/s", "sent/s", "waiting", "lost"),
        [
            *((name, "", "no answer", *[""] * 6) for name in silent),
            *(
                (
                    *(row["process"], row["communities"], row["wrong"]),
                    *(duration(row["up_seconds"]), row["peers"]),
                    f"{row['received_a_second']:.1f}",
                    amount(row["sent_bytes_a_second"]),
                    *(row["waiting"], row["lost"]),
                )
                for row in rows
            ),
        ],
        texts=3,
    )
    sys.stdout.flush()
