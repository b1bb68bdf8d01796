"""The population simulator of hpmcast as it runs live: random addresses, Figure 6 (002, 4 to 5).

Theory of operation
-------------------
*Addresses.* The first l - 1 digits of an address are drawn for each process of each run, and place
it in a group of level 1; its last digit only orders it in there. Sorted by address, the processes
of a subsystem of any level are successive numbers, of which the R first are its delegates, all of
them if there are fewer. Empty subsystems have no line, and so no number here. Who is interested is
drawn after that: any n_1 of the processes, with the publisher any one of these.

*Views* are complete and static: of every other subsystem the delegates, the dead among them. The
view of a level is a stretch of an array with the delegates of all lines of that level, and whether
the line is interested, which is what its delegates are sent the event for.

*Periods* are in step. All that have the event when a period begins execute the task of Figure 6:
what leaves a level goes on in the next one in the same period. The number of periods in a view is
`camcast.protocols.hpmcast.rounds.rounds` of what is counted in it, as `LevelGossip` does: lines
times R, and the share of its delegates whose lines are interested. It is computed when the first of
a view needs it. A copy takes the count of periods along, so that all of a view leave it together.

*Loss.* An event and what Figure 6 sends along with it are one frame, and get lost together.
"""

from __future__ import annotations

from math import ceil
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.population.audience import (
    ALIVE,
    COLUMNS,
    DELIVERED,
    ENTRIES,
    MESSAGES,
    PARASITE_COPIES,
    ROUNDS,
    draw_interested,
    outcome_of,
)
from camcast.population.floyd import choose
from camcast.population.outcome import Outcome
from camcast.population.xoshiro import State, below, seeded, uniform
from camcast.protocols.hpmcast import rounds as hpmcast_rounds
from camcast.settings.addressed import AddressedSetting
from camcast.settings.base import SettingError
from camcast.vocabulary.streams import stream

PLACES_MAX: Final = 10**7  # chosen: processes times levels; 0.3 GB, and some seconds a run

_compiled: Final = njit(cache=True, nogil=True)
_rounds: Final = njit(cache=True)(hpmcast_rounds.rounds)  # the very one that live processes use

_Numbers = NDArray[np.int32]
_Tree = tuple[_Numbers, _Numbers, _Numbers, _Numbers, NDArray[np.bool_]]
"""By level: the subsystem that each process is in; where each subsystem begins; where each line,
a subsystem of the level below, begins in the views; the delegates there; and whether their lines
are interested."""


