"""``camcast simulate population|chain|virtual``: one setting on three simulators, or a scenario.

The three take the same options, so that changing one word compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import EXIT_FAILED, CommandError, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.doors.plugs import find_protocol
from camcast.observe.trace import JsonLinesSink, Sink
from camcast.research.cli.run_outcome import complain_of_outside, summary_table
from camcast.research.cli.simulated import load_figure, print_measures, shown, simulated
from camcast.research.cli.system_options import (
    DISCOVERY,
    PROTOCOL,
    SETTING,
    DiscoveryOptions,
    Figure,
    ProtocolOptions,
    SettingOptions,
    Workers,
)
from camcast.research.cli.wide_table import WideTable
from camcast.research.report.measures import MEASURES, repair_in_words
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.sweeps import ProgressBar
from camcast.research.systems.registry import System, find_system

if TYPE_CHECKING:  # numpy is an extra
    from camcast.research.population.outcome import Outcome
    from camcast.research.scenarios.virtual import VirtualScenario
    from camcast.research.systems.camcast.setting import Setting

# chosen: of the paper's 1,110 processes, some seconds on two cores
RUNS: Final = {"population": 1000, "chain": 1000, "virtual": 20}

EXAMPLES: Final = {
    "population": "camcast simulate population --sizes 1000,100,10 --crash 0.3 --runs 1000",
    "chain": "camcast simulate chain --sizes 1000000000,1000000,1000",
    "virtual": "camcast simulate virtual benchmarks/scenarios/paper_scamp.toml",
}

OF_COMMUNITIES: Final = ("reception", "reliability", "rounds", "messages", "upward_messages")
_LOAD: Final = ("load_sent_p50", "load_sent_peak", "load_received_p50", "load_received_peak")
_SIMULATED: Final = (*OF_COMMUNITIES, "reach_p5", "reaches_90", *_LOAD)
SHOWN: Final = (
    *("reception", "reliability", "reach_p5", "reaches_90", "rounds", "messages"),
    *("between", "parasites", "parasite_copies", "entries", *_LOAD),
    *("load_sent_delegates", "load_sent_hubs"),
)
"""The measures of one group, in the order of a table."""

_WHAT: Final = {
    "population": "every process by itself, up to 4 billion",
    "chain": "only how many processes have the event, any size",
    "virtual": "the code that ships, up to 20,000 processes",
}
_HELP: Final = """Simulate a chain of communities, or those of a file: {what}.

The event is published in the first community of --sizes and climbs to the last. Tables are
static and uniform, as in section 6.1.1 of the paper; the rounds are counted until nobody
has anything left to send. A scenario file determines a run of the virtual network
completely: the same file gives the same digest.
"""
_ALSO: Final = {
    "population": """
