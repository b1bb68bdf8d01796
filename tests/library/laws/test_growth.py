"""What a process in N topics does grows as N does, and no faster: counted in steps, exactly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.topics import ROOT, Topic
from tests.steps import counted_steps, exponent

EXPONENT_MAX = 1.2
AT_ONCE = 1.0  # seconds; all have joined by then, and no timer that comes again has come
SETTLED = 20.0  # seconds; searches, renewals and heartbeats are under way by then


def _topics(count: int) -> list[Topic]:
    return [Topic.parse(f".t{number}") for number in range(count)]


def _join(world: World, node: Node, topic: Topic) -> None:
    world.do(node, lambda one, now: one.join(topic, now))


def below_an_uninhabited_root(count: int) -> float:
    world = World(1)
    node = world.add((world.add().me.address,))
    with counted_steps() as steps:
        for topic in _topics(count):
            _join(world, node, topic)
        world.run(SETTLED)
    assert all(one.joined for one in node.local_groups)
    return steps.count


def below_an_inhabited_root(count: int) -> float:
    world = World(1)
    gateway = world.add()
    for _ in range(3):
        _join(world, world.add((gateway.me.address,)), ROOT)
    world.run(SETTLED)
    node = world.add((gateway.me.address,))
    with counted_steps() as steps:
        for topic in _topics(count):
            _join(world, node, topic)
        world.run(SETTLED)
    assert all(one.live_links() for one in node.local_groups)
    return steps.count


def at_once_through_a_name_of_both_families(count: int) -> float:
    """Nobody listens at the IPv6 address of the gateway's name."""
    world = World(1)
    gateway = world.add()
    name = "tcp://gateway.example:7000"
    world.virtual.names[name] = ("tcp://[2001:db8::1]:7000", gateway.me.address)
    node = world.add((name,))
    with counted_steps() as steps:
        for topic in _topics(count):
            _join(world, node, topic)
        world.run(AT_ONCE)
    assert all(one.joined for one in node.local_groups)
    return steps.count


def one_by_one_at_a_gateway(count: int) -> float:
    """All within a second: what members do each second besides would grow with the time, too."""
    world = World(1)
    node = world.add((world.add().me.address,))
    with counted_steps() as steps:
        for topic in _topics(count):
            _join(world, node, topic)
            world.run(0.8 * AT_ONCE / count)
        world.run(0.2 * AT_ONCE)  # for the answers to the last
    assert all(one.joined for one in node.local_groups)
    return steps.count


def below_topics_of_their_own(count: int) -> float:
    world = World(1)
    node = world.add((world.add().me.address,))
    with counted_steps() as steps:
        for topic in _topics(count):
            _join(world, node, topic.child("x"))
        world.run(SETTLED)
    return steps.count


def left_after_a_join_with_another(count: int) -> float:
    """All topics are shared by the same two processes."""
    world = World(1)
    gateway = world.add()
    nodes = [world.add((gateway.me.address,)) for _ in range(2)]
    for node in nodes:
        for topic in _topics(count):
            _join(world, node, topic)
        world.run(SETTLED)
    with counted_steps() as steps:
        for topic in _topics(count):
            world.leave(nodes[0], topic)
        world.run(SETTLED)
    return steps.count


def all_others_crashed(count: int) -> float:
    """In each topic there were two others; all crash at once."""
    world = World(1)
    gateway = world.add()
    survivor = world.add((gateway.me.address,))
    others = []
    for topic in _topics(count):
        for _ in range(2):
            others.append(world.add((gateway.me.address,)))
            _join(world, others[-1], topic)
        _join(world, survivor, topic)
        world.run(1.0)
    world.run(SETTLED)
    for other in others:
        world.kill(other)
    with counted_steps() as steps:
        world.run(30.0)
    return steps.count


def records_of_a_process_alone(count: int) -> int:
    """What it and its gateway send in a minute, long after it has joined."""
    world = World(1)
    node = world.add((world.add().me.address,))
    for topic in _topics(count):
        _join(world, node, topic)
    world.run(60.0)
    before = world.virtual.messages
    world.run(60.0)
    return world.virtual.messages - before


Work = Callable[[int], float]
WORKS: list[Work] = [
    one_by_one_at_a_gateway,
    below_an_uninhabited_root,
    below_an_inhabited_root,
    below_topics_of_their_own,
    left_after_a_join_with_another,
    all_others_crashed,
]


def test_a_process_in_n_topics_costs_n() -> None:
    assert exponent(map(below_an_uninhabited_root, (10, 40)), 4) <= EXPONENT_MAX


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
def test_a_process_in_many_topics_costs_as_much_as_they_are(work: Work) -> None:
    assert exponent(map(work, (60, 240)), 4) <= EXPONENT_MAX


@pytest.mark.slow
def test_joins_at_once_cost_as_much_as_they_are() -> None:
    """What an answer costs beside so many open questions shows from some hundred on."""
    costs = map(at_once_through_a_name_of_both_families, (200, 800))
    assert exponent(costs, 4) <= EXPONENT_MAX


def test_a_process_alone_in_many_topics_asks_its_gateway_about_all_of_them_together() -> None:
    """They sent 12 records a topic and minute; now 163 and 190 in all."""
    few, many = map(records_of_a_process_alone, (50, 200))
    assert many <= 1.5 * few
