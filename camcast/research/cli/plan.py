"""``camcast plan``: the cheapest parameters for a target, and whether simulation agrees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import EXIT_FAILED, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.research.cli.model import prediction_table
from camcast.research.cli.simulate_setting import OF_COMMUNITIES
from camcast.research.cli.simulated import shown, simulated
from camcast.research.cli.system_options import (
    WEATHER,
    ScenarioFile,
    SettingOptions,
    Sizes,
    WeatherOptions,
    Workers,
    probability_option,
)
from camcast.research.cli.wide_table import WideTable
from camcast.research.report.measures import MEASURES
from camcast.research.systems.registry import CAMCAST, SYSTEMS
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.topic_parameters import TopicParameters
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:  # numpy is an extra
    from camcast.research.population.outcome import Outcome
    from camcast.research.systems.camcast.carriers import Carriers
    from camcast.research.systems.camcast.planner import Plan

RUNS: Final = 10_000  # chosen: a reliability to within 1 % at any value, in seconds
RUNS_OVERLAPPING: Final = 400  # chosen: of processes in several communities; seconds for a hundred
POPULATION_MAX: Final = 1_000_000  # chosen: above it the count chain checks, at any size


@grouped
def plan(
    ctx: typer.Context,
    sizes: Sizes = None,
    scenario: ScenarioFile = None,
    reliability: Annotated[
        str,
        typer.Option(
            metavar="P[,P,...]",
            help="Probability that all living processes of a community receive an event of the"
            " first; one for all communities, or one for each.",
        ),
    ] = "0.99",
    weather: WeatherOptions = WEATHER,
    z_min: Annotated[
        int,
        typer.Option(min=1, help="Links that a table has at least, for those that fail unnoticed."),
    ] = 1,
    unreachable: Annotated[
        float | None,
        probability_option(
            "Share of each community that nobody can dial, as behind firewalls: say what each of"
            " the others pays for them."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Simulate the plan, and print measured beside predicted."),
    ] = False,
    runs: Annotated[int, typer.Option(min=2, help="Events of the check.")] = RUNS,
    seed: Annotated[int, typer.Option(help="Seed of the check.")] = 1,
    workers: Workers = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write the parameters there, by topic, for --parameters of other commands.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Find the cheapest c, g, a and z for a reliability: fewest messages, then smallest tables.

    The topics of --output are those of a chain that ends at the root; --topic names the first. Of
    a file given as --parameters the success of copies counts, and what the plan decides does not.

    With --check the exit code is 1 if the simulation contradicts the plan: if the interval of a
    measured reliability lies below its target. Processes in several communities are planned as one
    in each, and checked as they are.
    """
    with clear_failures(ValueError, LookupError, OSError), extras_named():
        from camcast.research.systems.camcast import planner

        described = SettingOptions(sizes=sizes, weather=weather).setting(ctx, scenario)
        targets = _targets(reliability, len(described.communities))
        planned = planner.plan(described, targets, z_max=max(planner.Z_MAX, z_min), z_min=z_min)
        carried = [] if unreachable is None else _carriers(planned, unreachable)
        measured: list[Outcome] = []
        if check:
            big = described.processes > POPULATION_MAX
            simulator = "chain" if big else "population"
            if described.overlaps:  # whose events only the code that ships hands over
                simulator, runs = "virtual", min(runs, RUNS_OVERLAPPING)
            system = SYSTEMS[CAMCAST]
            setting = attrs.evolve(planned.setting, overlaps=described.overlaps)
            outcome = simulated(system, simulator, setting, runs, seed, workers)
            measured = outcome.communities
        if output is not None:
            topics = [Topic.parse(one.topic) for one in described.communities if one.topic]
            said = _by_topic(planned, topics or weather.topics(len(targets)))
            write_lasting(output, said.as_toml().encode(), 0o644)
    missed = [
        target
        for target, outcome in zip(targets, measured, strict=False)
        if (high := outcome.reliability.high) is not None and high < target
    ]
    if json:
        held = {"holds": not missed} if check else {}
        print_json(_as_json(planned, targets, measured, carried) | held, "plan/1")
    else:
        _print(planned, targets, measured, carried)
    if missed:
        raise typer.Exit(EXIT_FAILED)


