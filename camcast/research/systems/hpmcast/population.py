"""The population simulator of hpmcast as it runs live: random addresses, Figure 6 (002, 4 to 5).

The first l - 1 digits of an address are drawn for each process of each run, and place it in a
group of level 1; its last digit only orders it in there. Who is interested is drawn after that:
any n_1 of the processes, with the publisher any one of these. What becomes of the event is
`camcast.research.systems.hpmcast.level_gossip`, with periods by what is counted in each view, as
`LevelGossip` does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from camcast.research.population.interested_draw import (
    ALIVE,
    COLUMNS,
    DELIVERED,
    ENTRIES,
    draw_interested,
    outcome_of,
)
from camcast.research.population.load_counts import LoadColumns, enter_processes, enter_role
from camcast.research.population.outcome import Outcome
from camcast.research.population.xoshiro import State, below, seeded
from camcast.research.systems.hpmcast.level_gossip import (
    Tree,
    all_measured,
    compiled,
    delegates_of,
    spread,
    tree_of,
)
from camcast.research.systems.hpmcast.setting import AddressedSetting
from camcast.research.systems.setting_base import too_many
from camcast.vocabulary.streams import stream

PLACES_MAX: Final = 10**7  # chosen: processes times levels; 0.3 GB, and some seconds a run


def simulate(setting: AddressedSetting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` for more processes times levels than `PLACES_MAX`.
    """
    tree, n = setting.hierarchy, setting.processes
    if n * tree.depth > PLACES_MAX:
        raise too_many(f"{n:,} processes with {tree.depth} levels", PLACES_MAX // tree.depth)
    counts = np.zeros((runs, COLUMNS), np.int64)
    loads = LoadColumns(runs, roles=("publishers", "delegates"))
    for run in range(runs):
        _publish(
            seeded(stream(seed, "protocol", "hpmcast addressed", first_run + run)),
            *(n, setting.interested, tree.arity, tree.depth, tree.redundancy),
            *(setting.fan_out, float(setting.loss), float(setting.crash), counts[run]),
            *(loads.sent[run], loads.received[run]),
        )
    return outcome_of(counts, n, loads)


@compiled
def _groups(
    state: State, processes: int, arity: int, depth: int
) -> tuple[NDArray[np.uint64], State]:
    """Draw the group of level 1 of each process by its address; return them in ascending order."""
    group = np.zeros(processes, np.uint64)
    for process in range(processes):
        for _ in range(depth - 1):
            digit, state = below(state, arity)
            group[process] = group[process] * np.uint64(arity) + np.uint64(digit)
    group.sort()
    return group, state


@compiled
def _entries(tree: Tree, processes: int) -> int:
    """Return how many others the processes know, all of them together (Equation 12)."""
    above, lines, _, views, _ = tree
    known = 0
    for process in range(processes):
        line = process
        while line < len(above):
            system = above[line]
            known += views[lines[system + 1]] - views[lines[system]]
            known -= views[line + 1] - views[line]
            line = system
    return known


@compiled
def _publish(
    state: State,
    processes: int,
    interested: int,
    arity: int,
    depth: int,
    redundancy: int,
    fan_out: int,
    loss: float,
    crash: float,
    counts: NDArray[np.int64],
    of_sent: NDArray[np.float64],
    of_received: NDArray[np.float64],
) -> None:
    """Draw a system, publish one event in it, and count what comes of it."""
    groups, state = _groups(state, processes, arity, depth)
    tree = tree_of(groups, arity, depth, redundancy)
    wants, alive, publisher, state = draw_interested(state, processes, interested, crash)
    expected, table = all_measured(depth)
    sent, arrived = np.zeros(processes, np.int32), np.zeros(processes, np.int32)
    received = spread(
        *(state, tree, redundancy, fan_out, 0, expected, table),
        *(loss, wants, alive, publisher, counts, sent, arrived),
    )
    living = int(np.count_nonzero(alive))
    enter_processes(of_sent, of_received, sent, arrived, living, publisher)
    enter_role(of_sent, sent, delegates_of(tree, processes) & alive, living)
    counts[ALIVE] = np.count_nonzero(wants & alive)
    counts[DELIVERED] = np.count_nonzero(wants & (received >= 0))
    counts[ENTRIES] = _entries(tree, processes)
