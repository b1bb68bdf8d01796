"""What ``run`` and ``demo`` share: carry a scenario out, and show what came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import typer

from camcast.cli.failure import EXIT_FAILED, complain
from camcast.cli.outcome import print_outcome
from camcast.cli.output import print_json, wide_console
from camcast.cli.served_metrics import metrics_address
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_protocol
from camcast.experiment.progress import progress_line
from camcast.experiment.run import Outcome, run_experiment
from camcast.experiment.workers import ExperimentError
from camcast.runs.folder import OutputError, OutputFolder
from camcast.scenarios.live import Scenario

FAILURES: Final = (ExperimentError, OptionError, OutputError)


def carry_out(
    scenario: Scenario,
    path: Path,
    *,
    json: bool,
    reception_min: float = 0.0,
    passphrase: str | None = None,
    metrics: str | None = None,
    control: Path | None = None,
    signed: bool = False,
) -> Outcome:
    """Run an experiment into a folder and print its summary, as a table or as JSON.

    With a passphrase all links are encrypted, and with `signed` each node has a key of its own.
    Exits with `EXIT_FAILED` if there were parasites where the protocol has none, or, in a run
    that was not interrupted, a reception below `reception_min`. `metrics` is --metrics; each
    process has a port of its own. `control` is a folder for the control sockets of the nodes.
    """
    served = None if metrics is None else _say_where(*metrics_address(metrics), scenario.processes)
    if control is not None:
        control.mkdir(mode=0o700, parents=True, exist_ok=True)
        control = control.resolve()
    folder = OutputFolder(path)
    with progress_line() as show:
        outcome = asyncio.run(
            run_experiment(scenario, folder, show, passphrase, served, control, signed=signed)
        )
    if json:
        print_json(outcome.as_json() | {"scenario": scenario.name, "output": str(path)}, "run/1")
    else:
        console = wide_console()
        print_outcome(outcome, console)
        console.print(f"output: {path}", highlight=False, soft_wrap=True)
    missed = not outcome.interrupted and outcome.summary.worst_reception < reception_min
    parasites = outcome.parasites and not find_protocol(scenario.protocol).parasitic
    if parasites or missed:
        raise typer.Exit(EXIT_FAILED)
    return outcome


def _say_where(host: str, port: int, processes: int) -> tuple[str, int]:
    """Say at which ports the processes serve metrics; return the first as a host and a port."""
    last = port + processes - 1
    if not 0 < port <= last < 2**16:
        raise OptionError(f"--metrics takes a port for each of {processes} processes, from PORT on")
    shown = f"[{host}]" if ":" in host else host
    urls = (f"http://{shown}:{one}/metrics" for one in dict.fromkeys((port, last)))
    complain(f"metrics at {' to '.join(urls)}, a process each")
    return host, port
