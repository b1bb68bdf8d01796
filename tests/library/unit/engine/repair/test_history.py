"""History asked for again and again costs a bounded number of bytes."""

from __future__ import annotations

from camcast.engine.repair.haves import HAVE_BYTES_A_SECOND, HAVE_BYTES_MAX
from camcast.engine.repair.messages import Have
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import encode
from tests.library.unit.engine.repair.repair_world import (
    A,
    RepairWorld,
    members,
)


def test_who_asks_for_history_again_and_again_gets_no_more_than_the_second_allows(
    world: RepairWorld,
) -> None:
    """One question of a hundred bytes draws what is kept, for whoever it names as its sender."""
    one, _ = members(world, A, A)
    for number in range(1, 2001):
        stream = stream_id(PeerId(number.to_bytes(16)), 1)
        world.hand(one, make_batch(stream, 1, [b"lone"], A))
    world.run(10.0)
    drawn = 0
    for _ in range(60):
        answers = world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 100.0, ()))
        drawn += sum(len(encode(answer)) for answer in answers)
    said = HAVE_BYTES_MAX + HAVE_BYTES_A_SECOND * 60 * 0.05
    assert 200_000 < drawn <= said + 72_000  # the last answer is told whole
