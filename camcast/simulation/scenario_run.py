"""Runs a virtual scenario, and says what came of it in the measures of a live run.

The processes join one after the other, the root community first; tables settle; then the
scenario's clock starts, and what it says happens at its times. The invariants are checked at
every step (`camcast.simulation.invariants`). A run depends on its scenario alone: `digest` is
the same in every process, under every hash seed, with a trace or without one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Container, Iterator
from functools import partial
from itertools import count, repeat
from typing import Any, Final, Literal

import attrs
from attrs import frozen

from camcast.doors.plugs import find_discovery, find_protocol, membership_for
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.engine.store import Store
from camcast.interests.interest import Interest, attributes_of
from camcast.runs.summary import Summary, quantile, summarise
from camcast.runs.trace_reading import Delivery, Member, Published, Reading
from camcast.scenarios.virtual import Churn, Crashes, Liars, Partition, Pauses, VirtualScenario
from camcast.simulation.census import Census
from camcast.simulation.gc_paused import collector_off
from camcast.simulation.invariants import Invariants
from camcast.simulation.liars import FORGED, tell
from camcast.simulation.network import Process, VirtualNetwork
from camcast.simulation.stub_signatures import StubAuthority, StubSignatures
from camcast.simulation.unheard_warnings import warnings_unheard
from camcast.simulation.weather import Cut
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId, new_peer_id
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.trace import Sink
from camcast.workloads import Publication
from camcast.workloads.churn import Change

_SLICES: Final = 500  # chosen: how often progress is told of
# chosen: how often arcs are looked at within the time in which an arc may be one-sided. With
# duplicates and reordering an arc may come and go, and be one-sided at two moments by chance.
_LOOKS: Final = 7


@frozen
class VirtualOutcome:
    """What came of a run."""

    summary: Summary
    digest: str
    """SHA-256 of everything that a replay must repeat."""
    virtual_seconds: float
    joined: int
    """How many processes (lives) became members."""
    records_sent: int
    """Copies of records sent, control messages included."""
    bytes: int
    """Of all these copies."""
    datagrams: int
    """Datagrams sent by discoveries that speak UDP, such as Kademlia's."""
    datagram_bytes: int
    """Their contents, without the headers of UDP and IP."""
    lost_copies: int
    """Of these, lost on the way."""
    undeliverable: int
    """Copies that found nobody alive."""
    unpublished: int
    """Events that nobody was there to publish."""
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
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    """Of all deliveries but the publishers' own."""

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON takes it."""
        return attrs.asdict(self)


class _Others:
    """Everybody who is not on one side of a cut, whoever else may come."""

    def __init__(self, one_side: dict[int, None]) -> None:
        self._one_side = one_side

    def __contains__(self, number: object) -> bool:
        return number not in self._one_side


def run_scenario(
    scenario: VirtualScenario,
    sink: Sink | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> VirtualOutcome:
    """Run a scenario; `sink` takes the trace, `on_progress(now, end)` hears of virtual time.

    Raises `InvariantError`, and what loading the scenario's files raises.
    """
    with collector_off(), warnings_unheard():
        return _Run(scenario, sink).run(on_progress)


class _Run:
    def __init__(self, scenario: VirtualScenario, sink: Sink | None) -> None:
        self._scenario = scenario
        self._network = VirtualNetwork(scenario.seed, scenario.links.climate(), sink)
        self._network.on_step = self._on_step
        self._network.on_delivery = self._on_delivery
        self._network.on_missed = self._on_missed
        self._protocol = find_protocol(scenario.protocol, scenario.protocol_options)
        self._membership = membership_for(self._protocol, scenario.membership, scenario.options)
        backend, options = self._membership
        law = partial(backend.expected_view, options)
        self._invariants = Invariants(self._network, law, parasitic=self._protocol.parasitic)
        self._churn = stream(scenario.seed, "churn")
        self._work = stream(scenario.seed, "workload")
        self._directory = Census(stream(scenario.seed, "churn", "census"))
        self._members = Census(self._work)
        """Who is a member and alive, of whom publishers are drawn."""
        self._topics: dict[int, Topic] = {}
        """The community of each host."""
        self._joining: dict[int, Topic] = {}
        self._reading = Reading()
        self._deliveries = hashlib.sha256()
        self._publishers: dict[tuple[str, Topic], Process] = {}
        self._unpublished = 0
        self._constraints = [Interest.parse(c) if c else None for c in scenario.constraints]
        self._unwanted: dict[EventId, Collection[str]] = {}
        self._filtered = self._forged = self._unverified = 0
        self._event_copies = 0
        self._gateway: Process | None = None
        self._settings = self._make_settings()
        self._lying = stream(scenario.seed, "churn", "liars")
        self._authority: StubAuthority | None = None
        if scenario.profile == "signed":
            self._authority = StubAuthority(self._lying.randbytes(32))
        self._changes: tuple[Change, ...] = ()
        self._community_of: dict[str, Topic] = {}
        """Of each node of a churn trace."""
        self._numbers: dict[str, int] = {}
        """The host of each node of a churn trace that has come up."""
        self._lives: dict[int, Process] = {}
        """The last life of each host."""
        self._names: dict[EventId, str] = {}
        self._hosts: dict[str, int] = {}
        """The number of the host of every life."""
        self._keys: dict[PeerId, str] = {}
        """The name of the last life of everybody who ever was."""

    def _make_settings(self) -> Settings:
        scenario = self._scenario
        backend, options = self._membership
        ideal = scenario.discovery == "census"
        name = backend.discovery if scenario.discovery == "own" else scenario.discovery
        settings = Settings(
            backend=backend,
            discovery=self._directory.discovery if ideal else find_discovery(name),
            options=options,
            parameters=scenario.parameters,
            protocol=self._protocol,
            topics=tuple(scenario.communities),
            store=Store() if scenario.repair else None,
        )
        if ideal:
            return settings
        self._gateway = self._network.start(settings)
        return attrs.evolve(settings, gateways={ROOT: (self._gateway.me.address,)})

    # -- the course of a run -------------------------------------------------------------------

    def run(self, on_progress: Callable[[float, float], None] | None) -> VirtualOutcome:
        scenario, network = self._scenario, self._network
        publications = scenario.publications()
        joins = list(self._first_joins())
        for number, join in enumerate(joins):
            network.queue.at(number * scenario.join_gap_seconds, join)
        start = len(joins) * scenario.join_gap_seconds + scenario.settle_seconds
        self._schedule(start, publications)
        end = start + scenario.duration_seconds
        calm = scenario.calm and scenario.duration_seconds > scenario.symmetry_seconds
        for look in range(_LOOKS) if calm else ():
            before_end = scenario.symmetry_seconds * look / (_LOOKS - 1)
            network.queue.at(end - before_end, self._invariants.look_at_arcs)
        for number in range(1, _SLICES + 1):
            network.queue.run_until(end * (number / _SLICES))
            if on_progress is not None:
                on_progress(network.now, end)
        self._invariants.check_symmetry()
        return self._outcome()

    def _first_joins(self) -> Iterator[Callable[[], object]]:
        """Yield who joins at first, in order."""
        scenario = self._scenario
        if scenario.churn is not None:
            topics = sorted(scenario.communities, key=lambda topic: (topic.level, topic))
            window = scenario.churn.load().window(
                scenario.churn.from_seconds,
                scenario.duration_seconds,
                nodes_max=scenario.nodes,
                random=self._churn,
            )
            self._changes = window.changes
            weights = [scenario.communities[topic] for topic in topics]
            for node in window.nodes:
                (self._community_of[node],) = self._churn.choices(topics, weights)
            for node in window.up:
                yield partial(self._return, node, scenario.churn)
            return
        for topic in self._first_topics():
            yield partial(self._join, topic)

    def _first_topics(self) -> Iterator[Topic]:
        """Yield the topics of the processes that join at first, in order."""
        sizes = self._scenario.communities
        for topic in sorted(sizes, key=lambda topic: (topic.level, topic)):
            yield from repeat(topic, sizes[topic])

    def _topics_at_first(self) -> dict[int, Topic]:
        """Return the community of each host that joins at first, in the order of joining."""
        hosts = count(0 if self._scenario.discovery == "census" else 1)  # 0: the gateway
        return dict(zip(hosts, self._first_topics(), strict=False))

    def _schedule(self, start: float, publications: list[Publication]) -> None:
        """Put on the queue what the scenario says, its clock starting at `start`."""
        scenario, queue = self._scenario, self._network.queue
        for crashes in scenario.crashes:
            queue.at(start + crashes.at_seconds, self._crash_share, crashes)
        for pauses in scenario.pauses:
            queue.at(start + pauses.at_seconds, self._pause_share, pauses)
        for liars in scenario.liars:
            queue.at(start + liars.at_seconds, self._draw_liars, liars)
        for partition in scenario.cuts:
            queue.at(
                max(0.0, start + partition.from_seconds),
                self._cut,
                partition,
                start + partition.until_seconds,
            )
        # After what is to happen at the same time: a cut from 0 s is there for an event at 0 s.
        for publication in publications:
            queue.at(start + publication.at_seconds, self._publish, publication)
        if scenario.churn is not None:
            last: dict[str, float] = {}
            for change in self._changes:
                jitter = scenario.churn.jitter_seconds * self._churn.random()
                act = self._return if change.joins else self._depart
                # However long a change is put off, a node's own changes keep their order.
                when = max(start + change.at_seconds + jitter, last.get(change.node, 0.0))
                last[change.node] = when
                queue.at(when, act, change.node, scenario.churn)

    # -- joining, dying, returning -------------------------------------------------------------

    def _join(
        self, topic: Topic, number: int | None = None, same: Process | None = None
    ) -> Process:
        peer, settings = None if same is None else same.me.peer, self._settings
        if self._authority is not None:  # the identity is drawn as the network draws it
            peer = peer or new_peer_id(self._network.protocol.randbytes)
            signatures = StubSignatures(peer, self._authority)
            settings = attrs.evolve(settings, signatures=signatures)
        process = self._network.start(settings, number=number, peer=peer)
        self._topics[process.number] = topic
        self._lives[process.number] = process
        self._keys[process.me.peer] = _key(process)
        self._hosts[_key(process)] = process.number
        self._joining[process.life] = topic
        self._network.do(process, partial(_join, topic, self._where_of(process)))
        if self._scenario.stillborn and self._churn.random() < self._scenario.stillborn:
            self._bury(process)  # and it stays in the directory
        return process

    def _where_of(self, process: Process) -> Interest | None:
        """Return what a process wants of attributes; hosts take the constraints in turn."""
        constraints = self._constraints
        return constraints[process.number % len(constraints)] if constraints else None

    def _crash(self, process: Process) -> None:
        self._directory.strike(self._topics[process.number], process.me)
        self._bury(process)

    def _bury(self, process: Process) -> None:
        self._members.strike(self._topics[process.number], process.me)
        self._joining.pop(process.life, None)
        self._count(process)
        key = _key(process)
        if (member := self._reading.members.get(key)) is not None:
            self._reading.members[key] = attrs.evolve(member, crashed=self._network.now)
        self._network.crash(process)

    def _draw_share(self, share: float, community: Topic | None) -> list[Process]:
        """Draw a share of the living, of one community or of all."""
        living = [
            process
            for process in self._network
            if process.number in self._topics and community in (None, self._topics[process.number])
        ]
        return self._churn.sample(living, round(share * len(living)))

    def _draw_liars(self, liars: Liars) -> None:
        """Draw who lies, and let them begin."""
        living = self._draw_share(1.0, liars.community)
        until = self._network.now + liars.seconds
        for process in living[: liars.members]:
            self._lie(process, liars, until)

    def _lie(self, process: Process, liars: Liars, until: float) -> None:
        """Let a process lie, now and as long as it lives."""
        if not process.alive or self._network.now >= until:
            return
        if process.held is None:
            self._network.do(process, partial(tell, liars.sends, self._settings, self._lying))
        self._network.queue.after(liars.every_seconds, self._lie, process, liars, until)

    def _pause_share(self, pauses: Pauses) -> None:
        for process in self._draw_share(pauses.share, pauses.community):
            if process.held is None:
                self._network.pause(process)
                self._network.queue.after(pauses.seconds, self._network.resume, process)

    def _crash_share(self, crashes: Crashes) -> None:
        if crashes.gateway and self._gateway is not None and self._gateway.alive:
            self._network.crash(self._gateway)
        for process in self._draw_share(crashes.share, crashes.community):
            self._crash(process)
            if crashes.restart_seconds is not None:
                self._network.queue.after(
                    crashes.restart_seconds, self._restart, process.number, crashes.identity
                )

    def _restart(self, number: int, identity: Literal["same", "new"]) -> None:
        """Let a host that has crashed start again, unless a churn trace already had it do so."""
        last = self._lives[number]
        if not last.alive:
            self._join(self._topics[number], number, last if identity == "same" else None)

    def _return(self, node: str, churn: Churn) -> None:
        """Let a node of the churn trace come up, again or for the first time."""
        if node in self._numbers:
            self._restart(self._numbers[node], churn.identity)
        else:
            self._numbers[node] = self._join(self._community_of[node]).number

    def _depart(self, node: str, _churn: Churn) -> None:
        process = self._lives[self._numbers[node]]
        if process.alive:
            self._crash(process)

    def _cut(self, partition: Partition, until: float) -> None:
        topics = self._topics if partition.from_seconds >= 0 else self._topics_at_first()
        if partition.share is not None:
            side = self._churn.sample(list(topics), round(partition.share * len(topics)))
        else:
            side = [n for n, topic in topics.items() if topic in partition.communities]
        one_side = dict.fromkeys(side)
        other_side: Container[int] = _Others(one_side)
        if partition.other_share is not None:
            others = [number for number in topics if number not in one_side]
            wanted = min(len(others), round(partition.other_share * len(topics)))
            other_side = dict.fromkeys(self._churn.sample(others, wanted))
        cut = Cut(one_side, other_side, partition.one_way, partition.loss)
        cuts = self._network.weather.cuts
        cuts.append(cut)
        self._network.queue.at(until, cuts.remove, cut)

    # -- events --------------------------------------------------------------------------------

    def _publish(self, publication: Publication) -> None:
        for topic in publication.topics:
            process = self._publisher(publication.publisher, topic)
            if process is None:
                self._unpublished += 1
            elif process.held is None:
                self._publish_as(process, topic, publication.payload)
            else:  # its application goes on with it
                publish = partial(self._publish_as, process, topic, publication.payload)
                process.held.append((False, publish))

    def _publish_as(self, process: Process, topic: Topic, payload: bytes) -> None:
        unwanted = self._unwanted_by(topic, payload)
        published = Published(_key(process), self._network.now, topic.name, unwanted)
        event = self._network.do(process, partial(_publish, topic, payload))
        self._unwanted[event] = unwanted
        self._reading.published[self._name(event)] = published

    def _unwanted_by(self, topic: Topic, payload: bytes) -> Collection[str]:
        """Return the lives whose constraints an event does not meet."""
        if not self._constraints:
            return ()
        attributes = attributes_of(payload)
        met = [one is None or one.matches(topic, attributes) for one in self._constraints]
        unwanted = [
            key for key, number in self._hosts.items() if not met[number % len(self._constraints)]
        ]
        return dict.fromkeys(unwanted)

    def _publisher(self, name: str | None, topic: Topic) -> Process | None:
        """Choose a member to publish: for a name always the same, as long as it lives."""
        if name is not None:
            process = self._publishers.get((name, topic))
            if process is not None and process.alive:
                return process
        drawn = self._members.draw(topic, 1)
        if not drawn:
            return None
        process = self._network.processes[drawn[0].address]
        if name is not None:
            self._publishers[name, topic] = process
        return process

    # -- what is watched -----------------------------------------------------------------------

    def _on_step(self, process: Process) -> None:
        self._invariants.on_step(process)
        if process.life in self._joining:
            topic = self._joining[process.life]
            participation = process.node.participation(topic)
            if participation is not None and participation.joined:
                del self._joining[process.life]
                self._members.enter(topic, process.me)
                key = _key(process)
                self._reading.members[key] = Member(key, topic.name, self._network.now)

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        self._invariants.on_delivery(process, delivery)
        key, now = self._keys[process.me.peer], self._network.now
        for event in delivery.batch.events():
            if self._scenario.liars and event.payload.startswith(FORGED):
                self._forged += 1
                continue
            if key in self._unwanted.get(event.id, ()):
                self._filtered += 1
                continue
            name = self._name(event.id)
            self._reading.deliveries[name][key] = Delivery(now, event.hops)
            self._deliveries.update(f"{now!r} {key} {name} {event.hops}\n".encode())

    def _on_missed(self, process: Process, tell: Tell) -> None:
        stream, _, _ = self._name(EventId(tell.missed.stream, tell.missed.first)).rpartition("-")
        told = range(tell.missed.first, tell.missed.last + 1)
        self._reading.missed[self._keys[process.me.peer], stream].append(told)

    def _name(self, event: EventId) -> str:
        """Return an event's name, made once: there are as many deliveries as processes."""
        name = self._names.get(event)
        if name is None:
            name = self._names[event] = str(event)
        return name

    def _count(self, process: Process) -> None:
        """Add up what a process counted, at its death or at the end."""
        counters, reading = process.node.counters, self._reading
        topic = self._topics[process.number].name
        reading.useful[topic] += counters.events
        reading.duplicates[topic] += counters.duplicates
        reading.upward[topic] += counters.upward_sent
        self._unverified += counters.unverified
        self._event_copies += counters.event_copies_sent + counters.upward_sent
        reading.parasites[_key(process)] += counters.parasites

    def _outcome(self) -> VirtualOutcome:
        network, reading = self._network, self._reading
        state = hashlib.sha256(self._deliveries.digest())
        entries = members = 0
        for process in network:
            process.node.recorder.record_control(network.now)
            if process.number not in self._topics:
                continue  # a gateway
            self._count(process)
            members += 1
            for participation in process.node.participations:
                entries += len(participation.membership.peers()) + participation.live_links()
                for contact in participation.membership.peers():
                    state.update(process.me.peer + contact.peer)
                    if (
                        known := self._keys.get(contact.peer)
                    ) is not None:  # not a liar's invention
                        reading.table_changes.append((network.now, _key(process), known, True))
            state.update(repr(process.node.counters).encode())
        latencies = self._latencies()
        numbers = (network.checksum, network.messages, network.queue.happened, network.now)
        state.update(repr((*numbers, network.undeliverable, network.weather.lost)).encode())
        if network.datagrams.sent:
            state.update(repr(network.datagrams.checksum).encode())
        return VirtualOutcome(
            summary=summarise(reading, self._scenario, predicted=self._scenario.calm),
            digest=state.hexdigest(),
            virtual_seconds=network.now,
            joined=len(reading.members),
            records_sent=network.messages,
            bytes=network.bytes,
            datagrams=network.datagrams.sent,
            datagram_bytes=network.datagrams.sent_bytes,
            lost_copies=network.weather.lost,
            undeliverable=network.undeliverable,
            unpublished=self._unpublished,
            event_copies=self._event_copies,
            table_entries=entries / max(1, members),
            filtered=self._filtered,
            forged=self._forged,
            unverified=self._unverified,
            signature_seconds=0.0 if self._authority is None else self._authority.cpu_seconds,
            latency_ms_p50=quantile(latencies, 0.5),
            latency_ms_p99=quantile(latencies, 0.99),
        )

    def _latencies(self) -> list[float]:
        """Return how long every delivery took that was not the publisher's own, in ms, sorted."""
        return sorted(
            1000 * (delivery.when - published.when)
            for event, published in self._reading.published.items()
            for key, delivery in self._reading.deliveries[event].items()
            if key != published.node
        )


def _join(topic: Topic, where: Interest | None, node: Node, now: float) -> None:
    node.join(topic, now, where=where)


def _publish(topic: Topic, payload: bytes, node: Node, now: float) -> EventId:
    return node.publish(topic, payload, now).id


def _key(process: Process) -> str:
    """Return the name of one life of a process, in the order of the lives."""
    return f"{process.life:08}"
