"""Events wait for earlier ones of their stream, for a bounded time and in bounded memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import attrs
import pytest

from camcast.engine.known_streams import KnownRanges, KnownStreams
from camcast.engine.node import Node
from camcast.engine.repair.hold_back import HOLD_SECONDS, LOOK_SECONDS, HoldBack
from camcast.engine.repair.told import RepairContext
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.virtual.network import Process
from camcast.vocabulary.batches import After, Batch, make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet, Deliver, Outbox
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import Kind
from tests.library.unit.engine.repair.repair_world import RETENTION, A, RepairWorld, members

ME = Contact(PeerId(b"m" * 16), "tcp://10.0.0.1:7000")
STREAM, OTHER = stream_id(PeerId(b"p" * 16), 1), stream_id(PeerId(b"q" * 16), 1)
STAYS = stream_id(PeerId(b"p" * 16), 2)  # of the same publisher, what never climbs


@pytest.fixture
def world() -> RepairWorld:
    world = RepairWorld()
    world.settings = attrs.evolve(world.settings, order="fifo")
    return world


class Receiver:
    """What comes of batches that one process receives of some streams of `.a`."""

    def __init__(
        self,
        events: int = 100,
        size: int = 10_000,
        community: Topic = A,
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        self.outbox = Outbox(ME)
        self.streams = KnownStreams(repaired=True)
        context = SimpleNamespace(
            outlet=ControlOutlet(self.outbox, Kind.REPAIR, A.group),
            streams=self.streams,
            member_since=-10.0,
            community=SimpleNamespace(group=community, me=ME),
        )
        self.hold_back = HoldBack(
            cast("RepairContext", context), lambda: (events, size), hold_seconds
        )

    def known(self, stream: StreamId = STREAM) -> KnownRanges:
        known = self.streams.known.get(stream) or self.streams.introduce(stream, b"", 0.0)
        assert known is not None
        return known

    def take(
        self,
        first: int,
        now: float = 0.0,
        count: int = 1,
        stream: StreamId = STREAM,
        after: tuple[StreamId, int] | None = None,
        ago: float = 0.0,
    ) -> str:
        """Let a batch come; the event that it is `after` was published so many seconds ago."""
        known = self.known(stream)
        known.add(first, count)
        time = round(1000 * now) + 1_000_000
        named = None if after is None else After(*after, time - round(1000 * ago))
        batch = make_batch(stream, first, [b"x"] * count, A, published=time, since=now, after=named)
        return words(self.hold_back.in_order([batch], known, now))

    def look(self, now: float) -> str:
        return words(self.hold_back.look(now))


def words(batches: object) -> str:
    """Write down the first numbers of batches, with a ! those that are late."""
    assert isinstance(batches, list | tuple)
    return " ".join(f"{one.first}{'!' * one.late}" for one in batches)


def test_what_overtakes_waits_and_comes_in_order() -> None:
    receiver = Receiver()
    assert receiver.take(1) == "1"
    assert [receiver.take(number) for number in (4, 3, 6)] == ["", "", ""]
    assert receiver.take(2) == "2 3 4"
    assert receiver.take(5) == "5 6"
    assert receiver.take(7, count=3) == "7"
    assert receiver.take(10) == "10"


def test_one_stream_does_not_wait_for_another() -> None:
    receiver = Receiver()
    assert receiver.take(2) == ""
    assert receiver.take(1, stream=OTHER) == "1"
    assert receiver.take(1) == "1 2"


def test_a_timer_runs_while_something_is_held_and_only_then() -> None:
    receiver, wakes = Receiver(), []
    receiver.take(1)
    wakes.append(len(receiver.outbox.wakes))
    receiver.take(3)
    receiver.take(5)
    wakes.append(len(receiver.outbox.wakes))
    assert receiver.look(0.1) == ""
    wakes.append(len(receiver.outbox.wakes))
    assert receiver.take(2) == "2 3"
    assert receiver.take(4) == "4 5"
    assert receiver.look(0.2) == ""
    wakes.append(len(receiver.outbox.wakes))
    assert wakes == [0, 1, 2, 2]


@pytest.mark.parametrize("patience", [HOLD_SECONDS, 3.5, 100.0])
def test_each_event_waits_for_so_long_at_most_and_what_comes_then_is_late(patience: float) -> None:
    receiver = Receiver(hold_seconds=patience)
    receiver.take(1)
    assert receiver.take(5, now=1.0) == ""
    assert receiver.take(3, now=4.0) == ""
    assert receiver.take(8, now=4.0) == ""
    assert receiver.look(1.0 + patience - 0.01) == ""
    assert receiver.look(1.0 + patience) == "3 5"  # 3 has not waited, but is below
    then = 1.5 + patience
    assert receiver.take(4, now=then) == "4!"
    assert receiver.take(2, now=then) == "2!"
    assert receiver.take(6, now=then) == "6"
    assert receiver.take(7, now=then) == "7 8"


def test_nothing_waits_for_what_is_given_up_or_from_before_this_processs_time() -> None:
    receiver = Receiver()
    known = receiver.known()
    known.before = 90  # a newcomer
    assert receiver.take(90) == "90"
    assert receiver.take(95) == ""
    known.floor = 94
    assert receiver.look(0.1) == ""
    known.floor = 95  # `Missed` was told up to here
    assert receiver.look(0.2) == "95"
    assert receiver.take(5, stream=OTHER) == ""
    receiver.hold_back.skip(OTHER, 5)  # a neighbour has answered
    assert receiver.look(0.3) == "5"
    assert receiver.take(4, stream=OTHER) == "4!"


@pytest.mark.parametrize(("events", "size"), [(6, 1000), (1000, 6)])
def test_what_has_no_room_goes_on_so_that_the_bound_holds_nothing_up(
    events: int, size: int
) -> None:
    """The stream goes on that has waited for longest, whole; what is held stays in its bounds."""
    receiver = Receiver(events, size)
    receiver.take(1)
    receiver.take(1, stream=OTHER)
    assert receiver.take(3, now=1.0, count=2, stream=OTHER) == ""
    assert [receiver.take(number, now=2.0) for number in (3, 5, 7)] == ["", "", ""]
    assert receiver.take(9, now=3.0) == "3"  # of the other stream
    assert receiver.take(11, now=3.0) == ""
    assert receiver.take(13, now=3.0) == "3 5 7 9 11 13"
    assert receiver.take(2, now=4.0) == "2!"
    full = Receiver(0, 0)
    assert full.take(3) == "3"
    assert full.take(2) == "2!"


def test_a_forged_number_far_ahead_costs_a_stream_its_order_and_no_event() -> None:
    receiver = Receiver()
    assert receiver.take(1) == "1"
    assert receiver.take(10**6) == ""
    assert receiver.take(2, now=1.0) == "2"
    assert receiver.look(HOLD_SECONDS) == "1000000"
    assert receiver.take(3, now=6.0) == "3!"


def test_parts_of_a_batch_stand_on_both_sides_of_what_was_delivered() -> None:
    receiver = Receiver()
    receiver.take(1)
    assert receiver.take(4) == ""
    assert receiver.look(HOLD_SECONDS) == "4"
    known = receiver.known()
    known.add(2, 5)
    whole = make_batch(STREAM, 2, [b"x"] * 5, A)
    ready = receiver.hold_back.in_order([whole.part(2, 4), whole.part(5, 7)], known, 6.0)
    assert words(ready) == "2! 5"


def test_history_has_all_but_what_is_held_back() -> None:
    receiver = Receiver()
    receiver.take(1)
    receiver.take(5, count=2)
    receiver.take(9)

    def history(first: int, count: int) -> list[tuple[int, int]]:
        batch = make_batch(STREAM, first, [b"x"] * count, A)
        return [(one.first, one.count) for one in receiver.hold_back.without_held([batch])]

    assert history(1, 1) == [(1, 1)]
    assert history(5, 2) == []
    assert history(4, 7) == [(4, 1), (7, 2), (10, 1)]
    assert history(6, 2) == [(7, 1)]
    assert history(10, 3) == [(10, 3)]


def test_history_is_late_where_later_events_have_been_delivered_and_moves_nothing() -> None:
    receiver = Receiver()
    known = receiver.known()
    old = [make_batch(STREAM, number, [b"x"], A) for number in (3, 4)]
    assert words([receiver.hold_back.flagged(old[0], known)]) == "3"
    known.before = 9
    assert receiver.take(9) == "9"
    assert words([receiver.hold_back.flagged(old[1], known)]) == "4!"
    assert receiver.take(10) == "10"


# -- a publisher's two streams of a topic ----------------------------------------------------------


def test_an_event_waits_for_that_of_the_other_stream_which_it_follows() -> None:
    """Published: 1, then two that never climb, then 2, then one that never climbs, then 3."""
    receiver = Receiver()
    assert receiver.take(3, after=(STAYS, 3)) == ""
    assert receiver.take(3, stream=STAYS, after=(STREAM, 2)) == ""
    assert receiver.take(1) == "1"
    assert receiver.take(2, after=(STAYS, 2)) == ""
    assert receiver.take(1, stream=STAYS, count=2, after=(STREAM, 1)) == "1 2 3 3"
    assert receiver.take(4) == "4"
    assert receiver.look(0.1) == ""


def test_nobody_above_waits_for_what_never_climbs() -> None:
    receiver = Receiver(community=ROOT)
    assert receiver.take(1, after=(STAYS, 1)) == "1"
    assert receiver.take(2) == "2"
    assert receiver.take(3, after=(STAYS, 7)) == "3"
    assert not receiver.outbox.wakes


def test_the_other_stream_holds_for_five_seconds_too_and_what_comes_then_is_late() -> None:
    receiver = Receiver()
    assert receiver.take(1, after=(STAYS, 2)) == ""
    assert receiver.take(2) == ""
    assert receiver.take(2, now=1.0, stream=STAYS) == ""
    assert receiver.look(HOLD_SECONDS) == "2 1 2"  # held below it, it is delivered before
    assert receiver.take(1, now=6.0, stream=STAYS) == "1!"
    unheard = Receiver()
    assert unheard.take(1, after=(STAYS, 2)) == ""
    assert unheard.look(HOLD_SECONDS) == "1"
    assert unheard.take(1, now=6.0, stream=STAYS) == "1!"
    assert unheard.take(2, now=6.0, stream=STAYS) == "2!"
    assert unheard.take(3, now=6.0, stream=STAYS) == "3"


def test_nothing_waits_for_what_the_other_stream_had_before_this_processs_time() -> None:
    receiver = Receiver()
    receiver.known().before = 5
    assert receiver.take(5, after=(STAYS, 9), ago=60.0) == "5"
    assert receiver.take(6, after=(STAYS, 10), ago=0.1) == ""
    assert receiver.take(10, stream=STAYS, after=(STREAM, 5)) == "10 6"
    assert receiver.take(9, stream=STAYS) == "9!"  # it seems younger now than its follower said


def test_what_an_event_that_came_late_follows_is_late_too() -> None:
    receiver = Receiver()
    receiver.known().before = 5
    assert receiver.take(5) == "5"
    assert receiver.take(4, after=(STAYS, 8)) == "4!"
    assert receiver.take(8, stream=STAYS) == "8!"


def test_what_was_published_as_this_process_joined_is_not_waited_for_but_late() -> None:
    receiver = Receiver()
    assert receiver.take(1, after=(STAYS, 4), ago=9.5) == "1"
    assert receiver.take(4, stream=STAYS) == "4!"
    assert receiver.known(STAYS).before == 5


def test_an_event_that_is_given_up_holds_the_other_stream_no_longer() -> None:
    receiver = Receiver()
    assert receiver.take(1, after=(STAYS, 1)) == ""
    receiver.known(STAYS).floor = 2
    assert receiver.look(0.1) == "1"


# -- in a node -------------------------------------------------------------------------------------


def give(world: RepairWorld, node: Node, *numbers: int, stream: StreamId = STREAM) -> None:
    """Let a node receive events that nobody else has, of these numbers, which they say."""
    for number in numbers:
        world.hand(node, make_batch(stream, number, [b"%d" % number], A))


def test_a_hole_that_nobody_can_fill_holds_for_five_seconds_and_is_told_as_missed(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)
    give(world, one, 1, 3, 4)
    world.run(HOLD_SECONDS - 2 * LOOK_SECONDS)
    assert world.payloads(one) == [b"1"]
    world.run(4 * LOOK_SECONDS)
    assert world.payloads(one) == [b"1", b"3", b"4"]
    assert not world.told
    world.run(RETENTION + 5.0)
    assert [(missed.first, missed.last) for node, missed in world.told if node is one] == [(2, 2)]
    give(world, one, 2)
    assert world.payloads(one) == [b"1", b"3", b"4", b"2"]


def test_a_hole_that_repair_fills_holds_until_then(world: RepairWorld) -> None:
    """Each has a store of its own: a loop's shared one hides that an event had to be asked for."""
    one = world.start(world.settings, parts=Parts(store=Store()))
    world.do(one, lambda node, now: node.join(A, now))
    (other,) = members(world, A)
    give(world, one, 1, 2, 3)
    give(world, other, 1)
    world.run(2.0)
    assert world.payloads(other) == [b"1", b"2", b"3"]
    give(world, other, 5)
    world.run(1.0)
    assert len(world.payloads(other)) == 3
    give(world, one, 4)
    world.run(3.0)
    assert world.payloads(other)[3:] == [b"4", b"5"]


