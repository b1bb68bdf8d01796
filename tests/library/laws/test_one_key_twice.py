"""One key that two processes use, as after a copied file: both are told, and all who see it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
from attrs import evolve

from camcast.engine.known_streams import KnownRanges
from camcast.engine.node import Node
from camcast.engine.store import Store
from camcast.security.keys import SecretKey
from camcast.testing.world import World
from camcast.vocabulary.events import EventId, stream_id
from tests.admitted_world import AdmittedWorld
from tests.authority import ADA, CLUB
from tests.signed_world import SOCCER, SignedWorld, certificate, frame, join, key, signed_event

SECONDS = 30.0


def start_again(world: AdmittedWorld, secret: SecretKey) -> Node:
    """Start a process with a key that was used before, at another address."""
    node = world.member(secret)
    world.known[node].introduce_anew(world.now)
    world.do(node, partial(join, SOCCER))
    return node


@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_two_processes_with_one_key_are_told_and_so_is_who_sees_them(
    membership: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    world = AdmittedWorld(membership=membership)
    world.run(100.0)
    others = [world.member(secret, SOCCER) for secret in (ADA, key(2))]
    first = world.member(CLUB, SOCCER)
    world.run(5.0)
    second = start_again(world, CLUB)
    world.run(SECONDS)
    said = [one.getMessage() for one in caplog.records if "key" in one.getMessage()]
    assert any(node.counters.key_conflicts for node in [*others, world.gate])
    for own, other in ((first, second), (second, first)):
        assert own.counters.key_conflicts
        assert any(
            f"another process, at {other.me.address}, uses the key of this process, at"
            f" {own.me.address}" in text
            for text in said
        )
    assert any(str(CLUB.public) in text for text in said)


@pytest.mark.parametrize("polite", [True, False])
def test_a_process_that_moves_is_no_conflict(polite: bool) -> None:
    world = AdmittedWorld()
    world.run(100.0)
    for secret in (ADA, key(2)):
        world.member(secret, SOCCER)
    first = world.member(CLUB, SOCCER)
    world.run(5.0)
    if polite:
        world.leave(first, SOCCER)
        world.run(0.3)
    world.kill(first)
    start_again(world, CLUB)
    world.run(SECONDS)
    assert not any(node.counters.key_conflicts for node in world.nodes)


def published(world: World, node: Node, payload: bytes) -> EventId:
    found = list[EventId]()

    def publish(node: Node, now: float) -> None:
        found.append(node.publish(SOCCER, payload, now).id)
        node.flush(now)

    world.do(node, publish)
    return found[0]


def test_who_hears_a_later_self_tells_it_and_uses_no_number_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As after a snapshot of the machine: the process does not know what it published since."""
    world = SignedWorld(repair=True)
    for number in range(1, 5):
        world.member(key(number), SOCCER)
    node = world.member(ADA, SOCCER)
    world.run(10)
    first = published(world, node, b"before")
    later = signed_event(ADA, first.stream, 2, b"after the snapshot", certificate(ADA))
    node.receive(frame(later, sender=world.nodes[0].me.peer), world.now, world.nodes[0].me.peer)
    assert node.counters.key_conflicts == 1
    assert "its machine was set back to a snapshot" in caplog.text
    second = published(world, node, b"again")
    assert second.number > first.number
    world.run(10)
    assert len({id(each) for each in world.got(b"again")}) == 5


def snapshot(node: Node) -> Callable[[], None]:
    """Take what a node remembers of its own events; the call sets its memory back to that."""
    publisher, intake = node._publisher, node._intake
    (group,) = node.local_groups
    assert group.repair is not None
    streams, tally = group.streams, group.repair._tally
    counted = {name: deepcopy(getattr(tally, name)) for name in type(tally).__slots__}
    own = {key: evolve(one, payloads=[]) for key, one in publisher._streams.items()}
    numbers = publisher._number, publisher._reserved
    known: dict[bytes, KnownRanges] = {
        one.id: deepcopy(streams.known[one.id]) for one in own.values()
    }
    kept = intake._own_events._kept.copy()

    def set_back() -> None:
        publisher._streams = own
        publisher._number, publisher._reserved = numbers
        streams.known.update(known)
        intake._own_events._kept = kept
        for name, value in counted.items():
            setattr(tally, name, value)

    return set_back


def members(signed: bool) -> tuple[World, Node]:
    """Return a community of five, and the one of them that will be set back."""
    world = SignedWorld(repair=True) if signed else World(repair=True)
    nodes = list[Node]()
    for secret in (ADA, *map(key, range(1, 5))):
        world.parts = evolve(world.parts, store=Store())  # a machine each
        if isinstance(world, SignedWorld):
            nodes.append(world.member(secret, SOCCER))
        else:
            nodes.append(world.join(SOCCER))
    world.run(10)
    return world, nodes[0]


def got(world: World, payload: bytes) -> int:
    return len({id(node) for node, one in world.delivered if one.event.payload == payload})


@pytest.mark.parametrize("signed", [True, False])
def test_a_machine_that_was_set_back_to_a_snapshot_is_told_and_goes_on_beyond(
    signed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Its peers tell it of what it published since, and the clock has not been set yet."""
    world, node = members(signed)
    published(world, node, b"before")
    world.run(1)
    set_back = snapshot(node)
    lost = [published(world, node, b"since %d" % number) for number in range(3)]
    world.run(1)
    set_back()
    world.run(SECONDS)
    assert caplog.text.count("its machine was set back to a snapshot") == 1
    assert node.counters.key_conflicts == signed
    assert bool(node.counters.forged) != signed
    again = published(world, node, b"again")
    assert again.number > lost[-1].number
    world.run(5)
    assert got(world, b"again") == 5


@pytest.mark.parametrize("signed", [True, False])
def test_once_the_clock_is_right_after_a_snapshot_no_number_comes_again(signed: bool) -> None:
    """Before anybody has told it: the event goes to all, and after those of before."""
    world, node = members(signed)
    published(world, node, b"before")
    set_back = snapshot(node)
    lost = [published(world, node, b"since %d" % number) for number in range(3)]
    world.run(1)
    set_back()
    node.compare_clocks(world.now, world.now + 60.0)
    again = published(world, node, b"again")
    assert again.stream not in {one.stream for one in lost}
    assert again.number > lost[-1].number
    world.run(3)
    assert got(world, b"again") == 5


def test_what_an_earlier_run_has_published_is_no_conflict() -> None:
    world = SignedWorld(repair=True)
    world.run(10)
    node = world.member(ADA, SOCCER)
    now = published(world, node, b"now")
    early = stream_id(node.me.peer, now.number - 1000)
    batch = signed_event(ADA, early, 1, b"by an earlier run", certificate(ADA))
    node.receive(frame(batch, sender=node.me.peer), world.now, node.me.peer)
    assert not node.counters.key_conflicts
    assert published(world, node, b"still").stream == now.stream
