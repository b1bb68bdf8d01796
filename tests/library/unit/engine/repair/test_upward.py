"""What climbs comes, whatever was lost on the way, and newcomers above pass it on."""

from __future__ import annotations

import pytest

from camcast.engine.repair.messages import Have, Referral
from camcast.vocabulary.topics import ROOT
from tests.library.unit.engine.repair.repair_world import AX, A, RepairWorld, members


def test_what_must_not_climb_is_not_told_above(world: RepairWorld) -> None:
    root, one = members(world, ROOT, A)
    world.do(one, lambda node, now: node.publish(A, b"stays", now, upward_probability=0.0))
    world.run(30.0)
    assert not world.payloads(root)
    assert not [said for _, target, said in world.said if target == root.me.address]


@pytest.mark.parametrize(("heals_after", "comes_within"), [(1.5, 20.0), (0.05, 0.35)])
def test_what_climbs_comes_when_every_upward_message_was_lost(
    world: RepairWorld, heals_after: float, comes_within: float
) -> None:
    """Soon, too: one event in thirty draws none; told after a second, it made the root's p99."""
    root, one, other = members(world, ROOT, A, A)
    world.sever((one, root), (other, root))
    world.publish(one, A, b"goal", seconds=heals_after)
    world.heal()
    world.run(comes_within)
    assert world.payloads(root) == [b"goal"]


@pytest.mark.parametrize(
    ("empty_seconds", "politely"), [(0.5, False), (4.0, False), (2.0, True)], ids=str
)
def test_what_was_said_while_the_level_above_was_replaced_climbs_through_newcomers(
    world: RepairWorld, empty_seconds: float, politely: bool
) -> None:
    """All members of `.a` end, and others start before those of `.a.x` have noticed: the newcomers
    get nothing from before their time, but carry it to the root, where it is due."""
    root, old, below, _ = members(world, ROOT, A, AX, AX)
    (world.leave(old, A) if politely else world.kill(old))
    unheard = [b"%d" % number for number in range(4)]
    for payload in unheard:
        world.publish(below, AX, payload, seconds=empty_seconds / 4)
    world.run(0.5)  # more than `REORDER_SECONDS`, within which an event is nobody's history
    newcomers = [world.join(A) for _ in range(2)]
    world.publish(below, AX, b"after", seconds=20.0)
    assert sorted(world.payloads(root)) == [*unheard, b"after"]
    assert [world.payloads(node) for node in newcomers] == [[b"after"]] * 2
    assert not world.told


def test_what_newcomers_carry_climbs_through_newcomers_of_the_next_level(
    world: RepairWorld,
) -> None:
    """These had been there for long when it came, and nobody older was left between (scamp 315)."""
    old, mid, below = members(world, ROOT, A, AX)
    top, middle, bottom = (node.me.address for node in (old, mid, below))
    world.cut(lambda *ends: bottom not in ends and {*ends} != {top, middle})
    world.publish(below, AX, b"goal", seconds=10.0)
    root = [world.join(ROOT).me.address for _ in range(3)]
    world.kill(mid)
    world.run(10.0)
    world.cut(lambda *ends: bottom not in ends and (top not in ends or {*ends} <= {top, *root}))
    newcomers = [world.join(A) for _ in range(2)]
    world.run(25.0)
    world.heal()
    assert not world.payloads(old)
    world.publish(below, AX, b"later", seconds=10.0)
    assert sorted(world.payloads(old)) == [b"goal", b"later"]
    assert [world.payloads(node) for node in newcomers] == [[b"later"]] * 2
    assert not world.told


def test_what_is_told_upward_last_is_told_until_it_has_been_heard(world: RepairWorld) -> None:
    """Four tellings at 30 % loss all failed once in a hundred, and a lone survivor told no more."""
    one, root = members(world, A, ROOT)

    def told() -> list[int]:
        said, world.said = world.said, []
        return [have.reply for _, _, have in said if isinstance(have, Have) and have.below]

    world.publish(one, A, seconds=6.8)
    told()
    # It hears, and is not heard, between two checks of whether it lives.
    world.cut(lambda source, _: source != root.me.address)
    world.run(4.5)
    numbers = told()
    assert len(numbers) >= 2
    assert numbers == sorted(dict.fromkeys(numbers))
    world.heal()
    world.run(20.0)
    told()
    world.run(60.0)
    assert not told()


def test_newcomers_above_refer_who_said_it_below_to_an_older_member(world: RepairWorld) -> None:
    """All that got it above have died, and newcomers fill the table below (hybrid 5103)."""
    old, dies, below = members(world, ROOT, ROOT, A)
    world.sever((old, dies), (old, below))
    world.publish(below, A, b"goal", seconds=15.0)
    assert (world.payloads(dies), world.payloads(old)) == ([b"goal"], [])
    for _ in range(4):
        world.join(ROOT)
    world.run(30.0)
    world.kill(dies)
    world.run(10.0)
    world.heal()
    world.publish(below, A, b"later", seconds=40.0)
    assert sorted(world.payloads(old)) == [b"goal", b"later"]
    assert not world.told


def test_an_older_member_is_told_nothing_if_one_who_was_told_lives(world: RepairWorld) -> None:
    one, _, below = members(world, ROOT, ROOT, A)
    world.publish(below, A, b"goal", seconds=15.0)
    newcomer = world.join(ROOT)
    world.said.clear()
    world.run(60.0)
    referred = [
        said.elder
        for _, target, said in world.said
        if isinstance(said, Referral) and target == below.me.address
    ]
    assert set(referred) == {one.me}  # who was there first
    told = [target for _, target, said in world.said if isinstance(said, Have) and said.below]
    assert set(told) == {newcomer.me.address}
