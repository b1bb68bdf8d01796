"""`python -m peers`: ours and theirs on the same job, in the same run, as ratios."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from attrs import asdict
from rich.console import Console
from rich.table import Table

from camcast.doors.plugs import UnknownPlugError, find_backend
from peers import systems
from peers.alone import AloneJob, as_json, lone_systems, measure, table
from peers.job import Job, Measured, Outcome, run_job

NODES_MAX = 200  # chosen: everybody connected to everybody are then 40,000 connections

WIDTH = 160  # of a table that goes into a file

COLUMNS = {
    "deliveries_per_second": "fast\ndeliveries/s",
    "cpu_seconds_per_1000_deliveries": "fast\nCPU s/1000",
    "paced_cpu_seconds_per_1000_deliveries": "paced\nCPU s/1000",
    "paced_latency_ms_p50": "paced\np50 ms",
    "paced_latency_ms_p99": "paced\np99 ms",
    "memory_mb_per_node": "MB\na node",
}
assert set(COLUMNS) < set(Measured.__annotations__)


def main(
    nodes: Annotated[str, typer.Option(help="Numbers of nodes, separated by commas.")] = "10,50",
    events: Annotated[int, typer.Option(min=1, help="Events of the fast part.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the fast part.")] = 3,
    membership: Annotated[str, typer.Option(help="Our backend.")] = "scamp",
    only: Annotated[
        str | None, typer.Option(help="Peers, separated by commas; without it all.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything to this file, too.")
    ] = None,
    alone: Annotated[
        int | None,
        typer.Option(min=2, help="In place of --nodes: so many, one a process, by turns."),
    ] = None,
    visits: Annotated[int, typer.Option(min=1, help="With --alone: turns of each system.")] = 5,
) -> None:
    """Let CAMCAST and other systems do the same job, and compare.

    Example: python -m peers --nodes 10 --only zenoh,nats --json peers.json
    """
    try:
        find_backend(membership)
    except UnknownPlugError as error:
        raise typer.BadParameter(str(error), param_hint="--membership") from None
    sizes = _sizes(nodes)
    ours, theirs = systems.camcast(membership), systems.peers()
    known = [system.name for system in theirs]
    wanted = known if only is None else [name.strip() for name in only.split(",")]
    for name in wanted:
        if name not in known:
            text = f"unknown peer {name!r}; there is: {', '.join(known)}"
            raise typer.BadParameter(text, param_hint="--only")
    asked = [system for system in theirs if system.name in wanted]
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    progress = Console(stderr=True, quiet=not sys.stderr.isatty())
    if alone is not None:
        lone = [*lone_systems(membership), *asked]
        _alone(lone, AloneJob(nodes=alone, visits=visits), console, progress, json_file)
        return
    chosen = [*ours, *asked]
    job = Job(events=events, rounds=rounds)
    report: list[dict[str, object]] = []
    failed = False
    for size in sizes:
        outcomes = [run_job(system, size, job, progress.print) for system in chosen]
        console.print(_table(size, outcomes))
        for outcome in outcomes:
            if problem := outcome.skipped or outcome.failed:
                word = "skipped" if outcome.skipped else "failed"
                console.print(f"{outcome.system} {word}: {problem}", markup=False, soft_wrap=True)
        failed |= any(outcome.failed for outcome in outcomes)
        report += [outcome.as_json(outcomes[0]) for outcome in outcomes]
    for system in chosen:
        console.print(f"{system.name}: {system.note}", markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(json.dumps({"job": asdict(job), "outcomes": report}, indent=2) + "\n")
    if failed:
        raise typer.Exit(1)


def _alone(
    chosen: list[systems.System],
    job: AloneJob,
    console: Console,
    progress: Console,
    json_file: Path | None,
) -> None:
    """Measure one node a process, by turns, and print the table."""
    found = measure(chosen, job, progress.print)
    console.print(table(found, job))
    for system in chosen:
        missing = system.missing()
        says = system.note if missing is None else f"skipped: {missing}"
        console.print(f"{system.name}: {says}", markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(found, job), indent=2) + "\n")
    if any(None in visits for visits in found.values()):
        raise typer.Exit(1)


def _sizes(text: str) -> list[int]:
    sizes = []
    for part in text.split(","):
        if not part.strip().isdecimal() or not 2 <= int(part) <= NODES_MAX:
            raise typer.BadParameter(
                f"{part!r} is not a number of nodes from 2 to {NODES_MAX}", param_hint="--nodes"
            )
        sizes.append(int(part))
    return sizes


def _table(nodes: int, outcomes: list[Outcome]) -> Table:
    """Return the first outcome in numbers, the others in numbers and as multiples of it."""
    table = Table(title=f"{nodes} nodes; in brackets: times {outcomes[0].system}")
    table.add_column("system")
    for column in COLUMNS.values():
        table.add_column(column, justify="right")
    table.add_column("missed\nfast, paced", justify="right")
    for outcome in outcomes:
        if outcome.measured is None:
            continue
        ratios = outcome.ratios(outcomes[0])
        cells = []
        for name in COLUMNS:
            ratio = ratios.get(name)
            value = f"{getattr(outcome.measured, name):,.3g}"
            if name == "deliveries_per_second":
                value = f"{outcome.measured.deliveries_per_second:,.0f}"
            ours = outcome is outcomes[0] or ratio is None
            cells.append(value if ours else f"{value} ({ratio:.2g})")
        missed = f"{outcome.measured.missed:,}, {outcome.measured.paced_missed:,}"
        table.add_row(outcome.system, *cells, missed)
    return table


if __name__ == "__main__":
    typer.run(main)
