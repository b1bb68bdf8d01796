"""What a process publishes: its streams, and when batches are closed."""

from __future__ import annotations

from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.publisher import (
    BUSY_EVENTS,
    BUSY_SECONDS,
    NUMBERS_RESERVED,
    STREAMS_MAX,
)
from camcast.testing.world import World
from camcast.vocabulary.batches import BODY_BYTES_MAX, EVENTS_MAX, TREE, Batch
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

A, B = Topic.parse(".a"), Topic.parse(".b")


def publishing() -> tuple[World, Node]:
    world = World()
    node = world.join(A, B)
    return world, node


def left(node: Node) -> list[Batch]:
    """Return the batches that were delivered here, as they left, and drop them."""
    deliveries, node.outbox.deliveries = node.outbox.deliveries, []
    return [delivery.batch for delivery in deliveries]


def test_what_is_published_in_an_instant_is_one_batch() -> None:
    world, node = publishing()
    receipts = [node.publish(A, b"%d" % number, world.now) for number in range(10)]
    assert left(node) == []
    node.flush(world.now)
    (batch,) = left(node)
    assert [event.id for event in batch.events()] == [receipt.id for receipt in receipts]
    assert batch.payloads() == [b"%d" % number for number in range(10)]
    node.flush(world.now)
    assert left(node) == []


