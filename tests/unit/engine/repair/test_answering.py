"""Who asks for events gets those that it was told of, and nobody else gets any."""

from __future__ import annotations

from camcast.engine.repair.messages import Have
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT
from tests.unit.engine.repair.repair_world import (
    STRANGER,
    A,
    RepairWorld,
    members,
    want,
)


def test_a_want_without_a_nonce_draws_one_and_no_body(world: RepairWorld) -> None:
    one, _ = members(world, A, A)
    event = world.publish(one, A, b"goal")
    (answer,) = world.ask(one, want(b"", event.stream, 1, 2))
    assert isinstance(answer, Have)
    assert [held[0] for held in answer.streams] == [event.stream]
    assert not [target for _, target, *_ in world.bodies if target == STRANGER.address]
    assert not world.ask(one, want(answer.nonce, event.stream, 1, 2))
    assert [body[1:] for body in world.bodies] == [(STRANGER.address, 1, 1)]
    world.run(20.0)  # a nonce is good for twenty seconds at most
    (answer,) = world.ask(one, want(answer.nonce, event.stream, 1, 2))
    assert isinstance(answer, Have)
    assert not [target for _, target, *_ in world.bodies if target == STRANGER.address]


def test_nothing_is_told_of_what_a_process_does_not_know(world: RepairWorld) -> None:
    one, _ = members(world, A, A)
    assert not world.ask(one, want(b"", stream_id(PeerId(bytes(16)), 5), 1, 9))
    (root,) = members(world, ROOT)
    event = world.publish(root, ROOT, b"of the root alone")
    assert not world.ask(one, want(b"", event.stream, 1, 2))  # the store is shared: not enough


def test_events_go_to_no_community_that_is_not_above(world: RepairWorld) -> None:
    _, one, _ = members(world, ROOT, A, A)
    event = world.publish(one, A, b"goal")
    (answer,) = world.ask(one, want(b"", event.stream, 1, 2, into=ROOT.name))
    assert isinstance(answer, Have)
    assert answer.below == A.name
    assert not world.ask(one, want(answer.nonce, event.stream, 1, 2, into=".b"))
    assert not world.bodies
    assert not world.ask(one, want(answer.nonce, event.stream, 1, 2, into=ROOT.name))