With --protocol it is a system that CAMCAST is compared with, among everybody or in a group of its
own, beside the model of `camcast model --protocol` (docs/research/running.md).
"""
}

_IN_A_SCENARIO: Final = {
    **{name: f"set parameters.{name} in the file" for name in ("c", "g", "a", "z", "p_sel")},
    "success": "set links.loss in the file, or success in [topics]",
    "success_up": "set success_up in a table of [topics]",
    "topic": "the file names its topics",
    "crash": "set stillborn or crashes in the file",
    "weak": "set links.loss in the file",
    "runs": "`camcast sweep FILE --repetitions N` runs it several times",
    "workers": "one run is computed by one process; `camcast sweep` has several",
    "results": "`camcast sweep FILE --output DIR` keeps what is done",
}
"""Where a scenario file says what each of these options says of a setting."""


class TraceFormat(StrEnum):
    """How a trace is written."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def setting_command(simulator: str) -> Callable[..., None]:
    """Return the command of a simulator of settings: population, chain or virtual."""

    @grouped
    def simulate_setting(
        ctx: typer.Context,
        scenario: Annotated[
            Path | None,
            typer.Argument(
                metavar="[SCENARIO.toml]",
                help="Instead of --sizes, communities with any super-topics; for virtual also"
                " processes that join, crash and return, latencies, partitions"
                " (docs/research/running.md).",
            ),
        ] = None,
        given: SettingOptions = SETTING,
        runs: Annotated[
            int | None,
            typer.Option(
                min=1, help="Events, each on tables of its own; default: 1000, virtual 20."
            ),
        ] = None,
        seed: options.Seed = None,
        workers: Workers = None,
        results: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE.jsonl", help="Keep what is done there; continue a killed run."
            ),
        ] = None,
        protocol: ProtocolOptions = PROTOCOL,
        discovery: DiscoveryOptions = DISCOVERY,
        output: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR",
                help="With a scenario: a new folder for its trace and summary, like that of a live"
                " run (docs/formats.md).",
            ),
        ] = None,
        trace_format: Annotated[
            TraceFormat | None,
            typer.Option(help="Format of the trace in --output; default: jsonl."),
        ] = None,
        figure: Figure = None,
        json: options.Json = False,
    ) -> None:
        with (
            clear_failures(ValueError, LookupError, OSError),
            extras_named(),
            load_figure(figure) as draw,
        ):
            if scenario is not None and simulator == "virtual":
                if given.sizes is not None:
                    raise CommandError("give one of --sizes and a scenario file")
                if trace_format is not None and output is None:
                    raise CommandError("--trace-format goes with --output")
                form = trace_format or TraceFormat.JSONL
                options.refuse(ctx, _IN_A_SCENARIO, "does not go with a scenario file")
                from camcast.research.scenarios.virtual import VirtualScenario

                read = VirtualScenario.read(scenario).with_parameters(given.weather.said())
                changed = protocol.changes(read) | discovery.changes() | options.given(seed=seed)
                read = given.parameters.with_preset(attrs.evolve(read, **changed))
                _run_scenario(read, output, form, draw, json=json)
                return
            for name, value in (
                ("--output", output),
                ("--trace-format", trace_format),
                ("--discovery", discovery.discovery),
                ("--discovery-set", discovery.discovery_settings),
            ):
                if value is not None:
                    raise CommandError(f"{name} goes with a scenario file for virtual")
            chain = given.setting(ctx, scenario)
            name, chosen = protocol.name, protocol.setting(ctx, chain)
            system = find_system(name)
            if simulator not in system.simulators:
                raise CommandError(_elsewhere(simulator, name))
            outcome = simulated(
                *(system, simulator, chosen, runs or RUNS[simulator]),
                *(1 if seed is None else seed, workers, results),
            )
            not_counted = _not_counted(simulator, outcome)
            figures = {
                "simulator": simulator,
                "setting": attrs.asdict(chosen),
                "runs": outcome.runs,
                "not_counted": not_counted,
            }
            draw(_loads(chain, outcome), f"{name}, {simulator}, {outcome.runs:,} runs")
            if not outcome.sizes:
                model, words = _predicted(system, chosen)
                if json:
                    found = outcome.as_json() | {"model": model}
                    print_json({"protocol": name} | figures | found, "simulate/1")
                    return
                about = f"{words} {outcome.runs:,} runs; mean [95 % interval]."
                below = filter(None, (about, not_counted))
                print_measures(name, SHOWN, model or {}, outcome.measures(), *below)
            elif json:
                figures["communities"] = [found.as_json() for found in outcome.communities]
                rounds = outcome.rounds_to_reach_all.as_json()
                print_json(figures | {"rounds": rounds}, "simulate/1")
            else:
                _print(simulator, chain, outcome)

    simulate_setting.__doc__ = _HELP.format(what=_WHAT[simulator]) + _ALSO.get(simulator, "")
    return simulate_setting


def _elsewhere(simulator: str, protocol: str) -> str:
    """Say where a protocol is simulated, since this simulator has only CAMCAST."""
    instead = f"`camcast simulate population --sizes N,N,... --protocol {protocol}`"
    if simulator == "virtual":
        scenario = f"`camcast simulate virtual SCENARIO.toml --protocol {protocol}`"
        instead = f"a scenario file, {scenario}, or {instead}"
    return f"`simulate {simulator} --sizes` has no protocol but camcast; give {instead}"


def _predicted(system: System, chosen: Any) -> tuple[dict[str, Any] | None, str]:
    """Return the model's figures and, in words, who takes part and why there is no model."""
    from camcast.research.systems.setting_base import SettingError

    who = f"{chosen.in_words()}."
    try:
        model = system.predict(chosen)
    except SettingError as error:
        return None, f"{who} No model: {error}."
    return model.as_json(), f"{who} {model.in_words()}".rstrip()


def _print(simulator: str, chosen: Setting, outcome: Outcome) -> None:
    counted = outcome.communities[0].measures()
    names = [name for name in _SIMULATED if name in counted]
    columns = [MEASURES[name].column for name in names]
    head = "processes"
    sizes = _sizes(chosen, outcome)
    width = max(map(len, (head, *sizes)))
    lines = []
    for size, community in zip(sizes, outcome.communities, strict=True):
        found = community.measures()
        lines.append((size.rjust(width), *(shown(name, found[name]) for name in names)))
    console = wide_console()
    console.print(WideTable([head], columns, lines))
    crashed = "no crashes"
    if chosen.crash:
        crashed = f"{chosen.crash:.0%} crashed" + (" for one copy" if chosen.weak else "")
    console.print(
        f"{outcome.runs:,} runs, success {_success(chosen)}, {crashed}; mean [95 % interval]."
        f" All rounds: {shown('rounds', outcome.rounds_to_reach_all)}",
        highlight=False,
    )
    if not_counted := _not_counted(simulator, outcome):
        console.print(not_counted, highlight=False, soft_wrap=True)