def _by_topic(planned: Plan, topics: Sequence[Topic]) -> TopicParameters:
    """Return the plan by topic, the root first, with the success of copies that it is for.

    g, a and z are there only where something is above.
    """
    said: dict[Topic, dict[str, Any]] = {}
    for topic, community in zip(topics, planned.setting.communities, strict=True):
        names = ("c", "g", "a", "z") if community.supers else ("c",)
        values = said[topic] = {name: getattr(community.parameters, name) for name in names}
        own = community.success
        values["success"] = planned.setting.success if own is None else own
        if community.supers and community.success_up is not None:
            values["success_up"] = community.success_up
    return TopicParameters(dict(reversed(said.items())))


def _targets(given: str, communities: int) -> list[float]:
    try:
        targets = [float(part) for part in given.split(",")]
    except ValueError:
        raise SettingError(
            f"--reliability takes probabilities like 0.99 or 0.9,0.99; not {given!r}"
        ) from None
    if not all(0 <= target < 1 for target in targets):
        raise SettingError(f"--reliability takes probabilities from 0 to below 1, not {given}")
    if len(targets) == 1:
        return targets * communities
    if len(targets) != communities:
        raise SettingError(f"--reliability has {len(targets)} values for {communities} communities")
    return targets


def _carriers(planned: Plan, unreachable: float) -> list[Carriers]:
    """Return what each community's carriers pay."""
    from camcast.research.systems.camcast.carriers import carriers_of

    return [
        carriers_of(one.size, one.fan_out, unreachable, has_above=bool(one.supers))
        for one in planned.setting.communities
    ]


def _as_json(
    planned: Plan, targets: list[float], measured: list[Outcome], carried: list[Carriers]
) -> dict[str, Any]:
    communities = []
    for index, (community, prediction) in enumerate(
        zip(planned.setting.communities, planned.predictions, strict=True)
    ):
        parameters = {name: getattr(community.parameters, name) for name in ("c", "g", "a", "z")}
        row: dict[str, Any] = {
            "size": community.size,
            "topic": community.topic,
            "target": targets[index],
            "parameters": parameters | {"fan_out": community.fan_out},
            "predicted": attrs.asdict(prediction),
        }
        if measured:
            row["measured"] = measured[index].as_json()
        if carried:
            one = carried[index]
            row["unreachable"] = attrs.asdict(one) | {"event_bytes": one.event_bytes}
        communities.append(row)
    return {"communities": communities, "messages": planned.messages}


def _print(
    planned: Plan, targets: list[float], measured: list[Outcome], carried: list[Carriers]
) -> None:
    console = wide_console()
    console.print(prediction_table(planned.setting, planned.predictions))
    console.print(f"{planned.messages:,.0f} messages an event", highlight=False)
    if carried:
        console.print()
        console.print(_carriers_table(planned, carried))
    if not measured:
        return
    lines: list[Sequence[str]] = []
    rows = zip(targets, planned.predictions, measured, strict=True)
    for target, prediction, outcome in rows:
        predicted = [MEASURES[name].text(getattr(prediction, name)) for name in OF_COMMUNITIES]
        found = outcome.measures()
        lines += [
            (
                "",
                "target",
                *(f"{target:.2%}" if name == "reliability" else "" for name in OF_COMMUNITIES),
            ),
            (f"{outcome.sizes[0]:,}", "predicted", *predicted),
            ("", "measured", *(shown(name, found[name]) for name in OF_COMMUNITIES)),
        ]
    columns = [MEASURES[name].column for name in OF_COMMUNITIES]
    console.print()
    console.print(WideTable(["processes", ""], columns, lines))


def _carriers_table(planned: Plan, carried: list[Carriers]) -> WideTable:
    """Return what each of those that can be dialled pays, of an event of a thousand bytes."""
    heads = ["processes", "nobody can dial", "carried by"]
    columns = ["connections of these, each", "copies an event, each", "bytes an event, each"]
    rows = zip(planned.setting.communities, carried, strict=True)
    return WideTable(
        heads,
        columns,
        [
            (
                *(f"{of.size:,}", f"{one.undialable:,}"),
                f"{one.carriers:,}{' from above' if one.from_above else ''}",
                *(f"{one.links:.1f}", f"{one.copies:.1f}", f"{one.event_bytes:,.0f}"),
            )
            for of, one in rows
        ],
    )
