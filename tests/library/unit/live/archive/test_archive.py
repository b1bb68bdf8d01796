"""The file of an archive: what another run finds, and each way in which it can be wrong."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from camcast import ArchiveError
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.cursor import Cursor
from camcast.live.archive.schema import FORMAT
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import SEQUENCE_MAX, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.patience import live

A = Topic.parse(".a")
STREAM = stream_id(PeerId(bytes(16)), 1)
DAY = 86_400.0
PATIENCE_SECONDS = 60.0


def batch(first: int, payload: bytes = b"!", published: float | None = None) -> Batch:
    when = time.time() if published is None else published
    return make_batch(STREAM, first, [payload], A, published=int(1000 * when))


def opened(path: Path, bytes_max: int = 10_000_000) -> FileArchive:
    return FileArchive(path, bytes_max, DAY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.archive"


@pytest.fixture
def archive(path: Path) -> Iterator[FileArchive]:
    one = opened(path)
    yield one
    one.close()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@live
async def test_who_watches_is_called_in_the_loop_once_something_can_be_read(
    archive: FileArchive,
) -> None:
    written = asyncio.Event()
    last: list[int] = []

    def on_written() -> None:
        last.append(archive.last())
        written.set()

    archive.watch(on_written)
    for number in (1, 2):
        written.clear()
        archive.keep(A, batch(number), ())
        await written.wait()
    assert last == [1, 2]
    archive.unwatch(on_written)
    archive.keep(A, batch(3), ())
    while archive.last() < 3:
        await asyncio.sleep(0.01)
    assert last == [1, 2]


def test_another_run_finds_all_that_was_kept(path: Path) -> None:
    archive = opened(path)
    kept = [batch(number) for number in (1, 2, 3, 7)]
    for one in kept:
        archive.keep(A, one, ())
    archive.close()
    again = opened(path)
    assert list(again.known(A, STREAM)) == [4, 7, 8]
    assert list(again.history(A, 0)) == [one.body for one in kept]
    again.keep(A, batch(4), ())
    assert list(again.known(A, STREAM)) == [5, 7, 8]
    again.close()
    assert path.stat().st_mode & 0o077 == 0, "events may be confidential"


def test_the_file_stays_within_its_bytes_and_the_oldest_publication_goes_first(
    path: Path,
) -> None:
    archive = opened(path, 1_000_000)
    now, payload = time.time(), bytes(3000)
    order = [*range(1, 800, 2), *range(2, 800, 2)]  # not in the order of publication
    for number in order:
        archive.keep(A, batch(number, payload, now - 1000 + number), ())
    wait_until(lambda: archive.stats().written == len(order))
    stats = archive.stats()
    assert 700_000 < stats.bytes <= 1_050_000
    left = [int.from_bytes(body[24:28]) for body in archive.history(A, 0)]
    assert left == list(range(left[0], 800)), "the newest, without a gap"
    assert archive.reach(A) == int(1000 * (now - 1000 + left[0] - 1)) + 1
    assert list(archive.known(A, STREAM)) == [800], "what made room was had all the same"
    archive.close()
    assert path.stat().st_size < 1_500_000


def test_the_last_events_of_a_large_file_cost_three_bare_reads_of_them_at_most(
    archive: FileArchive, path: Path
) -> None:
    count, last, now = 10_000, 100, time.time()
    for number in range(1, count + 1):
        archive.keep(A, batch(number, bytes(256), now - count + number), ())
    wait_until(lambda: archive.stats().written == count)
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def steps_of(connection: sqlite3.Connection, read: Callable[[], object]) -> int:
        nonlocal steps
        steps = 0
        connection.set_progress_handler(step, 1)  # called at each step of SQLite's machine
        read()
        connection.set_progress_handler(None, 1)
        return steps

    since = int(1000 * (now - last)) + 1
    bodies: list[bytes] = []
    took = steps_of(archive._reading, lambda: bodies.extend(archive.history(A, since)))
    with sqlite3.connect(path) as bare:
        question = "SELECT body FROM batch WHERE community = 1 AND published >= ?"
        least = steps_of(bare, lambda: bare.execute(question, (since,)).fetchall())
    bare.close()
    assert len(bodies) == last
    assert took <= 3 * least
    assert archive.stats().bytes <= 500 * count


def test_a_clock_that_is_set_back_costs_nothing_that_was_kept_nor_what_comes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two days, which is more than the age of what is kept; also while the process runs."""
    now = time.time()
    archive = opened(path)
    before = [batch(number, published=now) for number in (1, 2)]
    for one in before:
        archive.keep(A, one, ())
    wait_until(lambda: archive.stats().written == 2)
    monkeypatch.setattr(time, "time", lambda: now - 2 * DAY)
    back = [batch(3, published=now - 2 * DAY), batch(4, published=now)]  # the latter by another
    for one in back:
        archive.keep(A, one, ())
    behind = Cursor(archive.last(), archive.last())
    archive.close()
    for later in (-2 * DAY, 0.0):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        archive = opened(path)
        assert list(archive.known(A, STREAM)) == [5]
        assert [body for _, _, body in archive.passed(A, evolve(behind, until=archive.last()))] == [
            one.body for one in back
        ]
        assert sorted(archive.history(A, 0)) == sorted(one.body for one in before + back)
        archive.close()


