"""The summary of a run: the paper's measures (000, 6.2.2), from the traces and nothing else.

An event of topic t is *destined* to the members of t and of every super-community of t. Its
*expected receivers* are those who were members when it was published, other than its
publisher, and who did not crash in the run. Then, for one community:

* reception: the share of (event, expected receiver) pairs that ended in a delivery;
* reliability: the share of events that all their expected receivers here received;
* efficiency: useful / (useful + duplicate) copies that arrived here;
* hops and latency: of the deliveries at expected receivers, from publish to deliver;
* upward messages: copies sent from here to super-communities, the total of the run;
* parasites: copies that arrived here of events that are not for this community.

A measure without anything to measure is None (in JSON: null).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from attrs import define, field, frozen

from camcast.doors.plugs import find_protocol, membership_for
from camcast.doors.protocol import Protocol
from camcast.observe.trace_reading import Delivery, Member, Published, Reading
from camcast.research.scenarios.base import BaseScenario
from camcast.research.scenarios.live import Scenario
from camcast.research.systems.camcast.reception import Level, predict
from camcast.research.systems.registry import System, find_system
from camcast.vocabulary.topics import Topic


@frozen
class CommunitySummary:
    """The measures of one community; see the module's text."""

    topic: str
    processes: int
    """Members that did not crash."""
    view_mean: float | None
    """Mean size of their topic tables at the end of the run, before anybody leaves."""
    view_law: float | None
    """The expected size, by the membership's own law; None where there are several tables."""
    reception: float | None
    predicted: float | None
    """The reception that the model predicts (`camcast.research.systems.camcast.reception`)."""
    reliability: float | None
    efficiency: float | None
    hops_mean: float | None
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    upward_messages: int
    duplicates: int
    parasites: int
    deliveries: int
    lost: int
    """Expected deliveries that did not happen."""


@frozen
class Summary:
    """All communities, from the root down, and the totals of the run."""

    communities: list[CommunitySummary]
    events: int
    deliveries: int
    """At expected receivers: without the publishers' own."""
    lost: int
    lost_told: int
    """Lost deliveries whose receiver was told that the event can no longer be had (`Missed`)."""
    told_missed: int
    """How often a receiver was told so of an event, whether it was lost or not."""
    parasites: int
    crashed: int
    """Nodes that crashed."""
    dead_entries: int
    """Entries that name crashed nodes, in living nodes' topic tables at the end."""
    lines_torn: int

    @property
    def worst_reception(self) -> float:
        """The lowest reception of any community that was to receive something."""
        return min((c.reception for c in self.communities if c.reception is not None), default=1.0)


@define
class _Tally:
    """What was expected in a community, and what arrived; `latencies` are in milliseconds."""

    expected: int = 0
    received: int = 0
    events: int = 0
    complete: int = 0
    lost_told: int = 0
    hops: int = 0
    latencies: list[float] = field(factory=list)

    def add_event(
        self,
        reading: Reading,
        event: str,
        published: float,
        receivers: Sequence[str],
        delivered: Mapping[str, Delivery],
    ) -> None:
        """Count an event that these nodes are to receive."""
        lost = 0
        for node in receivers:
            delivery = delivered.get(node)
            if delivery is None:
                lost += 1
                self.lost_told += reading.told_missed(node, event)
            else:
                self.hops += delivery.hops
                self.latencies.append(1000 * (delivery.when - published))
        self.expected += len(receivers)
        self.received += len(receivers) - lost
        self.events += 1
        self.complete += not lost


def summarise(
    reading: Reading, scenario: BaseScenario, since: float = -math.inf, *, predicted: bool = True
) -> Summary:
    """Compute the measures, of the events published at `since` or later (trace's clock).

    `predicted` adds the model's reception, which is for runs without loss and crashes.
    """
    protocol, system, law = _simulated(scenario)
    published = {e: p for e, p in reading.published.items() if p.when >= since}
    topics = sorted(scenario.communities, key=lambda t: (t.level, t))
    tallies = _tally(reading, published)
    found = measured(reading, [topic.name for topic in topics], tallies)
    views = reading.views(_end(reading))
    alive = [m for m in reading.members.values() if m.crashed == math.inf]
    dead = {m.node for m in reading.members.values() if m.crashed < math.inf}
    predictions = _predictions(published, scenario, law) if predicted and protocol.linked else {}
    living = Counter(Topic.parse(member.topic) for member in alive)
    communities = [
        CommunitySummary(
            topic=topic.name,
            view_law=(
                law(max(1.0, system.home_size(protocol, topic, living)))
                if system.one_table
                else None
            ),
            predicted=predictions.get(topic.name),
            **found[topic.name],
        )
        for topic in topics
    ]
    return Summary(
        communities=communities,
        events=len(published),
        deliveries=sum(c.deliveries for c in communities),
        lost=sum(c.lost for c in communities),
        lost_told=sum(tallies[c.topic].lost_told for c in communities),
        told_missed=sum(len(told) for ranges in reading.missed.values() for told in ranges),
        parasites=sum(reading.parasites.values()),
        crashed=len(dead),
        dead_entries=sum(len(views[member.node] & dead) for member in alive),
        lines_torn=reading.lines_torn,
    )


def _simulated(scenario: BaseScenario) -> tuple[Protocol, System, Callable[[float], float]]:
    """Return a scenario's protocol, its record among the systems, and its law of table sizes."""
    protocol = find_protocol(scenario.protocol, scenario.protocol_options)
    backend, options = membership_for(protocol, scenario.membership, scenario.options)
    return protocol, find_system(scenario.protocol), partial(backend.expected_view, options)


