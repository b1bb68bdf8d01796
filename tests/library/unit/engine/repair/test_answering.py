"""Who asks for events gets those that it was told of, and nobody else gets any."""

from __future__ import annotations

from camcast.engine.repair.messages import Have, Want
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import encode
from camcast.vocabulary.topics import ROOT
from tests.library.unit.engine.repair.repair_world import (
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


def test_a_want_with_an_old_nonce_draws_no_more_than_was_asked(world: RepairWorld) -> None:
    """A question of 30 bytes about a stream with 63 holes drew 650 bytes, for whoever it names."""
    one, _ = members(world, A, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    for number in range(2, 128, 2):
        world.hand(one, make_batch(stream, number, [b"even"], A))
    world.run(1.0)
    for bounds in ((1, 2), (1, 5), (9, 11, 20, 30), (126, 200), (127, 300)):
        asked = want(b"", stream, *bounds)
        (answer,) = world.ask(one, asked)
        assert isinstance(answer, Have)
        (held,) = answer.streams
        wanted = [n for n in range(2, 128, 2) if any(a <= n < b for a, b in ranges(bounds))]
        told = [n for a, b in ranges(held[3][1:]) for n in range(a, b)]
        assert bool(told) == bool(wanted)
        assert set(told) <= set(wanted)
        assert len(held[3]) <= 1 + len(bounds)
        assert len(encode(answer)) <= len(encode(asked)) + 50  # a nonce, ages, and where it is from


def test_a_want_that_was_late_is_answered_as_of_when_its_sender_became_a_member(
    world: RepairWorld,
) -> None:
    """It was told that what is from its first second is too old (scamp 13); but who comes back as
    itself is a member anew."""
    (one,) = members(world, A)
    joined = world.now
    event = world.publish(one, A, seconds=10.0)
    (told,) = world.ask(one, Have(b"n", world.now - joined, 1.0, "", 1, 0.0, ()))
    assert isinstance(told, Have)

    def sent(seconds: float) -> bool:
        world.ask(one, Want(told.nonce, seconds, "", ((event.stream, (1, 2)),)))
        return bool(world.bodies)

    assert sent(world.now - joined)
    assert sent(world.now - joined - 1.0)  # it was on its way for a second
    world.run(2.0)
    assert not sent(1.0)


def ranges(bounds: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(bounds[::2], bounds[1::2], strict=True))


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
