"""The measures of a run, computed in this process: the twin of those that Spark computes.

docs/formats.md defines each metric. A metric without anything to measure is None.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import ceil, inf
from typing import Final

from attrs import define, field

from camcast.observe.trace import TraceRecord
from camcast.research.models.distributions import load_of, loads_by_role, reach_of
from camcast.research.pipeline.local.read_traces import Trace
from camcast.research.pipeline.local.stints import Members, Stint, members_of
from camcast.research.pipeline.local.tables import (
    Spans,
    sizes_of,
    spans_of,
    tables_of,
    waits_of,
)
from camcast.research.pipeline.measures.metrics import IN_VAIN, SEEN, SHARES
from camcast.research.scenarios.super_topics import SuperTopics

Values = dict[tuple[str, str], float | None]
"""By community ("" for the whole run) and metric."""
_Key = tuple[str, str]  # an event and a community, or a community and a node
_LOADS: Final = {
    "load_sent": ("send", "upward"),
    "load_received": ("receive", "duplicate"),
    "load_bytes": ("send", "upward", "control"),
}


@define
class _Tally:
    """The deliveries of an event expected in a community, and those that happened."""

    expected: int = 0
    received: int = 0
    hops: int = 0
    last_hop: int = 0

    def add(self, other: _Tally) -> None:
        self.expected += other.expected
        self.received += other.received
        self.hops += other.hops
        self.last_hop = max(self.last_hop, other.last_hop)


@define
class _Found:
    """The values of a run, and the samples of which quantiles are taken."""

    values: Values = field(factory=dict)
    samples: defaultdict[_Key, list[float]] = field(factory=lambda: defaultdict(list))
    """By community and sample."""

    def put(self, community: str, **values: float | None) -> None:
        for metric, value in values.items():
            self.values[community, metric] = None if value is None else float(value)

    def put_quantiles(self) -> None:
        """Take the value of rank ceil(share n) among n sorted ones, never one in between."""
        for (community, sample), unsorted in self.samples.items():
            ordered = sorted(unsorted)
            for name, share in SHARES.items():
                rank = max(1, ceil(share * len(ordered)))
                self.values[community, f"{sample}_{name}"] = float(ordered[rank - 1])


def local_measures(trace: Trace, super_topics: SuperTopics) -> Values:
    """Compute every metric of a run, for each community and, as "", for the whole run."""
    story = sorted(trace.story, key=lambda record: (record.when, record.sequence, record.kind))
    members = members_of(story)
    found = _Found()
    levels = cache(super_topics.names_above if super_topics.declared else _names_above)
    first = _first_deliveries(story)
    _put_spread(found, story, members, first, levels)
    _put_copies(found, trace)
    _put_redundancy(found, trace, first)
    spans = spans_of(story, members)
    _put_load(found, trace, story, members, spans)
    _put_parasites(found, story, members, levels if super_topics.declared else None)
    _put_tables(found, spans, members)
    found.put_quantiles()
    return found.values


def _both(community: str) -> tuple[str, ...]:
    """Return a community and the whole run, which is the community ""."""
    return (community, "") if community else ("",)


def _names_above(topic: str) -> tuple[str, ...]:
    """Return a topic and its super-topics by their names, the root last.

    As Spark does it, by text alone: a trace of others may name what is no `Topic`.
    """
    names = []
    while topic not in ("", "."):
        names.append(topic)
        topic = topic.rpartition(".")[0]
    return (*names, ".")


def _first_deliveries(story: Iterable[TraceRecord]) -> dict[_Key, dict[str, tuple[float, int]]]:
    """Return by event and community when each node delivered first, and over how many hops."""
    first: dict[_Key, dict[str, tuple[float, int, int]]] = defaultdict(dict)
    for record in story:
        if record.kind == "deliver":
            nodes = first[record.event, record.community]
            one = record.when, record.sequence, record.hops
            if record.node not in nodes or one < nodes[record.node]:
                nodes[record.node] = one
    return {
        key: {node: (when, hops) for node, (when, _, hops) in nodes.items()}
        for key, nodes in first.items()
    }


def _published(story: Iterable[TraceRecord]) -> Iterator[TraceRecord]:
    """Yield the first publication of each event."""
    first: dict[str, TraceRecord] = {}
    for record in story:
        if record.kind == "publish":
            known = first.setdefault(record.event, record)
            if _publication(record) < _publication(known):
                first[record.event] = record
    yield from first.values()


def _publication(record: TraceRecord) -> tuple[float, int, str, str]:
    return record.when, record.sequence, record.node, record.topic


def _put_spread(
    found: _Found,
    story: Sequence[TraceRecord],
    members: Members,
    first: dict[_Key, dict[str, tuple[float, int]]],
    levels: Callable[[str], Sequence[str]],
) -> None:
    """Put what became of events at their expected receivers."""
    survivors: defaultdict[str, list[Stint]] = defaultdict(list)
    for stint in sorted(members.stints, key=lambda stint: stint.joined):
        if stint.crashed == inf:
            survivors[stint.community].append(stint)
    joins = {name: [stint.joined for stint in here] for name, here in survivors.items()}
    tallies: defaultdict[str, list[_Tally]] = defaultdict(list)
    published = list(_published(story))
    for publish in published:
        whole = _Tally()
        for community in dict.fromkeys(levels(publish.topic)):
            here = survivors[community]
            delivered = first.get((publish.event, community), {})
            tally = _Tally()
            for stint in here[: bisect_right(joins.get(community, []), publish.when)]:
                if stint.left <= publish.when or stint.node == publish.node:
                    continue
                tally.expected += 1
                if stint.node in delivered:
                    when, hops = delivered[stint.node]
                    tally.received += 1
                    tally.hops += hops
                    tally.last_hop = max(tally.last_hop, hops)
                    for place in _both(community):
                        found.samples[place, "hops"].append(hops)
                        found.samples[place, "latency_ms"].append(1000 * (when - publish.when))
            if tally.expected:
                tallies[community].append(tally)
                whole.add(tally)
        if whole.expected:
            tallies[""].append(whole)
    for community, of_events in tallies.items():
        expected, received, hops = (
            sum(getattr(tally, name) for tally in of_events)
            for name in ("expected", "received", "hops")
        )
        reached = [tally.last_hop for tally in of_events if tally.received]
        found.put(
            community,
            events=len(of_events),
            deliveries=received,
            lost=expected - received,
            reception=_ratio(received, expected),
            reliability=_ratio(sum(t.received == t.expected for t in of_events), len(of_events)),
            hops_mean=_ratio(hops, received),
            last_delivery_hop=_ratio(sum(reached), len(reached)),
            **reach_of([tally.received / tally.expected for tally in of_events]),
        )
    found.put("", events=len(published))


def _put_copies(found: _Found, trace: Trace) -> None:
    """Put what was sent and arrived."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    control: Counter[str] = Counter()
    for (kind, community, _), (n, size) in trace.tallies.items():
        for place in _both(community):
            kinds[place][kind] += n
            if kind == "control":
                control[place] += size
    for place, of in kinds.items():
        found.put(
            place,
            duplicates=of["duplicate"],
            efficiency=_ratio(of["receive"], of["receive"] + of["duplicate"]),
            upward_messages=of["upward"],
            control_bytes=control[place],
        )


