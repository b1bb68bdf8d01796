"""Batches that wait for certificates: at most so many, of so many bytes, for so long."""

from __future__ import annotations

from camcast.engine.guard.held_batches import (
    HELD_BYTES_MAX,
    HELD_MAX,
    HELD_SECONDS,
    HeldBatch,
    HeldBatches,
)
from camcast.testing.world import World
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from tests.signed_world import SOCCER

PEER = PeerId(b"P" * 16)
GROUP_OF_ADA = World().join(SOCCER).local_group(SOCCER)


def waiting(number: int, size: int = 4, certificate: bytes = b"unknown!") -> HeldBatch:
    batch = make_batch(stream_id(PEER, 7), number, [bytes(size)], SOCCER)
    assert GROUP_OF_ADA is not None
    return HeldBatch(GROUP_OF_ADA, batch.signed(certificate, lambda _: bytes(64)), PEER, number)


def test_the_oldest_goes_first() -> None:
    held = HeldBatches()
    batches = [waiting(number) for number in range(1, HELD_MAX + 4)]
    dropped = [held.hold(each)[1] for each in batches]
    assert dropped == [[]] * HELD_MAX + [[batches[0]], [batches[1]], [batches[2]]]
    assert held.release(b"unknown!") == batches[3:]
    assert held.release(b"unknown!") == []


def test_bytes_count_as_well() -> None:
    held = HeldBatches()
    batches = [waiting(number, HELD_BYTES_MAX // 3) for number in (1, 2, 3)]
    dropped = [each for batch in batches for each in held.hold(batch)[1]]
    assert dropped == batches[:1]
    huge = waiting(4, HELD_BYTES_MAX)
    assert held.hold(huge) == (True, [*batches[1:], huge])
    assert held.hold(batches[0]) == (True, [])  # there is room again


def test_copies_take_one_place() -> None:
    held = HeldBatches()
    assert held.hold(waiting(1)) == (True, [])
    assert held.hold(waiting(1)) == (False, [])
    assert held.release(b"unknown!") == [waiting(1)]


def test_nothing_waits_for_ever() -> None:
    held = HeldBatches()
    for number in (1, 2):
        held.hold(waiting(number, certificate=b"number%2d" % number))
    assert held.expire(HELD_SECONDS + 0.9) == []
    (first,) = held.expire(HELD_SECONDS + 1.0)
    assert first.batch.first == 1
    assert held.certificates() == [b"number 2"]
