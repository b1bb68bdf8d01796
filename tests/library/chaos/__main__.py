"""`python -m tests.library.chaos`: real processes in real networks, and what they do to them.

Needs root, and says so without.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer
from rich.console import Console

from camcast.doors.plugs import UnknownPlugError, find_backend
from camcast.engine.settings import Order
from camcast.live import transports
from camcast.vocabulary.parameters import SpreadKind
from tests.library.chaos import results
from tests.library.chaos.lab import Choice
from tests.library.chaos.network import ROOT, filter_obstacles, obstacles
from tests.library.chaos.scenario import Outcome, Scenario, run
from tests.library.chaos.scenarios import SCENARIOS, soak

SKIPPED: Final = 77
"""The exit code where the suite cannot run. [automake: a test that exits so was skipped]"""
_WIDTH: Final = 190  # of a table that goes into a file


def main(
    membership: Annotated[
        str, typer.Option(help="Backends, separated by commas.")
    ] = "scamp,hybrid,dht",
    transport: Annotated[str, typer.Option(help="How processes talk.")] = transports.DEFAULT,
    spread: Annotated[
        SpreadKind,
        typer.Option(help="How events spread inside a community; tree: from the first node alone."),
    ] = "auto",
    order: Annotated[
        Order, typer.Option(help="In which order the events of a publisher are delivered.")
    ] = "fifo",
    profile: Annotated[
        Literal["open", "signed"],
        typer.Option(help="Who may take part; signed: each node has a key and a certificate."),
    ] = "open",
    only: Annotated[
        str | None, typer.Option(help="Scenarios, separated by commas; without it all but soak.")
    ] = None,
    soak_minutes: Annotated[float, typer.Option(min=0.5, help="Length of the soak.")] = 10.0,
    churn_minutes: Annotated[
        float, typer.Option(min=0.0, help="So long nodes join and leave in it.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Draws who publishes and who is killed.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Scenarios at a time.")] = 2,
    folder: Annotated[
        Path, typer.Option(help="For the records of all processes, and the results.")
    ] = ROOT / "build/chaos",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results to this file, too.")
    ] = None,
) -> None:
    """Break processes and networks on purpose, and count the events that got lost.

    Exits with 1 if any limit is not kept, and with 77 if the suite cannot run here.
    Example: python -m tests.library.chaos --membership dht --only loss-30,kill-80
    """
    scenarios = _chosen(only, soak(soak_minutes, churn_minutes))
    backends = [name.strip() for name in membership.split(",")]
    try:
        for name in backends:
            find_backend(name)
        transports.check(transport)
    except UnknownPlugError as error:
        raise typer.BadParameter(str(error)) from None
    if reasons := obstacles():
        print(f"the chaos suite cannot run here: {'; '.join(reasons)}", file=sys.stderr)
        raise typer.Exit(SKIPPED)
    if reasons := filter_obstacles():
        skipped = [one.name for one in scenarios if one.shut]
        scenarios = [one for one in scenarios if not one.shut]
        if skipped:
            print(f"skipped: {', '.join(skipped)}: {'; '.join(reasons)}", file=sys.stderr)
        if not scenarios:
            raise typer.Exit(SKIPPED)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    choices = [
        Choice(
            membership=name,
            transport=transport,
            seed=seed,
            spread=spread,
            order=order,
            profile=profile,
        )
        for name in backends
    ]
    outcomes = asyncio.run(_run_all(scenarios, choices, jobs, folder, console))
    console.print(results.table(outcomes))
    for line in results.details(outcomes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    report = results.Report(
        commit=_commit(),
        date=time.strftime("%Y-%m-%d"),
        transport=transport,
        spread=spread,
        profile=profile,
        seed=seed,
        outcomes=outcomes,
    )
    written = msgspec.json.format(msgspec.json.encode(report), indent=1)
    for path in (folder / "results.json", json_file):
        if path is not None:
            path.write_bytes(written + b"\n")
    (folder / "results.md").write_text(results.markdown(report))
    raise typer.Exit(any(outcome.broken for outcome in outcomes))


def _chosen(only: str | None, long: Scenario) -> list[Scenario]:
    if only is None:
        return SCENARIOS
    known = {scenario.name: scenario for scenario in [*SCENARIOS, long]}
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            text = f"unknown scenario {name!r}; there is: {', '.join(known)}"
            raise typer.BadParameter(text, param_hint="--only")
    return [known[name] for name in names]


async def _run_all(
    scenarios: Sequence[Scenario],
    choices: Sequence[Choice],
    jobs: int,
    folder: Path,
    console: Console,
) -> list[Outcome]:
    """Run every scenario with every choice, some at a time, and tell of each that ended."""
    limit = asyncio.Semaphore(jobs)

    async def one(scenario: Scenario, choice: Choice) -> Outcome:
        async with limit:
            place = folder / choice.membership / scenario.name
            outcome = await run(scenario, choice, place)
            console.print(results.line(outcome), markup=False, highlight=False, soft_wrap=True)
            return outcome

    return await asyncio.gather(*(one(s, choice) for s in scenarios for choice in choices))


def _commit() -> str:
    """Return the commit of the checkout, or nothing where git does not know."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    typer.run(main)
