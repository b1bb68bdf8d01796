"""One node a process: ours, the floor and other systems by turns, with the band of the sitting.

Nodes that share an event loop share links and wake-ups, which flatters: here each has a process.
Absolute processor times move by a factor of two with what else the machine does. What counts is the
ratio of two runs of the same visit, to ours and to the floor (`floor_members`), and the band: what
the same code gives when it takes two turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
from attrs import frozen
from camcast_members import CamcastMembers
from fleet import Fleet, Run
from fleet_worker import FleetError, PythonWorker
from floor_members import FloorMembers
from rich.table import Table

from camcast import CommunitySettings
from peers.systems import PARAMETERS, System

PAYLOAD_BYTES = 256  # chosen: the payload of all our measurements
RATE = 50.0  # chosen: events/s; with 20 nodes half of what two cores carry
TRIES = 2  # chosen: twenty processes that start at once may be too slow for each other
OURS, AGAIN = "camcast, auto", "camcast, auto, again"
FLOOR = "floor, one copy"


@frozen
class AloneJob:
    """How much is published, and how often all systems take their turn."""

    nodes: int = 20
    visits: int = 5
    paced_seconds: float = 4.0
    events: int = 500
    """Of a burst."""
    bursts: int = 3
    seed: int = 1


@frozen(kw_only=True)
class Visit:
    """What a system needed in one visit; microseconds of all processes for each delivery."""

    paced_cpu: float
    paced_p50: float
    """In milliseconds, as `paced_p99`."""
    paced_p99: float
    burst_cpu: float
    burst_rate: float
    """Deliveries a second at all nodes together."""
    copies: float | None
    """Copies of an event for each delivery at others than the publisher, if the system says."""
    missed: int


FIGURES = {
    "paced_cpu": "50/s\nCPU µs",
    "paced_p50": "50/s\np50 ms",
    "paced_p99": "50/s\np99 ms",
    "burst_cpu": "burst\nCPU µs",
    "burst_rate": "burst\ndeliveries/s",
}


def lone_systems(membership: str) -> list[System]:
    """Return ours, twice, and with the papers' spread, and the floor with as many copies."""
    infect = CommunitySettings(c=PARAMETERS.c, spread="infect")
    auto = partial(_ours, membership, CommunitySettings(c=PARAMETERS.c))
    return [
        System(OURS, "by tcp, the default spread", lambda: None, auto),
        System(AGAIN, "the same once more: the band of the sitting", lambda: None, auto),
        System(
            "camcast, infect",
            "ceil(ln N + 2) copies",
            lambda: None,
            partial(_ours, membership, infect),
        ),
        System(
            FLOOR, "sockets without a protocol, along a tree", lambda: None, partial(_floor, True)
        ),
        System("floor, six copies", "to six at random", lambda: None, partial(_floor, False)),
    ]


def _ours(membership: str, parameters: CommunitySettings) -> PythonWorker:
    return PythonWorker(partial(CamcastMembers, membership, parameters, transport="tcp"))


def _floor(tree: bool) -> PythonWorker:
    return PythonWorker(partial(FloorMembers, tree=tree))


def visit(system: System, job: AloneJob) -> Visit:
    """Start a fleet of one node a process, and let it do the job; raises `FleetError`."""
    with (
        system.server() as server,
        Fleet(job.nodes, system.hire, job.nodes, job.seed, server) as fleet,
    ):
        fleet.publish(job.events // 10, PAYLOAD_BYTES)  # the first links, and a tree
        paced = fleet.publish(int(RATE * job.paced_seconds), PAYLOAD_BYTES, RATE)
        bursts = [fleet.publish(job.events, PAYLOAD_BYTES) for _ in range(job.bursts)]
    messages, runs = paced.counts.get("messages"), [paced, *bursts]
    others = paced.delivered * (job.nodes - 1) / job.nodes
    return Visit(
        paced_cpu=1e3 * paced.cpu_seconds_per_1000,
        paced_p50=paced.latency_ms(0.5),
        paced_p99=paced.latency_ms(0.99),
        burst_cpu=1e3 * statistics.median(run.cpu_seconds_per_1000 for run in bursts),
        burst_rate=statistics.median(run.deliveries_per_second for run in bursts),
        copies=None if messages is None else messages / others,
        missed=sum(_missed(run) for run in runs),
    )


def _missed(run: Run) -> int:
    return run.expected - run.delivered


def measure(
    systems: Sequence[System], job: AloneJob, on_step: Callable[[str], None]
) -> dict[str, list[Visit | None]]:
    """Let all systems take their turn, `visits` times; None is a visit that failed."""
    found: dict[str, list[Visit | None]] = {
        system.name: [] for system in systems if system.missing() is None
    }
    for turn in range(job.visits):
        for system in systems:
            if system.name in found:
                on_step(f"{system.name}, visit {turn + 1} of {job.visits}")
                found[system.name].append(_try(system, job))
    return found


def _try(system: System, job: AloneJob) -> Visit | None:
    for _ in range(TRIES):
        with suppress(FleetError):
            return visit(system, job)
    return None


def ratios(
    visits: Sequence[Visit | None], base: Sequence[Visit | None], figure: str
) -> list[float]:
    """Return a figure as multiples of another system's in the same visits."""
    return [
        getattr(one, figure) / getattr(other, figure)
        for one, other in zip(visits, base, strict=True)
        if one is not None and other is not None and getattr(other, figure)
    ]


def band(values: Iterable[float], form: str = ".2f") -> str:
    """Return the median, and in brackets the least and the greatest."""
    values = list(values)
    if not values:
        return "-"
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def table(found: Mapping[str, Sequence[Visit | None]], job: AloneJob) -> Table:
    """Return medians, and by turns the multiples of ours and of the floor with their bands."""
    made = Table(
        title=f"{job.nodes} nodes, one a process; medians of {job.visits} visits; multiples by"
        " turns (lowest to highest)",
        title_justify="left",
    )
    made.add_column("system")
    for title in FIGURES.values():
        made.add_column(title, justify="right")
    for title in ("copies", "x ours\n50/s CPU", "x ours\nburst CPU", "x floor\n50/s CPU"):
        made.add_column(title, justify="right")
    made.add_column("x floor\nburst CPU", justify="right")
    made.add_column("missed", justify="right")
    for name, visits in found.items():
        done = [one for one in visits if one is not None]
        if not done:
            made.add_row(name, "failed")
            continue
        values = [f"{_median(done, figure):,.3g}" for figure in FIGURES]
        values[-1] = f"{_median(done, 'burst_rate'):,.0f}"
        copies = [one.copies for one in done if one.copies is not None]
        values.append(f"{statistics.median(copies):.2f}" if copies else "-")
        for base in (OURS, FLOOR):
            for figure in ("paced_cpu", "burst_cpu"):
                others = found.get(base, [None] * len(visits))
                values.append("" if name == base else band(ratios(visits, others, figure)))
        made.add_row(name, *values, str(sum(one.missed for one in done)))
    return made


def _median(visits: Sequence[Visit], figure: str) -> float:
    return statistics.median(float(getattr(one, figure)) for one in visits)


def as_json(found: Mapping[str, Sequence[Visit | None]], job: AloneJob) -> dict[str, Any]:
    """Return all visits for a program to read."""
    return {
        "job": attrs.asdict(job),
        "visits": {
            name: [None if one is None else attrs.asdict(one) for one in visits]
            for name, visits in found.items()
        },
    }
