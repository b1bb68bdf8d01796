"""Reads traces into a `Reading`: what happened in a run, as the summary needs it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate
from pathlib import Path

import msgspec
from attrs import define, evolve, field, frozen

from camcast.observe.trace import TraceRecord
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.topics import Topic


class RunEntryError(CamcastError, ValueError):
    """Something in a run's folder is not the run's; the message names it."""


def check_entries(folder: Path) -> None:
    """Refuse links out of a run's folder, and what is no file; raises `RunEntryError`.

    A folder that was passed on could else name any file of its reader, whose lines would be
    quoted in the report as records that cannot be read; a pipe would never end.
    """
    home = folder.resolve()
    for entry in folder.iterdir():
        if entry.is_symlink() and home not in entry.resolve().parents:
            raise RunEntryError(f"{entry} is a link out of the run's folder; remove it, or copy")
        if not (entry.is_file() or entry.is_dir()):
            raise RunEntryError(f"{entry} is neither a file nor a folder; remove it")


@frozen
class Member:
    """One node in one community: when it was a member there (seconds of the trace's clock)."""

    node: str
    topic: str
    joined: float
    left: float = math.inf
    crashed: float = math.inf


@frozen
class Published:
    """An event: who published it when, and on which topic."""

    node: str
    when: float
    topic: str
    unwanted_by: Collection[str] = ()
    """Members of its communities whose constraints on attributes it does not meet."""


@frozen
class Delivery:
    """The first copy of an event at one node."""

    when: float
    hops: int


Place = tuple[str, str]
"""A node, and a community that it is in."""


def includes_by_name(community: str, topic: str) -> bool:
    """Say whether a community wants the events of a topic, by the names of both."""
    return Topic.parse(community).includes(Topic.parse(topic))


@frozen
class _RangeIndex:
    """Ranges, in which a number is found without a look at all."""

    starts: list[int]
    stops: list[int]
    """The last stop of each range and those that start before it."""

    @classmethod
    def of(cls, ranges: Collection[range]) -> _RangeIndex:
        ordered = sorted((numbers.start, numbers.stop) for numbers in ranges)
        stops = list(accumulate((stop for _, stop in ordered), max))
        return cls([start for start, _ in ordered], stops)

    def has(self, number: int) -> bool:
        place = bisect_right(self.starts, number)
        return place > 0 and number < self.stops[place - 1]


@define
class Reading:
    """The happenings of a run.

    Counts are by community, except `parasites`, which are by node, and those by `Place`.
    """

    members: dict[Place, Member] = field(factory=dict)
    """The memberships; a node in several communities has one in each."""
    published: dict[str, Published] = field(factory=dict)
    deliveries: dict[str, dict[str, dict[str, Delivery]]] = field(
        factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """Deliveries, by event, then by community, then by node; the publisher's own are among them."""
    useful: Counter[str] = field(factory=Counter)
    duplicates: Counter[str] = field(factory=Counter)
    upward: Counter[str] = field(factory=Counter)
    parasites: Counter[str] = field(factory=Counter)
    sent: Counter[Place] = field(factory=Counter)
    """The copies of events that a node sent in a community, and from it upward."""
    received: Counter[Place] = field(factory=Counter)
    """The copies of events that arrived at a node in a community, wanted or not."""
    sent_bytes: Counter[Place] = field(factory=Counter)
    """The bytes of the copies `sent`, and of the control messages that a node sent there."""
    publishers: set[str] = field(factory=set)
    """The nodes that published an event, in whichever community."""
    links: set[str] = field(factory=set)
    """The nodes that sent an event upward, from whichever community."""
    missed: dict[tuple[str, str, str], list[range]] = field(factory=lambda: defaultdict(list))
    """The numbers of the events that a node was told it can no longer get, by node, community and
    stream."""
    table_changes: list[tuple[float, str, str, str, bool]] = field(factory=list)
    """The time, the node whose topic table changed and the table's community, the peer, and whether
    it was learned."""
    records: int = 0
    lines_torn: int = 0
    """Last lines that a killed process did not write to their end."""
    includes: Callable[[str, str], bool] = field(default=includes_by_name, eq=False)
    """Says whether a community wants the events of a topic; anything else there is a parasite."""
    _missed_index: dict[tuple[str, str, str], _RangeIndex] = field(factory=dict, eq=False)
    """Of ranges of `missed` as they were when somebody asked."""

    def told_missed(self, node: str, community: str, event: str) -> bool:
        """Say whether a node was told that it can no longer get an event in a community."""
        stream, _, sequence = event.rpartition("-")
        key = node, community, stream
        ranges, index = self.missed.get(key, ()), self._missed_index.get(key)
        if not ranges:
            return False
        if index is None or len(index.starts) != len(ranges):
            index = self._missed_index[key] = _RangeIndex.of(ranges)
        return index.has(int(sequence))

    def views(self, when: float) -> dict[Place, set[str]]:
        """Return every topic table as it was at a time."""
        views: dict[Place, set[str]] = {place: set() for place in self.members}
        for changed, node, community, peer, learned in self.table_changes:
            if changed <= when:
                view = views.setdefault((node, community), set())
                view.add(peer) if learned else view.discard(peer)
        return views


def read_traces(
    paths: Iterable[Path], includes: Callable[[str, str], bool] = includes_by_name
) -> Reading:
    """Read the traces of a run, in which a community wants the events of what it `includes`.

    A torn last line is counted; a wrong line elsewhere raises `ValueError` naming it.
    """
    reading = Reading(includes=includes)
    for path in sorted(paths):
        for record in records_of(path, reading):
            take(record, reading)
    reading.table_changes.sort(key=lambda change: change[0])
    return reading


def records_of(path: Path, reading: Reading) -> Iterator[TraceRecord]:
    """Yield the records of a trace; a torn last line is counted in `reading`."""
    decoder = msgspec.json.Decoder(TraceRecord)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = decoder.decode(line)
            except UNDECODABLE as error:
                if line.endswith(b"\n"):
                    raise ValueError(f"{path}:{number}: not a trace record: {error}") from None
                reading.lines_torn += 1
            else:
                yield record


def take(record: TraceRecord, reading: Reading) -> None:
    """Add a record to a reading."""
    reading.records += 1
    place = node, community = record.node, record.community
    match record.kind:
        case "send":  # this and the next are most of a trace
            reading.sent[place] += 1
            reading.sent_bytes[place] += record.size
        case "duplicate":
            reading.duplicates[community] += 1
            reading.received[place] += 1
        case "join":
            before = reading.members.get(place)
            crashed = math.inf if before is None else before.crashed
            reading.members[place] = Member(*place, record.when, crashed=crashed)
        case "leave":
            before = reading.members.get(place, Member(*place, math.inf))
            reading.members[place] = evolve(before, left=record.when)
        case "crash":
            for ended in _crashing(reading, node, community):
                before = reading.members.get(ended, Member(*ended, math.inf))
                reading.members[ended] = evolve(before, crashed=record.when)
        case "publish":
            reading.published[record.event] = Published(node, record.when, record.topic)
            reading.publishers.add(node)
        case "deliver":
            delivery = Delivery(record.when, record.hops)
            reading.deliveries[record.event][community][node] = delivery
            if not reading.includes(community, record.topic):
                reading.parasites[node] += 1
        case "receive":
            reading.useful[community] += 1
            reading.received[place] += 1
        case "upward":
            reading.upward[community] += 1
            reading.links.add(node)
            reading.sent[place] += 1
            reading.sent_bytes[place] += record.size
        case "control":
            reading.sent_bytes[place] += record.size
        case "parasite":
            reading.parasites[node] += 1
            reading.received[place] += 1
        case "missed":
            stream, _, first = record.event.rpartition("-")
            numbers = range(int(first), int(first) + record.size)
            reading.missed[node, community, stream].append(numbers)
        case "learn" | "forget":
            learned = record.kind == "learn"
            reading.table_changes.append((record.when, node, community, record.peer, learned))


def _crashing(reading: Reading, node: str, community: str) -> list[Place]:
    """Return the memberships that a crash ends: without a community, all of the node."""
    if community:
        return [(node, community)]
    return [place for place in reading.members if place[0] == node] or [(node, "")]
