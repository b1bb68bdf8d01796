"""The population simulator of percolation gossip as it is shipped: on SCAMP's overlay (003, 2).

Each run has an overlay of its own (`camcast.research.systems.percolation.scamp_overlay`) and one
event, which spreads by Algorithm 2: a process that gets it for the first time sends it to all
neighbours that subscribe, and to each other neighbour with probability gamma, but not to the
process that it came from. Processes know the subscriptions of their neighbours, and not which of
them are dead. A copy is lost with probability `loss`; one that arrives at a living process brings
it the event, or is a duplicate. All copies take one step. After `TTL_HOPS` hops an event is not
sent on.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.research.population.interested_draw import (
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
from camcast.research.population.load_counts import (
    LoadColumns,
    enter_processes,
    enter_role,
    hubs,
)
from camcast.research.population.outcome import Outcome
from camcast.research.population.xoshiro import State, seeded, uniform
from camcast.research.systems.percolation.protocol import Percolation
from camcast.research.systems.percolation.scamp_overlay import draw_overlay, view_cap
from camcast.research.systems.percolation.setting import ScampOverlay
from camcast.research.systems.setting_base import too_many
from camcast.vocabulary.streams import stream

ENTRIES_MAX: Final = 5 * 10**7  # chosen: view entries of all processes; 0.5 GB, and minutes a run
TTL_HOPS: Final = Percolation().ttl


def simulate(setting: ScampOverlay, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` if the views of all processes have room for more than `ENTRIES_MAX`.
    """
    n = setting.processes
    view = min(n - 1, view_cap(n, setting.c))
    if n * view > ENTRIES_MAX:
        raise too_many(f"{n:,} processes with views of up to {view:,}", ENTRIES_MAX // view)
    counts = np.zeros((runs, COLUMNS), np.int64)
    loads = LoadColumns(runs, roles=("publishers", "hubs"))
    for run in range(runs):
        chances = (float(setting.gamma), float(setting.loss), float(setting.crash))
        state = seeded(stream(seed, "protocol", "percolation on scamp", first_run + run))
        _publish(
            *(state, n, setting.interested, setting.c, *chances, counts[run]),
            *(loads.sent[run], loads.received[run]),
        )
    return outcome_of(counts, n, loads)


@njit(cache=True, nogil=True)
def _publish(
    state: State,
    processes: int,
    interested: int,
    c: int,
    gamma: float,
    loss: float,
    crash: float,
    counts: NDArray[np.int64],
    of_sent: NDArray[np.float64],
    of_received: NDArray[np.float64],
) -> None:
    """Draw an overlay, publish one event on it, and count its copies and receivers."""
    first, neighbours, state = draw_overlay(state, processes, c)
    wants, alive, publisher, state = draw_interested(state, processes, interested, crash)
    counts[ALIVE] = np.count_nonzero(wants & alive)
    counts[ENTRIES] = len(neighbours)
    copies = np.zeros(processes, np.int32), np.zeros(processes, np.int32)
    _spread(state, first, neighbours, wants, alive, publisher, (gamma, loss), counts, copies)
    living = int(np.count_nonzero(alive))
    enter_processes(of_sent, of_received, *copies, living, publisher)
    enter_role(of_sent, copies[0], hubs(first) & alive, living)


@njit(cache=True, nogil=True)
def _spread(
    state: State,
    first: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    wants: NDArray[np.bool_],
    alive: NDArray[np.bool_],
    publisher: int,
    chances: tuple[float, float],
    counts: NDArray[np.int64],
    copies: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> None:
    """Publish one event on an overlay, and count; `chances` are gamma and loss.

    `copies` are those that each process sends, and those that arrive at it.
    """
    (gamma, loss), (sent, arrived) = chances, copies
    has = np.zeros(len(alive), np.bool_)
    order = np.empty(len(alive), np.int32)  # the receivers, in the order of receiving
    sources = np.full(len(alive), -1, np.int32)
    has[publisher], order[0] = True, publisher
    counts[DELIVERED] = 1
    begin, reached = 0, 1
    while begin < reached:
        end = reached
        if counts[ROUNDS] == TTL_HOPS:
            break
        counts[ROUNDS] += 1
        for sender in order[begin:end]:
            for receiver in neighbours[first[sender] : first[sender + 1]]:
                if receiver == sources[sender]:
                    continue
                if not wants[receiver]:
                    chance, state = uniform(state)
                    if chance >= gamma:
                        continue
                counts[MESSAGES] += 1
                sent[sender] += 1
                chance, state = uniform(state)
                if not alive[receiver] or chance < loss:
                    continue
                arrived[receiver] += 1
                counts[PARASITE_COPIES] += not wants[receiver]
                if not has[receiver]:
                    has[receiver], sources[receiver] = True, sender
                    order[reached] = receiver
                    reached += 1
                    counts[DELIVERED] += wants[receiver]
        begin = end
