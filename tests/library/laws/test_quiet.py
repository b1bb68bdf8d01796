"""What a community costs besides events: heartbeats, one a peer and period whatever is shared."""

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


def test_events_take_the_place_of_heartbeats() -> None:
    """While each process sends events to most of its view each second.

    An arc of the view costs a heartbeat and an answer a second. Of each two, the heartbeat to the
    view is left out, but for those with messages: one in ten, and those with a sample of the size
    estimate.
    """
    world = World()
    for _ in range(30):
        world.join(TOPICS[0], gap=0.3)
    world.run(70.0)
    controls = []
    for busy in (False, True):
        before = sum(node.counters.controls for node in world.nodes)
        for turn in range(5 * SECONDS):
            if busy:
                world.publish(world.nodes[turn % len(world.nodes)], TOPICS[0], seconds=0.2)
            else:
                world.run(0.2)
        controls.append(sum(node.counters.controls for node in world.nodes) - before)
    quiet, loud = controls
    assert loud <= 2 / 3 * quiet
