"""The writer of an archive: what one transaction costs, and what it knows of the streams."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from camcast.live.archive import schema
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
KILLED = 9  # the exit code of a child

OnCommit = Callable[[Writer], object]


def stream(number: int) -> StreamId:
    return stream_id(PeerId(bytes(16)), number)


def row(first: int, of: int = 1, ago: float = 0.0, size: int = 1) -> Row:
    published = int(1000 * (time.time() - ago))
    batch = make_batch(stream(of), first, [bytes(size)], A, published=published)
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


def content(database: sqlite3.Connection) -> list[str]:
    """Return all that is in a file, as statements that would make it again."""
    assert database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    return list(database.iterdump())


def write_all(path: Path, transactions: Sequence[list[Row]], on_commit: OnCommit) -> None:
    """Make an archive that is too small for the last transaction."""
    path.touch()
    with closing(open_archive(path)) as database:
        writer = Writer(database, str(path), 10_000_000, HOUR)
        writer.bytes_max = writer.bytes + 20_000
        on_commit(writer)
        for rows in transactions:
            writer.write(rows)
            on_commit(writer)


def tell(descriptor: int, _writer: Writer) -> None:
    """Tell the parent that something was committed."""
    os.write(descriptor, b".")


def connect_to_be_killed(
    connect: Callable[[Path, str], sqlite3.Connection], at: int, path: Path, mode: str
) -> sqlite3.Connection:
    """Connect so that this process is killed before the statement of this number."""
    left = at

    def count(_statement: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            os._exit(KILLED)

    connection = connect(path, mode)
    connection.set_trace_callback(count)
    return connection


def test_a_kill_before_any_statement_leaves_whole_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the tables are made, while room is made, and while what is too old goes."""
    monkeypatch.setattr(writer_module, "DROP_SECONDS", 0.0)
    transactions = [
        [row(1, size=3000), row(1, of=2, size=3000)],
        [row(2, size=3000), row(1, of=3, ago=2 * HOUR), row(2, of=2, size=3000)],
        [row(number, size=3000) for number in range(3, 6)],
    ]
    whole: list[list[str]] = []
    write_all(tmp_path / "w", transactions, lambda one: whole.append(content(one._database)))
    batches = [sum('INTO "batch"' in line for line in lines) for lines in whole]
    assert batches == [0, 2, 4, 5], "some went to make room"
    connect = schema.connect
    at, code = 0, KILLED
    while code == KILLED:
        at += 1
        path = tmp_path / str(at)
        source, said = os.pipe()
        if not (child := os.fork()):
            code = 1
            try:
                monkeypatch.setattr(schema, "connect", partial(connect_to_be_killed, connect, at))
                write_all(path, transactions, partial(tell, said))
                code = 0
            finally:
                os._exit(code)
        os.close(said)
        with open(source, "rb") as reader:
            committed = max(0, len(reader.read()) - 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with closing(open_archive(path)) as database:
            assert content(database) in whole[committed : committed + 2], at
    assert (code, committed) == (0, len(transactions))
    assert at > 20, "the statements were counted"
