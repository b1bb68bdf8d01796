"""A busy stream climbs along its tree: one copy a process on each level, whoever hands it up dies.

CAMCAST (000, 3.5) lets an event climb by g·a copies on average. A stream that has a tree enters
each community above at one process, by offers (`camcast.protocols.handing_up`); shipped code in the
virtual network, with repair.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, Final, cast

import pytest
from attrs import define, evolve, field

from camcast.doors.contained import plug_of
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.events import EventId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

ROOT, MIDDLE, LEAF = LEVELS = tuple(Topic.parse(name) for name in (".a", ".a.b", ".a.b.c"))
BESIDE: Final = Topic.parse(".a.d")
SETTLED: Final = 15.0  # chosen: tables have filled by then
REPAIRED: Final = 20.0  # chosen: some rounds of questions of a second or two each
COPIES_MAX: Final = 1.4  # a delivery; infect and die has ceil(ln 20 + 5) = 8


@define(eq=False)
class Hierarchy:
    """Processes of several communities, and what is published in the lowest."""

    world: World
    published: dict[EventId, None] = field(factory=dict)

    @property
    def living(self) -> list[Node]:
        """The processes that have not been killed."""
        return [node for node in self.world.nodes if node.me.address in self.world.alive]

    def publish(self, publisher: Node, topic: Topic, rate: float, seconds: float) -> None:
        """Publish events one after the other."""
        for _ in range(round(rate * seconds)):

            def publish(node: Node, now: float) -> EventId:
                receipt = node.publish(topic, b"!", now)
                node.flush(now)
                return receipt.id

            self.published[self.world.do(publisher, publish)] = None
            self.world.run(1 / rate)

    def copies(self, topic: Topic) -> int:
        """Count the copies that were sent to a community so far.

        Each process is in one community, and each community below another.
        """
        below = LEVELS[LEVELS.index(topic) + 1 :][:1]
        nodes = self.world.nodes
        return sum(
            node.counters.event_copies_sent for node in nodes if node.local_group(topic)
        ) + sum(
            node.counters.upward_sent for node in nodes for one in below if node.local_group(one)
        )

    def received(self) -> Counter[tuple[Node, bytes, EventId]]:
        """Count how often each event was delivered in each community of each process."""
        return Counter(
            (node, delivery.group, delivery.event.id)
            for node, delivery in self.world.delivered
            if delivery.event.id in self.published
        )


def takers(node: Node) -> int:
    """Count the super-processes to which a process pushes some stream."""
    (local_group,) = node.local_groups
    tree = cast("Any", plug_of(local_group.dissemination))._spread
    return sum(map(len, tree._handing_up._takers.values()))


def three_levels(size: int, seed: int = 1) -> Hierarchy:
    """Let processes join three communities, so many each."""
    world = World(seed, parameters=CommunitySettings(), topics=LEVELS, repair=True)
    for topic in LEVELS:
        for _ in range(size):
            world.join(topic, gap=0.05)
    world.run(SETTLED)
    return Hierarchy(world)


def members(nodes: list[Node], topic: Topic) -> list[Node]:
    return [node for node in nodes if node.local_group(topic)]


def judge_three_levels(size: int, rate: float, seconds: float, kill_every: float) -> None:
    """One publisher below; kill the process that hands up from one level and the other in turn."""
    hierarchy = three_levels(size)
    publisher = members(hierarchy.living, LEAF)[1]
    hierarchy.publish(publisher, LEAF, rate, 2.0)
    assert takers(publisher) == 1
    assert sum(map(takers, members(hierarchy.living, MIDDLE))) == 1
    before = {topic: hierarchy.copies(topic) for topic in LEVELS}
    hierarchy.published.clear()
    for number in range(round(seconds / kill_every)):
        hierarchy.publish(publisher, LEAF, rate, kill_every)
        below = members(hierarchy.living, (MIDDLE, LEAF)[number % 2])
        handing_up = [node for node in below if takers(node) and node is not publisher]
        hierarchy.world.kill((handing_up or members(hierarchy.living, MIDDLE))[0])
    hierarchy.publish(publisher, LEAF, rate, kill_every)
    hierarchy.world.run(REPAIRED)
    received = hierarchy.received()
    assert set(received.values()) == {1}
    for topic in LEVELS:
        for node in members(hierarchy.living, topic):
            lost = [e for e in hierarchy.published if not received[node, topic.group, e]]
            assert not lost, (topic, node.me, len(lost))
        deliveries = sum(group == topic.group for _, group, _ in received)
        if topic is LEAF:
            deliveries -= len(hierarchy.published)  # the publisher's own
        copies = (hierarchy.copies(topic) - before[topic]) / deliveries
        assert copies <= COPIES_MAX, (topic, copies)


def test_each_level_gets_one_copy_and_nothing_is_lost_while_who_hands_up_is_killed() -> None:
    judge_three_levels(size=7, rate=15.0, seconds=6.0, kill_every=3.0)


@pytest.mark.slow  # 40 CPU seconds
def test_three_levels_of_twenty_at_fifty_events_a_second() -> None:
    judge_three_levels(size=20, rate=50.0, seconds=20.0, kill_every=5.0)


def test_a_community_above_that_infects_is_offered_each_event_at_once() -> None:
    """As one of a release does that knows no such trees: it asks for each, and grafts to nobody."""
    world = World(parameters=CommunitySettings(), topics=LEVELS, repair=True)
    below, world.settings = (
        world.settings,
        evolve(world.settings, parameters=CommunitySettings(spread="infect")),
    )
    above = [world.join(ROOT, gap=0.05) for _ in range(4)]
    world.settings = below
    publisher = [world.join(MIDDLE, gap=0.05) for _ in range(4)][1]
    world.run(SETTLED)
    hierarchy = Hierarchy(world)
    hierarchy.publish(publisher, MIDDLE, 15.0, 4.0)
    world.run(0.5)  # before the news of repair are told, a second after an event
    received = hierarchy.received()
    for node in above:
        assert all(received[node, ROOT.group, event] == 1 for event in hierarchy.published)
    assert publisher.counters.upward_sent <= 1.1 * len(hierarchy.published)


def test_levels_may_have_other_memberships() -> None:
    world = World(parameters=CommunitySettings(), topics=LEVELS, repair=True)
    below, other = world.settings, World(membership="cyclon").settings
    world.settings = evolve(below, backend=other.backend, options=other.options)
    for _ in range(4):
        world.join(ROOT, gap=0.05)
    world.settings = below
    publisher = [world.join(MIDDLE, gap=0.05) for _ in range(4)][1]
    world.run(SETTLED)
    Hierarchy(world).publish(publisher, MIDDLE, 15.0, 2.0)
    assert takers(publisher) == 1


def test_who_leaves_is_followed_by_another() -> None:
    """At once with three seeds of four; with the others what climbs takes up to four seconds."""
    hierarchy = three_levels(size=5)
    world = hierarchy.world
    publisher = members(hierarchy.living, LEAF)[1]
    hierarchy.publish(publisher, LEAF, 15.0, 2.0)
    hierarchy.published.clear()
    (entry,) = [node for node in members(hierarchy.living, MIDDLE) if takers(node)]
    world.leave(entry, MIDDLE)
    hierarchy.publish(publisher, LEAF, 15.0, 1.0)
    world.run(5.0)
    received = hierarchy.received()
    for node in members(hierarchy.living, ROOT):
        assert all(received[node, ROOT.group, event] == 1 for event in hierarchy.published)


SEEDS: Final = (1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 31)))


@pytest.mark.parametrize("seed", SEEDS)
def test_processes_in_several_communities_get_each_event_once_in_each(seed: int) -> None:
    """Random systems: each process is in one to three of four communities."""
    rng = Random(seed)
    topics = (*LEVELS, BESIDE)
    world = World(seed, parameters=CommunitySettings(), topics=topics, repair=True)
    of: dict[Node, list[Topic]] = {}
    for number in range(14):
        first = topics[number % len(topics)]  # so that each has some
        chosen = {first, *rng.sample(topics, rng.choice((0, 0, 1, 2)))}
        of[world.join(*(topic for topic in topics if topic in chosen), gap=0.05)] = sorted(chosen)
    world.run(SETTLED)
    hierarchy = Hierarchy(world)
    topic = rng.choice((LEAF, BESIDE))
    publisher = rng.choice([node for node, joined in of.items() if topic in joined])
    hierarchy.publish(publisher, topic, 15.0, 2.0)

    def sent() -> int:
        counters = [node.counters for node in world.nodes]
        return sum(one.event_copies_sent + one.upward_sent for one in counters)

    before = sent()
    hierarchy.published.clear()
    hierarchy.publish(publisher, topic, 15.0, 3.0)
    world.run(REPAIRED)
    received = hierarchy.received()
    assert set(received.values()) == {1}
    due = [(node, one) for node, joined in of.items() for one in joined if one.includes(topic)]
    assert received.keys() == {
        (node, one.group, event) for node, one in due for event in hierarchy.published
    }
    # What a process hands over to its own other communities takes no copy.
    assert sent() - before <= COPIES_MAX * len(received)
