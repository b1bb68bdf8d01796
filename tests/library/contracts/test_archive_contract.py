"""The contract of the door `archive`, for the archive on disk and its plain twin in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from camcast.doors.archive import Archive
from camcast.live.archive.archive import FileArchive
from camcast.testing.memory_archive import MemoryArchive
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import SEQUENCE_MAX, StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

A, B = Topic.parse(".a"), Topic.parse(".b")
HOUR = 3600
NOW = int(1000 * time.time())


def stream(number: int) -> StreamId:
    return stream_id(PeerId(bytes(16)), number)


def batch(first: int, count: int = 1, *, of: int = 1, ago: float = 0.0) -> Batch:
    payloads = [b"%d-%d" % (of, number) for number in range(first, first + count)]
    return make_batch(stream(of), first, payloads, A, published=NOW - int(1000 * ago))


@pytest.fixture(params=["memory", "file"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Archive]:
    if request.param == "memory":
        yield MemoryArchive(time.time, age_seconds_max=24 * HOUR)
        return
    on_disk = FileArchive(tmp_path / "archive", 10_000_000, 24 * HOUR)
    yield on_disk
    on_disk.close()


def test_bodies_come_back_byte_for_byte_in_the_order_of_their_stream(archive: Archive) -> None:
    kept = [batch(1), batch(2, 3), batch(7, 2)]
    for one in (kept[2], kept[0], kept[1], kept[1]):
        archive.keep(A, one, ())
    bodies = [one.body for one in kept]
    assert list(archive.batches(A, stream(1), 1, SEQUENCE_MAX, 0)) == bodies
    assert list(archive.batches(A, stream(1), 3, 7, 0)) == bodies[1:2]
    assert list(archive.batches(A, stream(1), 4, 8, 0)) == bodies[1:]
    assert archive.lowest(A, stream(1), 0) == bodies[0]
    assert list(archive.batches(A, stream(2), 1, SEQUENCE_MAX, 0)) == []
    assert list(archive.batches(B, stream(1), 1, SEQUENCE_MAX, 0)) == []


def test_what_a_community_has_had_is_known_there_and_nowhere_else(archive: Archive) -> None:
    assert list(archive.known(A, stream(1))) == []
    for one in (batch(1, 2), batch(5), batch(3), batch(9, 2)):
        archive.keep(A, one, ())
    assert list(archive.known(A, stream(1))) == [4, 5, 6, 9, 11]
    assert list(archive.known(B, stream(1))) == []
    assert list(archive.known(A, stream(2))) == []


def test_what_was_published_before_a_time_is_left_out(archive: Archive) -> None:
    kept = [batch(number, ago=(10 - number) * 60) for number in range(1, 10)]
    kept += [batch(1, of=2, ago=200), batch(1, of=3, ago=8000)]
    for one in kept:
        archive.keep(A, one, ())
    for since in (1, 4, 9):
        then = kept[since - 1].published
        assert archive.lowest(A, stream(1), then) == kept[since - 1].body
        after = list(archive.batches(A, stream(1), 1, SEQUENCE_MAX, then))
        assert after == [one.body for one in kept[since - 1 : 9]]
        late = sorted((one for one in kept if one.published >= then), key=lambda one: one.published)
        assert list(archive.history(A, then)) == [one.body for one in late]
        assert list(archive.streams(A, then)) == list(
            dict.fromkeys(one.stream for one in reversed(late))
        )
    assert archive.lowest(A, stream(1), NOW + 1) is None
    assert list(archive.history(B, 0)) == []


def test_the_oldest_and_the_latest_publication_of_each_community_are_known(
    archive: Archive,
) -> None:
    assert archive.latest(A) == archive.oldest(A) == 0
    kept = [batch(1, ago=50), batch(3, ago=5), batch(1, of=2, ago=20)]
    for one in kept:
        archive.keep(A, one, ())
    assert archive.latest(A) == kept[1].published
    assert archive.oldest(A) == kept[0].published
    assert archive.latest(B) == archive.oldest(B) == 0


def test_what_is_too_old_is_known_and_not_kept(archive: Archive) -> None:
    archive.keep(A, batch(1, ago=25 * HOUR), ())
    archive.keep(A, batch(2, ago=1), ())
    time_of_day_before = NOW - 24 * HOUR * 1000
    assert list(archive.known(A, stream(1))) == [3]
    assert archive.reach(A) >= time_of_day_before
    assert archive.reach(A) < NOW


def test_a_publisher_whose_clock_is_ahead_does_not_outlive_the_others(archive: Archive) -> None:
    archive.keep(A, batch(1, ago=-1000 * HOUR), ())
    archive.keep(A, batch(1, of=2, ago=-60), ())
    assert len(list(archive.history(A, NOW))) == 2
    assert list(archive.history(A, NOW + 3_600_000)) == []


def test_the_certificates_of_publishers_are_kept_with_what_they_signed(archive: Archive) -> None:
    signed = batch(1).signed(b"hash-of8", lambda _: bytes(64))
    archive.keep(A, signed, (b"root's", b"its own"))
    archive.keep(A, batch(2).signed(b"hash-of8", lambda _: bytes(64)), (b"root's", b"its own"))
    assert list(archive.batches(A, stream(1), 1, 2, 0)) == [signed.body]
    assert list(archive.chain(b"hash-of8")) == [b"root's", b"its own"]
    assert list(archive.chain(b"another!")) == []
