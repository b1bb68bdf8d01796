"""One event in a hierarchy of static views, by Figure 6 of 002: the kernel of every tree.

Theory of operation
-------------------
*The tree.* Sorted by address, the processes of a subsystem of any level have successive numbers.
Every line of a view has a number: the processes 0 to n - 1, which are the lines of level 1, then
the subsystems level by level, the root last. The lines of a subsystem are successive, and so are
their delegates: a view is a slice of one array of delegates. Empty subsystems have no line.

*Views* are complete: the delegates of a line are its R first processes, dead ones included, or all
if there are fewer. A copy is sent to delegates of a line in which a process is interested, and to
the D first of the view where the audience is smaller than the threshold D (5.4.2).

*Periods* are in step. All processes that have the event when a period begins execute the task of
Figure 6: an event that leaves a level goes on in the next one in the same period. The number of
periods in a view is `camcast.research.systems.hpmcast.rounds.rounds` of its lines times R and of
the share of its delegates that are sent the event, or comes from a table. A copy carries the count
of periods, so that all processes of a view leave it together.

*Targets* are distinct and uniform over the view without the sender
(`camcast.research.population.floyd`). An event and what Figure 6 sends along with it are one frame,
and get lost together.
"""

from __future__ import annotations

from math import ceil, isnan
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.research.population.floyd import choose
from camcast.research.population.interested_draw import MESSAGES, PARASITE_COPIES, ROUNDS
from camcast.research.population.xoshiro import State, uniform
from camcast.research.systems.hpmcast import rounds as hpmcast_rounds

compiled: Final = njit(cache=True, nogil=True)
_rounds: Final = njit(cache=True)(hpmcast_rounds.rounds)  # the very one that live processes use

Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Tree = tuple[Numbers, Numbers, Numbers, Numbers, Numbers]
"""By number: the subsystem that it is a line of; its first line (one more entry ends the root's);
its first process; where its delegates begin. The last array has the delegates of all lines."""


@compiled
def tree_of(groups: NDArray[np.uint64], arity: int, depth: int, redundancy: int) -> Tree:
    """Return the tree of processes by their groups of level 1, in ascending order.

    A group is the number that the first l - 1 digits of its addresses make in base a.
    """
    processes, code = len(groups), groups.copy()
    most = processes * depth + 2  # pages that nobody writes to take no memory
    above, begin = np.empty(most, np.int32), np.empty(most, np.int32)
    lines, views = np.empty(most, np.int32), np.empty(most, np.int32)
    delegates = np.empty(most, np.int32)
    begin[:processes] = np.arange(processes)
    first, beyond, known = 0, processes, 0  # the lines of a level; delegates so far
    views[0] = 0
    for _ in range(depth):
        system = beyond - 1
        for line in range(first, beyond):
            if line == first or code[line - first] != code[line - first - 1]:
                system += 1
                lines[system], begin[system] = line, begin[line]
            above[line] = system
            end = begin[line + 1] if line + 1 < beyond else processes
            for delegate in range(begin[line], min(end, begin[line] + redundancy)):
                delegates[known] = delegate
                known += 1
            views[line + 1] = known
        for upper in range(beyond, system + 1):
            code[upper - beyond] = code[lines[upper] - first] // np.uint64(arity)
        first, beyond = beyond, system + 1
    lines[beyond] = first
    return above[:first], lines[: beyond + 1], begin[:beyond], views[:beyond], delegates[:known]


@compiled
def delegates_of(tree: Tree, processes: int) -> Flags:
    """Return which processes stand for others, in the view of a level above their own."""
    above, _, _, views, delegates = tree
    having = np.zeros(processes, np.bool_)
    if processes < len(above):  # else there is one level, and nobody to stand for
        for place in range(views[processes], len(delegates)):
            having[delegates[place]] = True
    return having


