"""The common part of ``run`` and ``demo``: options, and how a scenario is run and shown."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import attrs
import typer
from attrs import frozen

from camcast.app.settings import Contacts, Listening, Spread
from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.failure import EXIT_FAILED, CommandError, clear_failures, complain, remark
from camcast.cli.options import option_of
from camcast.cli.output import print_json
from camcast.cli.process_options import PROFILE, ProfileName, ProfileOptions
from camcast.cli.served_health import health_address
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_protocol
from camcast.research.cli.run_outcome import complain_of_outside, print_outcome
from camcast.research.cli.system_options import (
    DISCOVERY,
    PROTOCOL,
    DiscoveryOptions,
    ProtocolOptions,
)
from camcast.research.experiment.progress import progress_line
from camcast.research.experiment.run import run_experiment
from camcast.research.experiment.workers import ExperimentError
from camcast.research.runs.run_folder import OutputFolder, dated_folder
from camcast.research.scenarios.live import Scenario
from camcast.research.sweeps.sigterm import sigterm_stops
from camcast.vocabulary.topic_parameters import TopicParameters


@frozen
class ExperimentOptions:
    """The options of an experiment's nodes and results; None leaves what the scenario says."""

    membership: Annotated[str | None, option_of(Contacts, "membership")] = None
    settings: Annotated[list[str] | None, option_of(Contacts, "options")] = None
    discovery: DiscoveryOptions = DISCOVERY
    transport: Annotated[str | None, option_of(Listening, "transport")] = None
    profile: ProfileOptions = PROFILE
    repair: Annotated[bool | None, option_of(Spread, "repair")] = None
    spread: Annotated[options.SpreadName | None, option_of(Spread, "spread")] = None
    parameters: Annotated[Path | None, option_of(Spread, "parameters")] = None
    processes: Annotated[
        int | None,
        typer.Option("--processes", "-p", help="Operating system processes; default: 2."),
    ] = None
    seed: options.Seed = None
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where traces and results go; default: a new folder; demo keeps none.",
        ),
    ] = None
    health: options.Health = None
    control: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Give each node a control socket there, for camcast dashboard FOLDER and status.",
        ),
    ] = None
    json: options.Json = False

    def over(
        self, scenario: Scenario, protocol: ProtocolOptions = PROTOCOL, kill: float | None = None
    ) -> Scenario:
        """Return a scenario with what these options and the other two change, all at once.

        Raises `ScenarioError`, `TopicParametersError`, and as `ProtocolOptions.changes`.
        """
        if self.parameters is not None:
            scenario = scenario.with_parameters(TopicParameters.read(self.parameters))
        return attrs.evolve(
            scenario,
            parameters=attrs.evolve(scenario.parameters, **options.given(spread=self.spread)),
            **protocol.changes(scenario, self.membership, self.settings),
            **self.discovery.changes(),
            **options.given(
                transport=self.transport,
                repair=self.repair,
                workers=self.processes,
                seed=self.seed,
                kill=kill,
            ),
        )


EXPERIMENT: Final = ExperimentOptions()


def carry_out(
    scenario: Scenario, given: ExperimentOptions, *, keep: bool, reception_min: float = 0.0
) -> None:
    """Run an experiment and print its summary, as a table or as JSON.

    The results go to --output, or, if they are to be kept, into a new folder. With a passphrase
    all links are encrypted; in the profile ``signed`` each node has a key of its own. --health has
    a port for each process. Exits with `EXIT_FAILED` if a process was lost at start, if there were
    parasites where the protocol has none, or, in a run that was not interrupted, a reception below
    `reception_min`.
    """
    with clear_failures():
        passphrase = given.profile.passphrase()
        signed = given.profile.profile == ProfileName.SIGNED
        served = None
        if given.health is not None:
            served = _say_where(*health_address(given.health), scenario.workers)
        control = None if given.control is None else _sockets(given.control)
        kept = given.output or (dated_folder(scenario.name) if keep else None)
        place = TemporaryDirectory(prefix="camcast-") if kept is None else nullcontext(str(kept))
        with sigterm_stops(), place as path, progress_line() as show:
            output = OutputFolder(Path(path))
            running = run_experiment(
                scenario, output, show, passphrase, served, control, signed=signed
            )
            try:
                outcome = asyncio.run(running)
            except ExperimentError as error:
                if kept is None or not (logs := output.logs()):
                    raise
                raise ExperimentError(f"{error}; see {', '.join(map(str, logs))}") from error
    for lost in outcome.workers_lost:
        complain(f"{lost} before it was ready, and none of its processes joined")
    complain_of_outside(outcome)
    if given.json:
        run = {"scenario": scenario.name, "output": None if kept is None else str(kept)}
        print_json(outcome.as_json() | run, "run/1")
    else:
        console = wide_console()
        print_outcome(outcome, console)
        written = "not kept; --output DIR keeps the traces" if kept is None else kept
        console.print(f"output: {written}", highlight=False, soft_wrap=True)
    missed = not outcome.interrupted and outcome.summary.worst_reception < reception_min
    parasites = outcome.parasites and not find_protocol(scenario.protocol).parasitic
    if parasites or missed or outcome.workers_lost:
        raise typer.Exit(EXIT_FAILED)


def _sockets(folder: Path) -> Path:
    """Make the folder of --control if need be, for its owner alone; return its path."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--control {folder}: {error.strerror}; it takes a folder") from None
    return folder.resolve()


def _say_where(host: str, port: int, processes: int) -> tuple[str, int]:
    """Print where the processes serve their health; return the first one's host and port."""
    last = port + processes - 1
    if not 0 < port <= last < 2**16:
        raise OptionError(f"--health takes a port for each of {processes} processes, from PORT on")
    shown = f"[{host}]" if ":" in host else host
    urls = (f"http://{shown}:{one}" for one in dict.fromkeys((port, last)))
    remark(f"health and metrics at {' to '.join(urls)}, a process each")
    return host, port
