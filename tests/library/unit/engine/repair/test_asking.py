"""What is missing is asked for, and not what is only late."""

from __future__ import annotations

from random import Random

import pytest

from camcast.doors.repair import RepairWatcher
from camcast.engine.repair.messages import Want
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.weather import Weather
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from tests.library.unit.engine.repair.repair_world import (
    A,
    RepairWorld,
    members,
)


class Patient(RepairWatcher):
    def patience(self, stream: StreamId, told: float, now: float) -> float:
        return 8.0


def test_a_hole_is_asked_for_though_what_was_told_before_is_still_waited_for(
    world: RepairWorld,
) -> None:
    """After a cut, what a tree waited for eight seconds for became a hole as the stream went on."""
    one, other = members(world, A, A)
    (participation,) = other.participations
    assert participation.repair is not None
    participation.repair.report_to(Patient())
    world.publish(one, A, b"1")
    world.sever((one, other))
    world.publish(one, A, b"2", seconds=0.5)
    world.heal()
    world.run(2.5)
    assert world.payloads(other) == [b"1"]  # it was told of 2, and waits for it
    world.publish(one, A, b"3", seconds=2.0)
    assert sorted(world.payloads(other)) == [b"1", b"2", b"3"]


def test_a_newcomer_gets_what_was_said_as_it_joined_however_long_its_question_takes(
    world: RepairWorld,
) -> None:
    """The time for which it asked ended with the question's arrival, 0.3 s later (scamp 380)."""
    (one,) = members(world, A)
    world.virtual.weather = Weather(Climate(latency=Constant(0.3)), Random(1))
    newcomer = world.join(A)
    (joins,) = newcomer.participations
    while not joins.joined:
        world.run(0.01)
    world.cut(lambda *_: False)
    world.publish(one, A, b"1", seconds=0.5)
    world.heal()
    world.publish(one, A, b"2", seconds=15.0)
    assert sorted(world.payloads(newcomer)) == [b"1", b"2"]


def test_what_is_late_by_a_second_and_not_lost_is_seldom_asked_for(world: RepairWorld) -> None:
    """Of 6,000 deliveries 234 were asked for; a process short of CPU repaired more than it got."""
    nodes = list(members(world, *[A] * 10))
    late = Climate(reordering=1.0, hold_seconds_max=1.0)
    world.virtual.weather = Weather(late, Random(1))
    for number in range(600):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.1)
    wants = sum(isinstance(message, Want) for *_, message in world.said)
    world.run(10.0)
    assert all(len(world.payloads(node)) == 600 for node in nodes)
    assert wants < 100


@pytest.mark.parametrize(("age", "lag"), [(0.0, 6), (3.5, 0)])
def test_only_what_lay_in_queues_makes_repair_wait_longer(
    world: RepairWorld, age: float, lag: int
) -> None:
    """What another process had asked for climbs to this one as a plain copy, and its age says so:
    it was taken for late, and after a cut two events came 2.3 s after they were due (scamp 409)."""
    (node,) = members(world, A)
    stream = stream_id(PeerId(bytes(16)), 1)

    def arrive(number: int, age: float) -> None:
        batch = make_batch(stream, number, [b"x"], A, published=round(1000 * world.now))
        world.hand(node, batch, age)

    arrive(1, 0.0)
    arrive(3, 0.0)
    world.run(2.99)
    arrive(2, age)
    world.run(0.1)
    assert len(world.payloads(node)) == 3
    assert node._maker._lateness.lag(world.now) == lag
