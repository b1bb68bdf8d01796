"""What a quiet community costs: heartbeats, one a peer and period whatever two processes share."""

from __future__ import annotations

from functools import partial

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic

SIZE = 10
SECONDS = 30
TOPICS = [Topic.parse(f".t{number}") for number in range(10)]


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now, super_topics=())


def test_processes_that_share_topics_send_little_but_heartbeats() -> None:
    """Renewals that replaced arcs for nothing were 5 of 15 records a second once."""
    world = World(repair=True)
    for _ in range(SIZE):
        node = world.start(world.settings)
        for topic in TOPICS:
            world.do(node, partial(_join, topic))
        world.run(0.5)
    world.run(70.0)  # all have joined, and a lease is over
    before = world.records
    world.run(SECONDS)
    assert world.records - before <= 1.1 * (SIZE - 1) * SIZE * SECONDS
