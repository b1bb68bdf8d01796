"""Repair among real nodes in the virtual network: what is lost comes, and quiet costs nothing."""

from __future__ import annotations

from camcast.engine.repair.messages import Want
from camcast.vocabulary.topics import ROOT
from tests.unit.engine.repair.repair_world import (
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
