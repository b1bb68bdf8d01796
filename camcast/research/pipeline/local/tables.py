"""The topic tables at the end of a run, and how soon they knew of deaths and of joins.

The end is the last moment before the first polite leave. Until then a table is what its node
learned since its last crash, without what it forgot.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from camcast.observe.trace import TraceRecord
from camcast.research.pipeline.local.stints import Members, Place


class Span(NamedTuple):
    """From when until when a peer was in a table.

    It stops when the peer is forgotten, when the owner crashes, and when the run ends.
    """

    node: str
    community: str
    start: float
    stop: float


class Wait(NamedTuple):
    """How long it took until the tables knew; None: they did not before the end."""

    community: str
    sample: str
    seconds: float | None


Spans = defaultdict[str, list[Span]]
"""Of each peer: when it was in which table."""


def spans_of(story: Sequence[TraceRecord], members: Members) -> Spans:
    """Follow what every node learned and forgot, from records in order, from the last on."""
    crashed: dict[str, float] = {}
    following: dict[tuple[str, str, str], float] = {}
    spans: Spans = defaultdict(list)
    for record in reversed(story):
        kind, node = record.kind, record.node
        if kind == "crash":
            crashed[node] = record.when
        elif kind in ("learn", "forget"):
            entry = node, record.community, record.peer
            if kind == "learn" and record.when < members.end:
                stop = min(following.get(entry, inf), crashed.get(node, inf), members.end)
                spans[record.peer].append(Span(node, record.community, record.when, stop))
            following[entry] = record.when
    return spans


def sizes_of(spans: Spans, members: Members) -> tuple[Counter[Place], Counter[Place]]:
    """Return how many entries the tables of living members have, and how many name each of them."""
    sizes = Counter(dict.fromkeys(members.alive, 0))
    named = Counter(dict.fromkeys(members.alive, 0))
    for peer, of_peer in spans.items():
        for span in of_peer:
            if span.stop == members.end and (span.node, span.community) in members.alive:
                sizes[span.node, span.community] += 1
                if (peer, span.community) in members.alive:
                    named[peer, span.community] += 1
    return sizes, named


def tables_of(spans: Spans, end: float) -> defaultdict[Place, set[str]]:
    """Return whom the table of each place names at the end."""
    tables: defaultdict[Place, set[str]] = defaultdict(set)
    for peer, of_peer in spans.items():
        for span in of_peer:
            if span.stop == end:
                tables[span.node, span.community].add(peer)
    return tables


def waits_of(spans: Spans, members: Members) -> Iterator[Wait]:
    """Yield how long each crash and each join before the end took to be known.

    `heal_seconds` are from a crash until no living table names the dead, or it is back, and
    `join_visible_seconds` from a join until another member's table names the newcomer.
    """
    end = members.end
    for crash in members.crashes.values():
        if crash.when >= end:
            continue
        until = min(crash.again, end)
        named = [
            min(span.stop, until)
            for span in spans.get(crash.node, ())
            if crash.community in ("", span.community)
            and min(span.stop, until) > max(span.start, crash.when)
        ]
        last = max(named, default=crash.when)
        yield Wait(crash.community, "heal_seconds", last - crash.when if last < end else None)
    for stint in members.stints:
        if stint.joined >= end:
            continue
        until = min(stint.left, stint.crashed, stint.again, end)
        seen = [
            max(span.start, stint.joined)
            for span in spans.get(stint.node, ())
            if span.community == stint.community
            and span.node != stint.node
            and min(span.stop, until) > max(span.start, stint.joined)
        ]
        seconds = min(seen) - stint.joined if seen else None
        yield Wait(stint.community, "join_visible_seconds", seconds)
