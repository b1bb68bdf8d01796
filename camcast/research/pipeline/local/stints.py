"""Stints: the times for which each node was a member of its community.

A *stint* begins with the first `join` of a node in a community, or the first one after it left or
crashed, and lasts until the next stint begins; the node is a member from its last `join` in it. A
node that comes back as itself after a crash has a second stint. A crash without a community is one
in all communities that the node ever joined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf

from attrs import define, field

from camcast.observe.trace import TraceRecord

Place = tuple[str, str]
"""A node and a community."""


@define(eq=False)
class Stint:
    """A time for which a node was a member; infinite is what did not happen."""

    node: str
    community: str
    joined: float
    left: float = inf
    crashed: float = inf
    again: float = inf
    """When the next stint begins."""


@define(eq=False)
class Crash:
    """A crash of a node in a community."""

    node: str
    community: str
    when: float
    again: float = inf
    """When the next stint there begins."""


@define
class Members:
    """The members of a run."""

    stints: list[Stint] = field(factory=list)
    crashes: dict[tuple[str, str, float, int], Crash] = field(factory=dict)
    """By node, community, time and number: a file may be there twice, word for word."""
    end: float = inf
    """When the first member left politely for good, which ends the run proper."""
    alive: set[Place] = field(factory=set)
    """The places whose last stint did not end in a crash."""


def members_of(story: Sequence[TraceRecord]) -> Members:
    """Find the stints in records in the order of their time, number and kind."""
    joined: defaultdict[str, set[str]] = defaultdict(set)
    changes: defaultdict[Place, list[TraceRecord]] = defaultdict(list)
    changed = [record for record in story if record.kind in ("join", "leave", "crash")]
    for record in changed:
        if record.kind == "join":
            joined[record.node].add(record.community)
    for record in changed:
        places: Iterable[str] = (record.community,)
        if record.kind == "crash" and not record.community:
            places = sorted(joined[record.node]) or places
        for community in places:
            changes[record.node, community].append(record)
    members = Members()
    for place, of_place in changes.items():
        _add(members, place, of_place)
    return members


def _add(members: Members, place: Place, changes: Iterable[TraceRecord]) -> None:
    """Add the stints and the crashes of a node in a community."""
    stint: Stint | None = None
    left_before_joining = inf
    waiting: list[Crash] = []
    before = ""
    for record in changes:
        when = record.when
        if record.kind == "join" and before != "join":
            if stint is not None:
                stint.again = when
            for crash in waiting:
                crash.again = when
            waiting = []
            stint = Stint(*place, when)
            members.stints.append(stint)
        elif record.kind == "join" and stint is not None:
            stint.joined = when
        elif record.kind == "leave":
            if stint is None:
                left_before_joining = when
            else:
                stint.left = when
        elif record.kind == "crash":
            key = (*place, when, record.sequence)
            waiting.append(members.crashes.setdefault(key, Crash(*place, when)))
            if stint is not None:
                stint.crashed = min(stint.crashed, when)
        before = record.kind
    members.end = min(members.end, left_before_joining if stint is None else stint.left)
    if stint is not None and stint.crashed == inf:
        members.alive.add(place)
