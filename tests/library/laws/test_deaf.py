"""A process that no frame reaches is deaf, in every membership, and nobody else is.

Its own frames arrive, and so do datagrams in both directions, as behind a firewall that passes the
answers of UDP: to the others it is a member, and with a DHT it goes on to find peers.
"""

from __future__ import annotations

import pytest
from typing_extensions import override

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.identity import PeerId
from tests.library.laws.communities import TOPIC
from tests.library.laws.overlay_graphs import membership_in

MEMBERSHIPS = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
SILENCES = 3  # what is promised (docs/operating.md)
SILENCE = 3.0  # the shortest of the memberships, with their defaults
KNOWN_SECONDS = SILENCES * SILENCE + 2.0  # a period to see the first, one to see the last
SIZE = 4


class Firewall(VirtualNetwork):
    """Frames to the addresses behind it are lost, whoever sends them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.behind: set[str] = set()

    @override
    def _arrive(self, address: str, frame: bytes, lives: int, link: PeerId | None) -> None:
        if address not in self.behind:
            super()._arrive(address, frame, lives, link)


def standing_as_member(node: Node) -> bool:
    """Whether a node has joined, and has peers."""
    membership = membership_in(node)
    return membership.joined and bool(membership.peers())


def gathered(membership: str, network: VirtualNetwork, size: int) -> tuple[World, list[Node]]:
    """Return a world with a first contact, and members who know the first contact alone."""
    world = World(virtual=network)
    first = world.add(backend=membership)
    members = [world.add((first.me.address,), backend=membership) for _ in range(size)]
    for one in members:
        world.do(one, lambda node, now: node.join(TOPIC, now))
        world.run(0.3)
    return world, members


def never_a_member_in_silence(world: World, node: Node, seconds: int) -> int:
    """Let time pass; return for how many seconds the node stood as a member and not deaf."""
    silently = 0
    for _ in range(seconds):
        world.run(1.0)
        silently += standing_as_member(node) and not node.liveness.deaf
    return silently


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_who_is_cut_off_is_deaf_until_a_frame_comes(membership: str) -> None:
    """Not before three silences are over, and then whatever the membership does about its peers.

    Cyclon tries a peer a period, and has given up all four by then: the process is alone.
    """
    network = Firewall(1)
    world, members = gathered(membership, network, SIZE)
    world.run(20.0)
    cut, *well = members
    assert not any(one.liveness.deaf for one in members)
    cut.outbox.happenings = []
    network.behind.add(cut.me.address)
    world.run(SILENCES * SILENCE - 2.0)
    assert not cut.liveness.deaf
    world.run(4.0)
    assert cut.liveness.deaf is (membership != "cyclon")
    assert never_a_member_in_silence(world, cut, 40) == 0
    assert not any(one.liveness.deaf for one in well)
    told = [one.kind for one in cut.outbox.happenings if one.kind in ("deafened", "hears")]
    assert told == ["deafened"] * (membership != "cyclon")
    network.behind.clear()
    assert world.run(120.0, until=lambda: not cut.liveness.deaf)


@pytest.mark.parametrize("membership", ["scamp", "dht"])
def test_who_was_never_reached_is_no_member_in_silence(membership: str) -> None:
    """Through a gateway it cannot join; with a DHT it can, and would not know better."""
    network = Firewall(1)
    world, _ = gathered(membership, network, SIZE)
    world.run(10.0)
    gateway = world.nodes[0].me.address
    node = world.add((gateway,), backend=membership)
    network.behind.add(node.me.address)
    world.do(node, lambda node, now: node.join(TOPIC, now))
    assert never_a_member_in_silence(world, node, 40) <= KNOWN_SECONDS
    if membership == "dht":
        assert node.liveness.deaf


@pytest.mark.parametrize("membership", ["scamp", "dht"])
def test_the_last_of_a_community_is_deaf_no_longer_than_it_has_peers(membership: str) -> None:
    """It cannot know at first that all others died; then it is alone, and a newcomer is heard."""
    world, members = gathered(membership, VirtualNetwork(1), 3)
    world.run(20.0)
    last = members[0]
    for one in members[1:]:
        world.kill(one)
    assert world.run(240.0, until=lambda: last.liveness.watched() == 0)
    newcomer = world.add((world.nodes[0].me.address,), backend=membership)
    world.do(newcomer, lambda node, now: node.join(TOPIC, now))
    for _ in range(100):
        world.run(0.1)
        assert not (standing_as_member(last) and last.liveness.deaf)
    assert standing_as_member(last)
