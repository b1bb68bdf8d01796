"""Parameters and super-topics change while processes are in a community (000, 3.2.2 and 4.5.1).

A community below, of which each process sends an event upward to g·a super-processes in all on
average, is tuned and linked while it publishes. The judge counts what was delivered and what the
trace says; it reads nothing of how the engine keeps its settings.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import count
from math import sqrt
from random import Random

import pytest

from camcast.engine.node import Node
from camcast.observe.trace import ListSink
from camcast.testing.world import World
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

ABOVE, BELOW, ASIDE = map(Topic.parse, (".a", ".a.b", ".r"))
EVENTS_A_SECOND = 10
FOLLOWS_SECONDS = 2.0
CAME_OR_WENT = {"join", "joined", "leave", "left"}


class Levels:
    """A settled community of so many processes, and a tenth of them above it and aside."""

    def __init__(self, size: int) -> None:
        self.sink = ListSink()
        self.world = World(1, self.sink, repair=True)
        self.rng = Random(1)
        self.numbers = count()
        self.published: dict[bytes, Node] = {}
        gateway = self.world.add()
        few = max(4, size // 10)
        self.above = [self._join((gateway.me.address,), ABOVE) for _ in range(few)]
        self.aside = [self._join((gateway.me.address,), ASIDE) for _ in range(few)]
        self.below = [self._join((gateway.me.address,), BELOW) for _ in range(size)]
        self.world.run(10.0)
        self.began = len(self.sink.records)

    def _join(self, gateways: tuple[str, ...], topic: Topic) -> Node:
        node = self.world.add(gateways)
        self.world.do(node, lambda node, now: node.join(topic, now))
        self.world.run(0.1)
        return node

    def tune(self, settings: CommunitySettings) -> None:
        for node in self.below:
            self.world.do(node, partial(_tune, settings))

    def publish(self, seconds: float) -> float:
        """Publish at random members of the community below; return the mean of upward copies."""
        before = sum(node.counters.upward_sent for node in self.below)
        events = int(seconds * EVENTS_A_SECOND)
        for _ in range(events):
            node, payload = self.rng.choice(self.below), b"%d" % next(self.numbers)
            self.published[payload] = node
            self.world.publish(node, BELOW, payload, 1 / EVENTS_A_SECOND)
        return (sum(node.counters.upward_sent for node in self.below) - before) / events

    def got(self, nodes: list[Node]) -> dict[Node, Counter[bytes]]:
        """Return how often each of these processes got each payload."""
        got: dict[Node, Counter[bytes]] = {node: Counter() for node in nodes}
        for node, delivery in self.world.delivered:
            if node in got:
                got[node][delivery.event.payload] += 1
        return got

    def assert_nobody_came_or_went(self) -> None:
        kinds = {record.kind for record in self.sink.records[self.began :]}
        assert "deliver" in kinds
        assert not kinds & CAME_OR_WENT


def _tune(settings: CommunitySettings, node: Node, now: float) -> None:
    node.tune(BELOW, settings, now)


def _expected(nodes: list[Node], g: float) -> float:
    """Return the mean number of upward copies of an event: a = 1 times all p_sel (3.5)."""
    parts = (node.local_group(BELOW) for node in nodes)
    return sum(g / part.membership.size() for part in parts if part is not None)


@pytest.mark.parametrize(
    ("size", "g", "seconds"), [(20, 1.0, 2.0), pytest.param(100, 5.0, 10.0, marks=pytest.mark.slow)]
)
def test_upward_copies_follow_g_within_two_seconds_and_nothing_is_lost(
    size: int, g: float, seconds: float
) -> None:
    levels = Levels(size)
    for now in (g, 10 * g, g):
        levels.tune(CommunitySettings(g=now))
        levels.publish(FOLLOWS_SECONDS)
        copies, expected = levels.publish(seconds), _expected(levels.below, now)
        # A process that is drawn sends a binomial number of 3 copies, of mean 1 and variance 2/3.
        deviation = sqrt(5 / 3 * expected / (seconds * EVENTS_A_SECOND))
        assert abs(copies - expected) <= 4 * deviation + 0.05 * expected
    levels.world.run(10.0)
    once = Counter(dict.fromkeys(levels.published, 1))
    assert all(got == once for got in levels.got([*levels.above, *levels.below]).values())
    levels.assert_nobody_came_or_went()


def test_super_topic_tables_follow_z() -> None:
    levels = Levels(12)
    for z in (1, 3):
        levels.tune(CommunitySettings(z=z, tau=z))
        if z == 1:  # to shelve takes no time; for others to come in, they are asked
            assert {_contacts(node) for node in levels.below} == {1}
        levels.world.run(30.0)
        assert {_contacts(node) for node in levels.below} == {z}


def _contacts(node: Node) -> int:
    """Count the super-processes that a process of the community below knows."""
    local_group = node.local_group(BELOW)
    assert local_group is not None
    return local_group.live_links()


@pytest.mark.parametrize("size", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_a_super_topic_that_half_of_the_members_link_gets_all_later_events(size: int) -> None:
    levels = Levels(size)
    levels.publish(1.0)
    for node in levels.below[::2]:
        levels.world.do(node, lambda node, now: node.link(BELOW, ASIDE, now))
    levels.world.run(5.0)
    before = dict(levels.published)
    levels.publish(2.0)
    levels.world.run(10.0)
    later = Counter(dict.fromkeys(levels.published.keys() - before.keys(), 1))
    everything = Counter(dict.fromkeys(levels.published, 1))
    for got in levels.got(levels.aside).values():
        assert got & later == later
        assert max(got.values()) == 1
    assert all(got == everything for got in levels.got(levels.above).values())
    for node in levels.below[::2]:
        levels.world.do(node, lambda node, now: node.unlink(BELOW, ASIDE, now))
    levels.world.run(5.0)
    before = dict(levels.published)
    levels.publish(1.0)
    levels.world.run(10.0)
    after = levels.published.keys() - before.keys()
    assert not any(got.keys() & after for got in levels.got(levels.aside).values())
    levels.assert_nobody_came_or_went()
