"""Islands of the dht become one within 20 s, whether they were apart from the start or later.

The real node with the real overlay in the virtual network, over UDP and pipes that the cut severs
alike. One: everybody reaches everybody along the tables, and an event reaches all.
"""

from __future__ import annotations

from statistics import median

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.network import address_of
from camcast.vocabulary.topics import Topic
from tests.library.laws.communities import strongly_connected
from tests.library.laws.overlay_graphs import graph_of

TOPIC = Topic.parse(".community")
HEALED = 20.0  # seconds: two probe periods of 10 s
APART = (40.0, 300.0)  # seconds: within the busy start of the overlay, and beyond every timer
SMALL_OR_LONG = pytest.mark.parametrize(
    ("each", "apart"),
    [
        (2, APART[1]),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((10, APART[0]), (2, APART[0]), (10, APART[1]))
        ),
    ],
)


class Islands(World):
    """Two bootstrap nodes and members, each on one of two sides."""

    def __init__(self, seed: int, backend: str) -> None:
        super().__init__(seed)
        self.side: dict[str, int] = {}
        self.backend = backend
        self.members: list[Node] = []
        first = self.on(0, ())
        self.bootstrap = (first, self.on(1, (first.me.address,)))
        self.gateways = tuple(node.me.address for node in self.bootstrap)

    def on(self, side: int, gateways: tuple[str, ...]) -> Node:
        self.side[address_of(len(self.nodes))] = side
        return self.add(gateways, backend=self.backend)

    def part(self) -> None:
        self.cut(lambda source, target: self.side[source] == self.side[target])

    def populate(self, each: int) -> None:
        for number in range(2 * each):
            node = self.on(number % 2, self.gateways)
            self.members.append(node)
            self.do(node, lambda node, now: node.join(TOPIC, now))
            self.run(0.3)

    def assert_apart(self) -> None:
        sides = self.side
        for address, view in graph_of(self).items():
            assert all(sides[address] == sides[other] for other in view)

    def assert_one(self) -> None:
        assert strongly_connected(graph_of(self))
        for node in self.members[:2]:  # one of each side
            self.delivered.clear()
            self.publish(node, TOPIC)
            assert {receiver for receiver, _ in self.delivered} == set(self.members)


@pytest.mark.parametrize("backend", ["dht", pytest.param("hybrid", marks=pytest.mark.slow)])
@SMALL_OR_LONG
def test_two_islands_from_the_start(backend: str, each: int, apart: float) -> None:
    """Both sides know both bootstrap nodes, and reach one."""
    world = Islands(2, backend)
    world.part()
    world.populate(each)
    world.run(apart)
    world.assert_apart()
    world.heal()
    world.run(HEALED)
    world.assert_one()


@SMALL_OR_LONG
def test_two_islands_of_a_partition(each: int, apart: float) -> None:
    """The bootstrap nodes are dead: former neighbours find each other."""
    world = Islands(2, "dht")
    world.populate(each)
    world.run(60.0)
    for node in world.bootstrap:
        world.kill(node)
    world.run(5.0)
    world.part()
    world.run(apart)
    world.assert_apart()
    world.heal()
    world.run(HEALED)
    world.assert_one()


@pytest.mark.slow  # 7 s; islands that join are looked at in every run
def test_a_calm_community_probes_without_changing_its_tables() -> None:
    """Who has met stays: the tables of 20 change at refreshes alone, not with every probe.

    Entries learned by all 20 in 10 s, the median of 24: 4 (measured), and 22 if nobody remembered
    whom it has met.
    """
    world = Islands(1, "dht")
    world.populate(10)
    world.run(400.0)  # all have met, and the latest refresh is a while ago
    changes = []
    for _ in range(24):
        before = graph_of(world)
        world.run(10.0)
        after = graph_of(world)
        changes.append(sum(len(after[address] - view) for address, view in before.items()))
    assert median(changes) <= 10
