"""The writer of an archive: what one transaction costs, and what it knows of the streams."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from camcast.live.archive import writer as writer_module
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.schema import open_archive, unpack_numbers
from camcast.live.archive.writer import COMMIT_BATCHES, DROP_SECONDS, Row, Writer
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

A = Topic.parse(".a")
HOUR = 3600.0


def stream(number: int) -> StreamId:
    return stream_id(PeerId(bytes(16)), number)


def row(first: int, of: int = 1, ago: float = 0.0) -> Row:
    published = int(1000 * (time.time() - ago))
    batch = make_batch(stream(of), first, [b"!"], A, published=published)
    return Row(A.group, A.name, batch, published)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """A writer whose thread does not run: the tests call `write`."""
    path = tmp_path / "events.archive"
    path.touch()
    database = open_archive(path)
    yield Writer(database, str(path), 10_000_000, HOUR)
    database.close()


def test_a_transaction_of_lone_events_takes_a_statement_for_many_of_them(writer: Writer) -> None:
    writer.write([row(1)])  # the community and the stream are there
    statements: list[str] = []
    writer._database.set_trace_callback(statements.append)
    writer.write([row(number) for number in range(2, 2 + COMMIT_BATCHES)])
    assert len(statements) < COMMIT_BATCHES / 16, statements
    counted = writer._database.execute("SELECT count(*), max(first) FROM batch").fetchone()
    assert counted == (1 + COMMIT_BATCHES, 1 + COMMIT_BATCHES)


def test_numbers_follow_the_order_of_arrival_whatever_the_count(writer: Writer) -> None:
    for count in (1, 31, 32, 33, 100):
        writer._database.execute("DELETE FROM batch")
        given = [row(number, of=count) for number in range(count, 0, -1)]
        writer.write(given)
        found = writer._database.execute("SELECT body FROM batch ORDER BY id").fetchall()
        assert [body for (body,) in found] == [one.batch.body for one in given]


def test_all_of_a_transaction_is_known_though_there_are_too_many_streams_for_memory(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "STREAMS_MAX", 2)
    writer.write([row(number, of) for number in range(1, 4) for of in range(1, 6)])
    known = writer._database.execute("SELECT known FROM stream").fetchall()
    assert [unpack_numbers(one) for (one,) in known] == [(4,)] * 5
    writer.write([row(9, of=5)])
    assert len(writer._streams) == 1, "memory is bounded"


def test_what_is_too_old_goes_within_a_second_of_the_next_events(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([row(1, ago=HOUR - 1)])
    now, at = time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", lambda: now + 2)
    for later, left in ((0.0, 2), (DROP_SECONDS, 2)):
        monkeypatch.setattr(time, "monotonic", lambda later=later: at + later)
        writer.write([row(2 + int(later))])
        assert writer._database.execute("SELECT count(*) FROM batch").fetchone() == (left,)


def test_a_batch_that_is_given_twice_is_there_for_questions_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "COMMIT_SECONDS", 0.2)
    archive = FileArchive(tmp_path / "twice", 10_000_000, HOUR)
    bodies = []
    for number in (1, 2, 3):
        one = row(number).batch
        bodies.append(one.body)
        archive.keep(A, one, ())
        archive.keep(A, one, ())
        assert list(archive.batches(A, stream(1), 1, 9, 0)) == bodies
    end = time.monotonic() + 60
    while archive.stats().written < 6:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert archive.stats().waiting_bytes == 0
    left = [archive._waiting, archive._given, archive._indexed]
    assert not any(left), "what is written is forgotten"
    assert list(archive.history(A, 0)) == bodies
    archive.close()
