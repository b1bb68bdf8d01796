"""Overlays of SCAMP, drawn by simulating its subscriptions (the rules of `membership.scamp`).

Theory of operation
-------------------
*Subscriptions.* Processes join one after the other. The newcomer's view starts as {contact}, a
random earlier process. The contact sends a copy of the subscription to each member of its view and
c more to random ones. A process that gets a copy keeps it with probability 1/(1 + |view|), unless
it is the newcomer or knows the newcomer already; otherwise it passes the copy on to a random
member. A copy whose TTL has ended is kept for certain, if it can be. Views have a cap.

*Time.* A copy goes one step at a time, and `STEPS_OF_A_JOIN` steps later the next process joins. So
copies of several newcomers are under way together; the views of these newcomers are still small and
keep many of the copies. Newcomers come to know each other both ways, and have a few neighbours
fewer than if each had joined after the one before was complete.

*Repair.* The law asks for (c+1) ln n holders of a process, and n grows. Every `JOINS_OF_A_TICK`
joins, a process with a quarter fewer holders asks a member of its view for the missing copies; of a
process with more than a quarter more, and one, random holders drop their arcs, but never their only
one. A request that fails because views are full is repeated when the law asks for more, and at the
end.

*Left out.* No message is lost while the overlay grows, all processes know the size, none probes
others, and the walk to the contact ends anywhere. There are no leases: this is the overlay before
the first renewals, half a minute after a process has joined. Of 118 processes one has then 25.3
neighbours (the shipped ones 25.25 ±0.10, 24 fleets; of 60, 20.8 and 20.5 ±0.1); after renewals a
shipped one has 27, since renewals add the holders that joins leave short of the law.

An arc is known at both of its ends, so that the overlay has links with two ends: the neighbours of
a process are the members of its view, and the processes that have it in their views.
"""

from __future__ import annotations

from math import ceil, log
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from camcast.research.population.xoshiro import State, below, uniform

STEPS_OF_A_JOIN: Final = 10  # chosen: ten joins in a second, and copies that take 10 ms
JOINS_OF_A_TICK: Final = 10  # chosen: likewise, with the heartbeat of `membership.scamp`
TICKS_AFTER: Final = 3  # chosen: after the last join, so that failed requests are repeated

WALK_TTL: Final = 64  # [membership.scamp]
WALK_PATIENCE: Final = 4  # [membership.scamp]
CAP_FACTOR: Final = 3  # [membership.scamp]
CAP_SIZE_MIN: Final = 64  # [membership.scamp]
SLACK: Final = 0.25  # [membership.scamp]

_Numbers = NDArray[np.int32]
_Arcs = tuple[_Numbers, _Numbers, _Numbers, _Numbers]
"""The views and their sizes, the holders and their numbers, by process."""

# The columns of the copies under way.
_AT, _OF, _TTL = range(3)

_compiled: Final = njit(cache=True, nogil=True)


@_compiled
def _wide(number: int) -> int:
    """Return a number with 64 bits: a function called with two widths is compiled twice."""
    return int(np.int64(number))


@_compiled
def view_cap(processes: int, c: int) -> int:
    """Return how many processes a view holds at most, 3(c+1) ln n."""
    return ceil(CAP_FACTOR * (c + 1) * log(max(processes, CAP_SIZE_MIN)))


@_compiled
def draw_overlay(state: State, processes: int, c: int) -> tuple[NDArray[np.int64], _Numbers, State]:
    """Let processes join; return where the neighbours of each begin, all neighbours, the state."""
    most = min(processes - 1, view_cap(processes, c))
    # the holders that kept one of `most` + c copies, and newcomers until the next tick
    most_holders = min(processes - 1, most + c + 1 + 2 * JOINS_OF_A_TICK)
    arcs = (
        np.empty((processes, most), np.int32),
        np.zeros(processes, np.int32),
        np.empty((processes, most_holders), np.int32),
        np.zeros(processes, np.int32),
    )
    copies, active = np.empty((64, 3), np.int32), _wide(0)
    contacts = np.zeros(JOINS_OF_A_TICK, np.int32)
    settled, before = 0, 0  # the first process that has had no tick, and the holders of that law
    for newcomer in range(1, processes):
        size = newcomer + 1
        cap = min(most, view_cap(size, c))
        drawn, state = below(state, newcomer)
        contact = int(drawn)
        contacts[newcomer % JOINS_OF_A_TICK] = contact
        _hold(arcs, newcomer, contact, most)
        count = _wide(arcs[1][contact]) + c
        copies, active, state = _spread(arcs, state, copies, active, contact, newcomer, count, cap)
        for _ in range(STEPS_OF_A_JOIN):
            active, state = _step(arcs, state, copies, active, cap)
        if size % JOINS_OF_A_TICK == 0:
            wanted = _lawful(size, c)
            begin = 0 if wanted > before else settled
            for place in range(JOINS_OF_A_TICK):
                state = _shed(arcs, state, _wide(contacts[place]), wanted)
            settled, before = size - JOINS_OF_A_TICK, wanted
            for process in range(begin, settled):
                state = _shed(arcs, state, process, wanted)
                copies, active, state = _ask(arcs, state, copies, active, process, wanted, cap)
    for _ in range(TICKS_AFTER):
        while active:
            active, state = _step(arcs, state, copies, active, most)
        wanted = _lawful(processes, c)
        for process in range(processes):
            state = _shed(arcs, state, process, wanted)
            copies, active, state = _ask(arcs, state, copies, active, process, wanted, most)
    while active:
        active, state = _step(arcs, state, copies, active, most)
    first, neighbours = _both_ways(arcs)
    return first, neighbours, state


