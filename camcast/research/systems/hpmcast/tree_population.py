"""The population simulator of hpmcast: every process of a regular hierarchy (002, Figure 6).

A process is its address as a number in base a, so that a subsystem of level i is a^i successive
processes. What becomes of an event is `camcast.research.systems.hpmcast.level_gossip`.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.random import PCG64, Generator

from camcast.research.population.interested_draw import (
    ALIVE,
    COLUMNS,
    DELIVERED,
    MESSAGES,
    PARASITE_COPIES,
    ROUNDS,
)
from camcast.research.population.load_counts import LoadColumns, enter_processes, enter_role
from camcast.research.population.outcome import Interval, Outcome, share_interval
from camcast.research.population.xoshiro import seeded
from camcast.research.systems.hpmcast.level_gossip import delegates_of, spread, tree_of
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.vocabulary.streams import stream


def reception(outcome: Outcome) -> Interval:
    """Return the share of the interested that deliver, on average over runs that have any.

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
    counts, parasites = np.zeros((runs, COLUMNS), np.int64), np.zeros(runs, np.int64)
    loads = LoadColumns(runs, roles=("publishers", "delegates"))
    a, R, n = setting.arity, setting.redundancy, setting.processes
    tree = tree_of(np.arange(n, dtype=np.uint64) // np.uint64(a), a, setting.depth, R)
    delegates = delegates_of(tree, n)
    levels, wanted = range(1, setting.depth + 1), range(setting.view_of(setting.depth) + 1)
    measured = setting.estimate == "measured"
    expected = [nan if measured else setting.view_of(i) * setting.share(i) for i in levels]
    table = [
        [[setting.periods(i, hits, few=few) for hits in wanted] for few in (False, True)]
        for i in levels
    ]
    told = np.array(expected), np.array(table)
    for run in range(runs):
        source = stream(seed, "protocol", "hpmcast", first_run + run)
        rng = Generator(PCG64(source.getrandbits(128)))
        interested = rng.random(n) < setting.interested
        alive = rng.random(n) >= setting.crash
        publisher = int(rng.integers(n))
        alive[publisher] = True
        sent, arrived = np.zeros(n, np.int32), np.zeros(n, np.int32)
        received = spread(
            *(seeded(source), tree, R, setting.fan_out, setting.threshold, *told),
            *(float(setting.loss), interested, alive, publisher, counts[run], sent, arrived),
        )
        living = int(np.count_nonzero(alive))
        enter_processes(loads.sent[run], loads.received[run], sent, arrived, living, publisher)
        enter_role(loads.sent[run], sent, delegates & alive, living)
        has = received > 0
        alive[publisher] = False  # who is asked: all living but the publisher
        counts[run, ALIVE] = np.count_nonzero(interested & alive)
        counts[run, DELIVERED] = np.count_nonzero(interested & has)
        parasites[run] = np.count_nonzero(has & ~interested)
    return Outcome(
        sizes=(),
        alive=counts[:, ALIVE],
        delivered=counts[:, DELIVERED],
        rounds=counts[:, ROUNDS],
        messages=counts[:, MESSAGES],
        parasites=parasites,
        parasite_copies=counts[:, PARASITE_COPIES],
        loads=loads.by_name(),
    )
