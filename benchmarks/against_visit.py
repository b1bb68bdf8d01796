"""One visit of `against.py`: a fleet of whatever camcast is on the path does all jobs.

`python against_visit.py NODES [TRANSPORT]` prints a JSON object: by job, the figures of its rounds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

from community_members import CommunityMembers
from fleet import TICKS_PER_SECOND, Fleet, Run
from fleet_worker import PythonWorker
from members import Share

import camcast
from camcast import Parameters

PAYLOAD_BYTES = 256  # chosen: the payload of all our measurements
PARAMETERS = DEFAULT = Parameters(c=2)  # as in test_live_multicast
if hasattr(camcast, "CommunitySettings"):  # earlier commits infect and die
    PARAMETERS = camcast.CommunitySettings(c=2, spread="infect")
    DEFAULT = camcast.CommunitySettings(c=2)
DELIVERIES = 100_000  # chosen: base needs a second
ROUNDS = 3  # of each burst; chosen: a neighbour spoils one of them
RATE, PACED_EVENTS = 200.0, 800  # chosen: events/s, below saturation; four seconds
PUBLISHERS = 10  # chosen: a fifth of the fleet, so that streams meet


def main(nodes: int, transport: str | None) -> None:
    members = partial(CommunityMembers, parameters=PARAMETERS, transport=transport)
    joins = [join_one_by_one(members(), nodes) for _ in range(ROUNDS)]
    started, foreign = time.monotonic(), foreign_seconds()
    with Fleet(nodes, partial(PythonWorker, members)) as fleet:
        burst = partial(fleet.publish, DELIVERIES // nodes, PAYLOAD_BYTES)
        fleet.publish(PACED_EVENTS, PAYLOAD_BYTES)  # connections, memory: not measured
        figures = {
            "joining": joins,
            "one publisher": [fast(burst()) for _ in range(ROUNDS)],
            "ten at once": [fast(burst(publishers=PUBLISHERS)) for _ in range(ROUNDS)],
            "all each turn": [fast(burst(publishers=nodes, by_turn=True)) for _ in range(ROUNDS)],
            "paced": [paced(fleet.publish(PACED_EVENTS, PAYLOAD_BYTES, RATE))],
            "idle": [{"MB a node": fleet.memory_mb_per_node}],
        }
    members = partial(
        CommunityMembers, parameters=DEFAULT, transport=transport, own_links=transport != "zmq"
    )
    with Fleet(nodes, partial(PythonWorker, members)) as fleet:
        fleet.publish(PACED_EVENTS, PAYLOAD_BYTES)
        run = fleet.publish(PACED_EVENTS, PAYLOAD_BYTES, RATE)
        figures["paced, own links, default spread"] = [paced(run)]
    foreign = foreign_seconds() - foreign
    figures["idle"][0]["foreign cores"] = foreign / (time.monotonic() - started)
    json.dump(figures, sys.stdout)


def foreign_seconds() -> float:
    """Return what processors have worked since they started, but for ended workers and this."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split(maxsplit=8)[1:8]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / TICKS_PER_SECOND - sum(os.times()[:4])


def join_one_by_one(members: CommunityMembers, nodes: int) -> dict[str, float]:
    """Return what it costs to make nodes, start them and let them join, in one event loop."""

    async def start() -> float:
        gc.collect()  # where in its rounds the collector is must not tell two commits apart
        before = time.process_time()
        await members.start(Share(nodes, 0, nodes, seed=1), [])
        seconds = time.process_time() - before
        await members.close()
        return seconds

    return {"ms/member (CPU)": asyncio.run(start()) / nodes * 1e3}


def fast(run: Run) -> dict[str, float]:
    """Return what counts of a burst."""
    return {
        "deliveries/s": run.deliveries_per_second,
        "us/delivery (CPU)": run.cpu_seconds_per_1000 * 1e3,
        "missed": run.expected - run.delivered,
    }


def paced(run: Run) -> dict[str, float]:
    """Return what counts of a stream."""
    return {
        "cores": run.cpu_seconds / run.seconds,
        "p50 ms": run.latency_ms(0.5),
        "p99 ms": run.latency_ms(0.99),
        "missed": run.expected - run.delivered,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
