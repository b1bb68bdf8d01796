"""What is saved of a damaged archive: every batch whose bytes are there, and no other."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve

from camcast import ArchiveError
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.cursor import Cursor
from camcast.live.archive.reading import ArchiveReader, salvage
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.library.laws.failing_disk import outcomes

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
STREAM = stream_id(PeerId(bytes(16)), 1)
COUNT = 300
PAGE_BYTES = 4096


def written(path: Path) -> list[bytes]:
    """Write an archive, and return the bodies in it."""
    archive = FileArchive(path, 10_000_000, 86_400.0)
    now = int(1000 * time.time())
    batches = [
        make_batch(STREAM, number, [b"%d " % number + bytes(300)], AB, published=now + number - 999)
        for number in range(1, COUNT + 1)
    ]
    for batch in batches:
        archive.keep(A, batch, ())
    archive.close()
    return [batch.body for batch in batches]


def damage(path: Path, pages: slice) -> bytes:
    """Overwrite pages of a file, and return its content."""
    content = bytearray(path.read_bytes())
    start, stop, _ = pages.indices(len(content) // PAGE_BYTES)
    content[PAGE_BYTES * start : PAGE_BYTES * stop] = b"\xff" * PAGE_BYTES * (stop - start)
    path.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("page", [1, 9, 15, 30])
def test_what_can_be_read_of_a_damaged_archive_is_saved(tmp_path: Path, page: int) -> None:
    path = tmp_path / "events"
    bodies = written(path)
    content = damage(path, slice(page, page + 1))
    intact = [body for body in bodies if content.find(body) >= 0]
    saved = salvage(path)
    assert saved.kept_as.read_bytes() == content
    with closing(ArchiveReader(path)) as reader:
        assert not reader.is_damaged()
        assert [one.batch.body for one in reader.batches()] == intact
        assert saved.batches == len(intact) >= COUNT - 15 * (page > 1)
    again = FileArchive(path, 10_000_000, 86_400.0)
    assert len(list(again.history(A if page > 1 else AB, 0))) == len(intact)
    again.close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "events.damaged"]


def test_no_number_comes_again_of_those_that_could_not_be_read(tmp_path: Path) -> None:
    """A cursor that is behind all of them would leave out what has one of their numbers."""
    path = tmp_path / "events"
    written(path)
    damage(path, slice(-40, None))
    saved = salvage(path)
    assert saved.batches < COUNT
    archive = FileArchive(path, 10_000_000, 86_400.0)
    assert archive.last() >= COUNT, "else the cursor counts as one of another archive"
    behind = Cursor(COUNT, archive.last())
    assert archive.passed(A, behind) == []
    new = make_batch(STREAM, COUNT + 1, [b"new"], AB, published=int(1000 * time.time()))
    archive.keep(A, new, ())
    archive.close()
    archive = FileArchive(path, 10_000_000, 86_400.0)
    passed = archive.passed(A, evolve(behind, until=archive.last()))
    assert [body for _, _, body in passed] == [new.body]
    archive.close()


def test_a_kill_at_any_step_of_a_repair_leaves_what_can_be_repaired(tmp_path: Path) -> None:
    def make(folder: Path) -> tuple[Path, list[bytes]]:
        bodies = written(folder / "events")
        (folder / "events.damaged").write_bytes(b"of an earlier repair")
        content = damage(folder / "events", slice(20, 21))
        return folder / "events", [body for body in bodies if content.find(body) >= 0]

    def repair(made: tuple[Path, list[bytes]]) -> bytes:
        return b"%d" % salvage(made[0]).batches

    for (path, intact), done, _ in outcomes(make, repair, "kill", tmp_path):
        with closing(ArchiveReader(path)) as reader:
            assert reader.is_damaged() or [one.batch.body for one in reader.batches()] == intact
            is_damaged = reader.is_damaged()
        assert not (done and is_damaged)
        if is_damaged:
            salvage(path)
        with closing(ArchiveReader(path)) as reader:
            assert [one.batch.body for one in reader.batches()] == intact
        with closing(ArchiveReader(path.with_name("events.damaged-2"))) as reader:
            assert reader.is_damaged(), "it is kept"
        assert path.with_name("events.damaged").read_bytes() == b"of an earlier repair"
        assert not path.with_name("events.damaged-3").exists()


def test_a_repair_goes_on_with_the_log_that_a_killed_one_has_moved(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "events"
    bodies = written(other)
    damage(other, slice(20, 21))
    archive = FileArchive(other, 10_000_000, 86_400.0)
    last = make_batch(STREAM, COUNT + 1, [b"last"], AB, published=int(1000 * time.time()))
    archive.keep(A, last, ())
    with closing(ArchiveReader(other)):  # the log is not written into the file as long as it reads
        archive.close()
        shutil.copy(other, path)
        path.with_name("events.damaged").hardlink_to(path)
        shutil.copy(f"{other}-wal", path.with_name("events.damaged-wal"))
    saved = salvage(path)
    assert saved.kept_as == path.with_name("events.damaged")
    with closing(ArchiveReader(path)) as reader:
        found = [one.batch.body for one in reader.batches()]
    assert found[-1] == last.body
    assert COUNT - 15 <= saved.batches - 1 < len(bodies)


def test_an_archive_that_is_written_to_is_read_and_not_repaired(tmp_path: Path) -> None:
    path = tmp_path / "events"
    bodies = written(path)
    archive = FileArchive(path, 10_000_000, 86_400.0)
    with closing(ArchiveReader(path)) as reader:
        [found] = reader.communities()
        assert (found.topic, found.batches, found.events) == (".a", COUNT, COUNT)
        assert found.bytes == sum(map(len, bodies))
        assert len(list(reader.batches(A))) == COUNT
        assert list(reader.batches(AB)) == []
    with pytest.raises(ArchiveError, match="another process writes"):
        salvage(path)
    archive.close()
