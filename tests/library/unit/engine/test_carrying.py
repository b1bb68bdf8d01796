"""What a process carries for others: what is below its own communities, and no more than bounds."""

from __future__ import annotations

from functools import partial

import pytest

from camcast.engine.carrying import CARRIED_ASKER_MAX, CARRIED_MAX, LEASE_SECONDS, RENEW_SECONDS
from camcast.engine.link_messages import Carry
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.messages import encode
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, control_head, encode_control

ABOVE = Topic.parse(".a")
DIALABLE = Contact(PeerId(b"d" * 16), "tcp://10.0.0.99:7000")


def hidden(number: int) -> Contact:
    return placeholder(PeerId(number.to_bytes(16, "big")))


def received(frame: bytes, node: Node, now: float) -> None:
    node.receive(frame, now)


def joined(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def asked(world: World, node: Node, asker: Contact, *topics: str) -> list[str]:
    """Return the topics below `ABOVE` that a node is in after somebody has asked it to carry."""
    for name in topics:
        topic = Topic.parse(name)
        head = control_head(Kind.LINKS, topic.group, asker.peer, asker.address)
        frame = FRAME_HEADER + encode_control(head, encode(Carry(name)))
        world.do(node, partial(received, frame))
    return [one.topic.name for one in node.local_groups if one.topic != ABOVE]


def test_what_is_carried_is_below_an_own_community_and_asked_by_who_cannot_be_dialled() -> None:
    world = World()
    node = world.join(ABOVE)
    assert asked(world, node, DIALABLE, ".a.b") == []
    assert asked(world, node, hidden(1), ".b", ".", ".a") == []
    assert asked(world, node, hidden(1), ".a.b.c", ".a.b.c.d") == [".a.b.c", ".a.b.c.d"]
    assert asked(world, world.join(ABOVE, dialable=False), hidden(1), ".a.b") == []


def test_what_is_below_a_carried_community_alone_is_not_carried() -> None:
    world = World()
    node = world.join(ABOVE)
    asked(world, node, hidden(1), ".a.b")
    world.leave(node, ABOVE)
    assert asked(world, node, hidden(1), ".a.b.c") == []


def test_nobody_makes_a_process_carry_more_than_its_bounds_allow() -> None:
    world = World()
    node = world.join(ABOVE)
    many = [f".a.t{number}" for number in range(2 * CARRIED_MAX)]
    assert asked(world, node, hidden(0), *many) == many[:CARRIED_ASKER_MAX]
    for asker in range(1, len(many)):
        carried = asked(world, node, hidden(asker), many[asker])
    assert len(carried) == CARRIED_MAX


def test_what_nobody_asks_to_carry_any_more_is_left() -> None:
    world = World()
    node = world.join(ABOVE)
    assert asked(world, node, hidden(1), ".a.b") == [".a.b"]
    world.run(LEASE_SECONDS - 1.0)
    assert asked(world, node, hidden(1), ".a.b") == [".a.b"]
    world.run(LEASE_SECONDS - 1.0)
    assert asked(world, node, hidden(1)) == [".a.b"]
    world.run(1.0 + RENEW_SECONDS)
    assert asked(world, node, hidden(1)) == []


def test_nothing_is_carried_that_this_process_may_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    node = world.join(ABOVE)
    monkeypatch.setattr(node.guard, "may_join", lambda *_: False)
    assert asked(world, node, hidden(1), ".a.b") == []


def test_whom_it_has_asked_is_forgotten_with_the_community() -> None:
    world = World()
    world.join(ABOVE)
    node = world.join(ABOVE, dialable=False)
    for number in range(3):
        topic = Topic.parse(f".a.t{number}")
        world.do(node, partial(joined, topic))
        world.run(5.0)
        assert node._carrying._asked
        world.leave(node, topic)
    world.leave(node, ABOVE)
    assert not node._carrying._asked
    assert not node._carrying._in_vain
