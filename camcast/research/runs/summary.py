"""The summary of a run: the paper's measures (000, 6.2.2), from the traces and nothing else.

An event of topic t is *destined* to the members of t and of every super-community of t. Its
*expected receivers* are those who were members when it was published, other than its
publisher, and who did not crash in the run. A process in several communities is an expected
receiver in each of them, and receives an event in each by itself. Processes that were to be members
and never joined are in `never_joined`, `lost_outside` and `reception_of_all`, and in nothing else.
Then, for one community:

* reception: the share of (event, expected receiver) pairs that ended in a delivery;
* reliability: the share of events that all their expected receivers here received;
* reach: how the share of its expected receivers that an event reaches is distributed over events,
  as quantiles and as the share of the events that reach so many (002, 1.1.3);
* load: how many copies a member that did not crash sends, and receives, wanted or not, and how many
  bytes it sends, as quantiles over members, and the largest for the mean (000, 1.3); and what the
  publishers send for the mean, those that send upward (links), and those of which no more than 1 %
  have more neighbours (hubs);
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
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from attrs import define, field, frozen

from camcast.doors.plugs import find_protocol, membership_for
from camcast.doors.protocol import Protocol
from camcast.observe.trace_reading import Delivery, Member, Place, Published, Reading
from camcast.research.models.distributions import load_of, loads_by_role, nearest_rank, reach_of
from camcast.research.scenarios.base import BaseScenario
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.super_topics import SuperTopics
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
    reach_p5: float | None
    reach_p50: float | None
    reaches_10: float | None
    reaches_25: float | None
    reaches_50: float | None
    reaches_75: float | None
    reaches_90: float | None
    reaches_95: float | None
    reaches_99: float | None
    load_sent_p5: float | None
    """Of the copies of events that a member sends, or receives, that did not crash, and of the
    bytes of these copies and of control messages that it sends."""
    load_sent_p50: float | None
    load_sent_p99: float | None
    load_sent_peak: float | None
    load_received_p5: float | None
    load_received_p50: float | None
    load_received_p99: float | None
    load_received_peak: float | None
    load_bytes_p5: float | None
    load_bytes_p50: float | None
    load_bytes_p99: float | None
    load_bytes_peak: float | None
    load_sent_publishers: float | None
    """The copies that a member of this role sends, for the mean of all; None if it is nobody's."""
    load_sent_links: float | None
    load_sent_hubs: float | None
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
    never_joined: int
    """Processes that were to be members, and neither became that nor crashed."""
    lost_outside: int
    """Deliveries that would have been due at these."""
    reception_of_all: float | None
    """The reception with these as expected receivers."""


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

    @property
    def reception_of_all(self) -> float | None:
        """The share of deliveries at all who were to be members, whether they joined or not."""
        outside = sum(community.lost_outside for community in self.communities)
        return _ratio(self.deliveries, self.deliveries + self.lost + outside)


@define
class _Tally:
    """What was expected in a community, and what arrived; `latencies` are in milliseconds."""

    expected: int = 0
    received: int = 0
    reaches: list[float] = field(factory=list)
    """Of each event, the share of its expected receivers that it reached."""
    lost_told: int = 0
    hops: int = 0
    latencies: list[float] = field(factory=list)

    def add_event(
        self,
        reading: Reading,
        event: str,
        published: float,
        receivers: Sequence[Member],
        delivered: Mapping[str, Delivery],
    ) -> None:
        """Count an event that these members are to receive."""
        lost = 0
        for member in receivers:
            delivery = delivered.get(member.node)
            if delivery is None:
                lost += 1
                self.lost_told += reading.told_missed(member.node, member.topic, event)
            else:
                self.hops += delivery.hops
                self.latencies.append(1000 * (delivery.when - published))
        self.expected += len(receivers)
        self.received += len(receivers) - lost
        self.reaches.append((len(receivers) - lost) / len(receivers))


