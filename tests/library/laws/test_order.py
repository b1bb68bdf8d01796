"""The law of order: with ``fifo``, no event of a publisher comes before an earlier one.

What a law here counts as a *step back* is an event that is delivered after a later one of its
publisher, topic and community, and is not flagged as late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from random import Random

import attrs
import pytest

from camcast import CommunitySettings
from camcast.engine.node import Node
from camcast.engine.settings import Order
from camcast.testing import World
from camcast.virtual.climate import Climate, Latency, Matrix, Uniform
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import SpreadKind
from camcast.vocabulary.topics import ROOT, GroupId, Topic

A = Topic.parse(".a")
WAN = Uniform(0.005, 0.14)
FAR = Matrix([[0.005 + 0.135 * ((3 * a + 5 * b) % 8) / 7 for b in range(8)] for a in range(8)])
"""Hosts 5 to 140 ms apart, each two of them always as far."""
ORDERS: tuple[Order, ...] = ("arrival", "fifo")
GAP = 0.02  # 50 events/s


class Arrivals(World):
    """A world that keeps when each event came to each node, and whether it was late."""

    def __init__(
        self,
        order: Order = "fifo",
        seed: int = 1,
        loss: float = 0.0,
        latency: Latency = WAN,
        parameters: CommunitySettings | None = None,
    ) -> None:
        climate = Climate(latency=latency, loss=loss)
        network = VirtualNetwork(seed, climate)
        super().__init__(seed, virtual=network, repair=True, parameters=parameters)
        self.settings = attrs.evolve(self.settings, order=order)
        self.came: dict[tuple[Node, GroupId], list[tuple[int, bool]]] = defaultdict(list)
        """The payloads, which are numbers, and whether they came late."""
        self.times: dict[tuple[Node, GroupId], dict[int, float]] = defaultdict(dict)
        self.climbs: dict[int, bool] = {}
        self.virtual.on_delivery = self._note

    def _note(self, process: Process, delivery: Deliver) -> None:
        place = process.node, delivery.group
        for payload in delivery.batch.payloads():
            self.came[place].append((int(payload), delivery.batch.late))
            self.times[place][int(payload)] = self.now

    def publish_kinds(self, node: Node, topic: Topic, count: int, seed: int) -> None:
        """Publish events of kinds at random, up to three in an instant."""
        kinds, number = Random(seed), 0
        while number < count:
            for _ in range(kinds.choice((1, 1, 2, 3))):
                typed, p_sel = kinds.random() < 0.3, kinds.choice((None, None, 0.0, 0.0, 0.7))
                self.do(node, partial(_publish, topic, b"%d" % number, typed, p_sel))
                self.climbs[number] = p_sel != 0
                number += 1
            self.run(GAP)

    def publish_many(self, node: Node, topic: Topic, count: int, first: int = 0) -> None:
        for number in range(first, first + count):
            self.publish(node, topic, str(number).encode(), seconds=GAP)


def _publish(
    topic: Topic, payload: bytes, typed: bool, p_sel: float | None, node: Node, now: float
) -> None:
    node.publish(topic, payload, now, typed=typed, upward_probability=p_sel)


def steps_back(came: Sequence[tuple[int, bool]]) -> int:
    """Count the events that come after a later one, but for those that are flagged late."""
    highest, steps = -1, 0
    for number, late in came:
        steps += number < highest and not late
        highest = max(highest, number)
    return steps


def members(world: Arrivals, count: int = 8) -> list[Node]:
    nodes = [world.join(A) for _ in range(count)]
    world.run(10.0)
    return nodes


@pytest.mark.parametrize(
    ("seed", "loss", "count"),
    [
        (1, 0.01, 100),
        *(pytest.param(seed, 0.01, 1000, marks=pytest.mark.slow) for seed in range(2, 5)),
        pytest.param(5, 0.0, 1000, marks=pytest.mark.slow),
    ],
)
def test_over_a_wide_area_network_nothing_steps_back_and_nothing_is_lost(
    seed: int, loss: float, count: int
) -> None:
    world = Arrivals(seed=seed, loss=loss)
    first, *others = members(world)
    world.publish_many(first, A, count)
    world.run(10.0)
    for node in others:
        assert world.came[node, A.group] == [(number, False) for number in range(count)]


def test_events_from_before_and_after_the_clock_was_set_stay_in_order() -> None:
    """From then on they are in other streams, whose first batch names the last event of before."""
    world = Arrivals()
    first, *others = members(world)
    for number in range(20):
        first.compare_clocks(world.now, world.now + 100.0 * number)
        world.publish_many(first, A, 3, 3 * number)
    world.run(10.0)
    for node in others:
        assert world.came[node, A.group] == [(number, False) for number in range(60)]


def test_an_event_is_held_for_as_long_as_those_before_it_are_under_way_and_no_longer() -> None:
    """The same network, which draws the same latencies, says when each event arrives."""
    times = {}
    for order in ORDERS:
        world = Arrivals(order)
        first, *others = members(world, 5)
        world.publish_many(first, A, 100)
        world.run(2.0)
        times[order] = [world.times[node, A.group] for node in others]
        stepped = [steps_back(world.came[node, A.group]) for node in others]
        assert (order == "fifo") == (not any(stepped)), "else the law could not fail"
    for arrived, delivered in zip(times["arrival"], times["fifo"], strict=True):
        latest = 0.0
        for number in range(100):
            latest = max(latest, arrived[number])
            assert delivered[number] == latest


@pytest.mark.parametrize("spread", ["auto", pytest.param("infect", marks=pytest.mark.slow)])
def test_between_hosts_that_are_always_as_far_apart_no_event_is_held(spread: SpreadKind) -> None:
    """The order costs no delay: each event is delivered at the instant at which it arrives."""
    times = {}
    for order in ORDERS:
        parameters = CommunitySettings(spread=spread)
        world = Arrivals(order, latency=FAR, parameters=parameters)
        first, *others = members(world)
        world.publish_many(first, A, 100)
        world.run(2.0)
        times[order] = [world.times[node, A.group] for node in others]
    assert times["fifo"] == times["arrival"]
    assert all(len(came) == 100 for came in times["fifo"])


def test_a_newcomer_sees_at_once_what_a_publisher_publishes_that_was_there_before() -> None:
    """What is below the first event that it sees is from before its time: it does not wait for it.

    In the second after its joining it knows so, and later when a neighbour has answered.
    """
    for seed, gap in ((1, 1.0), (2, 3.0)):
        times = {}
        for order in ORDERS:
            world = Arrivals(order, seed)
            first, *_ = members(world, 4)
            for number in range(5):
                world.publish(first, A, str(number).encode(), seconds=gap)
            newcomer = world.join(A)
            for number in range(5, 9):
                world.publish(first, A, str(number).encode(), seconds=gap)
            times[order] = world.times[newcomer, A.group]
        assert steps_back(world.came[newcomer, A.group]) == 0
        assert len(times["arrival"]) >= 3
        waits = [times["fifo"][number] - at for number, at in times["arrival"].items()]
        assert max(waits) < 0.5  # 0.2 s, a question and its answer, and a look after 0.1 s


def test_of_the_events_of_a_busy_publisher_a_newcomer_sees_none_before_an_earlier_one() -> None:
    """But for those from the second in which it joined, which are flagged as late."""
    world = Arrivals(seed=4)
    first, *_ = members(world, 4)
    world.publish_many(first, A, 100)
    newcomer = world.join(A)
    joined = world.now
    world.publish_many(first, A, 150, first=100)
    world.run(10.0)
    came = world.came[newcomer, A.group]
    assert len(came) > 100
    assert steps_back(came) == 0
    published = world.times[first, A.group]
    assert all(published[number] < joined + 2.0 for number, late in came if late)


@pytest.mark.parametrize(
    ("seed", "loss", "count"),
    [
        (1, 0.01, 60),
        *(pytest.param(seed, 0.01, 600, marks=pytest.mark.slow) for seed in range(2, 5)),
        pytest.param(5, 0.0, 600, marks=pytest.mark.slow),
    ],
)
def test_events_of_all_kinds_come_in_one_order_and_nobody_above_waits_for_what_never_climbs(
    seed: int, loss: float, count: int
) -> None:
    """Typed or not, with an upward probability of their own or none, or never climbing.

    Without loss, an event that is above is there as soon as those before it that climb.
    """
    times = {}
    for order in ORDERS:
        world = Arrivals(order, seed, loss)
        above = world.join(ROOT)
        first, *others = members(world, 5)
        world.publish_kinds(first, A, count, seed)
        world.run(20.0)
        times[order] = world.times[above, ROOT.group]
        stepped = sum(steps_back(world.came[node, A.group]) for node in others)
        assert (order == "fifo") == (stepped == 0)
    published = sorted(world.climbs)
    for node in others:
        assert world.came[node, A.group] == [(number, False) for number in published]
    climbing = [number for number in published if world.climbs[number]]
    assert world.came[above, ROOT.group] == [(number, False) for number in climbing]
    latest = 0.0
    for number in climbing if not loss else ():
        latest = max(latest, times["arrival"][number])
        assert times["fifo"][number] == latest
