"""What is saved of a damaged archive: every batch whose bytes are there, and no other."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from camcast import ArchiveError
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.reading import ArchiveReader, salvage
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
STREAM = stream_id(PeerId(bytes(16)), 1)
COUNT = 300


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


@pytest.mark.parametrize("page", [1, 9, 15, 30])
def test_what_can_be_read_of_a_damaged_archive_is_saved(tmp_path: Path, page: int) -> None:
    path = tmp_path / "events"
    bodies = written(path)
    content = bytearray(path.read_bytes())
    content[4096 * page : 4096 * (page + 1)] = b"\xff" * 4096
    path.write_bytes(content)
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
