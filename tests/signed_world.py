"""A virtual network of processes that sign their events, by certificates of one root."""

from __future__ import annotations

from functools import partial

from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.security_messages import Certificates
from camcast.security.certificates import Rights
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.testing.world import World
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.penalties import Penalties
from camcast.vocabulary.topics import GroupId, Topic
from tests.authority import EVE, MEMBER, ROOT, grant

ITALY, SOCCER = Topic.parse(".soccer.italy"), Topic.parse(".soccer")
NO_GROUP = GroupId(bytes(8))
STRANGER = PeerId(b"S" * 16)


def certificate(
    of: SecretKey, topic: str = ".soccer", rights: Rights = MEMBER, serial: int = 1
) -> bytes:
    return grant(ROOT, of, topic, rights, 0, 2**32 - 1, serial)


def key(number: int) -> SecretKey:
    return SecretKey(number.to_bytes(32))


def with_own(secret: SecretKey, *certificates: bytes) -> EventSignatures:
    """Return what a process signs by; it believes the root, and Eve what she issued herself."""
    roots = [ROOT.public, EVE.public] if secret is EVE else [ROOT.public]
    signatures = EventSignatures(secret, roots)
    signatures.renew([[each] for each in certificates], now=1.0)
    return signatures


def signed_event(
    by: SecretKey, stream: StreamId, first: int, payload: bytes, own: bytes, topic: Topic = SOCCER
) -> Batch:
    """Return what the owner of `by` signs with the certificate `own`, in whatever stream."""
    batch = make_batch(stream, first, [payload], topic, published=5_000)
    return with_own(by, own).sign(batch)


def control(message: Message) -> bytes:
    head = wire.control_head(wire.Kind.SECURITY, NO_GROUP, STRANGER, "tcp://127.0.0.9:9")
    return wire.encode_control(head, encode(message))


def frame(batch: Batch, *chain: bytes, group: Topic = SOCCER, sender: PeerId = STRANGER) -> bytes:
    """Return what a stranger sends: a batch and before it, if there is one, its chain."""
    before = control(Certificates(chain)) if chain else b""
    head = wire.event_head(len(batch.body), 1, 0.0, group.group, sender)
    return wire.FRAME_HEADER + before + head + batch.body


def join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


class SignedWorld(World):
    """A world in which every process has a certificate for a topic and all below it."""

    def member(self, secret: SecretKey, *topics: Topic, own: bytes | None = None) -> Node:
        signatures = with_own(secret, own or certificate(secret))
        parts = evolve(self.parts, signatures=signatures, penalties=Penalties())
        node = self.start(self.settings, peer=signatures.peer_id, parts=parts)
        for topic in topics:
            self.do(node, partial(join, topic))
        self.run(0.1)
        return node

    def got(self, payload: bytes) -> list[Node]:
        return [node for node, delivery in self.delivered if delivery.event.payload == payload]