@compiled
def all_measured(depth: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return `expected` and `table` of `spread` for Figure 6, where views show the audience."""
    return np.full(depth, np.nan), np.zeros((0, 2, 0), np.int64)


@compiled
def _audiences(
    tree: Tree,
    wants: Flags,
    redundancy: int,
    fan_out: int,
    threshold: int,
    expected: NDArray[np.float64],
    table: NDArray[np.int64],
) -> tuple[Flags, Numbers]:
    """Return which delegates an event is sent to, and for how many periods, by subsystem."""
    above, lines, _, views, delegates = tree
    processes, root = len(wants), len(above)
    interested = np.zeros(root + 1, np.bool_)
    interested[:processes] = wants
    wanted = np.zeros(len(delegates), np.bool_)
    for line in range(root):
        interested[above[line]] |= interested[line]
        wanted[views[line] : views[line + 1]] = interested[line]
    periods = np.zeros(root + 1, np.int32)
    for system in range(processes, root + 1):
        level, below = 1, lines[system]
        while below >= processes:
            level, below = level + 1, lines[below]
        view = wanted[views[lines[system]] : views[lines[system + 1]]]
        hits, audience = np.count_nonzero(view), expected[level - 1]
        few = hits > 0 and (hits if isnan(audience) else audience) < threshold
        if few:
            view[:threshold] = True
        hits = np.count_nonzero(view)
        if len(table):
            periods[system] = table[level - 1, int(few), hits]
        else:
            counted = (lines[system + 1] - lines[system]) * redundancy
            periods[system] = ceil(_rounds(counted, hits / len(view), fan_out))
    return wanted, periods


@compiled
def spread(
    state: State,
    tree: Tree,
    redundancy: int,
    fan_out: int,
    threshold: int,
    expected: NDArray[np.float64],
    table: NDArray[np.int64],
    loss: float,
    wants: Flags,
    alive: Flags,
    publisher: int,
    counts: NDArray[np.int64],
    sent: Numbers,
    arrived: Numbers,
) -> Numbers:
    """Publish one event; return the period in which each first gets it, -1 for never.

    `expected` has by level the audience that is compared with the threshold, NaN to count it in the
    view. `table` has the periods by level, by whether the threshold applies, and by the number of
    wanted delegates; if it is empty, periods are Figure 6's. Fills in the columns of periods,
    copies and parasite copies of `counts`; `sent` and `arrived` have the copies of each process.
    """
    above, lines, begin, views, delegates = tree
    wanted, periods = _audiences(tree, wants, redundancy, fan_out, threshold, expected, table)
    processes = len(wants)
    level = np.zeros(processes, np.int32)
    rounds = np.zeros(processes, np.int32)
    received = np.full(processes, -1, np.int32)
    order = np.empty(processes, np.int32)  # the receivers, in the order of receiving
    targets = np.empty(min(fan_out, processes), np.int64)
    received[publisher], level[publisher], order[0] = 0, len(expected), publisher
    finished, reached = 0, 1
    while finished < reached:
        senders, active = reached, False
        for index in range(finished, senders):
            sender = order[index]
            line = system = sender
            while level[sender]:
                line = sender
                for _ in range(level[sender] - 1):
                    line = above[line]
                system = above[line]
                if rounds[sender] < periods[system]:
                    break
                level[sender] -= 1
                rounds[sender] = 0
            if not level[sender]:
                continue
            active = True
            rounds[sender] += 1
            view = views[lines[system]]
            mine = views[line] + sender - begin[line]
            inside = mine < views[line + 1]
            others = views[lines[system + 1]] - view - inside
            count = min(fan_out, others)
            state = choose(state, targets, count, others)
            for target in targets[:count]:
                place = view + target
                place += inside and place >= mine
                if not wanted[place]:
                    continue
                counts[MESSAGES] += 1
                sent[sender] += 1
                receiver = delegates[place]
                chance, state = uniform(state)
                if not alive[receiver] or chance < loss:
                    continue
                arrived[receiver] += 1
                counts[PARASITE_COPIES] += not wants[receiver]
                if received[receiver] < 0:
                    received[receiver] = counts[ROUNDS] + 1
                    level[receiver], rounds[receiver] = level[sender], rounds[sender]
                    order[reached] = receiver
                    reached += 1
        counts[ROUNDS] += active
        while finished < reached and not level[order[finished]]:
            finished += 1
    return received