def simulate(setting: AddressedSetting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` for more processes times levels than `PLACES_MAX`.
    """
    tree, n = setting.hierarchy, setting.processes
    if n * tree.depth > PLACES_MAX:
        raise SettingError(
            f"{n:,} processes with {tree.depth} levels are too many to simulate one by one (at most"
            f" {PLACES_MAX // tree.depth:,})"
        )
    counts = np.zeros((runs, COLUMNS), np.int64)
    for run in range(runs):
        _publish(
            seeded(stream(seed, "protocol", "hpmcast addressed", first_run + run)),
            *(n, setting.interested, tree.arity, tree.depth, tree.redundancy),
            *(setting.fan_out, float(setting.loss), float(setting.crash), counts[run]),
        )
    return outcome_of(counts, n)


@_compiled
def _subsystems(
    state: State, processes: int, arity: int, depth: int
) -> tuple[_Numbers, _Numbers, State]:
    """Draw addresses; return the subsystems of each process by level, and where each begins."""
    code = np.zeros(processes, np.uint64)
    for process in range(processes):
        for _ in range(depth - 1):
            digit, state = below(state, arity)
            code[process] = code[process] * np.uint64(arity) + np.uint64(digit)
    code.sort()
    systems = np.zeros((depth + 1, processes), np.int32)
    first = np.zeros((depth + 1, processes + 1), np.int32)
    systems[0], first[0] = np.arange(processes), np.arange(processes + 1)
    for level in range(1, depth + 1):
        number = 0
        for process in range(1, processes):
            if code[process] != code[process - 1]:
                number += 1
                first[level, number] = process
            systems[level, process] = number
        first[level, number + 1] = processes
        for process in range(processes):
            code[process] //= np.uint64(arity)
    return systems, first, state


@_compiled
def _views(
    systems: _Numbers, first: _Numbers, redundancy: int, wants: NDArray[np.bool_]
) -> tuple[_Numbers, _Numbers, NDArray[np.bool_]]:
    """Return the views of all levels: where lines begin, the delegates, and who is wanted."""
    depth, processes = len(systems) - 1, systems.shape[1]
    lines = np.zeros((depth + 1, processes + 1), np.int32)
    delegates = np.zeros((depth + 1, processes), np.int32)
    wanted = np.zeros((depth + 1, processes), np.bool_)
    for level in range(1, depth + 1):
        place = 0
        for line in range(systems[level - 1, -1] + 1):
            begin, end = first[level - 1, line], first[level - 1, line + 1]
            interested = wants[begin:end].any()
            for delegate in range(begin, min(end, begin + redundancy)):
                delegates[level, place], wanted[level, place] = delegate, interested
                place += 1
            lines[level, line + 1] = place
    return lines, delegates, wanted


@_compiled
def _periods(tree: _Tree, level: int, begin: int, end: int, redundancy: int, fan_out: int) -> int:
    """Return for how many periods the lines from `begin` to before `end` are gossiped to."""
    lines, wanted = tree[2][level], tree[4][level]
    view = wanted[lines[begin] : lines[end]]
    share = np.count_nonzero(view) / len(view)
    return ceil(_rounds((end - begin) * redundancy, share, fan_out))


@_compiled
def _entries(tree: _Tree) -> int:
    """Return how many others the processes know, all of them together (Equation 12)."""
    systems, first, lines = tree[0], tree[1], tree[2]
    known = 0
    for level in range(1, len(systems)):
        for line in range(systems[level - 1, -1] + 1):
            begin, end = first[level - 1, line], first[level - 1, line + 1]
            system = systems[level, begin]
            above, beyond = first[level, system], first[level, system + 1]
            view = (
                lines[level, systems[level - 1, beyond - 1] + 1]
                - lines[level, systems[level - 1, above]]
            )
            known += (end - begin) * (view - (lines[level, line + 1] - lines[level, line]))
    return known


@_compiled
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
) -> None:
    """Draw a system, publish one event in it, and count what comes of it."""
    systems, first, state = _subsystems(state, processes, arity, depth)
    wants, alive, publisher, state = draw_interested(state, processes, interested, crash)
    lines, delegates, wanted = _views(systems, first, redundancy, wants)
    tree = systems, first, lines, delegates, wanted
    counts[ALIVE] = np.count_nonzero(wants & alive)
    counts[ENTRIES] = _entries(tree)
    periods = np.full((depth + 1, processes), -1, np.int32)  # of each view, when they are known
    level = np.zeros(processes, np.int32)
    rounds = np.zeros(processes, np.int32)
    has = np.zeros(processes, np.bool_)
    order = np.empty(processes, np.int32)  # who has it, in the order in which it came
    targets = np.empty(min(fan_out, processes), np.int64)
    has[publisher], level[publisher], order[0] = True, depth, publisher
    begin, reached = 0, 1
    counts[DELIVERED] = 1
    while begin < reached:
        senders, active = reached, False
        for index in range(begin, senders):
            sender = order[index]
            while level[sender]:
                at = level[sender]
                system = systems[at, sender]
                above, beyond = first[at, system], first[at, system + 1]
                first_line, last_line = systems[at - 1, above], systems[at - 1, beyond - 1]
                if periods[at, system] < 0:
                    periods[at, system] = _periods(
                        tree, at, first_line, last_line + 1, redundancy, fan_out
                    )
                if rounds[sender] < periods[at, system]:
                    break
                level[sender] -= 1
                rounds[sender] = 0
            if not level[sender]:
                continue
            active = True
            rounds[sender] += 1
            view, end = lines[at, first_line], lines[at, last_line + 1]
            line = systems[at - 1, sender]
            mine = lines[at, line] + sender - first[at - 1, line]
            inside = mine < lines[at, line + 1]
            others = end - view - inside
            count = min(fan_out, others)
            state = choose(state, targets, count, others)
            for target in targets[:count]:
                place = view + target
                place += inside and place >= mine
                if not wanted[at, place]:
                    continue
                counts[MESSAGES] += 1
                receiver = delegates[at, place]
                chance, state = uniform(state)
                if not alive[receiver] or chance < loss:
                    continue
                counts[PARASITE_COPIES] += not wants[receiver]
                if not has[receiver]:
                    has[receiver] = True
                    level[receiver], rounds[receiver] = at, rounds[sender]
                    order[reached] = receiver
                    reached += 1
                    counts[DELIVERED] += wants[receiver]
        counts[ROUNDS] += active
        while begin < reached and not level[order[begin]]:
            begin += 1
