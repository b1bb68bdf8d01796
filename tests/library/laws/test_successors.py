"""A service that restarts: the successor of members that were killed joins before `join` gives up.

Nobody knows at first who is dead: the lease at a gateway, the nodes of the DHT and the records of
multicast DNS name a killed process for longer than its successor waits.
"""

from __future__ import annotations

from typing import Final

import pytest

from camcast.app.community import JOIN_SECONDS
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic

A: Final = Topic.parse(".a")
MEMBERSHIPS: Final = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
JOINED: Final = 12.0  # seconds after which a member is known to all that know members


def join(world: World, gateway: Node, membership: str) -> LocalGroup:
    """Start a process that knows the gateway and joins."""
    node = world.add((gateway.me.address,), backend=membership)
    return world.do(node, lambda node, now: node.join(A, now))


def kill(world: World, *members: Node) -> None:
    for member in members:
        world.kill(member)
    world.run(0.5)  # a supervisor's pause


def seconds_to_join(world: World, successor: LocalGroup) -> float:
    """Let the successor join; return how long it took, infinite if longer than `join` waits."""
    began = world.now
    joined = world.run(JOIN_SECONDS, lambda: successor.joined)
    return world.now - began if joined else float("inf")


def lone_members_successor(membership: str, seed: int) -> float:
    """Return how long the successor of a killed lone member takes to join, at a new address."""
    world = World(seed)
    gateway = world.add(backend=membership)
    lone = join(world, gateway, membership)
    world.run(JOINED + seed / 3)  # killed at any time of its lease
    assert lone.joined
    kill(world, world.nodes[-1])
    return seconds_to_join(world, join(world, gateway, membership))


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_the_successor_of_a_killed_lone_member_joins(membership: str) -> None:
    assert lone_members_successor(membership, seed=5) < JOIN_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_the_successor_of_a_killed_lone_member_joins_20_times_of_20(membership: str) -> None:
    took = [lone_members_successor(membership, seed) for seed in range(1, 21)]
    assert max(took) < JOIN_SECONDS, took


def test_a_successor_joins_where_more_were_killed_than_one_answer_names() -> None:
    """The gateway names five at a time: one that is found dead lets it check the others."""
    world = World(3)
    gateway = world.add(backend="cyclon")
    members = [join(world, gateway, "cyclon") for _ in range(30)]
    world.run(2.0)
    assert all(member.joined for member in members)
    kill(world, *world.nodes[1:])
    assert seconds_to_join(world, join(world, gateway, "cyclon")) < JOIN_SECONDS


def test_a_gateway_joins_itself_when_the_only_member_it_knows_was_killed() -> None:
    world = World(4)
    gateway = world.add()
    join(world, gateway, "scamp")
    world.run(JOINED)
    kill(world, world.nodes[-1])
    successor = world.do(gateway, lambda node, now: node.join(A, now))
    assert seconds_to_join(world, successor) < JOIN_SECONDS


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_with_a_discovery_that_goes_on_naming_the_dead_a_successor_joins_too(
    membership: str,
) -> None:
    """As multicast DNS or a directory of files does: the process leaves them out itself."""
    world = World(5, membership=membership)
    killed = world.join(A, gap=JOINED)
    world.kill(killed)
    world.census.enter(A, killed.me)
    (successor,) = world.join(A, gap=JOIN_SECONDS).local_groups
    assert successor.joined


def test_a_living_member_that_one_process_cannot_reach_is_named_on() -> None:
    """Its messages to one process are lost for a while; the gateway asks it, and names it again."""
    world = World(6)
    gateway = world.add()
    join(world, gateway, "scamp")
    world.run(JOINED)
    other = world.nodes[-1].me.address
    newcomer = world.add((gateway.me.address,))
    me = newcomer.me.address
    world.cut(lambda source, target: {source, target} != {me, other})
    joining = world.do(newcomer, lambda node, now: node.join(A, now))
    world.run(JOIN_SECONDS)
    assert not joining.joined  # it does not found a second community
    world.heal()
    peers = joining.membership.peers()
    assert world.run(JOIN_SECONDS, lambda: [one.address for one in peers] == [other])
    assert joining.joined
