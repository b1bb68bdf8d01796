"""What a process held of topics, streams and peers goes in time, once it has left or they have."""

from __future__ import annotations

import gc
import types
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.census import Census
from camcast.vocabulary.topics import Topic

QUIET_SECONDS: Final = 600.0  # as long as an address counts as proved
ROUNDS: Final = 80  # more than groups that were left are remembered
BOUNDED: Final = {
    "Topic": "in questions that were asked lately",
    "KnownRanges": "of streams, which are known until a community has 65,536",
    **dict.fromkeys(("Neighbour", "Agreement"), "of peers that repair met, 256 a community"),
    "Cold": "peers that were lost, 64 a community",
    "Contact": "theirs",
}
"""What has a bound in docs/bounds.md that so few rounds do not reach."""
SHARED: Final = (type, types.ModuleType, types.FunctionType, Census, World)


def held(node: Node) -> Counter[str]:
    """Count the instances of each class of ours that a node holds, by whatever way."""
    gc.collect()
    seen, queue = {id(node)}, [object(), node]
    found = Counter[str]()
    while len(queue) > 1:
        one = queue.pop()
        cls = type(one)
        if cls.__module__.startswith(("camcast.", "membership.", "overlays.")):
            found[cls.__name__] += 1
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, SHARED):
                seen.add(id(other))
                queue.append(other)
    return found


def own_topic(world: World, node: Node, other: Node, number: int) -> None:
    """Join a topic that nobody was in, with super-topics of its own; publish, and leave."""
    topic = Topic.parse(f".user.u{number}")
    above = (Topic.parse(f".all.a{number}"),) if number % 2 else None
    for one in (node, other):
        world.do(one, lambda one, now: one.join(topic, now, super_topics=above))
    world.run(3.0)
    for one in (node, other):
        world.publish(one, topic, seconds=0.3)
    for one in (other, node):
        world.leave(one, topic)


def other_peer(world: World, topic: Topic, number: int) -> None:
    """Let a process come, publish, and leave, or be killed."""
    newcomer = world.join(topic, gap=3.0)
    world.publish(newcomer, topic, seconds=0.3)
    if number % 2:
        world.leave(newcomer, topic)
    world.kill(newcomer)
    world.nodes.remove(newcomer)


def kinds(world: World, node: Node, other: Node) -> dict[str, Callable[[int], None]]:
    topic = Topic.parse(".a")
    for one in (node, other):
        world.do(one, lambda one, now: one.join(topic, now))
    world.run(3.0)
    return {
        "topics": partial(own_topic, world, node, other),
        "peers": partial(other_peer, world, topic),
    }


def memberships() -> list[object]:
    others = ("hybrid", "dht", "cyclon", "hyparview")
    return ["scamp", *(pytest.param(one, marks=pytest.mark.slow) for one in others)]


@pytest.mark.parametrize("kind", ["topics", pytest.param("peers", marks=pytest.mark.slow)])
@pytest.mark.parametrize("membership", memberships())
def test_nothing_of_what_is_over_is_held_after_ten_quiet_minutes(
    membership: str, kind: str
) -> None:
    world = World(membership=membership, repair=True)
    node, other = world.start(world.settings), world.start(world.settings)
    once = kinds(world, node, other)[kind]
    counted: list[Counter[str]] = []
    for begin in (0, ROUNDS):
        for number in range(begin, begin + ROUNDS):
            once(number)
        world.run(QUIET_SECONDS)
        world.delivered.clear()
        counted.append(held(node))
    before, after = counted
    grown = {
        name: more
        for name, more in (after - before).items()
        if more > ROUNDS // 4 and name not in BOUNDED
    }
    assert not grown, dict(grown)
