"""The population simulator of the three baselines: every process of a group by itself (000, 4.2).

Theory of operation
-------------------
The rules are those of `camcast.research.systems.camcast.population`: infect and die in synchronous
rounds. Each process has uniform tables of its own, drawn when it sends: one of its cluster, like
the topic table of a CAMCAST community, and one of distinct processes of all other clusters.

Whether a process is alive, and whether it is interested, is drawn when the first copy arrives at
it: of u processes that no copy has reached, w are interested, so the next one is with probability
w/u. The result has the same distribution, since neither matters before, and a run needs 9 bytes a
process.

Counted are, for a run:

* messages: copies sent, the lost ones included, and how many of them go to other clusters;
* parasite copies: those that arrive at a living process that is not interested, the first and all
  later ones, as Table 2 counts them ("the average number of parasite events sent in the system");
* the load of a process, up to `COUNTED_MAX` processes: what it sends, and what arrives at it;
* rounds: the last round in which a process sends, counted from the publisher's round 1.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.population.floyd import choose
from camcast.research.population.load_counts import COUNTED_MAX, LoadColumns, enter_processes
from camcast.research.population.outcome import Outcome
from camcast.research.population.xoshiro import State, below, inlined, seeded, uniform
from camcast.research.systems.baselines.setting import Baseline
from camcast.research.systems.setting_base import too_many
from camcast.vocabulary.streams import stream

PROCESSES_MAX: Final = 10**8  # chosen: 9 bytes each, and a minute a run

_TOUCHED, _ALIVE, _INTERESTED = 1, 2, 4
"""Bits of a process: whether a copy has arrived, and whether it is alive and interested."""

# The columns of a run's counts.
_DELIVERED, _ROUNDS, _MESSAGES, _BETWEEN, _PARASITES = range(5)


def simulate(setting: Baseline, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` for more than `PROCESSES_MAX` processes.
    """
    if setting.processes > PROCESSES_MAX:
        raise too_many(f"{setting.processes:,} processes", PROCESSES_MAX)
    m = setting.cluster_size
    counts = np.zeros((runs, 5), np.int64)
    alive, loads = np.zeros(runs, np.int64), LoadColumns(runs)
    counted = setting.processes if setting.processes <= COUNTED_MAX else 0
    for run in range(runs):
        weather = stream(seed, "protocol", "baselines", setting.protocol, first_run + run)
        sent, arrived = np.zeros(counted, np.int32), np.zeros(counted, np.int32)
        unknown, others, reached, publisher = _spread(
            seeded(weather), setting.processes, setting.interested, setting.clusters,
            (setting.fan_out(m), setting.fan_out(m + 1), setting.fan_out_between),
            (float(setting.between), float(setting.arrival), float(setting.stillborn)),
            *(counts[run], sent, arrived),
        )  # fmt: skip
        rng = Generator(PCG64(weather.getrandbits(128)))
        untouched = int(rng.binomial(unknown, 1 - setting.stillborn))
        alive[run] = counts[run, _DELIVERED] + untouched
        if counted:
            living = reached + untouched + int(rng.binomial(others, 1 - setting.stillborn))
            enter_processes(loads.sent[run], loads.received[run], sent, arrived, living, publisher)
    return Outcome(
        (),
        alive=alive,
        delivered=counts[:, _DELIVERED],
        rounds=counts[:, _ROUNDS],
        messages=counts[:, _MESSAGES],
        between=counts[:, _BETWEEN],
        parasite_copies=counts[:, _PARASITES],
        loads=loads.by_name() if counted else {},
    )


@inlined
def _succeeds(state: State, chance: float) -> tuple[bool, State]:
    """Draw whether an event of this probability happens."""
    drawn, state = uniform(state)
    return drawn < chance, state


@njit(cache=True, nogil=True)
def _spread(
    state: State,
    processes: int,
    interested: int,
    clusters: int,
    fan_outs: tuple[int, int, int],
    chances: tuple[float, float, float],
    counts: NDArray[np.int64],
    sent: NDArray[np.int32],
    arrived: NDArray[np.int32],
) -> tuple[int, int, int, int]:
    """Publish one event and fill in `counts` and, unless they are empty, the copies of processes.

    Return how many interested processes, and how many others, no copy has reached, how many living
    ones have the event, and who published it. The processes of a cluster have successive numbers;
    larger clusters come first.
    """
    fan_out, fan_out_larger, fan_out_between = fan_outs
    between, arrival, stillborn = chances
    m, larger = processes // clusters, processes % clusters
    known = np.zeros(processes, np.uint8)
    order = np.empty(processes, np.int64)  # those that have the event, in the order of receiving
    targets = np.empty(max(fan_out, fan_out_larger, fan_out_between), np.int64)
    copies = np.empty(2 * len(targets), np.int64)
    publisher, state = below(state, processes)  # any: it need not be in a larger cluster
    known[publisher] = _TOUCHED | _ALIVE | _INTERESTED
    order[0] = publisher
    untouched, wanting = processes - 1, interested - 1
    counts[_DELIVERED] = 1
    begin, end = 0, 1
    while begin < end:
        counts[_ROUNDS] += 1
        reached = end
        for index in range(begin, end):
            sender = order[index]
            if sender < larger * (m + 1):
                first, size, count = sender - sender % (m + 1), m + 1, fan_out_larger
            else:
                first, size, count = sender - (sender - larger) % m, m, fan_out
            before = counts[_MESSAGES]
            counts[_MESSAGES] += count
            state = choose(state, targets, count, size - 1)
            arriving = 0
            for target in targets[:count]:
                arrives, state = _succeeds(state, arrival)
                if arrives:
                    copies[arriving] = first + target + (first + target >= sender)
                    arriving += 1
            state = choose(state, targets, fan_out_between, processes - size)
            for target in targets[:fan_out_between]:
                sends, state = _succeeds(state, between)
                if not sends:
                    continue
                counts[_MESSAGES] += 1
                counts[_BETWEEN] += 1
                arrives, state = _succeeds(state, arrival)
                if arrives:
                    copies[arriving] = target + (target >= first) * size
                    arriving += 1
            if len(sent):
                sent[sender] = counts[_MESSAGES] - before
            for target in copies[:arriving]:
                if not known[target]:
                    known[target] = _TOUCHED
                    drawn, state = below(state, untouched)
                    untouched -= 1
                    if drawn < wanting:
                        known[target] |= _INTERESTED
                        wanting -= 1
                    dead, state = _succeeds(state, stillborn)
                    if not dead:
                        known[target] |= _ALIVE
                        order[reached] = target
                        reached += 1
                        counts[_DELIVERED] += known[target] & _INTERESTED > 0
                counts[_PARASITES] += known[target] & (_ALIVE | _INTERESTED) == _ALIVE
                if len(arrived):
                    arrived[target] += known[target] & _ALIVE > 0
        begin, end = end, reached
    return wanting, untouched - wanting, end, int(publisher)