def _put_redundancy(
    found: _Found, trace: Trace, first: dict[_Key, dict[str, tuple[float, int]]]
) -> None:
    """Put m/(n-1) - 1, of the sums over the events that n > 1 got."""
    sent: Counter[_Key] = Counter()
    for (kind, community, event), n in trace.sent.items():
        for place in _both(community):
            if kind == "send" or not place:
                sent[event, place] += n
    got: Counter[_Key] = Counter()
    for (event, community), nodes in first.items():
        for place in _both(community):
            got[event, place] += len(nodes)
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (event, place), n in got.items():
        if n > 1:
            sums[place][0] += sent[event, place]
            sums[place][1] += n - 1
    for place, (copies, others) in sums.items():
        found.put(place, redundancy=_ratio(copies - others, others))


def _put_load(
    found: _Found, trace: Trace, story: Iterable[TraceRecord], members: Members, spans: Spans
) -> None:
    """Put how many copies and bytes a living member sent and received, and who sent more."""
    loads: defaultdict[str, Counter[_Key]] = defaultdict(Counter)
    """By load, then by community or "" and node."""
    links: set[str] = set()
    for (kind, community, node), (n, size) in trace.tallies.items():
        for load, kinds in _LOADS.items():
            if kind in kinds:
                for place in _both(community):
                    loads[load][place, node] += size if load == "load_bytes" else n
        if kind == "upward":
            links.add(node)
    publishers: set[str] = set()
    for record in story:
        if record.kind == "parasite":
            for place in _both(record.community):
                loads["load_received"][place, record.node] += 1
        elif record.kind == "publish":
            publishers.add(record.node)
    here: defaultdict[str, set[str]] = defaultdict(set)
    for node, community in members.alive:
        for place in _both(community):
            here[place].add(node)
    tables: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (node, community), table in tables_of(spans, members.end).items():
        for place in _both(community):
            tables[place][node] |= table
    for place, nodes in here.items():
        for load in _LOADS:
            found.put(place, **load_of(load, [loads[load][place, node] for node in nodes]))
        sent = {node: loads["load_sent"][place, node] for node in nodes}
        found.put(place, **loads_by_role(sent, publishers, links, tables[place]))


