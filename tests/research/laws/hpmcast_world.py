"""hpmcast's real node in the virtual network, and what its views should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from random import Random

from camcast.engine.node import Node
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.coverage import accuracy_of, weakened
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.membership import HpmcastMembership
from camcast.research.systems.hpmcast.view import Line, elect
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic


class HpmcastWorld(World):
    """A world of hpmcast or pmcast, which remembers what its nodes want."""

    def __init__(
        self,
        seed: int,
        loss: float = 0.0,
        latency: float = 0.05,
        protocol: str = "hpmcast",
        **options: object,
    ) -> None:
        virtual = VirtualNetwork(seed, Climate(latency=Constant(latency), loss=loss))
        super().__init__(seed, virtual=virtual, protocol=protocol, protocol_options=options)
        self.topics: dict[PeerId, tuple[Topic, ...]] = {}
        self.wheres: dict[PeerId, str] = {}
        """What those want of attributes who do not want everything."""

    def begin(
        self, *topics: str, gap: float = 0.02, peer: PeerId | None = None, where: str = ""
    ) -> Node:
        wanted = tuple(map(Topic.parse, topics))
        node = self.join(*wanted, where=where, peer=peer, gap=gap)
        self.topics[node.me.peer] = wanted
        self.wheres[node.me.peer] = where
        return node

    def grow(self, sizes: Mapping[str, int], gap: float = 0.02) -> list[Node]:
        return [self.begin(topic, gap=gap) for topic, size in sizes.items() for _ in range(size)]

    def regular(self, arity: int, depth: int, topic: str, rng: Random) -> list[Node]:
        """Let `arity` processes join each group of level 1 (Equation 15)."""
        processes = []
        for digits in product(range(arity), repeat=depth - 1):
            for _ in range(arity):
                number = rng.getrandbits(100)
                for digit in reversed(digits):
                    number = number * arity + digit
                processes.append(self.begin(topic, peer=PeerId(number.to_bytes(16))))
        return processes

    def want(self, node: Node, topic: str, where: str) -> None:
        """Let a node want something else of the attributes of a topic; "" is everything."""
        node.want(Topic.parse(topic), Interest.parse(where) if where else None)
        self.wheres[node.me.peer] = where

    def say(self, node: Node, payload: bytes = b"!") -> EventId:
        """Let a node publish in `.a`."""
        return self.publish(node, Topic.parse(".a"), payload, seconds=0.0)

    def received(self, event: EventId) -> Counter[PeerId]:
        """Return how often each node was given an event."""
        return Counter(node.me.peer for node, to in self.delivered if to.event.id == event)

    def wrong_tables(self) -> list[str]:
        """Return which tables are not what they should be, by process and level."""
        hierarchy = self.hierarchy
        nodes = self.alive.values()
        living = {hierarchy.address_of(node.me.peer): self.wanted(node) for node in nodes}
        return [
            f"{node.me}, level {level}"
            for node in nodes
            for level in range(1, hierarchy.depth + 1)
            if list(views(node).table(level))
            != true_table(hierarchy, living, hierarchy.address_of(node.me.peer), level)
        ]

    def wanted(self, node: Node) -> Interest:
        """Return what a node wants."""
        where = self.wheres.get(node.me.peer)
        topics = self.topics[node.me.peer]
        terms = [f"{topic} and ({where})" if where else str(topic) for topic in topics]
        return Interest.parse(" or ".join(terms))

    def until_right(self, seconds_max: float) -> float:
        """Let time pass until all tables of all nodes are right; return how much."""
        start = self.now
        right = self.virtual.run_until(lambda: not self.wrong_tables(), seconds_max, 1.0)
        assert right, self.wrong_tables()
        return self.now - start

    @property
    def hierarchy(self) -> Hierarchy:
        return views(next(iter(self.alive.values()))).hierarchy


def views(node: Node) -> HpmcastMembership:
    (local_group,) = node.local_groups
    assert isinstance(local_group.membership, HpmcastMembership)
    return local_group.membership


def true_table(
    hierarchy: Hierarchy, members: Mapping[Address, Interest], owner: Address, level: int
) -> list[Line[Interest]]:
    """Return a table, from all members at once: what its lines want is weakened level by level."""
    found: dict[Address, list[Address]] = {}
    for one in sorted(members):
        if branch(one, level) == branch(owner, level):
            found.setdefault(branch(one, level - 1), []).append(one)
    return [
        Line(
            at, elect(inside, hierarchy.redundancy), len(inside), _together(hierarchy, members, at)
        )
        for at, inside in found.items()
    ]


def _together(hierarchy: Hierarchy, members: Mapping[Address, Interest], at: Address) -> Interest:
    if len(at) == hierarchy.depth:
        return members[at]
    level = hierarchy.depth - len(at)
    below = dict.fromkeys(one[: len(at) + 1] for one in sorted(members) if one[: len(at)] == at)
    first, *others = (_together(hierarchy, members, one) for one in below)
    return weakened(first.union(*others), accuracy_of(level + 1, hierarchy.depth))
