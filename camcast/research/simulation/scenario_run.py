"""Runs a virtual scenario, and returns its outcome in the measures of a live run.

The processes join one after the other, the root community first; tables settle; then the
scenario's clock starts, and its events, crashes and cuts happen at their times. The invariants are
checked at every step (`camcast.research.simulation.invariants`). A run depends on its scenario
alone: its digest is the same in every process, under every hash seed, with a trace or without one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator
from functools import partial
from itertools import count, repeat
from math import inf
from typing import Final, Literal

import attrs

from camcast.doors.plugs import (
    discovery_options,
    find_discovery,
    find_protocol,
    membership_for,
)
from camcast.engine.node import Node
from camcast.engine.settings import Parts, Settings
from camcast.engine.store import Store
from camcast.interests.interest import Interest, attributes_of
from camcast.observe.trace import Sink
from camcast.observe.trace_reading import Published
from camcast.research.scenarios.virtual import (
    Churn,
    Crashes,
    Liars,
    Partition,
    Pauses,
    VirtualScenario,
)
from camcast.research.simulation.invariants import Invariants
from camcast.research.simulation.liars import tell
from camcast.research.simulation.run_context import collector_off, warnings_unheard
from camcast.research.simulation.run_record import CommunityTally, RunRecord, VirtualOutcome, key_of
from camcast.research.simulation.stub_signatures import StubAuthority, StubSignatures
from camcast.research.simulation.weak_links import Losses
from camcast.research.workloads import Publication
from camcast.research.workloads.churn import Change
from camcast.virtual.census import Census
from camcast.virtual.network import Process, VirtualNetwork
from camcast.virtual.weather import Cut
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import new_peer_id
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic

_SLICES: Final = 500  # chosen: calls of `on_progress` in a run
# chosen: how often arcs are looked at within the time in which an arc may be one-sided. With
# duplicates and reordering an arc may come and go, and be one-sided at two moments by chance.
_LOOKS: Final = 7


Topics = tuple[Topic, ...]
"""The communities of one process."""


class _Others:
    """The processes that are not on one side of a cut, later ones included."""

    def __init__(self, one_side: dict[int, None]) -> None:
        self._one_side = one_side

    def __contains__(self, number: object) -> bool:
        return number not in self._one_side


def run_scenario(
    scenario: VirtualScenario,
    sink: Sink | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> VirtualOutcome:
    """Run a scenario; `sink` takes the trace, `on_progress(now, end)` gets the virtual time.

    Raises `InvariantError`, and what loading the scenario's files raises.
    """
    with collector_off(), warnings_unheard():
        return _Run(scenario, sink).run(on_progress)


class _Run:
    def __init__(self, scenario: VirtualScenario, sink: Sink | None) -> None:
        self._scenario = scenario
        self._topics: dict[int, Topics] = {}
        """The communities of each host."""
        tally = CommunityTally(sink) if scenario.overlapping else None
        climate, weak = scenario.links.climate(), scenario.topic_parameters.of_copies
        in_general = attrs.evolve(climate, loss=0.0) if weak else climate
        self._network = VirtualNetwork(scenario.seed, in_general, tally or sink)
        if weak:
            losses = Losses(scenario, climate.loss, self._topics)
            self._network.weather.cuts += losses.obstacles()
        self._record = RunRecord(scenario, self._network, self._topics, tally)
        self._network.on_step = self._on_step
        self._network.on_delivery = self._on_delivery
        self._network.on_missed = self._record.missed
        self._protocol = find_protocol(scenario.protocol, scenario.protocol_options)
        self._membership = membership_for(self._protocol, scenario.membership, scenario.options)
        backend, options = self._membership
        law = partial(backend.expected_view, options)
        self._invariants = Invariants(self._network, law, parasitic=self._protocol.parasitic)
        self._parameters = {topic: scenario.settings_of(topic) for topic in scenario.sizes}
        self._churn = stream(scenario.seed, "churn")
        self._work = stream(scenario.seed, "workload")
        self._directory = Census(stream(scenario.seed, "churn", "census"))
        self._members = Census(self._work)
        """The live members, of which publishers are drawn."""
        self._joining: dict[int, dict[Topic, None]] = {}
        """The communities that each life has not joined yet."""
        self._publishers: dict[tuple[str, Topic], Process] = {}
        self._constraints = [Interest.parse(c) if c else None for c in scenario.constraints]
        self._gateway: Process | None = None
        self._parts = Parts(store=Store() if scenario.repair else None)
        self._settings = self._make_settings()
        self._lying = stream(scenario.seed, "churn", "liars")
        self._authority: StubAuthority | None = None
        if scenario.profile == "signed":
            self._authority = StubAuthority(self._lying.randbytes(32))
        self._last_change = inf
        """When the last process may join or depart; what is later could not settle."""
        self.start = inf
        """When 0 s of the scenario is in virtual time; known once it runs."""
        self._changes: tuple[Change, ...] = ()
        self._topics_of: dict[str, Topics] = {}
        """The communities of each node of a churn trace."""
        self._numbers: dict[str, int] = {}
        """The host of each node of a churn trace that has come up."""
        self._lives: dict[int, Process] = {}
        """The last life of each host."""
        self._hosts: dict[str, int] = {}
        """The number of the host of every life."""

    def _make_settings(self) -> Settings:
        scenario = self._scenario
        backend, options = self._membership
        ideal = scenario.discovery == "census"
        name = backend.discovery if scenario.discovery == "own" else scenario.discovery
        discovery = self._directory.discovery if ideal else find_discovery(name)
        settings = Settings(
            backend=backend,
            discovery=discovery,
            discovery_options=discovery_options(discovery, name, scenario.discovery_options),
            options=options,
            parameters=scenario.parameters,
            protocol=self._protocol,
            topics=tuple(scenario.sizes),
        )
        if ideal:
            return settings
        self._gateway = self._network.start(settings, parts=self._parts)
        return attrs.evolve(settings, gateways={ROOT: (self._gateway.me.address,)})

    # -- the course of a run -------------------------------------------------------------------

    def run(self, on_progress: Callable[[float, float], None] | None) -> VirtualOutcome:
        scenario, network = self._scenario, self._network
        publications = scenario.publications()
        joins = list(self._first_joins())
        for number, join in enumerate(joins):
            network.queue.at(number * scenario.join_gap_seconds, join)
        self.start = start = len(joins) * scenario.join_gap_seconds + scenario.settle_seconds
        self._schedule(start, publications)
        lasting = scenario.end_seconds(publications)
        end = start + lasting
        calm = scenario.calm and lasting > scenario.symmetry_seconds
        for look in range(_LOOKS) if calm else ():
            before_end = scenario.symmetry_seconds * look / (_LOOKS - 1)
            network.queue.at(end - before_end, self._invariants.look_at_arcs)
        for number in range(1, _SLICES + 1):
            network.queue.run_until(end * (number / _SLICES))
            if on_progress is not None:
                on_progress(network.now, end)
        self._invariants.check_symmetry()
        cpu = 0.0 if self._authority is None else self._authority.cpu_seconds
        return self._record.outcome(signature_seconds=cpu, joining=self._joining)

    def _first_joins(self) -> Iterator[Callable[[], object]]:
        """Yield the calls by which the first processes join, in order."""
        scenario = self._scenario
        if scenario.churn is not None:
            kinds = dict(self._kinds())
            window = scenario.churn.load().window(
                scenario.churn.from_seconds,
                scenario.duration_seconds,
                nodes_max=scenario.nodes,
                random=self._churn,
            )
            self._changes = window.changes
            for node in window.nodes:
                (drawn,) = self._churn.choices([*kinds], [*kinds.values()])
                self._topics_of[node] = drawn
            for node in window.up:
                yield partial(self._return, node, scenario.churn)
            return
        for topics in self._first_topics():
            yield partial(self._join, topics)

    def _kinds(self) -> list[tuple[Topics, int]]:
        """Return how many processes take part in which communities, those of the root first."""
        above = self._scenario.super_topics

        def key(kind: tuple[Topics, int]) -> tuple[int, Topics]:
            return min(above.depth(topic) for topic in kind[0]), kind[0]

        return sorted(self._scenario.kinds.items(), key=key)

    def _first_topics(self) -> Iterator[Topics]:
        """Yield the topics of each of the processes that join at first, in order."""
        for topics, number in self._kinds():
            yield from repeat(topics, number)

    def _topics_at_first(self) -> dict[int, Topics]:
        """Return the communities of each host that joins at first, in the order of joining."""
        hosts = count(0 if self._scenario.discovery == "census" else 1)  # 0: the gateway
        return dict(zip(hosts, self._first_topics(), strict=False))

    def _schedule(self, start: float, publications: list[Publication]) -> None:
        """Schedule what the scenario says; its clock starts at `start`."""
        scenario, queue = self._scenario, self._network.queue
        self._last_change = start + scenario.duration_seconds
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
        # Publications come last: a cut from 0 s on must hold for an event at 0 s.
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
                if when <= self._last_change:
                    queue.at(when, act, change.node, scenario.churn)

    # -- joining, dying, returning -------------------------------------------------------------

    def _join(
        self, topics: Topics, number: int | None = None, same: Process | None = None
    ) -> Process:
        peer, parts = None if same is None else same.me.peer, self._parts
        if self._authority is not None:  # the identity is drawn as the network draws it
            peer = peer or new_peer_id(self._network.protocol.randbytes)
            signatures = StubSignatures(peer, self._authority)
            parts = attrs.evolve(parts, signatures=signatures)
        process = self._network.start(self._settings, number=number, peer=peer, parts=parts)
        self._topics[process.number] = topics
        self._lives[process.number] = process
        self._record.born(process)
        self._hosts[key_of(process)] = process.number
        self._joining[process.life] = dict.fromkeys(topics)
        where = self._where_of(process)
        for topic in topics:
            self._network.do(process, partial(self._take_part, topic, where))
        if self._scenario.stillborn and self._churn.random() < self._scenario.stillborn:
            self._bury(process)  # but leave it in the directory
        return process

    def _take_part(self, topic: Topic, where: Interest | None, node: Node, now: float) -> None:
        """Let a node join a community, with what the scenario says of its topic and those above."""
        declared = self._scenario.super_topics.declared
        node.join(topic, now, self._parameters[topic], declared.get(topic), where, declared)

    def _where_of(self, process: Process) -> Interest | None:
        """Return what a process wants of attributes; hosts take the constraints in turn."""
        constraints = self._constraints
        return constraints[process.number % len(constraints)] if constraints else None

    def _crash(self, process: Process) -> None:
        for topic in self._topics[process.number]:
            self._directory.strike(topic, process.me)
        self._bury(process)

    def _bury(self, process: Process) -> None:
        for topic in self._topics[process.number]:
            self._members.strike(topic, process.me)
        self._joining.pop(process.life, None)
        self._record.crashed(process)
        self._network.crash(process)

    def _draw_share(self, share: float, community: Topic | None) -> list[Process]:
        """Draw a share of the live processes, of one community or of all."""
        living = [
            process
            for process in self._network
            if process.number in self._topics
            and (community is None or community in self._topics[process.number])
        ]
        return self._churn.sample(living, round(share * len(living)))

    def _draw_liars(self, liars: Liars) -> None:
        """Draw the liars, and let them begin."""
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
                when = self._network.now + crashes.restart_seconds
                if when <= self._last_change:
                    self._network.queue.at(when, self._restart, process.number, crashes.identity)

    def _restart(self, number: int, identity: Literal["same", "new"]) -> None:
        """Let a crashed host start again, unless the churn trace has restarted it already."""
        last = self._lives[number]
        if not last.alive:
            self._join(self._topics[number], number, last if identity == "same" else None)

    def _return(self, node: str, churn: Churn) -> None:
        """Let a node of the churn trace come up, again or for the first time."""
        if node in self._numbers:
            self._restart(self._numbers[node], churn.identity)
        else:
            self._numbers[node] = self._join(self._topics_of[node]).number

    def _depart(self, node: str, _churn: Churn) -> None:
        process = self._lives[self._numbers[node]]
        if process.alive:
            self._crash(process)

    def _cut(self, partition: Partition, until: float) -> None:
        topics = self._topics if partition.from_seconds >= 0 else self._topics_at_first()
        if partition.share is not None:
            side = self._churn.sample(list(topics), round(partition.share * len(topics)))
        else:
            apart = partition.communities
            side = [n for n, mine in topics.items() if any(topic in apart for topic in mine)]
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
                self._record.unpublished += 1
            elif process.held is None:
                self._publish_as(process, topic, publication.payload)
            else:  # a paused process publishes when it goes on
                publish = partial(self._publish_as, process, topic, publication.payload)
                process.held.append(publish)

    def _publish_as(self, process: Process, topic: Topic, payload: bytes) -> None:
        unwanted = self._unwanted_by(topic, payload)
        published = Published(key_of(process), self._network.now, topic.name, unwanted)
        event = self._network.do(process, partial(_publish, topic, payload))
        self._record.published(event, published)

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
            joining = self._joining[process.life]
            for topic in [*joining]:
                local_group = process.node.local_group(topic)
                if local_group is not None and local_group.joined:
                    del joining[topic]
                    self._members.enter(topic, process.me)
                    self._record.joined(process, topic)
            if not joining:
                del self._joining[process.life]

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        self._invariants.on_delivery(process, delivery)
        self._record.delivered(process, delivery)


def _publish(topic: Topic, payload: bytes, node: Node, now: float) -> EventId:
    return node.publish(topic, payload, now).id
