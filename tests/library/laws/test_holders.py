"""Everybody is in somebody's table: a process that nobody holds would receive nothing.

The real node in the virtual network; strangers are found through the census, an ideal directory.
In-degrees are counted in the tables themselves, every second, for longer than every timer: leases
of 60 s, refreshes of 120 s. With c = 0 the dht's in-degrees are binomial with a mean of 5, so that
without asking for places one member in 150 is in no table at any time.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from camcast.testing.world import World
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from tests.library.laws.communities import in_degrees
from tests.library.laws.overlay_graphs import among_the_living, graph_of

TOPIC = Topic.parse(".community")
SIZE = 60
LONG = 300  # seconds
NOTICED = 10  # seconds after a crash: silence, the word of former holders, and an answer
BELOW_MAX = 5  # seconds with one holder: a greeting may be lost, and is said again at each check


def assert_held(world: World, seconds: int) -> None:
    """One holder at least in every second, and two but for `BELOW_MAX` seconds in a row."""
    below: Counter[str] = Counter()
    for _ in range(seconds):
        world.run(1.0)
        graph = among_the_living(graph_of(world))
        degrees = dict(zip(graph, in_degrees(graph), strict=True))
        assert min(degrees.values()) >= 1
        below = Counter({a: below[a] + 1 for a, degree in degrees.items() if degree < 2})
        assert max(below.values(), default=0) <= BELOW_MAX


@pytest.mark.slow
@pytest.mark.parametrize(("membership", "c"), [("scamp", 0), ("hybrid", 0), ("dht", 0), ("dht", 2)])
def test_everybody_is_held(membership: str, c: int) -> None:
    """In a calm community, and again from `NOTICED` seconds after half of all have crashed."""
    world = World(1, membership=membership, options={"c": c}, parameters=Parameters(c=c))
    nodes = [world.join(TOPIC, gap=0.05) for _ in range(SIZE)]
    world.run(20.0)
    assert_held(world, LONG)
    for victim in Random(1).sample(nodes, SIZE // 2):
        world.kill(victim)
    world.run(NOTICED)
    assert_held(world, LONG // 2)
