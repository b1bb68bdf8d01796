"""The writer of an archive: a thread that commits what is given to it, and makes room.

Theory of operation
-------------------
The event loop hands over rows and goes on (`Writer.put`). The thread sleeps until there is one,
waits `COMMIT_SECONDS` for more, or until `COMMIT_BATCHES` wait, and writes them in one transaction.
What is committed counts as settled (`Writer.settled`), in the order in which it was given; until
then the loop answers questions from the rows themselves.

*Room.* In the same transaction the batches that were published first go, while the file has more
bytes in use than it may have, and, once in `DROP_SECONDS`, those that are too old. Pages that
become free are used again, so that the file stays as large as its bound. What a stream has had
stays known (`stream.known`) until all of it is too old.

*A full disk*, or one with errors, undoes the transaction. The rows wait for `RETRY_SECONDS`, and
are tried again, again and again. Meanwhile the loop drops what goes beyond `WAITING_BYTES_MAX`,
and counts it. *A damaged file* ends the thread: whoever writes on would damage more.
"""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from math import inf
from threading import Event, Thread
from typing import Final, Literal, NamedTuple

import msgspec
from attrs import define
from typing_extensions import override

from camcast.engine.known_streams import KnownRanges
from camcast.live.archive.schema import is_damaged, pack_numbers, unpack_numbers
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.topics import GroupId

_log = Logger(__name__)

COMMIT_SECONDS: Final = 0.1  # chosen: what a kill takes along, and other members bring back
COMMIT_BATCHES: Final = 256  # chosen: 2 us an event and less are the commit's (measured)
ROWS_MAX: Final = 4096  # chosen: a transaction of some 50 ms, between which readers come in
TRANSACTION_BYTES: Final = 1 << 20  # chosen: a MiB, so much more the file may take for a moment
RETRY_SECONDS: Final = 5.0  # chosen: as often as conditions are looked at
LOOK_SECONDS: Final = 60.0  # chosen: in an idle process what is too old goes a minute late
WAITING_BYTES_MAX: Final = 1 << 24  # chosen: 16 MiB, a minute of 1,000 events/s of 256 bytes
STREAMS_MAX: Final = 1 << 14  # chosen: some 5 MB of what is known of streams; the file has the rest
DROP_SECONDS: Final = 1.0  # chosen: a look at each community, of which there may be thousands
INSERT_ROWS: Final = 32  # chosen: 2 us a row less than each by itself; more rows gain no more
ROOM_BATCHES: Final = 256  # chosen: as many go at once as come, if so much room is needed

_INTO: Final = (
    "INSERT OR IGNORE INTO batch (id, community, stream, first, count, published, body) VALUES "
)
_VALUES: Final = "(?, ?, ?, ?, ?, ?, ?)"

State = Literal["writing", "full", "damaged"]


class Row(NamedTuple):
    """A batch on its way into the file."""

    community: GroupId
    topic: str
    """The name of the community."""
    batch: Batch
    published: int
    """In milliseconds since 1970; not later than when it came."""
    chain: tuple[bytes, ...] = ()
    """The certificates of its publisher; empty if the file has them, or where none is signed."""
    id: int | None = None
    """Its number in the file; None: the next."""


_Values = tuple[int | None, int, int, int, int, int, bytes]
"""Of the columns of `_INTO`."""


@define(eq=False)
class _Stream:
    id: int
    community: int
    known: KnownRanges
    latest: int = 0
    """When the latest batch of it that this run has written was published."""


