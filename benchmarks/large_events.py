"""`python benchmarks/large_events.py`: how often a large event crosses the wire, and how late.

A fleet of 20 nodes, each in a process of its own, by TCP. Bytes are all that the nodes send, over
those of the payloads that are delivered at others than the publisher: 1.00 is one body each.
What receipts refuse, since output pipes are full, is not missed.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import Annotated, Final

import typer
from attrs import evolve
from camcast_members import CamcastMembers
from fleet import Fleet, Run
from fleet_worker import PythonWorker
from rich.console import Console
from rich.table import Table

from camcast import CommunitySettings
from camcast.vocabulary.wire import EVENT_BYTES_MAX

SEED: Final = 1
SPREADS: Final = ("push", "infect", "tree", "auto")
"""The first is `infect` without offers, which sends a body along every edge."""
JOBS: Final[dict[str, tuple[int, int, float | None]]] = {
    "one at a time": (3, 1, None),
    "two a second": (1, 10, 2.0),
    "ten in a burst": (1, 10, None),
}
"""How often a job is done, its events, and how many a second."""


def main(
    nodes: Annotated[int, typer.Option(min=2, help="One a process.")] = 20,
    sizes: Annotated[str, typer.Option(help="KiB of a payload.")] = "64,256,1024",
    spreads: Annotated[str, typer.Option(help="How events spread.")] = ",".join(SPREADS),
) -> None:
    """Print a row for each spread, size and job."""
    table = Table(title=f"{nodes} nodes, one a process, tcp")
    for name in ("spread", "KiB", "job", "bytes / payload", "p50, max ms", "refused", "missed"):
        table.add_column(name, justify="left" if name in ("spread", "job") else "right")
    for spread in spreads.split(","):
        settings = CommunitySettings(event_bytes_max=EVENT_BYTES_MAX)
        if spread == "push":
            settings = evolve(settings, spread="infect", offer_bytes=EVENT_BYTES_MAX)
        else:
            settings = evolve(settings, spread=spread)  # type: ignore[arg-type]  # checked there
        members = partial(CamcastMembers, parameters=settings, transport="tcp")
        for size in map(int, sizes.split(",")):
            with Fleet(nodes, partial(PythonWorker, members), nodes, SEED) as fleet:
                for job, (times, events, rate) in JOBS.items():
                    runs, sent = list[Run](), Counter[str]()
                    for _ in range(times):
                        runs.append(fleet.publish(events, size << 10, rate))
                        sent.update(fleet.sent())
                    delivered = sum(run.delivered for run in runs)
                    payloads = delivered * (nodes - 1) / nodes * (size << 10)
                    latencies = sorted(one for run in runs for one in run.latencies)
                    most, refused = 1e3 * latencies[-1], sent["refused"]
                    table.add_row(
                        spread,
                        str(size),
                        job,
                        f"{sent['bytes'] / payloads:.2f}",
                        f"{1e3 * latencies[len(latencies) // 2]:.0f}, {most:.0f}",
                        str(refused),
                        str(sum(run.expected for run in runs) - nodes * refused - delivered),
                    )
    Console(width=None if sys.stdout.isatty() else 100).print(table)


if __name__ == "__main__":
    typer.run(main)
