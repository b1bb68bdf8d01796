"""A long event, of more than a record has room for, crosses the wire once for each process.

What is counted is the bytes of pieces that processes send in the virtual network, in bodies.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final, Literal

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.pieces import PIECE_BYTES
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.testing.memory_archive import MemoryArchive
from camcast.testing.world import World
from camcast.virtual.network import Process
from camcast.vocabulary.batches import Keyed
from camcast.vocabulary.events import EventId, Receipt
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import PayloadTooLargeError

Spread = Literal["infect", "tree", "auto"]
A, AX = Topic.parse(".a"), Topic.parse(".a.x")
NODES = 20
MIB = 1 << 20
SPREADS: Final[tuple[Spread, ...]] = ("infect", "tree", "auto")


class PiecesWorld(World):
    """A world that counts the bytes of pieces by receiver, and keeps no payloads."""

    def __init__(self, spread: Spread = "auto", loss: float = 0.0, seed: int = 1) -> None:
        parameters = CommunitySettings(spread=spread, event_bytes_max=16 * MIB)
        super().__init__(seed, loss=loss, parameters=parameters, topics=(ROOT, A, AX), repair=True)
        self.pieces: Counter[str] = Counter()
        self.got: Counter[tuple[Node, EventId, int]] = Counter()
        self.missed: list[tuple[Node, Tell]] = []
        self.virtual.on_send = self._on_send
        self.virtual.on_delivery = self._note_delivery
        self.virtual.on_missed = self._on_missed

    def _on_send(self, _source: str, target: str, records: bytes) -> None:
        if len(records) >= PIECE_BYTES:
            self.pieces[target] += len(records)

    def _note_delivery(self, process: Process, delivery: Deliver) -> None:
        for event in delivery.batch.events():
            self.got[process.node, event.id, len(event.payload)] += 1

    def _on_missed(self, process: Process, tell: Tell) -> None:
        self.missed.append((process.node, tell))

    def fill(self, topic: Topic, nodes: int) -> list[Node]:
        joined = [self.join(topic, gap=0.05) for _ in range(nodes)]
        self.run(10.0)
        return joined

    def publish_long(self, node: Node, size: int, topic: Topic = A) -> Receipt:
        return self.do(node, partial(_publish, size, topic))

    def add_member(self, parameters: CommunitySettings | None = None) -> Node:
        """Start a node with parameters, and a store, of its own."""
        node = self.start(self.settings, parts=Parts(store=Store()))
        self.do(node, lambda node, now: node.join(A, now, parameters))
        self.run(1.0)
        return node

    def lacking(self, nodes: list[Node], sizes: dict[EventId, int]) -> list[str]:
        """Return the nodes that lack one of these events, or have got one more than once."""
        return [
            node.me.address
            for node in nodes
            for event, size in sizes.items()
            if self.got[node, event, size] != 1
        ]


def _publish(size: int, topic: Topic, node: Node, now: float) -> Receipt:
    receipt = node.publish(topic, bytes(size), now)
    node.flush(now)
    return receipt


@pytest.mark.slow  # 1 to 5 s each
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("size", [4 * MIB, 16 * MIB])
def test_each_process_gets_one_body(spread: Spread, size: int) -> None:
    """Of a lone event, and of several in an instant, which are more than one may have under way."""
    world = PiecesWorld(spread)
    nodes = world.fill(A, NODES)
    for together in (1, 2 if size > 4 * MIB else 4):
        world.pieces.clear()
        sizes = {world.publish_long(nodes[4], size).id: size for _ in range(together)}
        world.run(30.0)
        assert not world.lacking(nodes, sizes)
        assert world.pieces.total() <= 1.25 * (NODES - 1) * size * together
    assert not world.missed


@pytest.mark.slow  # 5 s
def test_with_loss_and_deaths_nothing_is_missed() -> None:
    """A tenth of all records is lost; of those that have the event first, some die serving it."""
    world = PiecesWorld(loss=0.1)
    nodes = world.fill(A, NODES)
    sizes: dict[EventId, int] = {}
    for dead in range(3):
        sizes[event := world.publish_long(nodes[19], 4 * MIB).id] = 4 * MIB
        first = partial(_has_one_of, world, nodes[dead:19], event)
        assert world.run(60.0, until=first)
        holder = next(node for node in nodes[dead:19] if world.got[node, event, 4 * MIB])
        world.kill(holder)
        nodes.remove(holder)
        nodes.insert(0, holder)
    world.run(60.0)
    assert not world.lacking(nodes[3:], sizes)
    assert not world.missed


def _has_one_of(world: PiecesWorld, nodes: list[Node], event: EventId) -> bool:
    return any(world.got[node, event, 4 * MIB] for node in nodes)


@pytest.mark.slow  # 1 s
def test_who_was_cut_off_gets_it_by_repair() -> None:
    """Nobody offers it again; the answer to its question is the first piece."""
    world = PiecesWorld()
    nodes = world.fill(A, 5)
    away = nodes[2].me.address
    world.cut(lambda source, target: away not in (source, target))
    sizes = {world.publish_long(nodes[4], 4 * MIB).id: 4 * MIB}
    world.run(5.0)
    world.pieces.clear()
    world.heal()
    world.run(20.0)
    assert not world.lacking(nodes, sizes)
    assert not world.missed
    assert world.pieces.total() <= 1.1 * 4 * MIB


@pytest.mark.slow  # 1 s
def test_a_newcomer_gets_it_as_history_also_of_an_archive() -> None:
    world = PiecesWorld()
    archives = [MemoryArchive(lambda: world.now) for _ in range(2)]
    nodes = [world.start(world.settings, parts=Parts(Store(), archive=one)) for one in archives]
    for node in nodes:
        world.do(node, lambda node, now: node.join(A, now))
        world.run(1.0)
    world.run(5.0)
    event = world.publish_long(nodes[0], 4 * MIB).id
    world.run(700.0)  # longer than it is kept in memory
    newcomer = world.add_member()
    local_group = newcomer.local_group(A)
    assert local_group is not None
    world.do(newcomer, lambda node, now: node.history(local_group, 1000.0, now))
    world.run(20.0)
    assert world.got[newcomer, event, 4 * MIB] == 1


@pytest.mark.slow  # 1 s
@pytest.mark.parametrize("spread", SPREADS)
def test_upward_each_process_asks_once(spread: Spread) -> None:
    world = PiecesWorld(spread)
    above, below = world.fill(A, 5), world.fill(AX, 5)
    world.run(10.0)
    world.pieces.clear()
    sizes = {world.publish_long(below[4], 4 * MIB, AX).id: 4 * MIB for _ in range(2)}
    world.run(20.0)
    assert not world.lacking([*above, *below], sizes)
    assert world.pieces.total() <= 1.25 * (5 + 5 - 1) * 4 * MIB * len(sizes)


@pytest.mark.slow  # 1 s
def test_a_member_that_takes_less_tells_the_publisher_and_its_subscribers() -> None:
    """Wherever in the community it is; the others get the event."""
    world = PiecesWorld()
    nodes = [world.add_member() for _ in range(6)]
    small = world.add_member(CommunitySettings(retention_seconds=20.0))
    world.run(10.0)
    receipt = world.publish_long(nodes[0], 4 * MIB)
    assert receipt.refusing == 0
    world.run(2.0)
    world.pieces.clear()
    sizes = {receipt.id: 4 * MIB}
    assert not world.lacking(nodes, sizes)
    assert world.publish_long(nodes[0], 2 * MIB).refusing == 1
    assert world.publish_long(nodes[0], MIB).refusing == 0
    world.run(200.0)  # others let go of it, and it is given up, in silence
    assert not world.pieces[small.me.address] > MIB + MIB // 4
    assert {node for node, _ in world.missed} == {small}
    assert all(small is not node or size == MIB for node, _, size in world.got)
    told = [tell.missed for _, tell in world.missed]
    assert [(one.first, one.last) for one in told] == [(1, 1), (2, 2)]
    assert small.counters.promises_broken == 0
    assert all(node.counters.promises_broken == 0 for node in nodes)


def test_what_is_above_the_own_limit_or_has_a_key_is_refused_at_the_call() -> None:
    world = PiecesWorld()
    node = world.add_member()
    with pytest.raises(PayloadTooLargeError, match="limit of 16,777,216"):
        world.publish_long(node, 16 * MIB + 1)
    with pytest.raises(PayloadTooLargeError, match="limit of 1,048,576"):
        world.do(node, lambda node, now: node.publish(A, bytes(2 * MIB), now, keyed=Keyed(b"k")))
