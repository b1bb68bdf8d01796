"""CAMCAST's two parts, and what the door tells a dissemination in the second place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
import pytest
from attrs import frozen

from camcast import CommunityManager
from camcast.doors.contained import plug_of
from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.options import OptionError
from camcast.doors.protocol import Group
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.observe.trace import ListSink
from camcast.protocols.camcast import Camcast, CamcastProtocol, Gossip, make_spread
from camcast.protocols.tree import Tree
from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.testing.world import World
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId, Receipt
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FLAGS, FRAME_HEADER, REPAIRED
from tests.event_frames import batch_of, frame_of

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
INFECT, TREE = CommunitySettings(spread="infect"), CommunitySettings(spread="tree")
ALWAYS = Parameters(p_sel=1.0, a=3.0, z=3)  # every process sends every event upward


class Note(Message, tag=1, frozen=True):
    """To a neighbour that has sent a duplicate."""

    sequence: int


class Flood(Dissemination):
    """Sends an event to every neighbour but its source; keeps what it is told, with the time."""

    decoder = Decoder(Note)
    hears_duplicates = True

    def __init__(self, context: DisseminationContext) -> None:
        self.context = context
        self.neighbours: dict[PeerId, Contact] = {}
        self.told: list[tuple[Any, ...]] = []

    def start(self, now: float) -> None:
        self.told.append(("start", now))
        self.context.outlet.wake(1.0, "tick", 7)

    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        peers = [contact for peer, contact in self.neighbours.items() if peer != source]
        self.context.events.send(batch, peers, now)
        return Sent(len(peers))

    def duplicate(self, event_id: EventId, source: PeerId, now: float) -> None:
        self.told.append(("duplicate", event_id, source, now))
        if contact := self.neighbours.get(source):
            self.context.outlet.send([contact], Note(event_id.sequence))

    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:
        assert (contact.peer in self.neighbours) is not there
        if there:
            self.neighbours[contact.peer] = contact
        else:
            del self.neighbours[contact.peer]
        self.told.append(("learn" if there else "forget", contact.peer, now))

    def receive(self, source: Contact, message: Note, now: float) -> None:
        self.told.append(("note", source.peer, message.sequence, now))

    def wake(self, name: tuple[Any, ...], now: float) -> None:
        self.told.append(("wake", name, now))

    def heard(self, kind: str) -> list[tuple[Any, ...]]:
        return [tuple(rest) for one, *rest in self.told if one == kind]


@frozen
class Flooding(CamcastProtocol):
    """CAMCAST with another spread inside the community."""

    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        return (Group(interest, partial(Camcast, spread=Flood)),)


class Floods:
    """Processes of the flooding CAMCAST, which settle for ten seconds."""

    def __init__(self, *topics: Topic, sink: ListSink | None = None) -> None:
        self.net = World(sink=sink, parameters=ALWAYS)
        self.net.settings = attrs.evolve(self.net.settings, protocol=Flooding())
        self.nodes = [self.net.join(topic) for topic in topics]
        self.net.run(10.0)

    def publish(self, at: int, topic: Topic) -> Receipt:
        return self.net.do(self.nodes[at], lambda node, now: node.publish(topic, b"!", now))

    def table(self, at: int) -> set[PeerId]:
        [local_group] = self.nodes[at].local_groups
        return {contact.peer for contact in local_group.membership.peers()}


def flood_of(node: Node) -> Flood:
    [local_group] = node.local_groups
    flood = vars(plug_of(local_group.dissemination))["_spread"]
    assert isinstance(flood, Flood)
    return flood


def test_an_event_climbs_whatever_spreads_it_inside_a_community() -> None:
    floods = Floods(ROOT, ROOT, A, A, A, AB, AB, AB)
    receipt = floods.publish(5, AB)
    floods.net.run(1.0)
    got = Counter(node for node, _ in floods.net.delivered)
    assert got == Counter(floods.nodes)
    assert receipt.peers == len(floods.table(5))
    assert receipt.links == floods.nodes[5].counters.upward_sent > 0


def test_neighbours_that_come_and_go_are_told_as_they_are_traced() -> None:
    """What was told adds up to the table at any time; the trace has the same, at the same times."""
    sink = ListSink()
    floods = Floods(*[A] * 8, sink=sink)
    watched = floods.nodes[0]
    floods.net.do(floods.nodes[1], lambda node, now: node.leave(A, now))
    floods.net.kill(floods.nodes[2])
    assert set(flood_of(watched).neighbours) == floods.table(0)
    floods.net.run(30.0)
    floods.net.join(A)
    floods.net.run(5.0)
    assert set(flood_of(watched).neighbours) == floods.table(0)
    told = [one for one in flood_of(watched).told if one[0] in ("learn", "forget")]
    assert {one[0] for one in told} == {"learn", "forget"}
    assert told == [
        (record.kind, bytes.fromhex(record.peer), record.when)
        for record in sink.records
        if record.node == watched.me.peer.hex() and record.kind in ("learn", "forget")
    ]


def test_every_duplicate_is_told_with_who_sent_it() -> None:
    floods = Floods(*[A] * 5)
    receipt = floods.publish(0, A)
    floods.net.run(1.0)
    for node in floods.nodes:
        duplicates = flood_of(node).heard("duplicate")
        assert len(duplicates) == node.counters.duplicates
        assert {event_id for event_id, *_ in duplicates} <= {receipt.id}
    answered = [
        source
        for node in floods.nodes
        for _, source, _ in flood_of(node).heard("duplicate")
        if source in flood_of(node).neighbours
    ]
    noted = {node.me.peer: len(flood_of(node).heard("note")) for node in floods.nodes}
    assert Counter(answered) == Counter(noted)
    assert answered


def test_of_a_duplicate_only_the_head_is_read() -> None:
    """Who tells of it by mistake, or by malice, has sent it all the same."""
    floods = Floods(A)
    [node] = floods.nodes
    batch = batch_of(PeerId(b"p" * 16), 1, A)
    first = frame_of(batch, A.group, PeerId(b"s" * 16))
    again = bytearray(frame_of(batch, A.group, PeerId(b"t" * 16)))
    again[len(FRAME_HEADER) + 5] = 0x80  # a reserved flag
    for frame in (first, bytes(again)):
        floods.net.inject(node.me.address, frame)
    now = floods.net.now
    assert flood_of(node).heard("duplicate") == [(batch.id, PeerId(b"t" * 16), now)]
    assert (node.counters.malformed, node.counters.duplicates) == (0, 1)


def test_a_second_copy_that_was_asked_for_is_not_told() -> None:
    """It came by this process's own wish, and says nothing of who sends what to whom."""
    floods = Floods(A)
    [node] = floods.nodes
    batch = batch_of(PeerId(b"p" * 16), 1, A)
    again = bytearray(frame_of(batch, A.group, PeerId(b"t" * 16)))
    again[len(FRAME_HEADER) + FLAGS] = REPAIRED
    for frame in (frame_of(batch, A.group, PeerId(b"s" * 16)), bytes(again)):
        floods.net.inject(node.me.address, frame)
    assert flood_of(node).heard("duplicate") == []
    assert node.counters.duplicates == 1


