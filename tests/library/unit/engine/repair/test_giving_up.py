"""What nobody keeps is told as missed, and nothing else is."""

from __future__ import annotations

import attrs
import pytest

from camcast.engine.repair.messages import Have, Want
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import Missed, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT
from tests.library.unit.engine.repair.repair_world import (
    AX,
    RETENTION,
    A,
    RepairWorld,
    members,
    want,
)


def test_a_forged_jump_silences_nobody(world: RepairWorld) -> None:
    """A forger names number 900 of a stream: what its publisher says later is delivered."""
    one, other = members(world, A, A)
    stream = world.publish(one, A, b"first").stream
    world.hand(other, make_batch(stream, 900, [b"forged"], A))
    world.run(RETENTION + 20.0)
    assert [(node, told.first, told.last) for node, told in world.told] == [(other, 2, 899)]
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    assert world.payloads(other) == [b"first", b"forged", b"0", b"1", b"2"]


@pytest.mark.parametrize("retention", [1.0, 8.0, RETENTION])
@pytest.mark.parametrize("size", [2, 5])
def test_what_is_out_of_retention_is_told_though_nothing_follows(
    world: RepairWorld, retention: float, size: int
) -> None:
    """With a retention below ten seconds it was asked for no more before it could be given up."""
    parameters = Parameters(retention_seconds=retention)
    world.settings = attrs.evolve(world.settings, parameters=parameters)
    one, *others = nodes = list(members(world, *[A] * size))
    away = others[-1]
    stream = world.publish(one, A, b"before").stream
    world.sever(*((away, node) for node in nodes))
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    world.run(retention + 20.0)
    world.heal()
    world.run(60.0)
    assert world.told == [(away, Missed(stream, A, 2, 4))]


def test_a_newcomer_is_told_of_nothing_from_before_its_time(world: RepairWorld) -> None:
    one, *_ = members(world, A, A, A, A)
    for _ in range(5):
        world.publish(one, A, b"old", seconds=3.0)
    newcomer = world.join(A)
    world.run(10.0)
    world.publish(one, A, b"new", seconds=RETENTION + 30.0)
    assert world.payloads(newcomer) == [b"new"]
    assert not world.told


def test_who_joins_soon_after_a_stream_began_is_told_of_nothing_from_before(
    world: RepairWorld,
) -> None:
    """Its neighbour is hardly older than it is; what that told of its age was taken for new."""
    one = world.join(A)
    world.publish(one, A, b"old", seconds=0.3)
    newcomer = world.join(A)
    world.publish(one, A, b"new", seconds=60.0)
    assert world.payloads(newcomer) == [b"new"]
    assert not world.told


@pytest.mark.parametrize(("begun_after", "told"), [(0.3, 0), (1.5, 8)])
def test_nobody_is_told_of_a_stream_that_may_be_from_just_before_it_joined(
    world: RepairWorld, begun_after: float, told: int
) -> None:
    """An age leaves out the ways of the messages that told it, here of 0.3 s: with 30 % loss and
    such delays (dht 909) one was told of what had been published 0.2 s before it joined."""
    joined = world.now
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    for _ in range(30):
        begun = int(10 * (world.now - joined - begun_after))
        world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, ((stream, 0, begun, (9,)),)))
        world.run(0.5)
    assert sum(missed.last - missed.first + 1 for _, missed in world.told) == told


def test_nobody_is_told_of_what_seems_young_since_its_age_lay_in_a_queue(
    world: RepairWorld,
) -> None:
    """What a process was told before a pause it hears after it: `Missed` was told of the first
    event, of before its time, to one that was stopped for 25 s with a retention of 3 s."""
    joined = world.now
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    held = stream, 0, int(10 * (world.now - joined - 0.3)), (9,)
    for _ in range(30):
        world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, (held,)))
        world.run(0.5)
    assert not world.told


