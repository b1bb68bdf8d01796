"""What a community costs besides events: heartbeats, one a peer and period whatever is shared."""

from __future__ import annotations

from functools import partial

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic

SIZE = 10
SECONDS = 30
TOPICS = [Topic.parse(f".t{number}") for number in range(10)]


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now, super_topics=())


@pytest.mark.slow  # 1 s
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


@pytest.mark.parametrize("topics", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_two_quiet_processes_send_a_record_a_second_however_much_they_share(topics: int) -> None:
    """A heartbeat without room for what all topics want to say had them subscribe for ever."""
    world = World(repair=True)
    for _ in range(2):
        node = world.start(world.settings)
        for number in range(topics):
            world.do(node, partial(_join, Topic.parse(f".t{number}")))
        world.run(0.5)
    world.run(80.0)
    before = world.records
    world.run(10.0)
    assert world.records - before <= 1.2 * 2 * 10


@pytest.mark.slow
def test_events_take_the_place_of_heartbeats() -> None:
    """While each process sends events to most of its view each second.

    An arc of the view costs a heartbeat and an answer a second. Of each two, the heartbeat to the
    view is left out, but for those with messages: one in ten, and those with a sample of the size
    estimate. Views are the paper's: an arc that is drawn anew costs messages of its own.
    """
    world = World(options={"drawn_share": 0.0})
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


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht", "cyclon", "hyparview"])
def test_restarts_at_the_same_address_cost_nothing_afterwards(membership: str) -> None:
    """Of a super-process, to which links lead, and of the gateway: tables, cold lists and registers
    know a process by its address here and by its identity there."""
    world = World(1)
    gateway = world.add(backend=membership)
    above, below = Topic.parse(".a"), Topic.parse(".a.x")
    for topic in (above, above, above, below, below, below):
        node = world.add((gateway.me.address,), backend=membership)
        world.do(node, partial(_join_with_links, topic))
        world.run(0.5)
    world.run(120.0)
    quiet = _sent_in_a_minute(world)
    super_process = world.nodes[2]
    world.kill(super_process)
    world.run(1.0)
    world.do(world.restart(super_process), partial(_join_with_links, above))
    world.run(300.0)
    assert _sent_in_a_minute(world) <= 1.5 * quiet
    world.kill(gateway)
    world.run(1.0)
    world.restart(gateway)
    world.run(300.0)
    assert _sent_in_a_minute(world) <= 1.5 * quiet


def _join_with_links(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def _sent_in_a_minute(world: World) -> int:
    before = world.records
    world.run(60.0)
    return world.records - before
