"""One node a process: the floor delivers everything, and multiples are of the same visit."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve
from fleet import Fleet
from fleet_worker import PythonWorker
from floor_members import FloorMembers
from peers.alone import FLOOR, OURS, AloneJob, Visit, as_json, band, ratios, table
from rich.console import Console

ONE = Visit(
    paced_cpu=100.0,
    paced_p50=1.0,
    paced_p99=5.0,
    burst_cpu=4.0,
    burst_rate=1000.0,
    copies=1.0,
    missed=0,
)


@pytest.mark.slow  # 2 s each
@pytest.mark.parametrize(("tree", "copies"), [(True, 1), (False, 4)])
def test_the_floor_delivers_each_event_once_in_so_many_copies(tree: bool, copies: int) -> None:
    with Fleet(5, partial(PythonWorker, partial(FloorMembers, tree=tree)), 5) as fleet:
        for rate in (None, 100.0):
            run = fleet.publish(20, 256, rate)
            assert (run.delivered, run.expected) == (100, 100)
            # Each of five writes to the four others, one of which may be the publisher, and some
            # is still on its way at the last delivery; along a tree all has come by then.
            most = 20 * (4 if tree else 5 * copies)
            assert (most if tree else most // 2) <= run.counts["messages"] <= most


def test_multiples_are_of_the_same_visit_and_show_their_band() -> None:
    ours = [ONE, evolve(ONE, paced_cpu=200.0), None]
    floor = [evolve(ONE, paced_cpu=50.0), evolve(ONE, paced_cpu=50.0), ONE]
    assert ratios(ours, floor, "paced_cpu") == [2.0, 4.0]
    assert band(ratios(ours, floor, "paced_cpu")) == "3.00 (2.00-4.00)"
    assert band([]) == "-"
    job = AloneJob(nodes=5, visits=3)
    console = Console(width=200, record=True, file=None, quiet=True)
    console.print(table({OURS: ours, FLOOR: floor, "other": [None] * 3}, job))
    assert as_json({OURS: ours}, job)["visits"][OURS][2] is None
