"""An event is confirmed by the members that hold it, and by nobody else."""

from __future__ import annotations

from functools import partial

from camcast.engine.node import Node
from camcast.engine.repair.confirming import Confirmation
from camcast.vocabulary.events import EventId
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.unit.engine.repair.repair_world import A, RepairWorld, members


def confirm(world: RepairWorld, node: Node, event: EventId, wanted: int) -> Confirmation:
    local_group = node.local_group(A)
    assert local_group is not None

    def ask(node: Node, now: float) -> Confirmation:
        return node.confirm(local_group, event, wanted, now)

    return world.do(node, ask)


def publish(topic: Topic, node: Node, now: float) -> EventId:
    return node.publish(topic, b"goal", now).id


def test_members_that_hold_an_event_say_so_and_processes_above_do_not_count(
    world: RepairWorld,
) -> None:
    above, one, *others = members(world, ROOT, A, A, A, A)
    event = world.do(one, partial(publish, A))
    confirmation = confirm(world, one, event, 3)
    assert not confirmation.complete
    world.run(3.0)
    assert confirmation.complete
    assert set(confirmation.members) == {node.me.peer for node in others}
    assert above.me.peer not in confirmation.members


def test_who_has_not_got_an_event_does_not_confirm_it_until_repair_has_brought_it(
    world: RepairWorld,
) -> None:
    one, *others = members(world, A, A, A)
    event = world.publish(one, A, seconds=1.0)
    world.sever(*((one, other) for other in others))
    lost = world.do(one, partial(publish, A))
    world.run(1.0)
    world.heal()
    known = confirm(world, one, event, 2)
    unknown = confirm(world, one, lost, 2)
    world.run(0.1)  # the questions and their answers
    assert known.complete
    assert not unknown.members
    world.run(10.0)
    assert unknown.complete


def test_a_confirmed_event_outlives_its_publisher(world: RepairWorld) -> None:
    """The publisher reaches one member alone, and crashes as soon as that has confirmed."""
    one, near, *far = members(world, A, A, A, A)
    world.sever(*((one, other) for other in far), *((near, other) for other in far))
    confirmation = confirm(world, one, world.do(one, partial(publish, A)), 1)
    assert world.run(5.0, until=lambda: confirmation.complete)
    world.kill(one)
    world.heal()
    world.run(20.0)
    assert all(world.payloads(other) == [b"goal"] for other in (near, *far))


def test_nobody_is_asked_when_enough_have_confirmed_or_nobody_waits_any_longer(
    world: RepairWorld,
) -> None:
    one, other, _ = members(world, A, A, A)
    event = world.publish(one, A, seconds=20.0)
    local_group = one.local_group(A)
    assert local_group is not None
    assert local_group.repair is not None
    confirming = local_group.repair.confirming
    unreachable = confirm(world, one, event, 9)
    enough = confirm(world, other, event, 0)
    world.run(2.0)
    assert len(unreachable.members) == 2
    confirming.end(unreachable)
    world.run(2.0)
    world.said.clear()
    world.run(5.0)
    assert not world.said
    assert enough.complete