def summarise(
    reading: Reading,
    scenario: BaseScenario,
    since: float = -math.inf,
    *,
    outside: Mapping[str, int] = MappingProxyType({}),
    predicted: bool = True,
) -> Summary:
    """Compute the measures, of the events published at `since` or later (trace's clock).

    `outside` are the numbers of processes that never joined, by community. `predicted` adds the
    model's reception, which is for runs without loss and crashes.
    """
    protocol, system, law = _simulated(scenario)
    published = {e: p for e, p in reading.published.items() if p.when >= since}
    levels = cache(scenario.super_topics.names_above)
    topics = sorted(scenario.sizes, key=lambda t: (t.level, t))
    tallies = _tally(reading, published, levels)
    views = reading.views(_end(reading))
    found = measured(reading, [topic.name for topic in topics], levels, tallies, views)
    alive = [m for m in reading.members.values() if m.crashed == math.inf]
    dead = {m.node for m in reading.members.values() if m.crashed < math.inf}
    predictions = _predictions(published, scenario, law) if predicted and protocol.linked else {}
    home_size = system.home_size(protocol, _kinds(alive))
    events = Counter(name for one in published.values() for name in levels(one.topic))
    communities = [
        CommunitySummary(
            topic=topic.name,
            view_law=(law(max(1.0, home_size(topic))) if system.one_table else None),
            predicted=predictions.get(topic.name),
            **found[topic.name],
            **_of_all(found[topic.name], outside.get(topic.name, 0), events[topic.name]),
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
        dead_entries=sum(len(views[member.node, member.topic] & dead) for member in alive),
        lines_torn=reading.lines_torn,
    )


def _simulated(scenario: BaseScenario) -> tuple[Protocol, System, Callable[[float], float]]:
    """Return a scenario's protocol, its record among the systems, and its law of table sizes."""
    protocol = find_protocol(scenario.protocol, scenario.protocol_options)
    backend, options = membership_for(protocol, scenario.membership, scenario.options)
    return protocol, find_system(scenario.protocol), partial(backend.expected_view, options)


def _kinds(members: Iterable[Member]) -> dict[tuple[Topic, ...], int]:
    """Count the nodes by the communities that they are in."""
    topics: dict[str, list[Topic]] = defaultdict(list)
    for member in members:
        topics[member.node].append(Topic.parse(member.topic))
    return dict(Counter(map(tuple, topics.values())))


def measured(
    reading: Reading,
    communities: Iterable[str],
    levels: Callable[[str], Iterable[str]],
    tallies: Mapping[str, _Tally] | None = None,
    views: Mapping[Place, set[str]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Compute, by community, the fields of `CommunitySummary` that need nothing but the traces.

    `levels` returns the communities that an event of a topic is for. Without `tallies`, those of
    all events; without `views`, those at the end. Parasites count in the community that their
    receiver joined last.
    """
    tallies = _tally(reading, reading.published, levels) if tallies is None else tallies
    views = reading.views(_end(reading)) if views is None else views
    alive: dict[str, list[str]] = defaultdict(list)
    for member in reading.members.values():
        if member.crashed == math.inf:
            alive[member.topic].append(member.node)
    parasites: dict[str, int] = defaultdict(int)
    homes = {m.node: m.topic for m in sorted(reading.members.values(), key=_joining)}
    for node, count in reading.parasites.items():
        parasites[homes.get(node, "")] += count
    tables = _living_tables(reading, views)
    found = {}
    for name in communities:
        here = alive[name]
        sent = {node: reading.sent[node, name] for node in here}
        useful, duplicates = reading.useful[name], reading.duplicates[name]
        tally = tallies[name]
        latencies = sorted(tally.latencies)
        found[name] = {
            "processes": len(here),
            "view_mean": _ratio(sum(len(views[node, name]) for node in here), len(here)),
            "reception": _ratio(tally.received, tally.expected),
            "reliability": _ratio(tally.reaches.count(1.0), len(tally.reaches)),
            **reach_of(tally.reaches),
            **load_of("load_sent", sent.values()),
            **load_of("load_received", [reading.received[node, name] for node in here]),
            **load_of("load_bytes", [reading.sent_bytes[node, name] for node in here]),
            **loads_by_role(sent, reading.publishers, reading.links, tables[name]),
            "efficiency": _ratio(useful, useful + duplicates),
            "hops_mean": _ratio(tally.hops, tally.received),
            "latency_ms_p50": nearest_rank(latencies, 0.5),
            "latency_ms_p99": nearest_rank(latencies, 0.99),
            "upward_messages": reading.upward[name],
            "duplicates": duplicates,
            "parasites": parasites[name],
            "deliveries": tally.received,
            "lost": tally.expected - tally.received,
        }
    return found


def _living_tables(
    reading: Reading, views: Mapping[Place, set[str]]
) -> defaultdict[str, dict[str, set[str]]]:
    """Return the topic tables at the end by community and node, but for those of the dead."""
    end = _end(reading)
    dead = {member.node for member in reading.members.values() if member.crashed <= end}
    tables: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for (node, community), view in views.items():
        if node not in dead:
            tables[community][node] = view
    return tables


def _of_all(found: Mapping[str, Any], outside: int, events: int) -> dict[str, Any]:
    """Return what a community's measures are with those who never joined."""
    lost, received = outside * events, found["deliveries"]
    return {
        "never_joined": outside,
        "lost_outside": lost,
        "reception_of_all": _ratio(received, received + found["lost"] + lost),
    }


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
        home_size = system.home_size(
            protocol, _kinds(member for members in here.values() for member in members)
        )
        over_time[label] = [
            {
                "topic": topic,
                "processes": len(members),
                "view_mean": sum(len(views[m.node, topic]) for m in members) / len(members),
                "view_law": law(home_size(Topic.parse(topic))),
                "dead_entries": sum(len(views[m.node, topic] - living) for m in members),
            }
            for topic, members in sorted(here.items())
        ]
    return over_time


def _tally(
    reading: Reading, published: dict[str, Published], levels: Callable[[str], Iterable[str]]
) -> defaultdict[str, _Tally]:
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
            receivers = [member for member in before if _is_for(publish, member)]
            if receivers:
                here = delivered.get(topic, {})
                tallies[topic].add_event(reading, event, publish.when, receivers, here)
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


def _joining(member: Member) -> tuple[float, str]:
    return member.joined, member.topic


def _end(reading: Reading) -> float:
    """Return the moment before the first polite leave, the end of the run proper."""
    first = min((m.left for m in reading.members.values()), default=math.inf)
    return math.nextafter(first, -math.inf)


def _predictions(
    published: dict[str, Published], scenario: BaseScenario, law: Callable[[float], float]
) -> dict[str, float]:
    """Average the model's reception over the events that each community was to receive.

    The model is one of chains of communities without common processes. There is no prediction for a
    community that is to receive events in another way.
    """
    events = Counter(publish.topic for publish in published.values())
    sums: dict[str, float] = defaultdict(float)
    weights: dict[str, int] = defaultdict(int)
    sizes, super_topics = scenario.sizes, scenario.super_topics
    overlaps = [kind for kind in scenario.kinds if len(kind) > 1]
    for name, count in events.items():
        topics = [t for t in super_topics.levels(Topic.parse(name)) if t in sizes]
        if _are_a_chain(topics, super_topics, overlaps):
            chain = [Level(sizes[t], law(sizes[t]), scenario.settings_of(t)) for t in topics]
            found = predict(chain)
        else:
            found = [math.nan] * len(topics)
        for topic, reception in zip(topics, found, strict=True):
            sums[topic.name] += count * reception
            weights[topic.name] += count
    means = {topic: sums[topic] / weights[topic] for topic in sums}
    return {topic: mean for topic, mean in means.items() if not math.isnan(mean)}


def _are_a_chain(
    topics: Sequence[Topic], above: SuperTopics, overlaps: Sequence[Sequence[Topic]]
) -> bool:
    """Return whether communities have one super-community each, and no common processes.

    `overlaps` are the sets of communities of processes that are in several.
    """
    single = all(len(above.of(topic)) < 2 for topic in above.levels(topics[0]))
    return single and all(sum(one in topics for one in kind) < 2 for kind in overlaps)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
