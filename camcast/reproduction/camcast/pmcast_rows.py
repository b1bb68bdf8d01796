"""hpmcast among as many processes as Tables 1 and 2 have, for their rows of PMcast (000, 6.1.2).

PMcast is the paper's [22]; what is here is its successor (002), the same multicast level by level.
The processes are `LevelGossip`, which is what a live process disseminates by; their views are
complete and static, and they gossip in step, so that a period is a round.

Neither 1,110 nor 300 nor 500 is a whole number to the power of three. The hierarchy has the least
arity that takes so many, and the addresses in use lie evenly among all there are, so that the
subsystems of a level differ by one process at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from math import prod
from random import Random
from typing import Final

from attrs import frozen

from camcast.protocols.hpmcast.address import Address, branch
from camcast.protocols.hpmcast.rounds import Audience, LevelGossip, audience

DEPTH: Final = 3  # [hpmcast 5.3, Figures 7, 8]
REDUNDANCY: Final = 3  # [hpmcast 5.3, Figures 7, 8]

_EVENT: Final = 0


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
    a = arity_of(processes, depth)
    numbers = (process * a**depth // processes for process in range(processes))
    return [tuple(number // a**level % a for level in reversed(range(depth))) for number in numbers]


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
    addresses = addresses_of(processes, depth)
    wanting = dice.sample(addresses, interested)
    concerned = {branch(address, level) for address in wanting for level in range(depth)}
    views = _views(addresses, concerned, redundancy)

    def process(address: Address) -> LevelGossip[int, Address]:
        return LevelGossip(
            me=address,
            levels=depth,
            redundancy=redundancy,
            fan_out=fan_out,
            audience=lambda level, _event: views[branch(address, level)],
            rng=dice,
        )

    publisher = wanting[0]
    holders = {publisher: process(publisher)}
    holders[publisher].publish(_EVENT)
    rounds = last = parasite_copies = 0
    while True:
        sent = [copy for holder in list(holders.values()) for copy in holder.gossip()]
        if all(holder.idle for holder in holders.values()):
            break
        rounds += 1
        for copy in sent:
            if dice.random() >= success:
                continue
            parasite_copies += copy.to not in concerned
            if copy.to not in holders:
                holders[copy.to] = process(copy.to)
                last = rounds
            holders[copy.to].receive(_EVENT, copy.share, copy.rounds, copy.level)
    delivered = sum(address in holders for address in wanting)
    return Multicast(last, rounds, delivered, len(holders) - delivered, parasite_copies)


def _views(
    addresses: Sequence[Address], concerned: set[Address], redundancy: int
) -> dict[Address, Audience[Address]]:
    """Return the view of every subsystem, by its branch address, as one event meets it."""
    depth = len(addresses[0])
    views: dict[Address, Audience[Address]] = {}
    for level in range(1, depth + 1):
        for system, members in groupby(addresses, partial(branch, level=level)):
            lines = [list(line) for _, line in groupby(members, partial(branch, level=level - 1))]
            known = [address for line in lines for address in line[:redundancy]]
            wanted = [branch(address, level - 1) in concerned for address in known]
            views[system] = audience(len(lines), known, wanted)
    return views