class Writer(Thread):
    """Writes to one archive until it is closed; `path` names it in the log."""

    def __init__(
        self, database: sqlite3.Connection, path: str, bytes_max: int, age_seconds_max: float
    ) -> None:
        super().__init__(name="camcast archive", daemon=True)
        self.state: State = "writing"
        self.written = 0
        """The batches that were committed since the start."""
        self.lost = 0
        """The batches that were dropped since the start, since nothing could be written."""
        self.bytes = 0
        """The bytes of the file that are in use."""
        self.bytes_max = bytes_max
        self.settled = 0
        """The rows that were committed, or given up at the end, of all that were put."""
        self.on_written: Callable[[], None] = lambda: None
        """Called by the thread after each transaction."""
        self._database = database
        self._path = path
        self._transaction_bytes_max = min(TRANSACTION_BYTES, bytes_max // 8)
        self._age_seconds_max = age_seconds_max
        self._rows: deque[Row] = deque()
        self._put_bytes = self._settled_bytes = 0  # of bodies: by the loop alone, by the thread
        self._some, self._enough = Event(), Event()
        self._closing = self._ended = False  # `_ended`: what waits was tried once more
        self._communities: dict[GroupId, int] = {}
        self._streams: dict[tuple[GroupId, StreamId], _Stream] = {}
        self._dropped_at = -inf
        """When what is too old was dropped."""
        (self._page_bytes,) = database.execute("PRAGMA page_size").fetchone()
        self.bytes = self._bytes_in_use()

    # -- the side of the event loop ----------------------------------------------------------

    @property
    def waiting_bytes(self) -> int:
        """The bytes of the bodies that wait for being written."""
        return self._put_bytes - self._settled_bytes

    def put(self, row: Row) -> bool:
        """Let a row be written; False if it was dropped."""
        size = len(row.batch.body)
        waiting = self._put_bytes - self._settled_bytes + size
        if waiting > WAITING_BYTES_MAX or self.state == "damaged":
            self.lost += 1
            return False
        self._put_bytes += size
        self._rows.append(row)
        if not self._some.is_set():
            self._some.set()
        if len(self._rows) >= COMMIT_BATCHES:
            self._enough.set()
        return True

    def stop(self) -> None:
        """Write no more: the file is damaged."""
        self.state = "damaged"
        self._some.set()

    def close(self) -> None:
        """Write what waits, once, and end."""
        self._closing = True
        self._some.set()
        self._enough.set()
        self.join()
        self._database.close()

    # -- the thread --------------------------------------------------------------------------

    @override
    def run(self) -> None:
        while not self._is_over():
            self._some.wait(LOOK_SECONDS)
            if not self._closing:
                self._enough.wait(COMMIT_SECONDS)
            self._some.clear()
            self._enough.clear()
            if not self._is_over() and not self._try() and not self._closing:
                self._enough.wait(RETRY_SECONDS)  # for room, or for the end
                self._some.set()
        lost = list(self._rows)
        self._rows.clear()
        self.lost += len(lost)
        self._settle(lost)

    def _is_over(self) -> bool:
        """Whether nothing is left to write, or nothing more can be written."""
        if self.state == "damaged":
            return True
        return self._ended and (self.state == "full" or not self._rows)

    def _try(self) -> bool:
        """Write what waits; say whether that went well."""
        rows: list[Row] = []
        size = 0
        while self._rows and len(rows) < ROWS_MAX and size < self._transaction_bytes_max:
            rows.append(self._rows.popleft())
            size += len(rows[-1].batch.body)
        try:
            self.write(rows)
        except sqlite3.Error as error:
            self._undo(rows, error)
            return False
        finally:
            self._ended = self._closing
        if self.state == "full":
            _log.warning("the archive %s writes again", self._path)
            self.state = "writing"
        self.written += len(rows)
        self._settle(rows)
        if rows:
            self.on_written()
        if self._rows:
            self._some.set()
        return True

    def _settle(self, rows: Sequence[Row]) -> None:
        self._settled_bytes += sum(len(row.batch.body) for row in rows)
        self.settled += len(rows)

    def _undo(self, rows: Sequence[Row], error: sqlite3.Error) -> None:
        if self._database.in_transaction:
            self._database.rollback()
        self._rows.extendleft(reversed(rows))
        self._communities.clear()
        self._streams.clear()
        before, self.state = self.state, "damaged" if is_damaged(error) else "full"
        if self.state != before:
            _log.warning(
                "the archive %s takes no events: %s; the process goes on without", self._path, error
            )

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows in one transaction; called by the thread, or where it is not started."""
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        now = int(1000 * time.time())
        too_old = 0 if self._age_seconds_max == inf else now - int(1000 * self._age_seconds_max)
        if len(self._streams) >= STREAMS_MAX:
            self._streams.clear()
        changed: dict[int, _Stream] = {}
        values: list[_Values] = []
        size = 0
        for community, topic, batch, published, certificates, id in rows:
            stream = self._streams.get((community, batch.stream))
            if stream is None:
                stream = self._add_stream(community, topic, batch.stream)
            stream.known.add(batch.first, batch.count)
            stream.latest = max(stream.latest, published)
            changed[stream.id] = stream
            if published >= too_old:
                size += len(batch.body)
                values.append(
                    (
                        id,
                        stream.community,
                        stream.id,
                        batch.first,
                        batch.count,
                        published,
                        batch.body,
                    )
                )
            if certificates:
                database.execute(
                    "INSERT OR IGNORE INTO chain VALUES (?, ?)",
                    (batch.certificate, msgspec.msgpack.encode(certificates)),
                )
        self._make_room(size)
        self._insert(values)
        database.executemany(
            "UPDATE stream SET known = ?, latest = max(latest, ?) WHERE id = ?",
            [(pack_numbers(one.known.told()), one.latest, one.id) for one in changed.values()],
        )
        if time.monotonic() - self._dropped_at >= DROP_SECONDS:
            self._drop_old(too_old)
            self._dropped_at = time.monotonic()
        database.execute("COMMIT")
        self.bytes = self._bytes_in_use()

    def _insert(self, values: Sequence[_Values]) -> None:
        """Insert rows, many by one statement: each statement costs as much as a row."""
        whole = len(values) - len(values) % INSERT_ROWS
        self._database.executemany(
            _INTO + ", ".join([_VALUES] * INSERT_ROWS),
            [
                tuple(chain.from_iterable(values[start : start + INSERT_ROWS]))
                for start in range(0, whole, INSERT_ROWS)
            ],
        )
        self._database.executemany(_INTO + _VALUES, values[whole:])

    def _community(self, group: GroupId, topic: str) -> int:
        found = self._communities.get(group)
        if found is None:
            self._database.execute(
                "INSERT OR IGNORE INTO community (name, topic, let_go) VALUES (?, ?, 0)",
                (group, topic),
            )
            (found,) = self._database.execute(
                "SELECT id FROM community WHERE name = ?", (group,)
            ).fetchone()
            self._communities[group] = found
        assert found is not None
        return found

    def _add_stream(self, group: GroupId, topic: str, name: StreamId) -> _Stream:
        key = community, _ = self._community(group, topic), name
        self._database.execute(
            "INSERT OR IGNORE INTO stream (community, name, known, latest) VALUES (?, ?, ?, 0)",
            (*key, pack_numbers((1,))),
        )
        id, packed = self._database.execute(
            "SELECT id, known FROM stream WHERE community = ? AND name = ?", key
        ).fetchone()
        known = KnownRanges(0.0, b"")
        known.restore(unpack_numbers(packed))
        added = self._streams[group, name] = _Stream(id, community, known)
        return added

    def _drop_old(self, too_old: int) -> None:
        """Drop what is too old, and forget the streams of which all is."""
        database = self._database
        for (community,) in database.execute("SELECT id FROM community").fetchall():
            database.execute(
                "DELETE FROM batch WHERE id IN (SELECT id FROM batch WHERE community = ?"
                " AND published < ? ORDER BY published LIMIT ?)",
                (community, too_old, ROWS_MAX),
            )
            gone = database.execute(
                "DELETE FROM stream WHERE id IN (SELECT id FROM stream WHERE community = ?"
                " AND latest < ? ORDER BY latest LIMIT ?)",
                (community, too_old, ROOM_BATCHES),
            )
            if gone.rowcount:
                self._streams.clear()

    def _make_room(self, size: int) -> None:
        """Let the batches that were published first go until there is room for so many bytes."""
        database = self._database
        excess = self.bytes + size - self.bytes_max
        while excess > 0:
            oldest = database.execute(
                "SELECT community.id, (SELECT min(published) FROM batch WHERE community ="
                " community.id) AS first FROM community WHERE first IS NOT NULL"
                " ORDER BY first LIMIT 1"
            ).fetchone()
            if oldest is None:
                return
            rows = database.execute(
                "SELECT id, published, length(body) FROM batch WHERE community = ?"
                " ORDER BY published LIMIT ?",
                (oldest[0], ROOM_BATCHES),
            ).fetchall()
            gone: list[tuple[int]] = []
            let_go = 0
            for id, published, length in rows:
                if excess > 0:
                    gone.append((id,))
                    excess, let_go = excess - length, published + 1
            database.executemany("DELETE FROM batch WHERE id = ?", gone)
            database.execute(
                "UPDATE community SET let_go = max(let_go, ?) WHERE id = ?", (let_go, oldest[0])
            )
            excess = self._bytes_in_use() + size - self.bytes_max

    def _bytes_in_use(self) -> int:
        (pages,) = self._database.execute("PRAGMA page_count").fetchone()
        (free,) = self._database.execute("PRAGMA freelist_count").fetchone()
        in_use: int = (pages - free) * self._page_bytes
        return in_use
