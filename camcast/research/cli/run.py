"""``camcast run``: an experiment over many nodes in several operating system processes."""

from __future__ import annotations

from typing import Annotated, Any, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.configured import configured
from camcast.cli.failure import clear_failures
from camcast.cli.option_group import grouped
from camcast.doors.options import OptionError
from camcast.research.cli.experiment import EXPERIMENT, ExperimentOptions, carry_out
from camcast.research.cli.system_options import (
    PARAMETERS,
    PROTOCOL,
    ParameterOptions,
    ProtocolOptions,
    probability_option,
    sizes_of,
)
from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.live import Scenario, chain, communities_for, find_scenario
from camcast.research.scenarios.workload import Workload, workload_of
from camcast.vocabulary.topics import Topic

MEMBERS: Final = 2  # chosen: of a community that only the workload names: publisher and receiver
MEMBERS_MAX: Final = 10  # chosen: a newsgroup has hundreds of authors, this machine one rack

# chosen: with --kill and no rate, 12.5 s before the kill and 12.5 s after it, of which the
# last 4.5 s have tables that dropped the dead
KILL_RATE: Final = 20.0
KILL_EVENTS: Final = 500


@configured
@grouped
def run(
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.toml", help="'paper' (6.2.1), or a file.")
    ] = None,
    community: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=N", help="A community's size. Repeatable.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="A chain, bottom first, root last.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="KIND[:FILE]",
            help="synthetic (default), departures, usenet:FILE or earthquakes:FILE.",
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(help="Topic of a synthetic workload; default: the deepest community."),
    ] = None,
    events: Annotated[
        int | None, typer.Option(help="Publish only so many; default: 100 or all.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Synthetic events a second; default: as fast as possible.")
    ] = None,
    payload_bytes: Annotated[int | None, typer.Option(help="Size of a synthetic event.")] = None,
    speed: Annotated[
        float | None, typer.Option(help="Seconds of a real workload that pass in one second.")
    ] = None,
    protocol: ProtocolOptions = PROTOCOL,
    parameters: ParameterOptions = PARAMETERS,
    tau: Annotated[int | None, typer.Option(help="Live links that trigger a search (τ).")] = None,
    kill: Annotated[
        float | None, probability_option("Kill this share of the processes half-way (kill -9).")
    ] = None,
    experiment: ExperimentOptions = EXPERIMENT,
) -> None:
    """Run an experiment: live nodes in several processes, a workload, a table of what happened.

    Without --scenario, --community or --sizes the communities are those that the workload
    names, or the paper's chain. Options override the scenario. The output folder gets the
    scenario, the traces and the summary. Exit code 1: a failure, or a
    parasite event of a protocol that promises none.
    """
    with clear_failures(ValueError, LookupError):
        workload_given = options.given(
            topic=None if topic is None else Topic.parse(topic),
            events=events,
            rate=rate,
            payload_bytes=payload_bytes,
            speed=speed,
        )
        if workload is not None:
            workload_given |= workload_of(workload)
        chosen = _base(scenario, community, sizes, workload_given)
        chosen = attrs.evolve(
            chosen,
            parameters=parameters.over(chosen.parameters, tau),
            workload=_merged(chosen, workload_given, kill),
        )
        if parameters.preset is not None and experiment.repair:
            raise OptionError(f"--preset {parameters.preset} is without repair; give one of them")
        chosen = parameters.with_preset(experiment.over(chosen, protocol, kill))
        chosen.publications()  # a wrong workload is found before anything starts
    carry_out(chosen, experiment, keep=True)


def _base(
    name: str | None, community: list[str] | None, sizes: str | None, workload: dict[str, Any]
) -> Scenario:
    """Return the scenario that the communities come from."""
    if sum(given is not None for given in (name, community or None, sizes)) > 1:
        raise ScenarioError("give one of --scenario, --community and --sizes")
    if name is not None:
        return find_scenario(name)
    if community:
        topics = [topic for topic, _ in map(_community, community)]
        if twice := next((one for one in topics if topics.count(one) > 1), None):
            raise ScenarioError(f"--community says twice how large {twice} is")
        return _with_deepest(dict(map(_community, community)))
    if sizes is not None:
        return _with_deepest(chain(sizes_of(sizes)))
    if workload.get("kind", "synthetic") == "synthetic":
        return find_scenario("paper")
    publications = Workload(**workload).load()
    return Scenario(
        name=workload["kind"],
        communities=communities_for(publications, MEMBERS, MEMBERS_MAX),
        workload=Workload(**workload),
    )


def _with_deepest(communities: dict[Topic, int]) -> Scenario:
    deepest = max(communities, key=lambda topic: topic.level)
    return Scenario(communities=communities, workload=Workload(topic=deepest))


def _community(given: str) -> tuple[Topic, int]:
    name, _, size = given.partition("=")
    if not size.isdecimal():
        raise ScenarioError(f"--community takes TOPIC=N, like .soccer=10, not {given!r}")
    return Topic.parse(name), int(size)


def _merged(scenario: Scenario, given: dict[str, Any], kill: float | None) -> Workload:
    """Put what was said of the workload over the scenario's."""
    before = {} if "kind" in given else attrs.asdict(scenario.workload, recurse=False)
    if "kind" in given and given["kind"] == "synthetic":
        before = {"topic": max(scenario.sizes, key=lambda topic: topic.level)}
    merged = before | given
    killing = scenario.kill if kill is None else kill
    if killing and merged.get("kind", "synthetic") == "synthetic" and merged.get("rate") is None:
        merged["rate"] = KILL_RATE
        merged["events"] = merged.get("events") or KILL_EVENTS
    return Workload(**merged)
