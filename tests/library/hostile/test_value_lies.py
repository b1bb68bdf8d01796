"""A member that lies about last values, or publishes without end, keeps them from nobody."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.last_values import LastValues
from camcast.engine.repair.messages import Buckets
from camcast.engine.security_messages import Certificates
from camcast.security.certificates import Rights
from camcast.vocabulary.batches import Keyed, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, event_head
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.library.unit.engine.repair.test_comparing import put
from tests.signed_world import SOCCER, certificate, join, key, with_own


@pytest.mark.parametrize("liars", [1, 3])
def test_buckets_that_always_differ_keep_a_newcomer_from_no_last_value(liars: int) -> None:
    """One neighbour a second is asked for a topic: a liar that announces other buckets each tenth
    of a second was always that one, and a newcomer waited for 28 s for what it now has within 2,
    and with three liars within 5."""
    world = AdmittedWorld()
    nodes = [world.member(key(20 + number), SOCCER) for number in range(5)]
    world.run(10.0)
    for number in range(30):
        put(world, nodes[0], b"%d" % number, b"v", SOCCER)
    world.run(150.0)  # after the retention repair has none of them
    newcomer = world.member(key(50))
    world.do(newcomer, partial(join, SOCCER))
    rng = Random(1)
    for _ in range(20 + 15 * liars):
        for number in range(liars):
            secret = key(900 + number)
            own, sender = certificate(secret, rights=Rights.JOIN), secret.public.peer_id
            buckets = Buckets(b"nonce", "", 0, ((SOCCER.name, rng.randbytes(2048)),))
            frame = record(Kind.SECURITY, introduction(secret, THERE, own), sender)
            frame += record(Kind.REPAIR, buckets, sender, group=SOCCER.group)
            world.virtual.inject(newcomer.me.address, FRAME_HEADER + frame, sender)
        world.run(0.1)
    assert kept(newcomer).keys == 30


def test_values_of_a_publisher_below_drive_out_its_own() -> None:
    """Certified for .soccer.x alone, it drove the values of .soccer out of every member: the oldest
    went first, whoever had published them."""
    world = AdmittedWorld()
    nodes = [world.member(key(20 + number), SOCCER) for number in range(4)]
    world.run(10.0)
    for number in range(30):
        put(world, nodes[0], b"%d" % number, b"v", SOCCER)
    world.run(2.0)
    secret, topic = key(900), Topic.parse(".soccer.x")
    own, sender = (
        certificate(secret, topic.name, Rights.JOIN | Rights.PUBLISH),
        secret.public.peer_id,
    )
    for node in nodes:
        kept(node).bytes_max = 1 << 17
    for number in range(1, 200):
        published, stream = round(1000 * world.now), stream_id(sender, 1)
        keyed = Keyed(b"%d" % number, False)
        batch = make_batch(stream, number, [bytes(1000)], topic, published=published, keyed=keyed)
        batch = with_own(secret, own).sign(batch)
        frame = record(Kind.SECURITY, introduction(secret, THERE, own), sender)
        frame += record(Kind.SECURITY, Certificates((own,)), sender)
        frame += event_head(len(batch.body), 1, 0.0, SOCCER.group, sender) + batch.body
        for node in nodes:
            world.virtual.inject(node.me.address, FRAME_HEADER + frame, sender)
        world.run(0.05)
    for node in nodes:
        assert len(kept(node).topics[SOCCER]) == 30
        assert kept(node).let_go > 50
        assert kept(node).bytes <= kept(node).bytes_max


def kept(node: Node) -> LastValues:
    local_group = node.local_group(SOCCER)
    assert local_group is not None
    assert local_group.last_values is not None
    return local_group.last_values
