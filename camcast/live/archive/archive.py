"""The archive on disk, as the engine sees it: what is written, and what waits for being written.

Everything here runs in the event loop. A question takes some tens of microseconds of SQLite, with
the pages in the cache of the system; rows are read by the page, so that no reading lasts over a
transaction of the writer.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import merge
from pathlib import Path
from types import UnionType
from typing import Any, Final

import msgspec
from typing_extensions import override

from camcast.doors.archive import Archive
from camcast.engine.known_streams import KnownRanges
from camcast.live.archive.cursor import Cursor, CursorFile
from camcast.live.archive.schema import (
    UNREADABLE,
    Lock,
    clear_errors,
    is_damaged,
    open_archive,
    read_archive,
    unpack_numbers,
)
from camcast.live.archive.writer import WAITING_BYTES_MAX, Row, Writer
from camcast.observe.stats import ArchiveStats
from camcast.vocabulary.batches import EVENTS_MAX, Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, StreamId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import MalformedError

_log = Logger(__name__)

PAGE_ROWS: Final = 128  # chosen: read within half a millisecond
STREAMS_MAX: Final = 1 << 13  # chosen: more than the `Have`s of one answer have room for
CHAINS_MAX: Final = 1 << 10  # chosen: 1 MB; what is given again is written once
_CHAINS: Final = msgspec.msgpack.Decoder(tuple[bytes, ...])
_KEY_BYTES: Final = STREAM_ID_BYTES + 4  # [docs/wire-format.md] of a body: stream, first number

_STREAM: Final = (
    "SELECT stream.id, stream.known FROM stream JOIN community ON stream.community = community.id"
    " WHERE community.name = ? AND stream.name = ?"
)


class FileArchive(Archive):
    """The archive of one process in a file; raises `ArchiveError` if the file cannot be opened."""

    def __init__(self, path: Path, bytes_max: int, age_seconds_max: float) -> None:
        self._path = path
        self._age_seconds_max = age_seconds_max
        self._lock = Lock(path)
        try:
            database = open_archive(path)
            with clear_errors(path):
                self._writer = Writer(database, str(path), bytes_max, age_seconds_max)
            self._reading = read_archive(path)
        except BaseException:
            self._lock.close()
            raise
        self._given: deque[Row] = deque()
        """The batches that are not written yet and stand in no index, which questions need."""
        self._indexed: deque[Row] = deque()
        """Those of before, which do."""
        self._waiting: dict[tuple[GroupId, StreamId], dict[int, Row]] = {}
        """The latter by number."""
        self._forgotten = 0
        """The batches that are neither, for they were written: the first that were given."""
        self._chains: dict[bytes, tuple[bytes, ...]] = {}
        """The chains that were given to the writer lately, by the hash of the last certificate."""
        self._lost_until = 0
        """When the last batch that could not be kept had been published."""
        self._log = MinuteLog()
        self._watchers: dict[Callable[[], None], asyncio.AbstractEventLoop] = {}
        self._writer.on_written = self._on_written
        self._writer.start()

    @property
    @override
    def age_seconds_max(self) -> float:
        return self._age_seconds_max

    def stats(self) -> ArchiveStats:
        """Return how the archive stands."""
        self._settle()
        writer = self._writer
        return ArchiveStats(
            path=str(self._path),
            state=writer.state,
            bytes=writer.bytes,
            bytes_max=writer.bytes_max,
            waiting_bytes=writer.waiting_bytes,
            waiting_bytes_max=WAITING_BYTES_MAX,
            written=writer.written,
            lost=writer.lost,
        )

    def given(self) -> int:
        """Return how many batches were given to the writer since the start."""
        self._forget()
        return self._forgotten + len(self._indexed) + len(self._given)

    @property
    def settled(self) -> int:
        """How many of these were written, in the order in which they were given."""
        return self._writer.settled

    def watch(self, on_written: Callable[[], None]) -> None:
        """Call this in the running event loop after something was written, until `unwatch`."""
        self._watchers[on_written] = asyncio.get_running_loop()

    def unwatch(self, on_written: Callable[[], None]) -> None:
        """Call what was given to `watch` no more, but for a call that is on its way."""
        self._watchers.pop(on_written, None)

    def _on_written(self) -> None:
        """Wake those who wait for something to read; called in the writer's thread."""
        for on_written, loop in tuple(self._watchers.items()):
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(on_written)

    def close(self) -> None:
        """Write what waits, and let another process have the file."""
        self._writer.close()
        self._reading.close()
        self._lock.close()

    @override
    def keep(self, community: Topic, batch: Batch, chain: Sequence[bytes]) -> None:
        writer = self._writer
        if self._forgotten != writer.settled:
            self._forget()
        published = min(batch.published, int(1000 * time.time()))
        new = self._unwritten(batch.certificate, chain) if chain else ()
        row = Row(community.group, community.name, batch, published, new)
        if writer.put(row):
            self._given.append(row)
        else:
            self._lost_until = max(self._lost_until, published + 1)

    def _unwritten(self, certificate: bytes, chain: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return a chain unless it was given to the writer lately."""
        if certificate in self._chains:
            return ()
        if len(self._chains) >= CHAINS_MAX:
            self._chains.clear()
        self._chains[certificate] = tuple(chain)
        return self._chains[certificate]

    @override
    def known(self, community: Topic, stream: StreamId) -> Sequence[int]:
        waiting = self._rows(community, stream)
        found = self._page(_STREAM, (community.group, stream), int, bytes)
        if not (found or waiting):
            return ()
        known = KnownRanges(0.0, b"")
        with self._unless_damaged():
            for _, numbers in found:
                known.restore(unpack_numbers(numbers))
        for row in waiting:
            known.add(row.batch.first, row.batch.count)
        return known.told()

    @override
    def batches(
        self, community: Topic, stream: StreamId, start: int, stop: int, since: int
    ) -> Iterator[bytes]:
        waiting = [
            (row.batch.first, row.batch.body)
            for row in self._rows(community, stream)
            if row.batch.first < stop
            and row.batch.first + row.batch.count > start
            and row.published >= since
        ]
        written = self._of_stream(community, stream, start, stop, since)
        before = 0
        for first, body in merge(written, waiting):
            if first != before:  # what was written a moment ago is in both
                yield body
            before = first

    def _of_stream(
        self, community: Topic, stream: StreamId, start: int, stop: int, since: int
    ) -> Iterator[tuple[int, bytes]]:
        id = self._id(community, stream)
        after = max(start - EVENTS_MAX, self._first_since(id, since) - 1)
        while id:
            page = self._page(
                "SELECT first, count, body FROM batch WHERE stream = ? AND first > ? AND first < ?"
                " AND published >= ? ORDER BY first LIMIT ?",
                (id, after, stop, since, PAGE_ROWS),
                *(int, int, bytes),
            )
            for first, count, body in page:
                after = first
                if first + count > start:
                    yield first, body
            if len(page) < PAGE_ROWS:
                return

    def _first_since(self, id: int, since: int) -> int:
        """Return the number of the first batch of a stream that was published since a time.

        The events of a stream were published in their order: half of what is left is left out by
        each look. Where there is none it is beyond all numbers.
        """
        found = self._first_row(id, 1)
        if found is None or found[1] >= since:
            return found[0] if found else SEQUENCE_MAX + 1
        [(last,)] = self._page(
            "SELECT max(first) FROM batch WHERE stream = ?", (id,), int | None
        ) or [(0,)]
        low, high = found[0] + 1, (last or 0) + 1
        while low < high:
            middle = (low + high) // 2
            found = self._first_row(id, middle)
            if found is None or found[1] >= since:
                high = middle
            else:
                low = found[0] + 1
        found = self._first_row(id, low)
        return found[0] if found else SEQUENCE_MAX + 1

    def _first_row(self, id: int, number: int) -> tuple[int, int] | None:
        """Return number and time of the first batch of a stream from a number on."""
        rows = self._page(
            "SELECT first, published FROM batch WHERE stream = ? AND first >= ?"
            " ORDER BY first LIMIT 1",
            (id, number),
            *(int, int),
        )
        return rows[0] if rows else None

    @override
    def lowest(self, community: Topic, stream: StreamId, since: int) -> bytes | None:
        first = self._first_since(self._id(community, stream), since)
        return next(self.batches(community, stream, first, first + 1, since), None) or next(
            (row.batch.body for row in self._rows(community, stream) if row.published >= since),
            None,
        )

    @override
    def streams(self, community: Topic, since: int) -> Sequence[StreamId]:
        self._settle()
        latest = {
            stream: max(row.published for row in rows.values())
            for (group, stream), rows in self._waiting.items()
            if group == community.group
        }
        found = self._page(
            "SELECT stream.name, latest FROM stream JOIN community"
            " ON stream.community = community.id WHERE community.name = ? AND latest >= ?"
            " ORDER BY latest DESC LIMIT ?",
            (community.group, since, STREAMS_MAX),
            *(bytes, int),
        )
        for name, when in found:
            latest[StreamId(name)] = max(when, latest.get(StreamId(name), 0))
        late = [stream for stream, when in latest.items() if when >= since]
        return sorted(late, key=lambda stream: -latest[stream])

    @override
    def history(self, community: Topic, since: int) -> Iterator[bytes]:
        self._settle()
        waiting = sorted(
            (row.published, row.batch.body[:_KEY_BYTES], row.batch.body)
            for (group, _), rows in self._waiting.items()
            for row in rows.values()
            if group == community.group and row.published >= since
        )
        if not waiting:  # spares a comparison for each
            for _, body in self._by_publication(community, since):
                yield body
            return
        keys = {key for _, key, _ in waiting}
        written = (
            (published, body[:_KEY_BYTES], body)
            for published, body in self._by_publication(community, since)
            if body[:_KEY_BYTES] not in keys
        )
        for _, _, body in merge(written, waiting, key=lambda one: one[0]):
            yield body

    def _by_publication(self, community: Topic, since: int) -> Iterator[tuple[int, bytes]]:
        last: list[int] = [since, -1]
        id = self._community_id(community)
        while True:
            page = self._page(
                "SELECT published, id, body FROM batch WHERE community = ? AND published >= ?"
                " AND (published > ? OR id > ?) ORDER BY published, id LIMIT ?",
                (id, last[0], *last, PAGE_ROWS),
                *(int, int, bytes),
            )
            for *last, body in page:
                yield last[0], body
            if len(page) < PAGE_ROWS:
                return

    def cursor(self, name: str, community: Topic) -> CursorFile:
        """Open the cursor of a durable subscription; raises `ArchiveError`."""
        group = community.group.hex()
        return CursorFile(self._path.with_name(f"{self._path.name}.{name}-{group}.cursor"))

    def last(self) -> int:
        """Return the number of the batch that was written last, also if it was let go; or 0."""
        question = "SELECT seq FROM sqlite_sequence WHERE name = 'batch'"
        return next((last for (last,) in self._page(question, (), int)), 0)

    def published(self, number: int) -> int:
        """Return when a batch was published, in milliseconds since 1970; 0 if it was let go."""
        question = "SELECT published FROM batch WHERE id = ?"
        return next((when for (when,) in self._page(question, (number,), int)), 0)

    def passed(self, community: Topic, cursor: Cursor) -> list[tuple[int, int, bytes]]:
        """Return the next batches of a pass: when each was published, its number and its body."""
        id = self._community_id(community)
        since = cursor.published
        if not cursor.batch:  # the pass begins: spares a look at all that is older
            [(first,)] = self._page(
                "SELECT min(published) FROM batch WHERE id > ? AND community = ?",
                (cursor.base, id),
                int | None,
            ) or [(0,)]
            since = max(since, first or 0)
        return self._page(
            "SELECT published, id, body FROM batch WHERE community = ? AND published >= ?"
            " AND (published > ? OR id > ?) AND id > ? AND id <= ? ORDER BY published, id LIMIT ?",
            (id, since, since, cursor.batch, cursor.base, cursor.until, PAGE_ROWS),
            *(int, int, bytes),
        )

    @override
    def oldest(self, community: Topic) -> int:
        found = self._page(
            "SELECT min(published) FROM batch WHERE community = ?",
            (self._community_id(community),),
            int | None,
        )
        written = [first for (first,) in found if first is not None]
        return min([*written, *self._times_waiting(community)], default=0)

    @override
    def latest(self, community: Topic) -> int:
        found = self._page(
            "SELECT max(latest) FROM stream WHERE community = ?",
            (self._community_id(community),),
            int | None,
        )
        written = [last for (last,) in found if last is not None]
        return max([*written, *self._times_waiting(community)], default=0)

    def _times_waiting(self, community: Topic) -> list[int]:
        """Return when the batches of a community were published that are not written yet."""
        self._settle()
        return [
            row.published
            for (group, _), rows in self._waiting.items()
            if group == community.group
            for row in rows.values()
        ]

    @override
    def reach(self, community: Topic) -> int:
        found = self._page("SELECT let_go FROM community WHERE name = ?", (community.group,), int)
        let_go = [int(time) for (time,) in found]
        oldest = int(1000 * (time.time() - self._age_seconds_max))
        return max(0, oldest, self._lost_until, *let_go)

    @override
    def chain(self, certificate: bytes) -> Sequence[bytes]:
        if certificate in self._chains:
            return self._chains[certificate]
        found = self._page("SELECT certificates FROM chain WHERE name = ?", (certificate,), bytes)
        with self._unless_damaged():
            for (packed,) in found:
                return _CHAINS.decode(packed)
        return ()

    def _community_id(self, community: Topic) -> int:
        """Return the number of a community in the file; 0 where it is not there."""
        found = self._page("SELECT id FROM community WHERE name = ?", (community.group,), int)
        return int(found[0][0]) if found else 0

    def _id(self, community: Topic, stream: StreamId) -> int:
        """Return the number of a stream in the file; 0 where it is not there."""
        for id, _ in self._page(_STREAM, (community.group, stream), int, bytes):
            return int(id)
        return 0

    def _rows(self, community: Topic, stream: StreamId) -> list[Row]:
        """Return the rows of a stream that are not written yet, by number."""
        self._settle()
        rows = self._waiting.get((community.group, stream), {})
        return [rows[first] for first in sorted(rows)]

    def _settle(self) -> None:
        """Forget what was written, and have the rest in the index."""
        self._forget()
        for row in self._given:
            key = row.community, row.batch.stream
            self._waiting.setdefault(key, {})[row.batch.first] = row
        self._indexed += self._given
        self._given.clear()

    def _forget(self) -> None:
        settled = self._writer.settled
        while self._forgotten < settled:
            self._forgotten += 1
            if not self._indexed:
                self._given.popleft()
                continue
            row = self._indexed.popleft()
            key = row.community, row.batch.stream
            rows = self._waiting[key]
            if rows.get(row.batch.first) is row:  # and it was not given twice
                del rows[row.batch.first]
                if not rows:
                    del self._waiting[key]

    def _page(self, question: str, values: Sequence[object], *kinds: type | UnionType) -> list[Any]:
        """Return the rows that are asked for, with columns of these kinds.

        None, which is logged, if that fails.
        """
        with self._unless_damaged():
            rows = self._reading.execute(question, values).fetchall()
            # SQLite lets a column have values of any kind, and so does a bit that is wrong.
            for row in {tuple(map(type, row)) for row in rows}:
                if not all(map(issubclass, row, kinds)):
                    raise TypeError(f"a row of {', '.join(kind.__name__ for kind in row)}")
            return rows
        return []

    @contextmanager
    def _unless_damaged(self) -> Iterator[None]:
        """Log what the file's damage raises, and archive no more."""
        try:
            yield
        except (*UNREADABLE, MalformedError, msgspec.MsgspecError, TypeError) as error:
            if not isinstance(error, sqlite3.Error) or is_damaged(error):
                self._writer.stop()
            if self._log.due("read", time.monotonic()):
                _log.warning("the archive %s cannot be read: %s", self._path, error)
