"""The laws of a process in several communities: what is known of an event is known by community.

000, Figure 7: a process accepts an event in a community in which it has not received it yet. A
process's own subscriptions get its own events whoever stands between, each once (000, 4.1.1). An
event whose upward probability is 0 stays in its community (000, 5.3.2.1).
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import sqrt

import pytest

from camcast.engine.node import Node
from camcast.testing import World
from camcast.vocabulary.topics import Topic

A, AB, ABC = (Topic.parse(name) for name in (".a", ".a.b", ".a.b.c"))
EVENTS = 5


def publish(world: World, node: Node, topic: Topic, p_sel: float | None = None) -> None:
    """Publish events with their numbers as payloads, a second apart."""
    for number in range(EVENTS):
        payload = b"%d" % number
        world.do(node, partial(_publish, topic=topic, payload=payload, p_sel=p_sel))
        world.run(1.0)


def _publish(node: Node, now: float, *, topic: Topic, payload: bytes, p_sel: float | None) -> None:
    node.publish(topic, payload, now, upward_probability=p_sel)


def received(world: World, node: Node, topic: Topic) -> Counter[bytes]:
    """Count the payloads that a node delivered in a community."""
    return Counter(
        delivered.event.payload
        for receiver, delivered in world.delivered
        if receiver is node and delivered.group == topic.group
    )


ONCE = Counter(b"%d" % number for number in range(EVENTS))


@pytest.mark.parametrize("middle", ["nobody", "another", "itself", "left"])
@pytest.mark.parametrize("repair", [False, True])
def test_own_subscriptions_get_own_events_once_whoever_stands_between(
    middle: str, repair: bool
) -> None:
    world = World(repair=repair)
    other = world.join(A)
    if middle == "another":
        world.join(AB)
    own = [A, AB, ABC] if middle in ("itself", "left") else [A, ABC]
    publisher = world.join(*own)
    world.run(20.0)
    if middle == "left":
        world.leave(publisher, AB)
        own.remove(AB)
    publish(world, publisher, ABC)
    world.run(20.0)
    for topic in own:
        assert received(world, publisher, topic) == ONCE, topic
    assert received(world, other, A) == ONCE
    assert [node.counters.forged for node in world.nodes] == [0] * len(world.nodes)


def test_a_process_that_joins_between_its_event_and_its_arrival_gets_it_once() -> None:
    world = World(repair=True)
    world.join(A)
    between = world.join(AB)
    publisher = world.join(ABC)
    world.run(20.0)
    world.kill(between)  # the events wait below until the link to .a is found
    publish(world, publisher, ABC)
    world.do(publisher, lambda node, now: node.join(A, now))
    world.run(60.0)
    assert set(received(world, publisher, A).values()) <= {1}
    assert received(world, world.nodes[0], A) == ONCE
    assert sum(node.counters.forged for node in world.nodes) == 0


@pytest.mark.parametrize("repair", [False, True])
def test_an_event_that_is_not_to_climb_stays_though_processes_are_in_both(repair: bool) -> None:
    world = World(repair=repair)
    above = world.join(A)
    both = world.join(A, AB)
    publisher = world.join(AB)
    world.run(20.0)
    publish(world, publisher, AB, 0.0)
    publish(world, both, AB, 0.0)
    world.run(20.0)
    assert received(world, publisher, AB) == received(world, both, AB) == ONCE + ONCE
    assert not received(world, above, A)
    assert not received(world, both, A)


def test_a_process_in_both_hands_an_event_over_with_the_events_own_probability() -> None:
    """Of 400 events with .25, which no other process could send upward, 100 are expected."""
    world = World()
    above = world.join(A)
    both = world.join(A, AB)
    world.run(5.0)
    published, p_sel = 400, 0.25
    for _ in range(published):
        world.do(both, lambda node, now: node.publish(AB, b"", now, upward_probability=p_sel))
        world.do(both, lambda node, now: node.flush(now))
    world.run(5.0)
    handed_over = received(world, above, A)[b""]
    assert received(world, both, A)[b""] == handed_over
    spread = sqrt(published * p_sel * (1 - p_sel))
    assert abs(handed_over - published * p_sel) <= 4 * spread
