"""Repair among real nodes in the virtual network: what is lost comes, and quiet costs nothing."""

from __future__ import annotations

import pytest

from camcast.engine.repair.messages import Want
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.unit.engine.repair.repair_world import (
    A,
    RepairWorld,
    members,
)


def test_what_a_cut_swallowed_is_there_soon_after_it_heals(world: RepairWorld) -> None:
    one, other, third = members(world, A, A, A)
    world.sever((one, other), (one, third))
    lost = [b"%d" % number for number in range(3)]
    for payload in lost:
        world.publish(one, A, payload, seconds=0.5)
    assert not world.payloads(other) + world.payloads(third)
    world.heal()
    world.run(10.0)
    assert sorted(world.payloads(other)) == sorted(world.payloads(third)) == lost
    assert not world.told
    assert world.parasites == 0


def test_a_quiet_community_says_nothing_of_repair(world: RepairWorld) -> None:
    one, *_ = members(world, A, A, A, ROOT)
    world.publish(one, A, seconds=20.0)
    world.said.clear()
    world.run(100.0)
    assert not [said for *_, said in world.said if isinstance(said, Want)]
    assert not world.said


def test_what_the_only_member_has_said_at_last_climbs_when_it_leaves(world: RepairWorld) -> None:
    root, one = members(world, ROOT, A)
    world.sever((one, root))
    world.publish(one, A, b"last", seconds=0.1)
    world.do(one, lambda node, now: node.publish(A, b"stays", now, upward_probability=0.0))
    world.heal()
    world.leave(one, A)
    world.run(5.0)
    assert world.payloads(root) == [b"last"]


@pytest.mark.parametrize("seed", range(4))
def test_what_was_said_at_last_goes_to_those_that_were_heard_of_last(seed: int) -> None:
    """Of seven neighbours six have died, which is not known yet: three at random were all dead."""
    world = RepairWorld(seed=seed)
    one, *others = members(world, *[A] * 8)
    for dead in others[1:]:
        world.kill(dead)
    world.run(2.0)
    world.sever((one, others[0]))
    world.publish(one, A, b"last", seconds=0.1)
    world.heal()
    world.leave(one, A)
    world.run(1.0)
    assert world.payloads(others[0]) == [b"last"]


def test_who_hears_nobody_of_its_community_gives_all_that_still_climbs(world: RepairWorld) -> None:
    root, one = members(world, ROOT, A)
    world.sever((one, root))
    world.publish(one, A, b"4 seconds ago", seconds=4.0)
    world.heal()
    world.leave(one, A)
    world.run(1.0)
    assert world.payloads(root) == [b"4 seconds ago"]


@pytest.mark.parametrize(("topic", "unheard"), [(A, [2]), (ROOT, [])])
def test_who_can_give_its_last_events_to_nobody_says_so(
    world: RepairWorld, topic: Topic, unheard: list[int]
) -> None:
    """The only super-process is known to be dead. What a lone root member says, nobody lacks."""
    root, one = members(world, ROOT, topic)
    world.kill(root)
    world.run(60.0)
    one.outbox.happenings = []
    for payload in (b"1", b"2"):
        world.publish(one, topic, payload, seconds=1.0)
    world.leave(one, topic)
    told = [each.count for each in one.outbox.happenings if each.kind == "unheard"]
    assert told == unheard