def _put_parasites(
    found: _Found,
    story: Iterable[TraceRecord],
    members: Members,
    levels: Callable[[str], Sequence[str]] | None,
) -> None:
    """Put the copies and the deliveries for another community, by who got them.

    They count in the community that their receiver joined last.
    """
    homes: dict[str, tuple[float, str]] = {}
    for stint in members.stints:
        joined = stint.joined, stint.community
        homes[stint.node] = max(joined, homes.get(stint.node, joined))
    parasites: Counter[str] = Counter()
    for record in story:
        strange = record.kind == "parasite" or (
            record.kind == "deliver" and not _is_for(record.community, record.topic, levels)
        )
        if strange:
            for place in _both(homes.get(record.node, (0.0, ""))[1]):
                parasites[place] += 1
    for place, n in parasites.items():
        found.put(place, parasites=n)


def _is_for(community: str, topic: str, levels: Callable[[str], Sequence[str]] | None) -> bool:
    """Return whether a community wants a topic: as declared, or by the names of both."""
    if levels is not None:
        return community in levels(topic)
    return community == "." or topic == community or topic.startswith(f"{community}.")


def _put_tables(found: _Found, spans: Spans, members: Members) -> None:
    """Put the sizes of the living members' tables, how evenly they name them, and waits."""
    sizes, named = sizes_of(spans, members)
    degrees: defaultdict[str, list[int]] = defaultdict(list)
    for place, size in sizes.items():
        for community in _both(place[1]):
            found.samples[community, "view"].append(size)
            degrees[community].append(named[place])
    for community, of_members in degrees.items():
        n, total = len(of_members), sum(of_members)
        spread = n * sum(degree * degree for degree in of_members) - total * total
        found.put(
            community,
            processes=n,
            view_mean=_ratio(int(sum(found.samples[community, "view"])), n),
            in_degree_mean=_ratio(total, n),
            in_degree_variance=_ratio(spread, n * n),
            in_degree_chi_square=_ratio(spread, total) if community else None,
        )
    counted: Counter[_Key] = Counter()
    for wait in waits_of(spans, members):
        for community in _both(wait.community):
            if wait.seconds is None:
                counted[community, IN_VAIN[wait.sample]] += 1
            else:
                found.samples[community, wait.sample].append(wait.seconds)
                if wait.sample in SEEN:
                    counted[community, SEEN[wait.sample]] += 1
    for (community, metric), n in counted.items():
        found.put(community, **{metric: n})


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
