"""hpmcast among as many processes as Tables 1 and 2 have, for their rows of PMcast (000, 6.1.2).

PMcast is the paper's [22]; what is here is its successor (002), the same multicast level by level.
What becomes of an event is `camcast.research.systems.hpmcast.level_gossip`, in which a period is a
round.

Neither 1,110 nor 300 nor 500 is a whole number to the power of three. The hierarchy has the least
arity that takes so many, and the addresses in use lie evenly among all there are, so that the
subsystems of a level differ by one process at most.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from math import prod
from random import Random
from typing import Final

import numpy as np
from attrs import frozen

from camcast.research.population.interested_draw import COLUMNS, PARASITE_COPIES, ROUNDS
from camcast.research.population.xoshiro import seeded
from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.level_gossip import all_measured, spread, tree_of

DEPTH: Final = 3  # [hpmcast 5.3, Figures 7, 8]
REDUNDANCY: Final = 3  # [hpmcast 5.3, Figures 7, 8]


@frozen
class Multicast:
    """What became of one event."""

    last: int
    """The round in which the last process receives it for the first time."""
    rounds: int
    """Rounds until nobody gossips any more."""
    delivered: int
    """Interested processes that have it in the end, the publisher among them."""
    parasites: int
    """Uninterested processes that received it."""
    parasite_copies: int
    """Copies that arrived at uninterested processes, each counted."""


def arity_of(processes: int, depth: int = DEPTH) -> int:
    """Return the least a with a^l >= n."""
    return next(a for a in range(1, processes + 1) if a**depth >= processes)


def addresses_of(processes: int, depth: int = DEPTH) -> list[Address]:
    """Return so many addresses, smallest first, evenly among the a^l there are."""
    a, levels = arity_of(processes, depth), range(depth - 1, -1, -1)
    numbers = _numbers(processes, depth)
    return [tuple(number // a**level % a for level in levels) for number in numbers]


def _numbers(processes: int, depth: int) -> list[int]:
    """Return the addresses as numbers in base a."""
    a = arity_of(processes, depth)
    return [process * a**depth // processes for process in range(processes)]


def expected_parasites(
    processes: int, interested: int, depth: int = DEPTH, redundancy: int = REDUNDANCY
) -> float:
    """Return how many uninterested processes `multicast` reaches in the mean, if it misses nobody.

    Who is a delegate up to level i < l receives what interests somebody of its subsystem of that
    level (002, 5.1.1): of m processes, drawn among n with n_1 interested, nobody is with
    probability C(n-m, n_1) / C(n, n_1).
    """
    addresses = addresses_of(processes, depth)
    uninterested = 1 - interested / processes
    company: dict[Address, int] = {}  # by delegate, of the largest subsystem that it stands for
    for level in range(1, depth):
        for _, members in groupby(addresses, partial(branch, level=level)):
            line = list(members)
            company |= dict.fromkeys(line[:redundancy], len(line))

    def nobody(members: int) -> float:
        left = processes - members
        return prod((left - k) / (processes - k) for k in range(interested)) if left else 0.0

    return sum(uninterested - nobody(members) for members in company.values())


def multicast(
    processes: int,
    interested: int,
    fan_out: int,
    success: float,
    dice: Random,
    depth: int = DEPTH,
    redundancy: int = REDUNDANCY,
) -> Multicast:
    """Publish an event that interests some, the publisher among them; return what became of it.

    Who is interested is drawn, any as likely as any other (002, 5.2). A copy arrives with
    probability `success`.
    """
    wanting = dice.sample(range(processes), interested)
    wants = np.isin(np.arange(processes), wanting)
    a = arity_of(processes, depth)
    groups = np.array(_numbers(processes, depth), np.uint64) // np.uint64(a)
    tree = tree_of(groups, a, depth, redundancy)
    counts = np.zeros(COLUMNS, np.int64)
    received = spread(
        *(seeded(dice), tree, redundancy, fan_out, 0, *all_measured(depth), 1 - success),
        *(wants, np.ones(processes, np.bool_), wanting[0], counts),
    )
    delivered = int(np.count_nonzero(wants & (received >= 0)))
    return Multicast(
        last=int(received.max()),
        rounds=int(counts[ROUNDS]),
        delivered=delivered,
        parasites=int(np.count_nonzero(received >= 0)) - delivered,
        parasite_copies=int(counts[PARASITE_COPIES]),
    )
