"""A community between two others dies together with the gateway, and is founded again.

Those below link to the next ancestor that lives, of which their super-processes have named members,
and back to the nearer community once it has members again (000, 3.3).
"""

from __future__ import annotations

from functools import partial

import pytest

from camcast.engine.node import Node
from camcast.testing import World
from camcast.vocabulary.topics import ROOT, Topic

MIDDLE, LOW = Topic.parse(".a"), Topic.parse(".a.b")
MEMBERSHIPS = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
EVERY = (*((name, seed) for name in MEMBERSHIPS for seed in (2, 3, 4)),)
EVENTS = 30


class Levels:
    """Three levels of processes, which know a gateway of no community."""

    def __init__(self, membership: str, seed: int) -> None:
        self.world = World(seed, repair=True)
        self._membership = membership
        self.gateway = self.world.add(backend=membership)
        self.world.run(3.0)
        self._known = self.gateway.me.address
        self.root = self.join(ROOT, 5)
        self.middle = self.join(MIDDLE, 5)
        self.low = self.join(LOW, 6)
        self._published = 0

    def join(self, topic: Topic, count: int) -> list[Node]:
        """Let processes join, one after the other."""
        nodes = []
        for _ in range(count):
            node = self.world.add((self._known,), backend=self._membership)
            self.world.do(node, partial(_join, topic))
            self.world.run(1.0)
            nodes.append(node)
        return nodes

    def know(self, node: Node) -> None:
        """Configure later processes with this one for a gateway."""
        self._known = node.me.address

    def publish(self, publishers: list[Node]) -> list[bytes]:
        """Publish events of the lowest topic, one a second, each by the next of the publishers."""
        payloads = []
        for _ in range(EVENTS):
            self._published += 1
            payloads.append(b"%d" % self._published)
            self.world.publish(
                publishers[self._published % len(publishers)], LOW, payloads[-1], seconds=1.0
            )
        return payloads

    def lost(self, nodes: list[Node], payloads: list[bytes]) -> list[tuple[str, bytes]]:
        """Return which of these events have not been delivered to which of these processes."""
        delivered = {(node, one.event.payload) for node, one in self.world.delivered}
        return [(n.me.address, p) for n in nodes for p in payloads if (n, p) not in delivered]

    def linked(self, topic: Topic) -> bool:
        """Say whether all processes of the lowest level are linked to this topic."""
        return all(
            local_group.links[0].nearest()[0] == topic
            for node in self.low
            for local_group in node.local_groups
        )


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def joined(nodes: list[Node]) -> bool:
    """Say whether all of these are members of their community."""
    return all(local_group.joined for node in nodes for local_group in node.local_groups)


def nothing_is_lost(membership: str, seed: int) -> None:
    levels = Levels(membership, seed)
    world = levels.world
    world.run(60.0)
    assert levels.linked(MIDDLE)
    for node in (levels.gateway, *levels.middle):
        world.kill(node)
    payloads = levels.publish(levels.low)
    assert world.run(30.0, until=partial(levels.linked, ROOT))
    world.run(30.0)
    assert not levels.lost([*levels.root, *levels.low], payloads), (membership, seed)
    levels.know(levels.root[0])
    again = levels.join(MIDDLE, 3)
    assert world.run(30.0, until=partial(joined, again)), (membership, seed)
    assert world.run(90.0, until=partial(levels.linked, MIDDLE)), (membership, seed)
    payloads = levels.publish(levels.low)
    world.run(60.0)
    assert not levels.lost([*levels.root, *again, *levels.low], payloads), (membership, seed)


def test_the_next_ancestor_stands_in_for_a_community_that_died_with_the_gateway() -> None:
    nothing_is_lost("scamp", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("membership", "seed"), EVERY)
def test_the_next_ancestor_stands_in_upon_every_membership(membership: str, seed: int) -> None:
    nothing_is_lost(membership, seed)