def test_a_batch_is_closed_by_its_count_and_by_its_size() -> None:
    world, node = publishing()
    for _ in range(EVENTS_MAX + 1):
        node.publish(A, b"", world.now)
    assert [batch.count for batch in left(node)] == [EVENTS_MAX]
    node.flush(world.now)
    left(node)
    for _ in range(3):
        node.publish(A, bytes(BODY_BYTES_MAX // 3), world.now)
    node.publish(A, bytes(2 * BODY_BYTES_MAX), world.now)
    node.flush(world.now)
    batches = left(node)
    assert [batch.count for batch in batches] == [2, 1, 1]
    assert all(len(batch.body) <= BODY_BYTES_MAX for batch in batches[:2])


def test_without_repair_each_topic_and_way_of_publishing_has_a_stream_of_its_own() -> None:
    world, node = publishing()
    ways: list[tuple[Topic, bool, float | None]] = [
        *((A, False, None), (B, False, None), (A, True, None), (A, False, 0.5), (A, False, 0.0))
    ]
    for _ in range(2):
        for topic, typed, upward in ways:
            node.publish(topic, b"", world.now, typed=typed, upward_probability=upward)
    node.flush(world.now)
    batches = left(node)
    numbers = [batch.id.number for batch in batches]
    assert len(set(numbers)) == len(batches) == len(ways)
    assert numbers == list(range(numbers[0], numbers[0] + len(ways)))
    assert [(batch.first, batch.count) for batch in batches] == [(1, 2)] * len(ways)


def test_with_repair_a_topic_has_a_stream_of_what_climbs_and_one_of_what_does_not() -> None:
    """A batch that follows events of the other stream names the last of them, and no other does."""
    world = World(repair=True)
    node = world.join(A, B)
    ways: list[tuple[Topic, bool, float | None]] = [
        *((A, False, None), (A, False, None), (A, True, None), (A, False, 0.5), (A, False, 0.0)),
        *((A, False, 0.0), (B, False, None), (A, False, 0.0), (A, True, None), (A, True, None)),
    ]
    for topic, typed, upward in ways:
        node.publish(topic, b"", world.now, typed=typed, upward_probability=upward)
    node.flush(world.now)
    node.publish(A, b"", world.now, typed=True)
    node.flush(world.now)
    batches = [batch for batch in left(node) if batch.topic == A]
    climbs, stays = batches[0].stream, batches[3].stream
    assert [(batch.stream, batch.first, batch.count) for batch in batches] == [
        *((climbs, 1, 2), (climbs, 3, 1), (climbs, 4, 1)),
        *((stays, 1, 3), (climbs, 5, 2), (climbs, 7, 1)),
    ]
    named = [batch.after and (batch.after.stream, batch.after.sequence) for batch in batches]
    assert named == [None, None, None, (climbs, 4), (stays, 3), None]


def test_streams_of_ones_own_are_bounded_and_no_id_comes_twice() -> None:
    world, node = publishing()
    ids = []
    for round_ in range(2):
        for number in range(STREAMS_MAX + 50):
            upward = (number + 1) / 1000
            ids.append(node.publish(A, b"", world.now, upward_probability=upward).id)
            if number % 7 == round_:
                node.flush(world.now)
    assert len(set(ids)) == len(ids)
    assert len(node._publisher._streams) <= STREAMS_MAX


def test_what_was_published_before_leaving_leaves_before() -> None:
    world, node = publishing()
    node.publish(A, b"last words", world.now)
    node.leave(A, world.now)
    assert [batch.payloads() for batch in left(node)] == [[b"last words"]]


def test_the_time_of_publication_is_that_of_the_publishers_clock() -> None:
    world, node = publishing()
    first = world.now
    world.publish(node, A, seconds=2.5)
    world.publish(node, A)
    early, late = (delivery.event.published for _, delivery in world.delivered)
    assert late - early == 2500
    assert early == round(1000 * first)  # virtual time begins in 1970


def flags_of_bursts(world: World, node: Node, *bursts: tuple[float, int]) -> list[bool]:
    """Say of each burst, which begins so much later and has so many events, if it is flagged."""
    flagged = []
    now = world.now
    for later, count in bursts:
        now += later
        for _ in range(count):
            node.publish(A, b"", now)
        node.flush(now)
        (batch,) = left(node)
        flagged.append(bool(batch.flags & TREE))
    return flagged


def test_a_stream_is_busy_from_so_many_events_in_a_second_on() -> None:
    world = World(parameters=CommunitySettings(), repair=True)  # auto, the default
    node = world.join(A)
    few = BUSY_EVENTS - 1
    slow = [(1.1, few)] * 3
    later = [(0.5, 1), (0.9 * BUSY_SECONDS, 1), (0.2 * BUSY_SECONDS, 1)]
    assert flags_of_bursts(world, node, *slow, *later) == [False] * 3 + [True, True, False]


def test_every_stream_counts_as_busy_where_all_shall_go_along_trees() -> None:
    world = World(parameters=CommunitySettings(spread="tree"), repair=True)
    assert flags_of_bursts(world, world.join(A), (1.0, 1), (99.0, 1)) == [True, True]


def test_no_stream_is_busy_where_there_are_no_trees() -> None:
    for spread, repair in (("infect", True), ("auto", False), ("tree", False)):
        world = World(parameters=CommunitySettings(spread=spread), repair=repair)  # type: ignore[arg-type]  # mypy joins them to str
        assert flags_of_bursts(world, world.join(A), (1.0, EVENTS_MAX)) == [False]


def test_streams_have_the_numbers_that_were_reserved() -> None:
    asked: list[tuple[int, int]] = []

    def reserve(at_least: int, count: int) -> int:
        asked.append((at_least, count))
        return 10 * at_least

    world = World()
    node = world.start(world.settings, parts=evolve(world.parts, reserve_numbers=reserve))
    node.join(A, world.now)
    ways = [number / (NUMBERS_RESERVED + 1) for number in range(NUMBERS_RESERVED + 1)]
    streams = [node.publish(A, b"", world.now, upward_probability=way).id.number for way in ways]
    (first, count), (second, _) = asked
    assert count == NUMBERS_RESERVED
    assert streams[:-1] == list(range(10 * first, 10 * first + NUMBERS_RESERVED))
    assert second == 10 * first + NUMBERS_RESERVED
    assert streams[-1] == 10 * second


def test_after_a_clock_that_was_set_forward_all_streams_are_new_with_numbers_from_its_time() -> (
    None
):
    """A machine that was set back to a snapshot has published since, in these and in others."""
    world = World()
    node = world.start(world.settings)
    node.join(A, world.now)
    first = node.publish(A, b"", world.now).id
    for way, (seconds, moves) in enumerate(((0.5, False), (-60.0, False), (3600.0, True)), 1):
        node.compare_clocks(world.now, node.clock.wall(world.now) + seconds)
        assert (node.publish(A, b"", world.now).id.stream == first.stream) != moves
        made = node.publish(A, b"", world.now, upward_probability=way / 10).id.number
        new = 1 + round(1000 * node.clock.wall(world.now))
        assert made == (new if moves else first.number + way)
