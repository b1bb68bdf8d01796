"""Explicit peers: whoever listens at a listed address is held, whatever others tell, for ever."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from attrs import evolve

from camcast.doors.contained import plug_of
from camcast.engine.link_messages import Pong
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import record
from tests.library.hostile.eclipse import PUSHES
from tests.library.laws.overlay_graphs import membership_in

SHOP = Topic.parse(".a")
MEMBERSHIPS = ("scamp", "cyclon", "hyparview", "dht")
SMALL: dict[str, dict[str, object]] = {
    "scamp": {"c": 0, "lease_seconds": 10.0},
    "cyclon": {"view": 4, "shuffle": 3, "drawn_share": 0.0},
    "hyparview": {"active": 3, "passive": 6, "drawn_share": 0.0},
    "dht": {"c": -1.0},
}
"""Tables that have few members, and change often."""
MEMBERS = 24


def community(membership: str) -> tuple[World, Node, Node]:
    """Return a community, one of its members, and another one that lists this one as a peer."""
    world = World(3, membership=membership, options=SMALL[membership])
    listed = world.join(SHOP)
    for _ in range(MEMBERS):
        world.join(SHOP)
    settings = evolve(world.settings, peers=(listed.me.address,))
    lists = world.start(settings)
    world.do(lists, lambda node, now: node.join(SHOP, now))
    world.run(10.0)
    return world, listed, lists


def seconds_held(world: World, lists: Node, address: str, seconds: int) -> Iterator[bool]:
    for _ in range(seconds):
        world.run(1.0)
        yield address in [contact.address for contact in membership_in(lists).peers()]


def pressed(world: World, membership: str, victim: Node, rng: Random) -> None:
    """Let three other members ask for the places in the victim's table."""
    for node in rng.sample([one for one in world.nodes if one is not victim], 3):
        message = PUSHES[membership](rng)

        def push(node: Node, _now: float, message: Message = message) -> None:
            plug_of(membership_in(node))._outlet.send([victim.me], message)

        world.do(node, push)


@pytest.mark.slow  # 12 s
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_a_listed_member_is_held_though_others_press_for_its_place(membership: str) -> None:
    """Another process of which they want places loses each of its peers within that time."""
    world, listed, lists = community(membership)
    other = next(node for node in world.nodes if node not in (listed, lists))
    rng, ever = Random(1), {contact.address for contact in membership_in(other).peers()}
    for _ in range(120):
        pressed(world, membership, lists, rng)
        pressed(world, membership, other, rng)
        assert all(seconds_held(world, lists, listed.me.address, 1))
        ever &= {contact.address for contact in membership_in(other).peers()}
    assert not ever


@pytest.mark.slow
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_a_listed_process_that_was_lost_is_held_again(membership: str) -> None:
    """It is back at its address a minute later, as another process."""
    world, listed, lists = community(membership)
    world.kill(listed)
    world.run(60.0)
    assert listed.me.address not in [c.address for c in membership_in(lists).peers()]
    back = world.restart(listed)
    world.do(back, lambda node, now: node.join(SHOP, now))
    world.run(12.0)
    assert all(seconds_held(world, lists, listed.me.address, 60))


@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_communities_meet_at_a_listed_member_that_no_discovery_names(membership: str) -> None:
    """Each was founded without a gateway: events arrive on both sides."""
    world = World(5)
    one, alike = (world.add(backend=membership) for _ in range(2))
    world.do(one, lambda node, now: node.join(SHOP, now))
    world.run(2.0)
    lists = world.start(evolve(alike._settings, peers=(one.me.address,)))
    world.do(lists, lambda node, now: node.join(SHOP, now))
    world.run(2.0)
    for publisher in (one, lists):
        world.publish(publisher, SHOP, publisher.me.peer)
    assert {(receiver, got.event.payload) for receiver, got in world.delivered} == {
        (receiver, publisher.me.peer) for receiver in (one, lists) for publisher in (one, lists)
    }


def test_whoever_claims_a_listed_address_is_asked_there() -> None:
    """An answer in another's name, or from elsewhere, puts nobody into a table."""
    world = World(7)
    listed, liar = world.join(SHOP), world.join(Topic.parse(".b"))
    world.kill(listed)
    lists = world.start(evolve(world.settings, peers=(listed.me.address,)))
    world.do(lists, lambda node, now: node.join(SHOP, now))
    for address in (listed.me.address, liar.me.address):
        pong = record(Kind.LINKS, Pong(SHOP.name), liar.me.peer, address, SHOP.group)
        world.inject(lists.me.address, FRAME_HEADER + pong)
    world.run(20.0)
    assert not len(membership_in(lists).peers())
