"""The set-full checker: what was published against what every subscription got.

As in Jepsen's checker of that name, each event is a write, and each subscription a reader that has
to see it. An event is *due* at a node if the node's topic is the event's or above it, the node had
joined before the event was published, and it was still a member at the end of the run. What a
process accepts in its last instant may die with it: an event of a process that was killed is due
only if one of the nodes left got it, and only at that one's level and above, since events go to no
level below.

Of an event that is due and never came, `Missed` may have told the subscriber. Without such a notice
the event is *lost*. A notice about an event from before the node was started is *false*. It is
*late* if it came after the time limit. A subscription that gets an event twice has a *duplicate*;
one that gets an event after a later one of the same stream, and not flagged as late, has one *out
of order*; one that gets an event of a foreign topic, or one that nobody published, has a
*parasite*, and so has a process that counted a copy of a foreign community at its socket.

An event that is due is *judged*, unless it was published within the window in which the scenario
lets events be lost: those are *excused*, and counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf
from statistics import linear_regression, median
from typing import Final

from attrs import define, field, frozen

from camcast import Topic
from tests.library.chaos.records import (
    AnyRecord,
    Delivered,
    Ended,
    Failed,
    Joined,
    Lagged,
    Missed,
    NotReady,
    Published,
    Refused,
    Sample,
    Started,
)

EventKey = tuple[str, int]
"""Stream and sequence of an event."""

TEN_PERIODS: Final = 10.0
"""No live arc is given up in ten periods of heartbeats, a second each."""
_FLAT: Final = 1e6 / 3600  # chosen: 24 MB a day
_PACE_SAMPLES: Final = 60  # chosen: a minute, in which no visitor of a soak stays
_EXAMPLES = 20  # chosen: a screen of lost events is enough to begin with


@frozen(kw_only=True)
class Fault:
    """When the fault of a run began and ended, and what is asked of the events of that time."""

    began: float = inf
    healed: float = inf
    """The end of the fault; infinite for one that has no end, as a crash."""
    excused_from: float = inf
    excused_to: float = -inf
    """Events published from `excused_from` to `excused_to` may be lost."""
    arrival_seconds: float = inf
    """How long after its publication, and after the end of the fault, an event may arrive."""


@frozen(kw_only=True)
class Findings:
    """What the checker found in one run."""

    events: int
    """Accepted from publishers, except those that died with their publishers."""
    due: int
    """Judged pairs of an event and a node that is to get it."""
    lost: int
    """Of those, how many never arrived, and nobody said so."""
    late: int
    """Of those, how many arrived after the time limit."""
    missed: int
    """Of those, how many never arrived, and `Missed` told the subscriber."""
    told_falsely: int
    """How many events subscriptions were told to have missed, though these had been published
    before their nodes started."""
    history: int
    """Deliveries of events that had been published before the node started."""
    lost_by_climb: dict[int, tuple[int, int]]
    """Lost and due, by the number of levels that the event had to climb."""
    excused_due: int
    """Excused pairs of an event and a node that is to get it."""
    excused_lost: int
    """Of those, how many never arrived."""
    duplicated: int
    """Deliveries to a subscription that had the event already."""
    out_of_order: int
    """Deliveries after a later event of the same stream that were not flagged as late."""
    overtaking: int
    """Deliveries before an earlier event of the same stream, which came after all."""
    parasites: int
    """Deliveries of foreign or unknown events, and foreign copies counted at sockets."""
    not_ready: int
    """Nodes that did not become members in time."""
    refused: int
    """Events that `publish` did not accept."""
    lagged: int
    """Events that full queues of subscriptions dropped, and told."""
    failures: int
    """Exceptions that nobody caught in a worker process."""
    forgotten: int
    """How often a topic table dropped a peer in the ten seconds after the fault began; in the
    whole run, if nothing was broken."""
    growth: float | None
    """By what factor the memory of the process that grew most did so in the second half of the
    run; None if there are too few samples."""
    settling: float | None
    """How fast the memory of the processes that ran all the time grew in the last quarter of the
    run, as a share of that in the second; None if there are too few samples."""
    heal_seconds: float | None
    """From the end of the fault (from its beginning, if it has no end) to the publication of the
    last event that never arrived somewhere; None if all arrived."""
    delay_seconds_median: float
    """From publication to delivery, of what was due at other nodes."""
    arrival_seconds_max: float
    """The longest that an event took, from its publication or, if later, the end of the fault."""
    examples: list[str]
    """Some of the events that never arrived, excused ones too, for whoever looks for the cause."""


@cache
def climb(published: str, subscribed: str) -> int | None:
    """Return how many levels an event rises to reach a topic; None if it is not for it."""
    above, below = Topic.parse(subscribed), Topic.parse(published)
    return below.level - above.level if above.includes(below) else None


@define
class _Run:
    """The records of a run, sorted by what they are asked for."""

    started: dict[str, float] = field(factory=dict)
    topics: dict[str, str] = field(factory=dict)
    joined: dict[str, float] = field(factory=dict)
    ended: dict[str, Ended] = field(factory=dict)
    published: dict[EventKey, Published] = field(factory=dict)
    arrivals: dict[str, dict[EventKey, float]] = field(factory=lambda: defaultdict(dict))
    notices: dict[str, list[Missed]] = field(factory=lambda: defaultdict(list))
    samples: dict[str, list[Sample]] = field(factory=lambda: defaultdict(list))
    counts: Counter[type[AnyRecord]] = field(factory=Counter)
    highest: dict[tuple[str, str], int] = field(factory=dict)
    """The highest number that a subscription has had of a stream."""
    lagged: int = 0
    duplicated: int = 0
    out_of_order: int = 0

    def add(self, record: AnyRecord) -> None:
        """Sort a record in."""
        self.counts[type(record)] += 1
        if isinstance(record, Started):
            self.started[record.node] = record.when
        elif isinstance(record, Joined):
            self.topics[record.node] = record.topic
            self.joined[record.node] = record.when
        elif isinstance(record, Ended):
            self.ended[record.node] = record
        elif isinstance(record, Published):
            self.published[record.stream, record.sequence] = record
        elif isinstance(record, Delivered):
            arrived = self.arrivals[record.subscriber]
            place = record.subscriber, record.stream
            highest = self.highest.get(place, 0)
            self.out_of_order += record.first < highest and not record.late
            self.highest[place] = max(highest, record.first + record.count - 1)
            for sequence in range(record.first, record.first + record.count):
                key = record.stream, sequence
                self.duplicated += key in arrived
                arrived.setdefault(key, record.when)
        elif isinstance(record, Missed):
            self.notices[record.subscriber].append(record)
        elif isinstance(record, Lagged):
            self.lagged += record.count
        elif isinstance(record, Sample):
            self.samples[record.process].append(record)

    def survivors(self) -> list[str]:
        """Return the nodes that were members to the end."""
        return [node for node in self.joined if node not in self.ended]

    def events(self) -> list[tuple[Published, int]]:
        """Return the events that left their publishers, in the order of publication.

        With each, the least number of levels that it had to climb to a survivor, 0 if its
        publisher was not killed.
        """
        least = dict.fromkeys(self.published, inf)
        for node in self.survivors():
            for key in self.arrivals[node]:
                if key in least:
                    levels = climb(self.published[key].topic, self.topics[node])
                    least[key] = min(least[key], inf if levels is None else levels)
        events = []
        for key, event in self.published.items():
            end = self.ended.get(event.node)
            if end is None or not end.killed:
                events.append((event, 0))
            elif least[key] < inf:
                events.append((event, int(least[key])))
        return sorted(events, key=lambda one: one[0].when)

    def was_told(self, subscriber: str, event: Published) -> bool:
        """Return whether a subscription was told that it can no longer get the event."""
        return any(
            notice.stream == event.stream and notice.first <= event.sequence <= notice.last
            for notice in self.notices[subscriber]
        )

    def told_falsely(self) -> int:
        """Return how many events from before a node's start it was told to have missed."""
        return sum(
            event.when < self.started[node] and self.was_told(node, event)
            for node in self.started.keys() & self.notices.keys()
            for event in self.published.values()
        )

    def overtaking(self) -> int:
        """Return how many events came to a subscription before an earlier one of their stream."""
        found = 0
        for arrived in self.arrivals.values():
            lowest: dict[str, int] = {}
            for stream, sequence in reversed(arrived):
                found += lowest.setdefault(stream, sequence) < sequence
                lowest[stream] = min(lowest[stream], sequence)
        return found

    def unasked(self) -> int:
        """Return how many events from before a node's start it got."""
        return sum(
            event is not None and event.when < start
            for node, start in self.started.items()
            for event in map(self.published.get, self.arrivals[node])
        )

    def parasites(self) -> int:
        """Return how many events came to where they do not belong."""
        delivered = 0
        for subscriber, arrived in self.arrivals.items():
            topic = self.topics.get(subscriber.partition("/")[0], "")
            foreign: dict[str, bool] = {}
            for key in arrived:
                event = self.published.get(key)
                below = "" if event is None else event.topic
                if below not in foreign:
                    foreign[below] = not (topic and below) or climb(below, topic) is None
                delivered += foreign[below]
        counted = (samples[-1].parasites for samples in self.samples.values())
        return delivered + sum(counted)

    def forgotten(self, fault: Fault) -> int:
        """Return how often a peer was given up for dead, soon after the fault began if it did."""
        start = fault.began if fault.began < inf else -inf
        end = fault.began + TEN_PERIODS
        dropped = 0
        for samples in self.samples.values():
            before = [0, *(sample.forgotten for sample in samples if sample.when < start)]
            until = [0, *(sample.forgotten for sample in samples if sample.when < end)]
            dropped += until[-1] - before[-1]
        return dropped

    def growth(self) -> float | None:
        """Return by what factor the process that grew most did so in the second half.

        The mean of the last tenth of its samples is compared with that of the tenth in the middle.
        """
        factors = []
        for samples in self.samples.values():
            sizes = [sample.resident for sample in samples]
            tenth, middle = len(sizes) // 10, len(sizes) // 2
            if tenth:
                factors.append(sum(sizes[-tenth:]) / sum(sizes[middle : middle + tenth]))
        return max(factors, default=None)

    def settling(self) -> float | None:
        """Return by what share of its pace in the second quarter memory still grows in the last.

        A pace that is below `_FLAT` in the second counts as this much.
        """
        ends = [one.when for samples in self.samples.values() for one in (samples[0], samples[-1])]
        quarter = (max(ends) - min(ends)) / 4 if ends else 0.0
        paces: list[list[float]] = []
        for samples in self.samples.values():
            parts: list[list[Sample]] = [[], [], [], [], []]
            for one in samples:
                parts[int((one.when - min(ends)) // quarter) if quarter else 0].append(one)
            if min(len(parts[1]), len(parts[3])) >= _PACE_SAMPLES:
                paces.append([_pace(parts[1]), _pace(parts[3])])
        if not paces:
            return None
        second, last = (sum(pace) / len(paces) for pace in zip(*paces, strict=True))
        settling: float = last / max(second, _FLAT)
        return settling


def _pace(samples: Sequence[Sample]) -> float:
    """Return by how many bytes a second memory grew."""
    fit = linear_regression([s.when for s in samples], [s.resident for s in samples])
    return fit.slope


def check(history: Iterable[AnyRecord], fault: Fault) -> Findings:
    """Return what the records of a run say.

    Only subscriptions that bear the name of their node are judged. Those of a node n that the
    scenario makes slow are called n/name; they count for duplicates and parasites.
    """
    run = _Run()
    for record in sorted(history, key=lambda record: record.when):
        run.add(record)
    events, survivors = run.events(), run.survivors()
    due: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    zero = fault.began if fault.began < inf or not events else events[0][0].when
    late = missed = excused_due = excused_lost = 0
    arrival_max, last_absent = 0.0, -inf
    delays: list[float] = []
    examples: list[str] = []
    for event, least in events:
        key = event.stream, event.sequence
        excused = fault.excused_from <= event.when < fault.excused_to
        start = max(event.when, fault.healed) if fault.healed < inf else event.when
        for node in survivors:
            levels = climb(event.topic, run.topics[node])
            if levels is None or levels < least or run.joined[node] > event.when:
                continue
            excused_due += excused
            due[levels] += not excused
            arrived = run.arrivals[node].get(key)
            if arrived is not None:
                arrival_max = max(arrival_max, arrived - start)
                if node != event.node:
                    delays.append(arrived - event.when)
                late += not excused and arrived - start > fault.arrival_seconds
                continue
            last_absent = event.when
            if len(examples) < _EXAMPLES:
                examples.append(
                    f"{event.when - zero:+.1f} s: {event.stream[-12:]}-{event.sequence} of"
                    f" {event.node} in {event.topic} ({event.peers} peers, {event.links} links)"
                    f" did not come to {node} in {run.topics[node]}"
                )
            if excused:
                excused_lost += 1
            elif run.was_told(node, event):
                missed += 1
            else:
                lost[levels] += 1
    end = fault.healed if fault.healed < inf else fault.began
    return Findings(
        events=len(events),
        due=due.total(),
        lost=lost.total(),
        late=late,
        missed=missed,
        told_falsely=run.told_falsely(),
        history=run.unasked(),
        lost_by_climb={levels: (lost[levels], due[levels]) for levels in sorted(due)},
        excused_due=excused_due,
        excused_lost=excused_lost,
        duplicated=run.duplicated,
        out_of_order=run.out_of_order,
        overtaking=run.overtaking(),
        parasites=run.parasites(),
        not_ready=run.counts[NotReady],
        refused=run.counts[Refused],
        lagged=run.lagged,
        failures=run.counts[Failed],
        forgotten=run.forgotten(fault),
        growth=run.growth(),
        settling=run.settling(),
        heal_seconds=None if last_absent == -inf else max(0.0, last_absent - min(end, last_absent)),
        delay_seconds_median=median(delays) if delays else 0.0,
        arrival_seconds_max=arrival_max,
        examples=examples,
    )
