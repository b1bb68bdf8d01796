"""The outcome of a virtual scenario, recorded while it runs and summed up as a live run is.

The digest covers all that a replay must repeat: every delivery, and at the end every table, every
counter, and what the network carried.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

import attrs
from attrs import frozen

from camcast.observe.trace import Sink, TraceRecord
from camcast.observe.trace_reading import Delivery, Member, Place, Published, Reading
from camcast.research.models.distributions import nearest_rank
from camcast.research.runs.summary import Summary, summarise
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.simulation.liars import FORGED
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId
from camcast.vocabulary.happenings import BatchKind, TakeBatch, TraceKind
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.topics import Topic

_COUNTED: Final[tuple[TraceKind, ...]] = ("receive", "duplicate", "send", "upward")
_SENT: Final[tuple[BatchKind, ...]] = ("send", "upward")


class CommunityTally:
    """Counts copies of events by community, and hands every record of a trace on.

    A node counts the copies that it sends and receives over all its communities together. The
    records of its trace name the community of each copy. So the trace is taken where processes are
    in several communities, for which a run of 100 processes and 300 events takes 8.5 s of CPU
    instead of 7.0 s.
    """

    def __init__(self, sink: Sink | None) -> None:
        self._sink = sink
        self.copies: dict[TraceKind, Counter[str]] = {kind: Counter() for kind in _COUNTED}
        """The copies by kind (`camcast.vocabulary.happenings`), then by community."""
        self.sent: Counter[Place] = Counter()
        self.received: Counter[Place] = Counter()
        self.upward: Counter[str] = Counter()
        """The copies that each node has sent upward, in all its communities."""

    def write(self, record: TraceRecord) -> None:
        """Count a record, and pass it to the sink."""
        if record.kind in self.copies:
            self.copies[record.kind][record.community] += 1
        if record.kind in _SENT:
            self.sent[record.node, record.community] += 1
            if record.kind == "upward":
                self.upward[record.node] += 1
        elif record.kind in ("receive", "duplicate", "parasite"):
            self.received[record.node, record.community] += 1
        if self._sink is not None:
            self._sink.write(record)


@frozen
class VirtualOutcome:
    """The outcome of a run."""

    summary: Summary
    digest: str
    """SHA-256 of everything that a replay must repeat."""
    repair: bool
    """Whether missed events were asked for (`BaseScenario.repaired`)."""
    virtual_seconds: float
    joined: int
    """How many processes (lives) became members."""
    never_joined: int
    """Living processes that are not in all of their communities at the end. They are in no other
    measure but `reception_of_all` and `lost_outside`."""
    reception_of_all: float | None
    """The share of deliveries at all who were to be members, whether they joined or not."""
    records_sent: int
    """Copies of records sent, control messages included."""
    bytes: int
    """The bytes of all these copies."""
    datagrams: int
    """Datagrams sent by discoveries that speak UDP, such as Kademlia's."""
    datagram_bytes: int
    """Their contents, without the headers of UDP and IP."""
    lost_copies: int
    """Copies of records that were lost on the way."""
    undeliverable: int
    """Copies of records whose receiver was dead."""
    unpublished: int
    """Events that were not published because no member was alive."""
    event_copies: int
    """Copies of events sent, upward messages included."""
    table_entries: float
    """Peers in the tables of a process that lives at the end, in all its groups and links."""
    filtered: int
    """Events given to members of their communities whose constraints they do not meet; none with
    protocols that go by attributes (`Protocol.selective`), where they are parasites."""
    forged: int
    """Deliveries of events that liars forged; they are counted in nothing else."""
    unverified: int
    """Events that processes refused for want of a true signature."""
    signature_seconds: float
    """CPU that all processes together would spend on signatures; 0 in `open`."""
    trace_failures: int
    """How often a record of the trace could not be written."""
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    """Latencies of all deliveries except the publishers' own."""

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON takes it."""
        return attrs.asdict(self)


class RunRecord:
    """Records what happens in one run; `topics` are the communities of the hosts, by number.

    `tally` counts the copies by community where hosts are in several.
    """

    def __init__(
        self,
        scenario: VirtualScenario,
        network: VirtualNetwork,
        topics: Mapping[int, tuple[Topic, ...]],
        tally: CommunityTally | None,
    ) -> None:
        self.reading = Reading(includes=scenario.super_topics.includes)
        self.unpublished = 0
        """Events that were not published because no member was alive."""
        self._scenario = scenario
        self._network = network
        self._topics = topics
        self._tally = tally
        self._topic_names = {topic.group: topic.name for topic in scenario.sizes}
        self._deliveries = hashlib.sha256()
        self._unwanted: dict[EventId, Collection[str]] = {}
        self._filtered = self._forged = self._unverified = self._trace_failures = 0
        self._event_copies = 0
        self._sent: Counter[Place] = Counter() if tally is None else tally.sent
        self._received: Counter[Place] = Counter() if tally is None else tally.received
        """The copies of each identity, as traces name it, in all its lives."""
        self._sent_bytes: Counter[Place] = Counter()
        self._publishers: dict[str, None] = {}
        self._links: dict[str, None] = {}
        """The identities of these roles."""
        self._names: dict[EventId, str] = {}
        self._keys: dict[PeerId, str] = {}
        """The name of the last life of each identity."""

    def born(self, process: Process) -> None:
        """Note a process that begins a life, and have it count the bytes that it sends."""
        self._keys[process.me.peer] = key_of(process)
        outbox, recorder = process.node.outbox, process.node.recorder
        if outbox.control_bytes is None:  # it has no trace
            outbox.control_bytes = {}
        node, sent = process.me.peer.hex(), self._sent_bytes
        recorder.on_batch = _counting(sent, node, recorder.on_batch)
        recorder.on_control = lambda community, size: sent.update({(node, community): size})

    def joined(self, process: Process, topic: Topic) -> None:
        """Note that a process has become a member."""
        key = key_of(process)
        self.reading.members[key, topic.name] = Member(key, topic.name, self._network.now)

    def crashed(self, process: Process) -> None:
        """Note that a process is about to die."""
        process.node.recorder.record_control(self._network.now)
        self._count(process)
        for topic in self._topics[process.number]:
            place = key_of(process), topic.name
            if (member := self.reading.members.get(place)) is not None:
                self.reading.members[place] = attrs.evolve(member, crashed=self._network.now)

    def published(self, event: EventId, published: Published) -> None:
        """Note an event, and the processes that do not want it."""
        self._publishers[event.publisher.hex()] = None
        self._unwanted[event] = published.unwanted_by
        self.reading.published[self._name(event)] = published

    def delivered(self, process: Process, delivery: Deliver) -> None:
        """Note the events that a process gets, except those that liars forged."""
        key, now = self._keys[process.me.peer], self._network.now
        community = self._topic_names[delivery.group]
        for event in delivery.batch.events():
            if self._scenario.liars and event.payload.startswith(FORGED):
                self._forged += 1
                continue
            if key in self._unwanted.get(event.id, ()):
                self._filtered += 1
                continue
            name = self._name(event.id)
            self.reading.deliveries[name][community][key] = Delivery(now, event.hops)
            where = f" {community}" if self._tally is not None else ""
            self._deliveries.update(f"{now!r} {key} {name} {event.hops}{where}\n".encode())

    def missed(self, process: Process, tell: Tell) -> None:
        """Note the events that a process has missed for good."""
        stream, _, _ = self._name(EventId(tell.missed.stream, tell.missed.first)).rpartition("-")
        told = range(tell.missed.first, tell.missed.last + 1)
        key, community = self._keys[process.me.peer], self._topic_names[tell.group]
        self.reading.missed[key, community, stream].append(told)

    def outcome(
        self, *, signature_seconds: float, joining: Mapping[int, Mapping[Topic, None]]
    ) -> VirtualOutcome:
        """Return the outcome, at the end of the run; `joining` has who has not joined, and what."""
        network, reading = self._network, self.reading
        state = hashlib.sha256(self._deliveries.digest())
        entries = members = 0
        for process in network:
            process.node.recorder.record_control(network.now)
            if process.number not in self._topics:
                continue  # a gateway
            self._count(process)
            members += 1
            for local_group in process.node.local_groups:
                entries += len(local_group.membership.peers()) + local_group.live_links()
                community = local_group.subscribed.name
                for contact in local_group.membership.peers():
                    state.update(process.me.peer + contact.peer)
                    known = self._keys.get(contact.peer)
                    if known is not None:  # not a liar's invention
                        change = network.now, key_of(process), community, known, True
                        reading.table_changes.append(change)
            state.update(repr(process.node.counters).encode())
        if self._tally is not None:
            copies = self._tally.copies
            reading.useful, reading.duplicates = copies["receive"], copies["duplicate"]
            reading.upward = copies["upward"]
        lives = {peer.hex(): key for peer, key in self._keys.items()}
        for of, counts in (
            (reading.sent, self._sent),
            (reading.received, self._received),
            (reading.sent_bytes, self._sent_bytes),
        ):
            of.update({(lives[node], place): n for (node, place), n in counts.items()})
        reading.publishers.update(lives[node] for node in self._publishers)
        reading.links.update(lives[node] for node in self._links)
        latencies = self._latencies()
        numbers = (network.checksum, network.messages, network.queue.happened, network.now)
        state.update(repr((*numbers, network.undeliverable, network.weather.lost)).encode())
        if network.datagrams.sent:
            state.update(repr(network.datagrams.checksum).encode())
        outside = Counter(topic.name for topics in joining.values() for topic in topics)
        calm = self._scenario.calm
        summary = summarise(reading, self._scenario, outside=outside, predicted=calm)
        return VirtualOutcome(
            summary=summary,
            digest=state.hexdigest(),
            repair=self._scenario.repaired,
            virtual_seconds=network.now,
            joined=len(dict.fromkeys(key for key, _ in reading.members)),
            never_joined=len(joining),
            reception_of_all=summary.reception_of_all,
            records_sent=network.messages,
            bytes=network.bytes,
            datagrams=network.datagrams.sent,
            datagram_bytes=network.datagrams.sent_bytes,
            lost_copies=network.weather.lost,
            undeliverable=network.undeliverable,
            unpublished=self.unpublished,
            event_copies=self._event_copies,
            table_entries=entries / max(1, members),
            filtered=self._filtered,
            forged=self._forged,
            unverified=self._unverified,
            signature_seconds=signature_seconds,
            trace_failures=self._trace_failures,
            latency_ms_p50=nearest_rank(latencies, 0.5),
            latency_ms_p99=nearest_rank(latencies, 0.99),
        )

    def _name(self, event: EventId) -> str:
        """Return an event's name, made once: there are as many deliveries as processes."""
        name = self._names.get(event)
        if name is None:
            name = self._names[event] = str(event)
        return name

    def _count(self, process: Process) -> None:
        """Add up what a process counted, at its death or at the end."""
        counters, reading = process.node.counters, self.reading
        node = process.me.peer.hex()
        if counters.upward_sent:
            self._links[node] = None
        if self._tally is None:
            (topic,) = self._topics[process.number]
            reading.useful[topic.name] += counters.events
            reading.duplicates[topic.name] += counters.duplicates
            reading.upward[topic.name] += counters.upward_sent
            place = node, topic.name
            self._sent[place] += counters.event_copies_sent + counters.upward_sent
            arrived = counters.events + counters.duplicates + counters.parasites
            self._received[place] += arrived
        self._unverified += counters.unverified
        self._trace_failures += counters.trace_failures
        self._event_copies += counters.event_copies_sent + counters.upward_sent
        reading.parasites[key_of(process)] += counters.parasites

    def _latencies(self) -> list[float]:
        """Return how long every delivery took that was not the publisher's own, in ms, sorted."""
        return sorted(
            1000 * (delivery.when - published.when)
            for event, published in self.reading.published.items()
            for delivered in self.reading.deliveries[event].values()
            for key, delivery in delivered.items()
            if key != published.node
        )


def key_of(process: Process) -> str:
    """Return the name of one life of a process, in the order of the lives."""
    return f"{process.life:08}"


def _counting(sent: Counter[Place], node: str, then: TakeBatch | None) -> TakeBatch:
    """Return what counts the bytes of copies that a process sends, and hands on to `then`."""

    def take(
        now: float, kind: BatchKind, batch: Batch, community: str, peers: tuple[bytes, ...]
    ) -> None:
        if kind in _SENT:
            sent[node, community] += batch.size * len(peers)
        if then is not None:
            then(now, kind, batch, community, peers)

    return take
