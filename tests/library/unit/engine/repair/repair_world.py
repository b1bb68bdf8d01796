"""A world whose nodes repair; tests/library/laws has faults at random, and who gets what."""

from __future__ import annotations

from collections.abc import Iterator

from camcast.engine.node import Node
from camcast.engine.repair.messages import DECODER, Want
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.testing.world import World
from camcast.virtual.network import Process
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.outbox import Tell
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind

A, AX = Topic.parse(".a"), Topic.parse(".a.x")
STRANGER = Contact(PeerId(b"stranger-strange"), "tcp://10.9.9.9:7000")
RETENTION = 120.0


class RepairWorld(World):
    """A world whose nodes repair; it keeps every repair message, and what was told as missed."""

    def __init__(self, *, seed: int = 1, membership: str = "scamp") -> None:
        super().__init__(seed=seed, membership=membership, topics=(ROOT, A))
        self.parts = Parts(store=Store())
        self.said: list[tuple[str, str, Message]] = []
        self.bodies: list[tuple[str, str, int, int]] = []
        self.told: list[tuple[Node, Missed]] = []
        self.virtual.on_send = self._on_send
        self.virtual.on_missed = self._on_missed

    def _on_missed(self, process: Process, tell: Tell) -> None:
        self.told.append((process.node, tell.missed))

    def _on_send(self, source: str, target: str, records: bytes) -> None:
        start = 0
        while start < len(records):
            end = start + 4 + int.from_bytes(records[start : start + 4])
            if records[start + 4] == Kind.EVENT:
                _, address, _, _, _, first, count = wire.EVENT_START.unpack_from(records, start)
                if not address:
                    self.bodies.append((source, target, first, count))
            else:
                kind, *_, body = wire.decode_control(records, start, end)
                if kind is Kind.REPAIR:
                    self.said.append((source, target, DECODER.decode(body)))
            start = end

    def sever(self, *pairs: tuple[Node, Node]) -> None:
        """Let nothing pass between these nodes, in both directions."""
        severed = [{one.me.address, other.me.address} for one, other in pairs]
        self.cut(lambda source, target: {source, target} not in severed)

    def payloads(self, node: Node) -> list[bytes]:
        return [one.event.payload for to, one in self.delivered if to is node]

    def hand(self, node: Node, batch: Batch, age: float = 0.0) -> None:
        """Let a stranger send a batch to a node, in `.a`."""
        head = wire.event_head(len(batch.body), 1, age, A.group, STRANGER.peer)
        self.inject(node.me.address, FRAME_HEADER + head + batch.body)

    def ask(
        self, node: Node, message: Message, group: Topic = A, by: Contact = STRANGER
    ) -> list[Message]:
        """Let a stranger say something to a node; return what repair says to the stranger."""
        head = wire.control_head(Kind.REPAIR, group.group, by.peer, by.address)
        frame = FRAME_HEADER + wire.encode_control(head, encode(message))
        self.said.clear()
        self.bodies.clear()
        self.virtual.inject(node.me.address, frame)
        self.run(0.05)
        return [said for _, target, said in self.said if target == by.address]


def members(world: RepairWorld, *topics: Topic) -> Iterator[Node]:
    for topic in topics:
        yield world.join(topic)
    world.run(10.0)


def want(nonce: bytes, stream: StreamId, *bounds: int, into: str = "") -> Want:
    return Want(nonce, 1000.0, into, ((stream, bounds),))