@_compiled
def _lawful(size: int, c: int) -> int:
    """Return how many holders a process should have by the law of the views."""
    return round(min(size - 1.0, (c + 1) * log(size)))


@_compiled
def _knows(arcs: _Arcs, holder: int, process: int) -> bool:
    return bool((arcs[0][holder, : arcs[1][holder]] == process).any())


@_compiled
def _hold(arcs: _Arcs, holder: int, process: int, cap: int) -> bool:
    """Make an arc; return whether it was new, its ends different, and the view not full."""
    views, sizes, holders, holding = arcs
    full = sizes[holder] >= cap or holding[process] >= holders.shape[1]
    if full or holder == process or _knows(arcs, holder, process):
        return False
    views[holder, sizes[holder]] = process
    sizes[holder] += 1
    holders[process, holding[process]] = holder
    holding[process] += 1
    return True


@_compiled
def _step(arcs: _Arcs, state: State, copies: _Numbers, active: int, cap: int) -> tuple[int, State]:
    """Let each copy be kept, or go one step on; return how many are still under way, and state."""
    views, sizes = arcs[0], arcs[1]
    number = 0
    while number < active:
        at, subscriber = _wide(copies[number, _AT]), _wide(copies[number, _OF])
        ttl = copies[number, _TTL]
        kept = ttl <= 0
        if not kept:
            chance, state = uniform(state)
            kept = chance < 1 / (1 + sizes[at])
        kept = kept and _hold(arcs, at, subscriber, cap)
        nobody_else = sizes[at] == 0 or (sizes[at] == 1 and views[at, 0] == subscriber)
        if kept or ttl <= 0 or nobody_else:  # if not kept, the copy is lost
            active -= 1
            copies[number] = copies[active]
            continue
        onward = subscriber
        while onward == subscriber:
            place, state = below(state, sizes[at])
            onward = views[at, place]
        copies[number, _AT], copies[number, _TTL] = onward, ttl - 1
        number += 1
    return active, state


@_compiled
def _spread(
    arcs: _Arcs,
    state: State,
    copies: _Numbers,
    active: int,
    at: int,
    subscriber: int,
    count: int,
    cap: int,
) -> tuple[_Numbers, int, State]:
    """Send `count` copies: one to every member of a view in random order, the rest to any."""
    views, sizes = arcs[0], arcs[1]
    members = views[at, : sizes[at]].copy()
    members = members[members != subscriber]
    if not len(members):
        _hold(arcs, at, subscriber, cap)  # a founder's first subscriber
        return copies, active, state
    if active + count > len(copies):
        more = np.empty((2 * (active + count), 3), np.int32)
        more[:active] = copies[:active]
        copies = more
    ttl = min(WALK_TTL, WALK_PATIENCE * (1 + sizes[at]))
    for last in range(len(members) - 1, 0, -1):
        place, state = below(state, last + 1)
        members[last], members[place] = members[place], members[last]
    for sent in range(count):
        receiver = members[sent % len(members)]
        if sent >= len(members):
            place, state = below(state, len(members))
            receiver = members[place]
        copies[active, _AT], copies[active, _OF] = receiver, subscriber
        copies[active, _TTL] = ttl
        active += 1
    return copies, active, state


@_compiled
def _ask(
    arcs: _Arcs,
    state: State,
    copies: _Numbers,
    active: int,
    process: int,
    wanted: int,
    cap: int,
) -> tuple[_Numbers, int, State]:
    """Ask a member of a process's view for its missing copies; the member may keep one itself."""
    views, sizes, _, holding = arcs
    if holding[process] >= wanted * (1 - SLACK) or not sizes[process]:
        return copies, active, state
    missing = wanted - int(holding[process])
    place, state = below(state, sizes[process])
    member = _wide(views[process, place])
    if missing >= sizes[member] and _hold(arcs, member, process, cap):
        missing -= 1
    return _spread(arcs, state, copies, active, member, process, missing, cap)


@_compiled
def _shed(arcs: _Arcs, state: State, process: int, wanted: int) -> State:
    """Let random holders drop their arcs to a process with too many holders for the law."""
    views, sizes, holders, holding = arcs
    if holding[process] <= wanted * (1 + SLACK) + 1:
        return state
    for _ in range(holding[process] - wanted):
        place, state = below(state, holding[process])
        holder = holders[process, place]
        if sizes[holder] == 1:
            continue
        holding[process] -= 1
        holders[process, place] = holders[process, holding[process]]
        sizes[holder] -= 1
        for member in range(sizes[holder]):
            if views[holder, member] == process:
                views[holder, member] = views[holder, sizes[holder]]
                break
    return state


@_compiled
def _both_ways(arcs: _Arcs) -> tuple[NDArray[np.int64], _Numbers]:
    """Return the neighbours of all processes, one process's after another's."""
    views, sizes, holders, holding = arcs
    processes = len(sizes)
    first = np.zeros(processes + 1, np.int64)
    neighbours = np.empty(sizes.sum() + holding.sum(), np.int32)
    end = 0
    for process in range(processes):
        for member in views[process, : sizes[process]]:
            neighbours[end] = member
            end += 1
        for holder in holders[process, : holding[process]]:
            if not _knows(arcs, process, holder):
                neighbours[end] = holder
                end += 1
        first[process + 1] = end
    return first, neighbours[:end]
