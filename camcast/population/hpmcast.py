"""The population simulator of hpmcast: every process of a regular hierarchy (002, Figure 6).

Theory of operation
-------------------
A process is its address as a number in base a, so that a subsystem of level i is a^i successive
processes, and its R smallest addresses are its first. Position v in the view of level i > 1 is
delegate v mod R of line v div R; in the view of level 1, process v.

Whether a subsystem is interested is counted once, from the processes up. What Figure 6 computes
from it for a view (the audience, the threshold, the number of periods) depends only on how many
are interested there, so it is computed once for each number.

A copy carries the sender's count of rounds, and all of a view count the same audience. So all
that have the event in one subsystem gossip it for the same time and go down together, though
each keeps its own level and count here as in Figure 6.

Targets are distinct and uniform over the view without the sender (`camcast.population.floyd`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.population.floyd import choose_by
from camcast.population.outcome import Interval, Outcome, share_interval
from camcast.settings.tree import HpmcastSetting
from camcast.vocabulary.streams import stream

_compiled: Final = njit(cache=True, nogil=True)


def reception(outcome: Outcome) -> Interval:
    """Return the share of the interested that deliver, in the mean over runs that have any.

    If all deliver, or nobody, runs have no spread to tell an interval from, and it is Wilson's of
    all these processes.
    """
    found = outcome.reception
    if found.mean not in (0.0, 1.0):
        return found
    return share_interval(int(outcome.delivered.sum()), int(outcome.alive.sum()))


def simulate(setting: HpmcastSetting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    The publisher, who need not be interested, is not counted among the alive and delivered.
    """
    counts = np.zeros((runs, 6), np.int64)
    tables = _tables(setting)
    a, R = setting.arity, setting.redundancy
    for run in range(runs):
        bits = stream(seed, "protocol", "hpmcast", first_run + run).getrandbits(128)
        rng = Generator(PCG64(bits))
        interested = rng.random(setting.processes) < setting.interested
        alive = rng.random(setting.processes) >= setting.crash
        publisher = int(rng.integers(setting.processes))
        alive[publisher] = True
        lines, first_line = _lines(interested, a, setting.depth)
        counted = _spread(
            rng, a, R, setting.fan_out, setting.threshold, setting.loss,
            *(tables, lines, first_line, alive, publisher, setting.depth),
        )  # fmt: skip
        has, counts[run, 2:4], counts[run, 5] = counted[0], counted[1:3], counted[3]
        has[publisher] = alive[publisher] = False  # who is asked: all living but the publisher
        counts[run, 0] = np.count_nonzero(interested & alive)
        counts[run, 1] = np.count_nonzero(interested & has)
        counts[run, 4] = np.count_nonzero(has & ~interested)
    return Outcome(
        sizes=(),
        alive=counts[:, 0],
        delivered=counts[:, 1],
        rounds=counts[:, 2],
        messages=counts[:, 3],
        parasites=counts[:, 4],
        parasite_copies=counts[:, 5],
    )


def _tables(setting: HpmcastSetting) -> NDArray[np.int64]:
    """Return, by level and interested lines of a view: whether the threshold applies; periods.

    The periods are those of a view with so many lines interested if the threshold does not
    apply, else with so many processes wanted.
    """
    a, R = setting.arity, setting.redundancy
    tables = np.zeros((setting.depth + 1, a * R + 1, 3), np.int64)
    for level in range(1, setting.depth + 1):
        for hits in range(setting.view_of(level) + 1):
            tables[level, hits, 0] = setting.is_few(level, hits)
            tables[level, hits, 1] = setting.periods(level, hits, few=False)
            tables[level, hits, 2] = setting.periods(level, hits, few=True)
    return tables