def test_timers_and_the_start_reach_the_spread() -> None:
    [node] = Floods(A).nodes
    [[began]], [[name, woken]] = flood_of(node).heard("start"), flood_of(node).heard("wake")
    assert name == ("tick", 7)
    assert woken == began + 1.0


# -- the spread inside a community is a parameter, and a tree needs repair -----------------------


def local_group(parameters: Parameters, protocol: str, *, repair: bool) -> LocalGroup:
    world = World(parameters=parameters, protocol=protocol, topics=(A,), repair=repair)
    made = world.join(A).local_group(A)
    assert made is not None
    return made


@pytest.mark.parametrize("protocol", ["camcast", "multicast"])
def test_a_tree_is_chosen_and_needs_repair(protocol: str) -> None:
    for parameters, repair, kind in (
        (INFECT, True, Gossip),
        (Parameters(), True, Tree),  # auto, the default
        (Parameters(), False, Gossip),
        (TREE, True, Tree),
        (TREE, False, Gossip),
        (CommunitySettings(spread="tree", retention_seconds=0), True, Gossip),
    ):
        made = local_group(parameters, protocol, repair=repair)
        assert isinstance(make_spread(made.context), kind)
        assert made.dissemination.flags_busy is (kind is Tree)


def test_a_tree_without_repair_is_refused_where_a_user_asks_for_it() -> None:
    with pytest.raises(OptionError, match="goes with repair"):
        CommunityManager(parameters=TREE, repair=False)
    scenario = VirtualScenario(communities={A: 3}, workload=Workload(topic=A), repair=True)
    repaired = attrs.evolve(scenario, parameters=TREE)
    with pytest.raises(ScenarioError, match="goes with repair"):
        attrs.evolve(repaired, repair=False)
