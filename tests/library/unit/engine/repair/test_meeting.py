"""Archives tell each other hours in few bytes, and announce what differs a few times."""

from __future__ import annotations

from struct import pack

import attrs
import pytest

from camcast.engine.node import Node
from camcast.engine.repair.meeting import HOURS_A_MESSAGE, MEET_SECONDS
from camcast.engine.repair.messages import ArchiveHours, Have
from camcast.engine.repair.told import TOLD_MAX, part_of
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.testing.memory_archive import MemoryArchive
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import encode
from tests.library.unit.engine.repair.repair_world import A, RepairWorld

HOUR = 3600
BYTES_MAX = 500


def batch(number: int, published: float, count: int = 1) -> Batch:
    payloads = [b"!"] * count
    stream = stream_id(PeerId(bytes(16)), 1)
    return make_batch(stream, number, payloads, A, published=int(1000 * published))


@attrs.define
class Archived:
    """A member with an archive, which strangers ask."""

    world: RepairWorld
    node: Node
    archive: MemoryArchive
    now: float

    def hour(self, ago: float) -> int:
        return int(self.now - ago) // HOUR

    def told_by(self, message: ArchiveHours) -> list[Have | ArchiveHours]:
        answers = self.world.ask(self.node, message)
        return [one for one in answers if isinstance(one, Have | ArchiveHours)]


@pytest.fixture
def archived() -> Archived:
    world = RepairWorld()
    world.run(12 * HOUR)
    archive = MemoryArchive(lambda: world.now, age_seconds_max=7 * HOUR)
    node = world.start(world.settings, 1, parts=Parts(store=Store(), archive=archive))
    world.do(node, lambda node, now: node.join(A, now))
    return Archived(world, node, archive, world.now)


def test_an_hour_that_differs_is_announced_and_the_own_hours_are_told_in_few_bytes(
    archived: Archived,
) -> None:
    kept = [batch(1, archived.now - 6 * HOUR), batch(2, archived.now - 5 * HOUR)]
    for one in kept:
        archived.archive.keep(A, one, ())
    archived.world.run(2 * MEET_SECONDS)
    hour = archived.hour(5 * HOUR)
    same = pack(">I", part_of(kept[1]) & 0xFFFFFFFF)
    assert archived.told_by(ArchiveHours(hour, 0, 1, same)) == []
    have, own = archived.told_by(ArchiveHours(hour, 0, 1, b"\0\0\0\1"))
    assert isinstance(have, Have)
    assert [held[1] for held in have.streams] == [2], "what is from before that hour is not offered"
    assert isinstance(own, ArchiveHours)
    assert own.parts.startswith(same)
    assert not own.reply
    assert len(encode(own)) <= BYTES_MAX
    assert len(own.parts) <= 4 * HOURS_A_MESSAGE


def test_hours_that_one_has_let_go_or_that_are_not_over_are_not_compared(
    archived: Archived,
) -> None:
    archived.archive.keep(A, batch(1, archived.now - 5 * HOUR), ())
    archived.world.run(2 * MEET_SECONDS)
    other = b"\0\0\0\1"
    let_go = ArchiveHours(archived.hour(5 * HOUR), archived.hour(4 * HOUR), 1, other)
    for message in (
        let_go,
        ArchiveHours(archived.hour(8 * HOUR), 0, 1, other),
        ArchiveHours(archived.hour(0), 0, 1, other),
        ArchiveHours(archived.hour(-9 * HOUR), 0, 1, other),
    ):
        assert archived.told_by(message) == []


def test_a_difference_that_stays_is_announced_three_times(archived: Archived) -> None:
    archived.archive.keep(A, batch(1, archived.now - 5 * HOUR, 2), ())
    archived.world.run(2 * MEET_SECONDS)
    message = ArchiveHours(archived.hour(5 * HOUR), 0, 0, b"\0\0\0\1")
    said = [len(archived.told_by(message)) for _ in range(TOLD_MAX + 3)]
    assert said == [1] * TOLD_MAX + [0] * 3
    another = ArchiveHours(message.hour, 0, 0, b"\0\0\0\2")
    assert len(archived.told_by(another)) == 1, "another one"


@pytest.mark.parametrize("parts", [b"\0\0\0", bytes(4 * HOURS_A_MESSAGE + 4)])
def test_hours_that_are_no_numbers_or_too_many_are_malformed(
    archived: Archived, parts: bytes
) -> None:
    archived.archive.keep(A, batch(1, archived.now - 5 * HOUR), ())
    archived.world.run(2 * MEET_SECONDS)
    before = archived.node.counters.malformed
    assert archived.told_by(ArchiveHours(archived.hour(5 * HOUR), 0, 1, parts)) == []
    assert archived.node.counters.malformed == before + 1


def test_what_comes_into_an_hour_that_was_counted_is_counted(archived: Archived) -> None:
    archived.archive.keep(A, batch(1, archived.now - 5 * HOUR), ())
    archived.world.run(2 * MEET_SECONDS)
    late = batch(2, archived.now - 5 * HOUR + 1)
    (local_group,) = archived.node.local_groups
    assert local_group.archive is not None
    local_group.archive(late)
    both = part_of(batch(1, archived.now - 5 * HOUR)) ^ part_of(late)
    same = pack(">I", both & 0xFFFFFFFF)
    assert archived.told_by(ArchiveHours(archived.hour(5 * HOUR), 0, 1, same)) == []