def _lines(
    interested: NDArray[np.bool_], arity: int, depth: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return whether the subsystems of levels 0 to l - 1 are interested, and where each begins."""
    levels: list[NDArray[np.bool_]] = [interested]
    for _ in range(depth - 1):
        levels.append(np.asarray(levels[-1].reshape(-1, arity).any(axis=1)))
    first = np.cumsum([0, *(len(level) for level in levels)])
    return np.concatenate(levels), first.astype(np.int64)


@_compiled
def _audience(
    tables: NDArray[np.int64],
    lines: NDArray[np.bool_],
    level: int,
    arity: int,
    each: int,
    threshold: int,
) -> tuple[int, bool]:
    """Return how many periods a view of `lines`, of `each` processes, gets; whether D applies."""
    hits = 0
    for line in range(arity):
        if lines[line]:
            hits += each
    if not tables[level, hits, 0]:
        return tables[level, hits, 1], False
    wanted = 0
    for position in range(arity * each):
        if position < threshold or lines[position // each]:
            wanted += 1
    return tables[level, wanted, 2], True


@_compiled
def _spread(
    rng: Generator,
    arity: int,
    redundancy: int,
    fan_out: int,
    threshold: int,
    loss: float,
    tables: NDArray[np.int64],
    lines: NDArray[np.bool_],
    first_line: NDArray[np.int64],
    alive: NDArray[np.bool_],
    publisher: int,
    depth: int,
) -> tuple[NDArray[np.bool_], int, int, int]:
    """Publish one event; return who has it, and counts: periods, copies, parasite copies."""
    processes = len(alive)
    has = np.zeros(processes, np.bool_)
    level = np.zeros(processes, np.int8)
    rounds = np.zeros(processes, np.int32)
    order = np.empty(processes, np.int64)  # who has it, in the order in which it came
    reached, finished = 1, 0
    has[publisher], level[publisher], order[0] = True, depth, publisher
    # periods and threshold of a view, by level and subsystem; -1 while nobody has asked
    first_view = np.zeros(depth + 1, np.int64)
    for at in range(1, depth):
        first_view[at + 1] = first_view[at] + processes // arity**at
    periods = np.full(first_view[depth] + 1, -1, np.int32)
    few = np.zeros(first_view[depth] + 1, np.bool_)
    period, messages, parasite_copies = 0, 0, 0
    targets = np.empty(fan_out, np.int64)
    while True:
        senders, active = reached, False
        for index in range(finished, senders):
            sender = order[index]
            if level[sender] == 0:
                continue
            while True:
                at = level[sender]
                size_below = arity ** (at - 1)
                system = sender // (size_below * arity)
                view = first_view[at] + system
                each = redundancy if at > 1 else 1
                mine = lines[first_line[at - 1] + system * arity :]
                if periods[view] < 0:
                    periods[view], few[view] = _audience(tables, mine, at, arity, each, threshold)
                if rounds[sender] < periods[view]:
                    break
                level[sender] -= 1
                rounds[sender] = 0
                if level[sender] == 0:
                    break
            if level[sender] == 0:
                continue
            active = True
            rounds[sender] += 1
            line, place = divmod(sender - system * size_below * arity, size_below)
            in_view = place < each
            others = arity * each - (1 if in_view else 0)
            count = min(fan_out, others)
            choose_by(rng, targets[:count], others)
            for choice in range(count):
                position = targets[choice]
                if in_view and position >= line * each + place:
                    position += 1
                line_to = position // each
                if not (mine[line_to] or (few[view] and position < threshold)):
                    continue
                messages += 1
                target = (system * arity + line_to) * size_below + position % each
                if not alive[target] or (loss > 0 and rng.random() < loss):
                    continue
                if not lines[target]:
                    parasite_copies += 1
                if not has[target]:
                    has[target] = True
                    level[target], rounds[target] = at, rounds[sender]
                    order[reached] = target
                    reached += 1
        if not active:
            return has, period, messages, parasite_copies
        period += 1
        while finished < reached and level[order[finished]] == 0:
            finished += 1