def test_the_stream_of_a_publisher_that_starts_again_waits_for_nothing_of_the_one_before(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)
    give(world, one, 1, 3)
    give(world, one, 1, stream=stream_id(PeerId(b"p" * 16), 2))  # the same identity
    give(world, one, 1, stream=OTHER)  # a new one
    assert world.payloads(one) == [b"1", b"1", b"1"]


def test_without_repair_events_come_as_they_arrive(world: RepairWorld) -> None:
    world.parts = Parts()
    one, _ = members(world, A, A)
    give(world, one, 1, 3, 2)
    assert world.payloads(one) == [b"1", b"3", b"2"]


def test_in_the_order_of_arrival_nothing_is_held_nor_late(world: RepairWorld) -> None:
    world.settings = attrs.evolve(world.settings, order="arrival")
    one, _ = members(world, A, A)

    came: list[tuple[bytes, bool]] = []

    def on_delivery(_process: Process, delivery: Deliver) -> None:
        came.extend((one, delivery.batch.late) for one in delivery.batch.payloads())

    world.virtual.on_delivery = on_delivery
    give(world, one, 1, 3, 2)
    assert came == [(b"1", False), (b"3", False), (b"2", False)]


def test_who_asks_for_history_gets_what_is_held_back_later_and_once(world: RepairWorld) -> None:
    one, _ = members(world, A, A)
    (local_group,) = one.local_groups
    give(world, one, 1, 3)

    def history(node: Node, now: float) -> list[Batch]:
        return node.history(local_group, 60.0, now)

    assert [batch.first for batch in world.do(one, history)] == [1]
    give(world, one, 2)
    assert world.payloads(one) == [b"1", b"2", b"3"]
