"""The load of a process by one event: what each process of a run sends and receives (000, 1.3).

A simulator counts how many living processes send, or receive, 0, 1, 2, ... copies of the event of
a run. The measures are those that summaries and comparisons read off traces
(`camcast.research.models.distributions.load_of`), of which a run has one value each: quantiles over
the living processes, the largest load for the mean, and for the mean likewise what the processes of
a role send: the publisher, the links, hpmcast's delegates, the hubs of an overlay. They are NaN
where there is no such process, and those for the mean where no process sends, or receives,
anything.
"""

from __future__ import annotations

from math import nan
from typing import Any, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.research.models import distributions

COUNTED_MAX: Final = 100_000
"""Up to so many processes in all, the copies that each of them receives are counted; those that it
sends are for any number. chosen: 32 bits more for each stay in the second-level cache, and runs
take at most 1.3 times as long; at 10^6 processes twice, at 3 * 10^6 three times (measured)."""

Histogram = NDArray[np.int64]
"""How many living processes have 0, 1, 2, ... copies."""

_SHARES: Final = tuple(distributions.LOAD_QUANTILES.values())
_NAMES: Final = (*distributions.LOAD_QUANTILES, "peak")
_HUB: Final = distributions.HUB
_PEAK: Final = len(_SHARES)
_OF_ROLES: Final = len(_NAMES)
_compiled: Final = njit(cache=True, nogil=True)
_rank: Final = _compiled(distributions.rank)  # the very one that summaries of traces use


class LoadColumns:
    """The measures of the load of simulated runs: one value a run and community, or NaN."""

    def __init__(self, *shape: int, roles: tuple[str, ...] = ("publishers",)) -> None:
        self.sent = np.full((*shape, _OF_ROLES + len(roles)), nan)
        """The copies sent: their quantiles, their peak and the roles, in the last axis."""
        self.received = np.full((*shape, _OF_ROLES), nan)
        """The copies received, likewise; without values where they are not counted."""
        self._roles = roles

    def by_name(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of each measure (`camcast.research.report.measures`)."""
        sent = [f"load_sent_{name}" for name in (*_NAMES, *self._roles)]
        named = {name: self.sent[..., at] for at, name in enumerate(sent)}
        if not np.isnan(self.received).all():
            received = [f"load_received_{name}" for name in _NAMES]
            named |= {name: self.received[..., at] for at, name in enumerate(received)}
        return named


@_compiled
def enter_load(measures: NDArray[np.float64], processes: Histogram) -> float:
    """Fill in the quantiles and the peak of a load; return its mean, NaN for nobody."""
    n, copies, largest = 0, 0, 0
    for number, having in enumerate(processes):
        n += having
        copies += number * having
        largest = number if having else largest
    if not n:
        return nan
    for at, share in enumerate(_SHARES):
        place, up_to, number = _rank(share, n), processes[0], 0
        while up_to <= place:
            number += 1
            up_to += processes[number]
        measures[at] = number
    if copies:
        measures[_PEAK] = largest * n / copies
    return float(copies / n)


@_compiled
def enter_copies(measures: NDArray[np.float64], copies: NDArray[Any], living: int) -> float:
    """Fill in the quantiles and the peak of a load from the copies of each process.

    There are `living` processes that count; all others have 0 copies. Return the mean.
    """
    processes = np.zeros(1 + (copies.max() if len(copies) else 0), np.int64)
    for one in copies:
        processes[one] += 1
    processes[0] += living - processes.sum()
    return enter_load(measures, processes)


@_compiled
def enter_processes(
    of_sent: NDArray[np.float64],
    of_received: NDArray[np.float64],
    sent: NDArray[Any],
    arrived: NDArray[Any],
    living: int,
    publisher: int,
) -> None:
    """Fill in a run from the copies that each process sends, and that arrive at it.

    The dead have none of either; there are `living` processes. The first role is the publisher's;
    `enter_role` fills in the other.
    """
    mean = enter_copies(of_sent, sent, living)
    if mean > 0:
        of_sent[_OF_ROLES] = sent[publisher] / mean
    enter_copies(of_received, arrived, living)


@_compiled
def enter_role(
    of_sent: NDArray[np.float64], sent: NDArray[Any], having: NDArray[np.bool_], living: int
) -> None:
    """Fill in what the living processes that have the second role send, for the mean."""
    copies, number, all_copies = 0, 0, 0
    for process in range(len(having)):
        all_copies += sent[process]
        copies += sent[process] * having[process]
        number += having[process]
    if number and all_copies:
        of_sent[_OF_ROLES + 1] = copies * living / (number * all_copies)


@_compiled
def hubs(first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which nodes of an overlay are hubs: no more than 1 % have more neighbours.

    The neighbours of node i are the entries `first[i]` to `first[i + 1]` of a list.
    """
    degrees = first[1:] - first[:-1]
    having: NDArray[np.bool_] = degrees >= np.sort(degrees)[_rank(_HUB, len(degrees))]
    return having


@_compiled
def enter_senders(
    measures: NDArray[np.float64], living: int, fan_out: int, upward: Histogram, publisher: int
) -> None:
    """Fill in what the processes of a community send that infect and die, and its two roles.

    `upward` has how many of them send 0, 1, 2, ... copies upward beside `fan_out` others;
    `publisher` is how many the publisher does, or -1 in communities without a publisher.
    """
    processes = np.zeros(fan_out + len(upward), np.int64)
    processes[fan_out:] = upward
    processes[0] += living - upward.sum()
    mean = enter_load(measures, processes)
    links, copies = 0, 0
    for number in range(1, len(upward)):
        links += upward[number]
        copies += upward[number] * (fan_out + number)
    if mean > 0 and publisher >= 0:
        measures[_OF_ROLES] = (fan_out + publisher) / mean
    if mean > 0 and links:
        measures[_OF_ROLES + 1] = copies / (links * mean)
