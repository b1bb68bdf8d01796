"""The job that all systems do: N nodes, all subscribed, one publishes K events of 256 bytes.

*Fast*: as fast as the publisher can. *Paced*: at 200 events/s, the load at which a broker-less
gossip in Python is still at ease.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import attrs
from attrs import frozen
from fleet import Fleet, Run
from fleet_worker import FleetError

from peers.systems import System

PAYLOAD_BYTES = 256  # chosen: the payload of all our measurements
RATE = 200.0  # chosen: events/s, below saturation


@frozen
class Job:
    """How much is published."""

    events: int = 1000
    paced_seconds: float = 4.0
    rounds: int = 3
    """Of the fast part, of which the median counts."""
    seed: int = 1


@frozen(kw_only=True)
class Measured:
    """What a system needed for the job; its fields are the columns of the comparison."""

    deliveries_per_second: float
    """Fast: at all nodes together."""
    cpu_seconds_per_1000_deliveries: float
    """Fast: of all processes, a server's included."""
    missed: int
    """Fast: deliveries that did not happen, in all rounds."""
    paced_cpu_seconds_per_1000_deliveries: float
    paced_latency_ms_p50: float
    paced_latency_ms_p99: float
    paced_missed: int
    memory_mb_per_node: float
    """What an idle node added to its process, and its share of the server."""


@frozen(kw_only=True)
class Outcome:
    """A system with so many nodes: measured, skipped or failed."""

    system: str
    nodes: int
    note: str
    measured: Measured | None = None
    skipped: str | None = None
    failed: str | None = None

    def ratios(self, ours: Outcome) -> dict[str, float | None]:
        """Return every figure as a multiple of ours; None if ours is 0 or there are none."""
        if self.measured is None or ours.measured is None:
            return {}
        theirs, base = attrs.asdict(self.measured), attrs.asdict(ours.measured)
        return {
            name: theirs[name] / base[name] if base[name] else None
            for name in theirs
            if "missed" not in name
        }

    def as_json(self, ours: Outcome) -> dict[str, Any]:
        """Return the outcome for a program to read."""
        return {**attrs.asdict(self), "times_ours": self.ratios(ours)}


def run_job(system: System, nodes: int, job: Job, on_step: Callable[[str], None]) -> Outcome:
    """Let a system do the job; whatever goes wrong is in the outcome."""
    here = {"system": system.name, "nodes": nodes, "note": system.note}
    missing = system.missing()
    if missing is not None:
        return Outcome(skipped=missing, **here)  # type: ignore[arg-type]  # a mixed dictionary
    on_step(f"{system.name}, {nodes} nodes")
    try:
        measured = _measure(system, nodes, job)
    except FleetError as error:
        return Outcome(failed=str(error), **here)  # type: ignore[arg-type]  # likewise
    return Outcome(measured=measured, **here)  # type: ignore[arg-type]  # likewise


def _measure(system: System, nodes: int, job: Job) -> Measured:
    with (
        system.server() as server,
        Fleet(nodes, system.hire, seed=job.seed, server=server) as fleet,
    ):
        paced = fleet.publish(int(RATE * job.paced_seconds), PAYLOAD_BYTES, RATE)
        fast = [fleet.publish(job.events, PAYLOAD_BYTES) for _ in range(job.rounds)]
        return Measured(
            deliveries_per_second=statistics.median(run.deliveries_per_second for run in fast),
            cpu_seconds_per_1000_deliveries=statistics.median(
                run.cpu_seconds_per_1000 for run in fast
            ),
            missed=sum(_missed(run) for run in fast),
            paced_cpu_seconds_per_1000_deliveries=paced.cpu_seconds_per_1000,
            paced_latency_ms_p50=paced.latency_ms(0.5),
            paced_latency_ms_p99=paced.latency_ms(0.99),
            paced_missed=_missed(paced),
            memory_mb_per_node=fleet.memory_mb_per_node,
        )


def _missed(run: Run) -> int:
    return run.expected - run.delivered