def test_a_newcomer_is_not_told_of_holes_in_what_it_carries_upward(world: RepairWorld) -> None:
    """What was said before its time comes to it with a hole, which nobody can fill (hybrid 848)."""
    root, old, below, other = members(world, ROOT, A, AX, AX)
    world.kill(old)
    world.publish(below, AX, b"1", seconds=0.5)
    world.sever((below, other))
    stream = world.publish(below, AX, b"2", seconds=0.1).stream
    world.heal()
    world.publish(below, AX, b"3", seconds=0.1)
    world.kill(below)
    world.run(0.4)  # more than `REORDER_SECONDS`, within which an event is nobody's history
    newcomer = world.join(A)
    world.run(RETENTION + 30.0)
    assert sorted(world.payloads(root)) == [b"1", b"3"]
    assert not world.payloads(newcomer)
    assert {(node, missed) for node, missed in world.told} == {
        (node, Missed(stream, topic, 2, 2)) for node, topic in ((other, AX), (root, ROOT))
    }


def test_a_newcomer_does_not_go_on_asking_for_what_was_before_its_time(world: RepairWorld) -> None:
    """It is told of it by its own community, once, and by each that it is above: by three here."""
    _, one, *_ = members(world, ROOT, A, A, A)
    for _ in range(5):
        world.publish(one, A, b"old")
    newcomer = world.join(ROOT)
    world.said.clear()
    world.run(60.0)
    told = {
        who
        for who, to, said in world.said
        if to == newcomer.me.address and isinstance(said, Have) and said.streams
    }
    assert len(told) == 4
    asked = [said for who, _, said in world.said if who == newcomer.me.address]
    assert 0 < sum(isinstance(said, Want) for said in asked) <= 6


def test_a_stream_is_as_old_as_its_first_event_however_late_that_came(world: RepairWorld) -> None:
    one, other = members(world, A, A)
    world.sever((one, other))
    stream = world.publish(one, A, seconds=10.0).stream
    world.heal()
    world.run(10.0)
    (answer,) = world.ask(other, want(b"", stream, 1, 2))
    assert isinstance(answer, Have)
    ((_, _, begun, _),) = answer.streams
    assert begun == pytest.approx(200, abs=2)  # tenths of a second


def test_what_nobody_keeps_any_more_is_told(world: RepairWorld) -> None:
    """One of five is cut off for longer than the retention, while the others hear 1 to 3."""
    one, *others = members(world, A, A, A, A, A)
    away = others[-1]
    stream = world.publish(one, A, b"before").stream
    world.sever(*((away, node) for node in (one, *others[:-1])))
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    world.run(RETENTION + 30.0)
    world.heal()
    world.run(60.0)
    world.publish(one, A, b"after", seconds=60.0)
    assert world.payloads(away) == [b"before", b"after"]
    assert world.told == [(away, Missed(stream, A, 2, 4))]
    (participation,) = away.participations
    assert participation.repair is not None
    assert participation.repair.told_missed == 3
    said = [message for source, _, message in world.said if source == away.me.address]
    assert participation.repair.haves_sent == sum(isinstance(one, Have) for one in said)
    assert participation.repair.wants_sent == sum(isinstance(one, Want) for one in said) > 0
    assert participation.repair.incomplete_streams == participation.repair.holes() == 0


def test_nobody_is_told_while_one_that_is_cut_off_may_have_it(world: RepairWorld) -> None:
    """All neighbours say no: to two of four events they have a hole as well, or know no stream."""
    one, *others = members(world, A, A, A, A, A)
    apart = [(one, other) for other in others]
    for payload in (b"1", b"3"):
        world.sever(*apart)
        world.publish(one, A, payload, seconds=0.05)
        world.heal()
        world.publish(one, A, b"2 and 4", seconds=0.15)
    world.sever(*apart)
    world.run(60.0)
    assert [world.payloads(other) for other in others] == [[b"2 and 4"] * 2] * 4
    assert not world.told
    world.heal()
    world.run(10.0)
    assert all({b"1", b"3"} < set(world.payloads(other)) for other in others)
    assert not world.told