def test_only_one_process_writes_to_a_file(archive: FileArchive, path: Path) -> None:
    with pytest.raises(ArchiveError, match="another process writes to"):
        opened(path)
    archive.keep(A, batch(1), ())
    wait_until(lambda: archive.stats().written == 1)


def test_a_file_of_a_newer_release_is_left_as_it_is(path: Path) -> None:
    opened(path).close()
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version={FORMAT + 1}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(ArchiveError, match="newer release"):
        opened(path)
    assert path.read_bytes() == before


def test_a_database_of_another_application_is_no_archive(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (number INTEGER)")
    database.close()
    with pytest.raises(ArchiveError, match="no archive of camcast"):
        opened(path)


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 999]
)
def test_a_file_that_is_no_database_is_named_with_what_to_do(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="--repair"):
        opened(path)
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="No such file"):
        opened(tmp_path / "nowhere" / "events.archive")


def test_a_full_disk_stops_the_archive_until_there_is_room(
    archive: FileArchive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("camcast.live.archive.writer.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("camcast.live.archive.writer.WAITING_BYTES_MAX", 500_000)
    database = archive._writer._database
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count={pages + 5}")
    payload = bytes(10_000)
    for number in range(1, 101):
        archive.keep(A, batch(number, payload), ())
    wait_until(lambda: archive.stats().state == "full")
    assert archive.stats().lost == 51
    bodies = list(archive.batches(A, STREAM, 1, SEQUENCE_MAX, 0))
    assert len(bodies) == 49, "what waits is there for who asks"
    assert archive.reach(A) > 1000 * (time.time() - 60), "it does not say that all is there"
    database.execute("PRAGMA max_page_count=100000")
    wait_until(lambda: archive.stats().state == "writing" and archive.stats().written == 49)
    archive.keep(A, batch(101), ())
    wait_until(lambda: archive.stats().written == 50)
    said = [record.message for record in caplog.records]
    assert len([one for one in said if "takes no events" in one]) == 1
    assert len([one for one in said if "writes again" in one]) == 1


def test_a_file_that_is_damaged_meanwhile_takes_nothing_more(path: Path) -> None:
    archive = opened(path)
    for number in range(1, 200):
        archive.keep(A, batch(number, bytes(1000)), ())
    archive.close()
    with path.open("r+b") as file:  # all but the tables' definitions
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    archive = opened(path)
    archive.keep(A, batch(200), ())
    wait_until(lambda: archive.stats().state == "damaged")
    wait_until(lambda: not list(archive.history(A, 0)))
    archive.keep(A, batch(201), ())
    assert archive.stats().lost >= 1
    archive.close()


def test_what_was_written_a_moment_ago_is_read_once(
    archive: FileArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits no more, and who reads has not seen that yet."""
    monkeypatch.setattr(archive, "_settle", lambda: None)
    kept = [batch(number) for number in (1, 2)]
    for one in kept:
        archive.keep(A, one, ())
    wait_until(lambda: archive._writer.written == 2)
    bodies = [one.body for one in kept]
    assert list(archive.batches(A, STREAM, 1, 3, 0)) == bodies
    assert list(archive.history(A, 0)) == bodies
    assert archive.lowest(A, STREAM, 0) == bodies[0]
