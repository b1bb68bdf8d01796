"""A large event crosses the wire once for each process, in both spreads and upward, whatever fails.

What is counted is the bodies that processes send in the virtual network. A push would send
ceil(ln 20 + 5) of them for each process, that is 8.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final, Literal

import pytest

from camcast.engine.node import Node
from camcast.protocols.tree import IDLE_SECONDS
from camcast.testing.world import World
from camcast.virtual.network import Process
from camcast.vocabulary.events import EventId
from camcast.vocabulary.outbox import Tell
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic

Spread = Literal["infect", "auto"]
A, AX = Topic.parse(".a"), Topic.parse(".a.x")
NODES = 20
LARGE = 1 << 16
SETTLED = 10.0  # in which tables have filled, and after which repair has had its say
SPREADS: Final[tuple[Spread, ...]] = ("infect", "auto")


class OfferWorld(World):
    """A world that counts the large bodies that are sent, by event and receiver."""

    def __init__(self, spread: Spread, *, loss: float = 0.0, seed: int = 1) -> None:
        parameters = CommunitySettings(spread=spread)
        super().__init__(seed, loss=loss, parameters=parameters, topics=(ROOT, A, AX), repair=True)
        self.bodies: Counter[str] = Counter()
        self.missed: list[Tell] = []
        self.virtual.on_send = self._on_send
        self.virtual.on_missed = self._on_missed

    def _on_send(self, _source: str, target: str, records: bytes) -> None:
        self.bodies[target] += len(records) // LARGE

    def _on_missed(self, _process: Process, tell: Tell) -> None:
        self.missed.append(tell)

    def fill(self, topic: Topic, nodes: int) -> list[Node]:
        joined = [self.join(topic, gap=0.05) for _ in range(nodes)]
        self.run(SETTLED)
        return joined

    def publish_large(self, node: Node, topic: Topic, together: int = 1) -> list[EventId]:
        return self.do(node, partial(_publish, topic, together))

    def lacking(self, nodes: list[Node], events: list[EventId]) -> Counter[str]:
        """Return what nodes lack, or have got more than once, by the name of the node."""
        got = Counter((node, one.event.id) for node, one in self.delivered)
        return Counter(
            node.me.address for node in nodes for event in events if got[node, event] != 1
        )


def _publish(topic: Topic, together: int, node: Node, now: float) -> list[EventId]:
    ids = [node.publish(topic, bytes(LARGE), now).id for _ in range(together)]
    node.flush(now)
    return ids


@pytest.mark.parametrize("spread", SPREADS)
def test_each_process_gets_one_body(spread: Spread) -> None:
    """Of a lone event, of a paced stream, and of ten in an instant after a pause."""
    world = OfferWorld(spread)
    nodes = world.fill(A, NODES)
    for times, together, pause in ((1, 1, 5.0), (6, 1, IDLE_SECONDS + 1.0), (1, 10, 5.0)):
        world.bodies.clear()
        events: list[EventId] = []
        for _ in range(times):
            events += world.publish_large(nodes[4], A, together)
            world.run(0.5)
        world.run(pause if spread == "auto" else 5.0)
        assert world.bodies.total() <= 1.1 * (NODES - 1) * times * together
        assert not world.lacking(nodes, events)
    assert not world.missed


@pytest.mark.slow  # 1 s each
@pytest.mark.parametrize("spread", SPREADS)
def test_what_a_publisher_said_outlives_it(spread: Spread) -> None:
    """It dies before anybody could have asked, and so does one of those that it sent it to."""
    world = OfferWorld(spread)
    nodes = world.fill(A, NODES)
    events = world.publish_large(nodes[4], A)
    first = next(iter(world.bodies))
    dead = [one for one in nodes if one is nodes[4] or one.me.address == first]
    for one in dead:
        world.kill(one)
    world.run(SETTLED)
    assert not world.lacking([one for one in nodes if one not in dead], events)


@pytest.mark.slow  # 1 s each
@pytest.mark.parametrize("spread", SPREADS)
def test_offerers_that_die_are_passed_over(spread: Spread) -> None:
    """A fifth dies in the midst of a stream, half of them at once with an event on its way."""
    world = OfferWorld(spread)
    nodes = world.fill(A, NODES)
    events: list[EventId] = []
    for dead in range(4):
        events += world.publish_large(nodes[19], A)
        world.run(0.025)
        world.kill(nodes[dead])
        world.run(0.5)
    world.run(SETTLED)
    assert not world.lacking(nodes[4:], events)
    assert not world.missed


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
def test_with_loss_nothing_is_missed(spread: Spread) -> None:
    world = OfferWorld(spread, loss=0.1)
    nodes = world.fill(A, NODES)
    events: list[EventId] = []
    for _ in range(20):
        events += world.publish_large(nodes[4], A)
        world.run(0.5)
    world.run(40.0)
    assert not world.lacking(nodes, events)
    assert not world.missed
    assert world.bodies.total() <= 1.5 * (NODES - 1) * len(events)


def test_upward_each_process_asks_once() -> None:
    world = OfferWorld("infect")
    above, below = world.fill(ROOT, 10), world.fill(A, 10)
    world.run(SETTLED)
    world.bodies.clear()
    events = [event for _ in range(5) for event in world.publish_large(below[4], A)]
    world.run(SETTLED)
    assert not world.lacking([*above, *below], events)
    assert world.bodies.total() <= 1.1 * (10 + 10 - 1) * len(events)
