"""The draw of interested and living processes, and the counts, of kernels that spread one event."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.research.population.load_counts import LoadColumns
from camcast.research.population.outcome import Counts, Outcome
from camcast.research.population.xoshiro import State, below, uniform

Interested: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_], int, State]
"""Which processes are interested, which are alive, the publisher, and the random state then."""

ALIVE, DELIVERED, ROUNDS, MESSAGES, PARASITE_COPIES, ENTRIES = range(6)
"""The columns of a run; `ENTRIES` is summed over the processes."""
COLUMNS: Final = 6


def outcome_of(counts: Counts, processes: int, loads: LoadColumns) -> Outcome:
    """Return a kernel's counts, a row for each run with the columns named above, as an outcome."""
    return Outcome(
        (),
        alive=counts[:, ALIVE],
        delivered=counts[:, DELIVERED],
        rounds=counts[:, ROUNDS],
        messages=counts[:, MESSAGES],
        parasite_copies=counts[:, PARASITE_COPIES],
        entries=counts[:, ENTRIES] / processes,
        loads=loads.by_name(),
    )


@njit(cache=True, nogil=True)
def draw_interested(state: State, processes: int, interested: int, crash: float) -> Interested:
    """Draw `interested` of the processes, and one of these as the publisher, which is alive.

    Every other process is dead with probability `crash`.
    """
    wants, alive = np.zeros(processes, np.bool_), np.ones(processes, np.bool_)
    publisher, chosen = 0, 0
    nth, state = below(state, interested)  # the publisher, among the interested
    for process in range(processes):
        drawn, state = below(state, processes - process)
        if drawn < interested - chosen:
            wants[process] = True
            publisher = process if chosen == nth else publisher
            chosen += 1
        if crash > 0:
            chance, state = uniform(state)
            alive[process] = chance >= crash
    alive[publisher] = True
    return wants, alive, publisher, state
