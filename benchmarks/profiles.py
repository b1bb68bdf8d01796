"""`python benchmarks/profiles.py`: what encryption and signatures cost a fleet, in one sitting.

`python benchmarks/profiles.py --settings --nodes 4`: what order and archives cost.

In each round a fleet of each profile does the same jobs, one fleet after the other, so that none
stands in the other's way. What counts is processor time a delivery: it says least of the neighbours
on a busy machine. The rate that is left is the inverse ratio of these times, the median of the
rounds. The profile `signed` has links of its own and encrypts them, so beside encrypted links it
shows what signatures cost, and introductions.

The baseline is plain links of (identity, address) each, as signed links must be; plain links that
the nodes of an event loop share stand beside it. That of order and archives is the default, which
is measured twice: what the second differs from the first is the band of the sitting.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import typer
from attrs import evolve, frozen
from camcast_members import CamcastMembers
from fleet import Fleet, Run
from fleet_worker import FleetError, PythonWorker
from rich.console import Console
from rich.progress import track
from rich.table import Table

from camcast import CommunitySettings

PARAMETERS = CommunitySettings(c=2)  # chosen: a fan-out of ceil(ln 50 + 2) = 6
PAYLOAD_BYTES = 256  # chosen: the payload of all our measurements
BURST_EVENTS = 2_000  # chosen: 100,000 deliveries by 50 nodes, some 0.5 s of one core
LONE_EVENTS = 500  # chosen: ten of each of 50 nodes
PACED_EVENTS = 5_000  # chosen: five seconds
SEED = 1
TRIES = 3  # chosen: a node that starts waits 10 s for its gateway, and a busy machine is slower
WIDTH = 150  # of a table that goes into a file


@frozen
class Profile:
    """A fleet that is measured, and the one to which it is compared (None: to the baseline)."""

    name: str
    encrypted: bool = False
    own_links: bool = True
    signed: bool = False
    beside: str | None = None
    settings: Mapping[str, Any] = {}
    """Of each node's manager."""
    archived: bool = False


BASE = Profile("plain, a link each")
PROFILES = (
    BASE,
    Profile("plain, shared links", own_links=False),
    Profile("encrypted", encrypted=True),
    Profile("signed", signed=True, beside="encrypted"),
)
SETTINGS = (
    Profile("fifo", own_links=False),
    Profile("fifo again", own_links=False),
    Profile("arrival", own_links=False, settings={"order": "arrival"}),
    Profile("fifo, archived", own_links=False, archived=True),
)
JOBS = ("a burst of one node", "each node an event a turn", "1,000 events/s of one node")


def hire(profile: Profile, parameters: CommunitySettings) -> PythonWorker:
    """Start a worker whose nodes are of this profile."""
    members = partial(
        CamcastMembers,
        parameters=parameters,
        passphrase="a passphrase of benchmarks" if profile.encrypted else None,
        own_links=profile.own_links,
        signed=profile.signed,
        settings=profile.settings,
        archived=profile.archived,
    )
    return PythonWorker(members)


def do(job: str, fleet: Fleet) -> Run:
    """Do a job once."""
    if job == JOBS[0]:
        return fleet.publish(BURST_EVENTS, PAYLOAD_BYTES)
    if job == JOBS[2]:
        return fleet.publish(PACED_EVENTS, PAYLOAD_BYTES, rate=1000.0)
    return fleet.publish(LONE_EVENTS, PAYLOAD_BYTES, publishers=fleet.nodes, by_turn=True)


def main(
    nodes: Annotated[int, typer.Option(min=2, help="Of each fleet.")] = 50,
    rounds: Annotated[int, typer.Option(min=1, help="Of a fleet of every profile.")] = 3,
    spreads: Annotated[str, typer.Option(help="How events spread.")] = "infect,tree",
    settings: Annotated[
        bool, typer.Option("--settings", help="In place of profiles, order and archives.")
    ] = False,
) -> None:
    """Measure the profiles in turn, and print a table for each way to spread events."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    profiles = SETTINGS if settings else PROFILES
    jobs = JOBS if settings else JOBS[:2]
    for spread in ("infect", "tree"):
        if spread not in spreads.split(","):
            continue
        parameters = evolve(PARAMETERS, spread=spread)
        runs: dict[tuple[str, str], list[Run]] = {}
        visits = [profile for _ in range(rounds) for profile in profiles]
        for profile in track(visits, spread, console=Console(stderr=True)):
            start = partial(Fleet, nodes, partial(hire, profile, parameters), seed=SEED)
            done = visit(start, jobs)
            for job, run in done.items():
                runs.setdefault((job, profile.name), []).append(run)
        console.print(table(f"{nodes} nodes in 2 processes, {spread}", profiles, runs))


def visit(start: Callable[[], Fleet], jobs: Sequence[str]) -> dict[str, Run]:
    """Let a fleet do every job once; a fleet that a busy machine does not let start is let go."""
    for _ in range(TRIES):
        with suppress(FleetError), start() as fleet:
            do(JOBS[0], fleet)  # the first links, and a tree
            return {job: do(job, fleet) for job in jobs}
    raise FleetError(f"no fleet started in {TRIES} tries")


def table(title: str, profiles: Sequence[Profile], runs: dict[tuple[str, str], list[Run]]) -> Table:
    """Put the runs of all jobs and profiles into a table; the first is the baseline."""
    base = profiles[0]
    found = Table(title=title, title_justify="left")
    for name in ("job", "profile", "CPU a delivery (µs)", "rate left", "of", "events lost"):
        found.add_column(name, justify="left" if name in ("job", "profile", "of") else "right")
    for job in dict.fromkeys(job for job, _ in runs):
        for profile in profiles:
            here, beside = runs[job, profile.name], profile.beside or base.name
            cost = [1e3 * run.cpu_seconds_per_1000 for run in here]
            left = [
                other.cpu_seconds_per_1000 / run.cpu_seconds_per_1000
                for run, other in zip(here, runs[job, beside], strict=True)
            ]
            found.add_row(
                job if profile is base else "",
                profile.name,
                _spread(cost, ".1f"),
                "" if profile is base else _spread(left, ".2f"),
                "" if profile is base else beside,
                str(sum(run.expected - run.delivered for run in here)),
            )
        found.add_section()
    return found


def _spread(values: list[float], form: str) -> str:
    """Return the median, and in brackets the least and the greatest."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):{form}} ({low:{form}}-{high:{form}})"


if __name__ == "__main__":
    typer.run(main)
