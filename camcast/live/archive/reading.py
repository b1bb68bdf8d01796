"""Reading the file of an archive from end to end, beside the process that writes to it or without.

`salvage` reads what can be read of a damaged one into a new file.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from attrs import frozen

from camcast.live.archive.schema import (
    UNREADABLE,
    Lock,
    clear_errors,
    connect,
    is_damaged,
    open_archive,
    read_archive,
)
from camcast.live.archive.writer import Row, Writer
from camcast.vocabulary.batches import SIGNED, Batch, decode_body
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import MalformedError

PAGE_ROWS: Final = 256  # chosen: as a commit writes
_LAST_ID: Final = 1 << 48  # chosen: beyond what any archive has numbered
_UNREAD_IDS: Final = 1 << 32  # chosen: more than can follow the last one that is read
_LOG: Final = ("-wal", "-shm")  # SQLite puts these beside the file of a database
_CHAINS: Final = msgspec.msgpack.Decoder(tuple[bytes, ...])


@frozen
class CommunityHistory:
    """The batches in an archive of one community, in numbers."""

    topic: str
    batches: int
    events: int
    bytes: int
    """Of the bodies of the batches."""
    oldest: float | None
    """When the first of them was published, in seconds since 1970; None without any."""
    newest: float | None


class Archived(NamedTuple):
    """A batch in an archive, and the topic of the community that it was kept for."""

    topic: str
    batch: Batch


class ArchiveReader:
    """Reads an archive; raises `ArchiveError` for a file that is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reading = read_archive(path)

    def close(self) -> None:
        """Let go of the file."""
        self._reading.close()

    def communities(self) -> list[CommunityHistory]:
        """Return what there is of each community, by topic."""
        rows = self._rows(
            "SELECT topic, count(batch.id), coalesce(sum(count), 0),"
            " coalesce(sum(length(body)), 0), min(published), max(published)"
            " FROM community LEFT JOIN batch ON batch.community = community.id"
            " GROUP BY community.id ORDER BY topic"
        )
        with clear_errors(self._path):
            return [
                CommunityHistory(
                    *row[:4], *(None if when is None else when / 1000 for when in row[4:])
                )
                for row in rows
            ]

    def batches(self, topic: Topic | None = None, since: float = 0.0) -> Iterator[Archived]:
        """Yield the batches of all communities, or of one, in the order of their publication.

        `since` is in seconds since 1970. A batch that several communities have comes in each.
        """
        last = [int(1000 * since), -1]
        while True:
            page = self._rows(
                "SELECT published, batch.id, topic, body FROM batch JOIN community"
                " ON batch.community = community.id WHERE (published, batch.id) > (?, ?)"
                " AND (? IS NULL OR community.name = ?) ORDER BY published, batch.id LIMIT ?",
                (*last, *(2 * (None if topic is None else topic.group,)), PAGE_ROWS),
            )
            for published, id, name, body in page:
                last = [published, id]
                with clear_errors(self._path):
                    batch = decode_body(body, 0, len(body))
                yield Archived(name, batch)
            if len(page) < PAGE_ROWS:
                return

    def chains(self) -> dict[bytes, tuple[bytes, ...]]:
        """Return the certificates of publishers, by the hash of the last."""
        rows = self._rows("SELECT name, certificates FROM chain")
        with clear_errors(self._path):
            return {name: _CHAINS.decode(packed) for name, packed in rows}

    def is_damaged(self) -> bool:
        """Look through the whole file."""
        try:
            return bool(self._reading.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except sqlite3.Error as error:
            if not is_damaged(error):
                raise
            return True

    def _rows(self, question: str, values: Sequence[object] = ()) -> list[Any]:
        with clear_errors(self._path):
            return self._reading.execute(question, values).fetchall()


@frozen
class Salvaged:
    """The outcome of `salvage`."""

    batches: int
    kept_as: Path
    """The damaged file."""


def salvage(path: Path) -> Salvaged:
    """Put an archive of what can be read of a damaged one in its place; that one is kept beside it.

    Raises `ArchiveError` for a file that a process writes to. A kill at any moment leaves the
    damaged file or the new one in its place, and the damaged one can be put right again. What an
    earlier repair kept stays.
    """
    new = path.with_name(f"{path.name}.repaired")
    lock = Lock(path)
    try:
        old = _name_to_keep(path)
        _remove(new)
        saved = 0
        with closing(connect(path, "rw")) as damaged:
            Lock(new).close()
            database = open_archive(new)
            writer = Writer(database, str(new), _LAST_ID, inf)
            topics = _topics(damaged)
            last = 0
            chains = dict[bytes, tuple[bytes, ...]]()
            for _, name, packed in _readable(damaged, "chain"):
                with suppress(msgspec.MsgspecError, TypeError):
                    chains[name] = _CHAINS.decode(packed)
            rows: list[Row] = []
            for id, community, published, body in _readable(damaged, "batch"):
                try:
                    batch = decode_body(body, 0, len(body))
                except (MalformedError, TypeError):  # TypeError: the column's type is wrong, too
                    continue
                rows.append(_row(id, batch, topics.get(community), published, chains))
                saved, last = saved + 1, id
                if len(rows) == PAGE_ROWS:
                    writer.write(rows)
                    rows.clear()
            writer.write(rows)
            _number_beyond(database, last + _UNREAD_IDS)
            database.close()
        if not old.exists():
            try:
                os.link(path, old)
            except OSError:  # a file system without links
                shutil.copyfile(path, old)
        _move_log(path, old)  # before the new file is there, which it is no log of
        os.replace(new, path)
    finally:
        lock.close()
    return Salvaged(saved, old)


def _name_to_keep(path: Path) -> Path:
    """Return the name for a damaged file, which no other one has that was kept.

    A repair that was killed may have given it a name already, and its log with it: the log goes
    back, as what is only there must be read.
    """
    for number in itertools.count(1):
        name = path.with_name(f"{path.name}.damaged{f'-{number}' if number > 1 else ''}")
        if not any(Path(f"{name}{end}").exists() for end in ("", *_LOG)):
            return name
        if name.exists() and name.samefile(path):
            _move_log(name, path)
            return name
    raise AssertionError("there is always another number")


def _move_log(source: Path, target: Path) -> None:
    for end in _LOG:
        with suppress(FileNotFoundError):
            os.replace(f"{source}{end}", f"{target}{end}")


def _number_beyond(database: sqlite3.Connection, number: int) -> None:
    """Let the next batch have a number above this one.

    A cursor may be behind batches that could not be read: if their numbers came again, it would
    leave out what has them.
    """
    database.execute("DELETE FROM sqlite_sequence WHERE name = 'batch'")
    database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('batch', ?)", (number,))


_COLUMNS: Final = {
    "batch": "id, community, published, body",
    "community": "id, name, topic",
    "chain": "0, name, certificates",
}


def _topics(damaged: sqlite3.Connection) -> dict[int, tuple[GroupId, str]]:
    return {id: (GroupId(name), topic) for id, name, topic in _readable(damaged, "community")}


def _row(
    id: int,
    batch: Batch,
    community: tuple[GroupId, str] | None,
    published: int,
    chains: dict[bytes, tuple[bytes, ...]],
) -> Row:
    certificate = batch.certificate if batch.flags & SIGNED else b""
    group, topic = community or (batch.topic.group, batch.topic.name)
    return Row(
        community=group,
        topic=topic,
        batch=batch,
        published=published,
        chain=chains.pop(certificate, ()),
        id=id,
    )


def _readable(database: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that can be read, by number; where a page is damaged, go beyond."""
    columns = _COLUMNS[table]
    if table == "chain":
        with suppress(*UNREADABLE):
            yield from database.execute(f"SELECT {columns} FROM {table}").fetchall()
        return
    question = f"SELECT {columns} FROM {table} WHERE id >= ? ORDER BY id LIMIT ?"
    number, wanted = 1, PAGE_ROWS
    while number < _LAST_ID:
        try:
            rows = database.execute(question, (number, wanted)).fetchall()
        except UNREADABLE:
            if wanted > 1:
                wanted = 1
            else:
                number = _beyond(database, question, number)
            continue
        if not rows:
            return
        yield from rows
        number, wanted = rows[-1][0] + 1, min(2 * wanted, PAGE_ROWS)


def _beyond(database: sqlite3.Connection, question: str, damaged: int) -> int:
    """Return the first number above a damaged one from which on something can be read."""

    def reads(number: int) -> bool:
        try:
            database.execute(question, (number, 1)).fetchall()
        except UNREADABLE:
            return False
        return True

    step = 1
    while damaged + step < _LAST_ID and not reads(damaged + step):
        step *= 2
    low, high = damaged + step // 2, damaged + step  # `low` cannot be read, `high` can
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reads(middle) else (middle, high)
    return high


def _remove(path: Path) -> None:
    for end in ("", *_LOG):
        Path(f"{path}{end}").unlink(missing_ok=True)
