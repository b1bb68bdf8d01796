"""Several ways up from one community: which are searched, and by which events climb."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from camcast.engine.node import Node
from camcast.testing import World
from camcast.vocabulary.hierarchy import HierarchyError, Steps
from camcast.vocabulary.topics import ROOT, Topic

L, R, X, Y = (Topic.parse(name) for name in (".l", ".r", ".l.x", ".l.x.y"))
BOTH = {X: (L, R)}


def join(world: World, topic: Topic, above: Steps) -> Node:
    """Start a node that joins a topic, and knows these super-topics beside those of names."""
    node = world.start(world.settings)
    mine = above.get(topic, (topic.super_topic,) if topic.super_topic else ())
    world.do(node, partial(_join, topic, mine, above))
    world.run(0.5)
    return node


def _join(
    topic: Topic, super_topics: Sequence[Topic], above: Steps, node: Node, now: float
) -> None:
    node.join(topic, now, super_topics=super_topics, above=above)


def tables(node: Node, topic: Topic) -> dict[str, list[str]]:
    """Return the ways by which a node's events climb, with the nearest topic found on each."""
    local_group = node.local_group(topic)
    assert local_group is not None
    return {
        table.super_topic.name: [table.nearest()[0].name] * len(table.nearest()[1])
        for table in local_group.links
    }


def reached(world: World, payload: bytes) -> list[Node]:
    return [node for node, delivered in world.delivered if delivered.event.payload == payload]


def test_where_nobody_is_between_the_search_goes_on_along_all_ways() -> None:
    world = World()
    left, right = join(world, L, {}), join(world, R, {})
    low = join(world, Y, BOTH)
    world.run(20.0)
    assert tables(low, Y) == {".l.x": [".l"], ".r": [".r"]}
    world.publish(low, Y, b"up")
    assert sorted(map(id, reached(world, b"up"))) == sorted(map(id, (low, left, right)))


def test_a_way_is_covered_as_long_as_a_member_between_says_that_it_serves_it() -> None:
    world = World(repair=True)
    right = join(world, R, {})
    between = join(world, X, BOTH)
    low = join(world, Y, BOTH)
    world.run(30.0)
    assert tables(low, Y) == {".l.x": [".l.x"]}
    world.publish(low, Y, b"by way of X", 10.0)
    world.kill(between)
    world.publish(low, Y, b"while it is dead", 60.0)
    assert tables(low, Y)[".r"] == [".r"]
    assert [len(reached(world, one)) for one in (b"by way of X", b"while it is dead")] == [3, 2]
    assert right in reached(world, b"while it is dead")


def test_a_member_between_that_does_not_know_of_a_super_topic_covers_no_way_to_it() -> None:
    world = World()
    right = join(world, R, {})
    join(world, X, {})
    low = join(world, Y, BOTH)
    world.run(30.0)
    assert tables(low, Y) == {".l.x": [".l.x"], ".r": [".r"]}
    world.publish(low, Y, b"up")
    assert right in reached(world, b"up")


def test_what_members_told_of_named_topics_leads_on_when_they_are_gone() -> None:
    """Only members of .l.x know that .r includes it, and those of .l.x.y hear it from them."""
    world = World(repair=True)
    right = join(world, R, {})
    between = join(world, X, BOTH)
    low = [join(world, Y, {}) for _ in range(4)]
    world.run(60.0)
    assert all(node.hierarchy.super_topics(X) == (L, R) for node in low)
    world.kill(between)
    world.run(60.0)
    world.publish(low[0], Y, b"up", 10.0)
    assert right in reached(world, b"up")


def test_a_topic_that_a_process_links_no_more_is_served_no_more() -> None:
    world = World()
    right = join(world, R, {})
    low = join(world, X, BOTH)
    world.run(10.0)
    world.do(low, lambda node, now: node.unlink(X, R, now))
    world.publish(low, X, b"stays")
    world.do(low, lambda node, now: node.link(X, R, now))
    world.run(10.0)
    world.publish(low, X, b"climbs")
    assert right not in reached(world, b"stays")
    assert right in reached(world, b"climbs")


@pytest.mark.parametrize("above", [{X: (ROOT,), L: (X,)}, {L: (Y,), Y: (R,)}])
def test_a_topic_that_would_include_itself_is_not_joined(above: Steps) -> None:
    world = World()
    with pytest.raises(HierarchyError, match="its own super-topic"):
        join(world, Y, above)
    assert not list(world.nodes[0].local_groups)
