"""Churn: the times at which each node of a real network was up, and windows of these times.

The format is our own, made from the public Tor consensuses (the README of the data): a CSV file
with one session a row.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from attrs import field, frozen

from camcast.research.workloads.csv_rows import number, read_rows, text
from camcast.research.workloads.publication import WorkloadError

COLUMNS: Final = ("node", "up_minute", "down_minute")
SECONDS_PER_MINUTE: Final = 60  # by definition; the Tor file counts in minutes


class Session(NamedTuple):
    """A node was up from `up_seconds` until just before `down_seconds`.

    A tuple, because a trace has tens of thousands; `ChurnTrace` says which sessions it may have.
    """

    up_seconds: float
    """``-inf`` when it was up before the trace began."""
    down_seconds: float
    """``inf`` when it was still up when the trace ended."""
    node: str


class Change(NamedTuple):
    """A node joins or departs; a trace does not know polite leaves, so a departure is a crash."""

    at_seconds: float
    """Seconds since the start of the window."""
    joins: bool
    node: str


@frozen
class ChurnWindow:
    """The nodes and changes of one window of a trace, with times from the window's start."""

    duration_seconds: float
    up: tuple[str, ...]
    """The nodes that are up at 0, in the order of the names."""
    changes: tuple[Change, ...]
    """The changes after 0 and before the duration, in order.

    At one time the departures come before the joins, so that a node may depart and return
    in one moment, and either in the order of the names. A trace knows its times only as
    finely as it was measured (an hour, for Tor): many changes share one moment.
    """

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that are up at some time of the window, in the order of the names."""
        return tuple(sorted({*self.up, *(change.node for change in self.changes)}))


def _check_order(_instance: object, _attribute: object, sessions: tuple[Session, ...]) -> None:
    if list(sessions) != sorted(sessions):
        raise ValueError("sessions are not in the order of time; sort them")


@frozen
class ChurnTrace:
    """Sessions in the order of their beginning, then of their end, then of the names.

    The sessions of one node do not overlap, and no session has the length 0; the loader checks
    both.
    """

    sessions: tuple[Session, ...] = field(validator=_check_order, repr=False)
    start_seconds: float
    """When the observation began; the least finite time of the sessions."""
    end_seconds: float
    """When the observation ended; the greatest finite time of the sessions."""

    def window(
        self,
        start_seconds: float,
        duration_seconds: float,
        *,
        nodes_max: int | None = None,
        random: Random | None = None,
    ) -> ChurnWindow:
        """Return the window of `duration_seconds` that begins at `start_seconds` of the trace.

        With `nodes_max`, at most so many of the nodes that are up at some time of the window
        take part, each with all its sessions: a uniform sample, drawn by `random`. (The first
        nodes of the file are no uniform sample: they were up longest.)

        Raises `ValueError` when the window is not inside the trace, or is empty, and when
        `nodes_max` is negative or comes without `random`.
        """
        end_seconds = start_seconds + duration_seconds
        if not self.start_seconds <= start_seconds < end_seconds <= self.end_seconds:
            raise ValueError(
                f"a window from {start_seconds} s for {duration_seconds} s is not inside the"
                f" trace; give one between {self.start_seconds} s and {self.end_seconds} s"
            )
        begun = bisect_left(self.sessions, end_seconds, key=attrgetter("up_seconds"))
        inside = [s for s in self.sessions[:begun] if s.down_seconds > start_seconds]
        if nodes_max is not None:
            chosen = _sample({session.node for session in inside}, nodes_max, random)
            inside = [session for session in inside if session.node in chosen]
        joins = [
            Change(session.up_seconds - start_seconds, True, session.node)
            for session in inside
            if session.up_seconds > start_seconds
        ]
        departures = [
            Change(session.down_seconds - start_seconds, False, session.node)
            for session in inside
            if session.down_seconds < end_seconds
        ]
        return ChurnWindow(
            duration_seconds=duration_seconds,
            up=tuple(sorted(s.node for s in inside if s.up_seconds <= start_seconds)),
            changes=tuple(sorted(joins + departures)),
        )


def load_churn(path: Path) -> ChurnTrace:
    """Read sessions in minutes, one a row with the columns COLUMNS.

    `up_minute` is empty for a node that was up before the trace began, `down_minute` for one that
    was still up when it ended. The trace ends with its last change. (The file of 42 days has no
    change after minute 59,231, which is 41.1 days; before that, changes are 157 minutes apart at
    most, so that the rest was not observed.)

    Raises `WorkloadError` for a file, a row or a field of another form, a session that ends no
    later than it begins, and sessions of a node that overlap.
    """
    found = []
    for row in read_rows(path, COLUMNS):
        session = Session(
            node=row.read("node", text),
            up_seconds=row.read("up_minute", lambda field: _minutes(field, -math.inf)),
            down_seconds=row.read("down_minute", lambda field: _minutes(field, math.inf)),
        )
        if session.down_seconds <= session.up_seconds:
            up, down = row.fields["up_minute"], row.fields["down_minute"]
            raise WorkloadError(
                path,
                row.line,
                f"column 'down_minute': down at {down!r}, not after it came up at {up!r};"
                " write the later time here, or remove the row",
            )
        found.append((session, row.line, "up_minute"))
    return _trace(path, found)


def _sample(nodes: set[str], nodes_max: int, random: Random | None) -> frozenset[str]:
    if nodes_max < 0:
        raise ValueError(f"nodes_max is {nodes_max}; give 0 or more")
    if random is None:
        raise ValueError("nodes_max without random; give the stream that draws the nodes")
    names = sorted(nodes)  # the order of a set changes from process to process
    return frozenset(random.sample(names, min(nodes_max, len(names))))


def _minutes(field: str, empty: float) -> float:
    return _seconds(field) * SECONDS_PER_MINUTE if field else empty


def _seconds(field: str) -> float:
    if (value := number(field)) < 0:
        raise ValueError(f"{field!r} is negative; write 0 or more")
    return value


def _trace(path: Path, found: Iterable[tuple[Session, int, str]]) -> ChurnTrace:
    """Sort and check sessions, each given with the line and the column in which it begins."""
    found = sorted(found)
    of_node: defaultdict[str, list[tuple[Session, int, str]]] = defaultdict(list)
    for entry in found:
        of_node[entry[0].node].append(entry)
    for entries in of_node.values():
        for (before, before_line, _), (after, line, column) in pairwise(entries):
            if after.up_seconds < before.down_seconds:
                raise WorkloadError(
                    path,
                    line,
                    f"column {column!r}: node {after.node!r} comes up while its session of line"
                    f" {before_line} lasts; end that one first, or remove one of them",
                )
    sessions = tuple(session for session, _, _ in found)
    times = [time for up, down, _ in sessions for time in (up, down) if math.isfinite(time)]
    if not times:
        raise WorkloadError(path, None, "no session has a time; write when nodes came or went")
    return ChurnTrace(sessions, min(times), max(times))