def measured(
    reading: Reading, communities: Iterable[str], tallies: Mapping[str, _Tally] | None = None
) -> dict[str, dict[str, Any]]:
    """Compute, by community, the fields of `CommunitySummary` that need nothing but the traces.

    Without `tallies`, those of all events.
    """
    tallies = _tally(reading, reading.published) if tallies is None else tallies
    views = reading.views(_end(reading))
    alive = [m for m in reading.members.values() if m.crashed == math.inf]
    parasites: dict[str, int] = defaultdict(int)
    for node, count in reading.parasites.items():
        member = reading.members.get(node)
        parasites[member.topic if member else ""] += count
    found = {}
    for name in communities:
        here = [m.node for m in alive if m.topic == name]
        useful, duplicates = reading.useful[name], reading.duplicates[name]
        tally = tallies[name]
        latencies = sorted(tally.latencies)
        found[name] = {
            "processes": len(here),
            "view_mean": _ratio(sum(len(views[node]) for node in here), len(here)),
            "reception": _ratio(tally.received, tally.expected),
            "reliability": _ratio(tally.complete, tally.events),
            "efficiency": _ratio(useful, useful + duplicates),
            "hops_mean": _ratio(tally.hops, tally.received),
            "latency_ms_p50": quantile(latencies, 0.5),
            "latency_ms_p99": quantile(latencies, 0.99),
            "upward_messages": reading.upward[name],
            "duplicates": duplicates,
            "parasites": parasites[name],
            "deliveries": tally.received,
            "lost": tally.expected - tally.received,
        }
    return found


def views_over_time(
    reading: Reading, scenario: Scenario, times: dict[str, float]
) -> dict[str, list[dict[str, object]]]:
    """Return, for each named time, the mean views of those alive then against their law."""
    protocol, system, law = _simulated(scenario)
    over_time = {}
    for label, when in times.items():
        views = reading.views(when)
        here: dict[str, list[Member]] = defaultdict(list)
        for member in reading.members.values():
            if member.joined <= when < min(member.left, member.crashed):
                here[member.topic].append(member)
        living = {member.node for members in here.values() for member in members}
        sizes = {Topic.parse(topic): len(members) for topic, members in here.items()}
        over_time[label] = [
            {
                "topic": topic,
                "processes": len(members),
                "view_mean": sum(len(views[m.node]) for m in members) / len(members),
                "view_law": law(system.home_size(protocol, Topic.parse(topic), sizes)),
                "dead_entries": sum(len(views[m.node] - living) for m in members),
            }
            for topic, members in sorted(here.items())
        ]
    return over_time


def _tally(reading: Reading, published: dict[str, Published]) -> defaultdict[str, _Tally]:
    """Count, by community, who was to receive the events, and who did.

    An event is for the communities of its topic and of all topics above. In each of these it is
    expected at every member that has joined by the time of publication, has not left by then, does
    not crash later, wants it, and is not its publisher. An event that is expected nowhere in a
    community is none of that community's events.
    """
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    members = _by_join(reading)
    for event, publish in published.items():
        delivered = reading.deliveries.get(event, {})
        for topic in levels(publish.topic):
            joined, survivors = members.get(topic, ([], []))
            before = survivors[: bisect_right(joined, publish.when)]
            receivers = [member.node for member in before if _is_for(publish, member)]
            if receivers:
                tallies[topic].add_event(reading, event, publish.when, receivers, delivered)
    return tallies


def _is_for(publish: Published, member: Member) -> bool:
    """Return whether a member that joined before an event's publication is to receive it."""
    return (
        member.node != publish.node
        and member.left > publish.when
        and member.node not in publish.unwanted_by
    )


def _by_join(reading: Reading) -> dict[str, tuple[list[float], list[Member]]]:
    """Return the members of each community that did not crash, by when they joined, and when."""
    members: dict[str, list[Member]] = defaultdict(list)
    for member in sorted(reading.members.values(), key=lambda m: m.joined):
        if member.crashed == math.inf:
            members[member.topic].append(member)
    return {topic: ([m.joined for m in here], here) for topic, here in members.items()}


@lru_cache(maxsize=4096)  # chosen: as vocabulary.topics; many events name a few topics
def levels(topic: str) -> tuple[str, ...]:
    """Return the communities that an event of a topic is for: its own, and those above."""
    parsed = Topic.parse(topic)
    return tuple(t.name for t in (parsed, *parsed.ancestors()))


def _end(reading: Reading) -> float:
    """Return the moment before the first polite leave, the end of the run proper."""
    first = min((m.left for m in reading.members.values()), default=math.inf)
    return math.nextafter(first, -math.inf)


def _predictions(
    published: dict[str, Published], scenario: BaseScenario, law: Callable[[float], float]
) -> dict[str, float]:
    """Average the model's reception over the events that each community was to receive."""
    events: dict[str, int] = defaultdict(int)
    for publish in published.values():
        events[publish.topic] += 1
    sums: dict[str, float] = defaultdict(float)
    weights: dict[str, int] = defaultdict(int)
    for name, count in events.items():
        topics = list(scenario.levels(Topic.parse(name)))
        sizes = [scenario.communities[topic] for topic in topics]
        chain = [Level(size, law(size), scenario.parameters) for size in sizes]
        for topic, reception in zip(topics, predict(chain), strict=True):
            sums[topic.name] += count * reception
            weights[topic.name] += count
    return {topic: sums[topic] / weights[topic] for topic in sums}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank quantile of a sorted sequence."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