def _sizes(chosen: Setting, outcome: Outcome) -> list[str]:
    """Return the names and sizes of communities, for people."""
    topics = (one.topic for one in chosen.communities)
    pairs = zip(topics, outcome.communities, strict=True)
    return [f"{topic} {community.sizes[0]:,}".lstrip() for topic, community in pairs]


def _loads(chain: Setting, outcome: Outcome) -> dict[str, Any]:
    """Return the measures of each community, or of the one group, for a picture."""
    if not outcome.sizes:
        return {"": outcome.as_json()}
    found = (community.as_json() for community in outcome.communities)
    return dict(zip(_sizes(chain, outcome), found, strict=True))


def _not_counted(simulator: str, outcome: Outcome) -> str | None:
    """Say what of the load of a process is not counted, and why; None where all of it is."""
    if "load_received_p50" in outcome.loads:
        return None
    if simulator == "chain":
        instead = "`camcast simulate population` counts those that each receives."
        return f"A chain does not tell processes apart: {instead}"
    from camcast.research.population.load_counts import COUNTED_MAX

    sent = "load_sent_p50" in outcome.loads
    what = "The copies that each process receives are" if sent else "The load of a process is"
    return f"{what} counted up to {COUNTED_MAX:,} processes."


def _success(chosen: Setting) -> str:
    """Say what share of copies arrives, by community where each has its own."""
    if not chosen.weakly_linked:
        return f"{chosen.success:g}"
    places = range(len(chosen.communities))
    own = [(one.success, one.success_up) for one in chosen.communities]
    within = [chosen.success if success is None else success for success, _ in own]
    up = [within[at] if own[at][1] is None else own[at][1] for at in places[:-1]]
    shown_up = f" (upward {', '.join(f'{share:g}' for share in up)})" if up else ""
    return f"{', '.join(f'{share:g}' for share in within)}{shown_up}"


def _run_scenario(
    scenario: VirtualScenario,
    output: Path | None,
    form: TraceFormat,
    draw: Callable[[Mapping[str, Any], str], None],
    *,
    json: bool,
) -> None:
    from camcast.research.simulation.invariants import InvariantError
    from camcast.research.simulation.scenario_run import run_scenario

    scenario.publications()  # a wrong workload is found before anything is made
    folder = None if output is None else OutputFolder(output)
    with ExitStack() as stack:
        sink: Sink | None = None
        if folder is not None:
            folder.write_scenario(scenario, "virtual")
            sink = stack.enter_context(_trace_sink(folder, form))
        bar = stack.enter_context(ProgressBar("virtual seconds"))
        try:
            outcome = run_scenario(
                scenario, sink, lambda now, end: bar.update(round(now), round(end))
            )
        except InvariantError as error:
            raise CommandError(f"an invariant does not hold: {error}") from error
    if folder is not None:
        folder.write_summary(outcome.as_json())
    complain_of_outside(outcome)
    communities = {
        community.topic: {name: {"mean": value} for name, value in attrs.asdict(community).items()}
        for community in outcome.summary.communities
    }
    draw(communities, f"{scenario.protocol}, {repair_in_words(outcome.repair)}")
    if json:
        print_json(outcome.as_json() | {"scenario": scenario.as_json()}, "simulate-scenario/1")
    else:
        console = wide_console()
        console.print(summary_table(outcome.summary))
        summary = outcome.summary
        console.print(
            f"{outcome.virtual_seconds:,.0f} virtual seconds, {outcome.joined:,} joined,"
            f" {summary.crashed:,} crashed; {outcome.records_sent:,} records sent,"
            f" {outcome.datagrams:,} datagrams,"
            f" {outcome.lost_copies:,} lost on the way, {outcome.undeliverable:,} found nobody",
            f"{summary.events:,} events, {summary.deliveries:,} deliveries, {summary.lost:,} lost,"
            f" {summary.parasites} parasite, {outcome.unpublished} with nobody to publish them;"
            f" {repair_in_words(outcome.repair)}",
            f"digest {outcome.digest}",
            sep="\n",
            highlight=False,
            soft_wrap=True,
        )
        if folder is not None:
            console.print(f"output: {output}", highlight=False, soft_wrap=True)
    if outcome.summary.parasites and not find_protocol(scenario.protocol).parasitic:
        raise typer.Exit(EXIT_FAILED)


def _trace_sink(folder: OutputFolder, form: TraceFormat) -> AbstractContextManager[Sink]:
    path = folder.trace(0, form.value)
    if form is TraceFormat.JSONL:
        return JsonLinesSink(path)
    with extras_named("spark"):
        from camcast.research.pipeline.ingest.trace_parquet import ParquetSink
    return ParquetSink(path)
