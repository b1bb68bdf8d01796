"""The file of an archive: its tables, how it is opened, and what is said of one that is wrong.

A *community* has its group; a *stream* what was kept of it at any time, as the numbers of
`KnownRanges.told`, and when its latest event was published; a *batch* its body, byte for byte as it
travels, so that the signature of a signed one goes on to prove it, and a number that no other one
ever has; a *chain* the certificates by
which signed batches were published. The bodies stand in the order of their arrival, and the two
indexes beside them are of whole numbers: an event of 256 bytes takes some 400 bytes.

The file is in SQLite's WAL mode: a kill, of the process or of the machine, leaves what was
committed. A kill of the machine may take the last seconds along, which other members have.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import pack, unpack
from typing import Final

import msgspec

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import open_regular
from camcast.vocabulary.wire import MalformedError

FORMAT: Final = 1
"""The number of these tables, in the file's ``user_version``."""
APPLICATION: Final = int.from_bytes(b"CAMC")
"""The number of this application, in the file's ``application_id``."""
BUSY_SECONDS: Final = 5.0  # chosen: a reader of another process is done with a page long before

_TABLES: Final = """
CREATE TABLE community (
    id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, topic TEXT NOT NULL, let_go INTEGER NOT NULL
);
CREATE TABLE stream (
    id INTEGER PRIMARY KEY, community INTEGER NOT NULL, name BLOB NOT NULL, known BLOB NOT NULL,
    latest INTEGER NOT NULL, UNIQUE (community, name)
);
CREATE INDEX stream_latest ON stream (community, latest);
CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT, community INTEGER NOT NULL, stream INTEGER NOT NULL,
    first INTEGER NOT NULL, count INTEGER NOT NULL, published INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX batch_numbers ON batch (stream, first);
CREATE INDEX batch_published ON batch (community, published);
CREATE TABLE chain (name BLOB PRIMARY KEY, certificates BLOB NOT NULL) WITHOUT ROWID;
"""

_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# The second where a name in the file stands in the message of an error, and is damaged.
UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class ArchiveError(CamcastError, OSError):
    """An archive cannot be opened: the message names the file, and says why and what to do."""


class DamagedArchiveError(ArchiveError):
    """The bytes of an archive make no sense."""


def is_damaged(error: sqlite3.Error) -> bool:
    """Say whether an error is of a file whose bytes make no sense."""
    return _primary(error) in _DAMAGED


def is_full(error: sqlite3.Error) -> bool:
    """Say whether an error is of a disk that takes nothing more."""
    return _primary(error) in _FULL


def _primary(error: sqlite3.Error) -> int:
    code = getattr(error, "sqlite_errorcode", None)
    return 0 if code is None else code & 0xFF  # the rest says more precisely what it was


def says_damaged(path: Path) -> str:
    """Return what to tell of a damaged file."""
    return f"{path} is damaged: `camcast history {path} --repair` saves what can be read"


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise for a file into `ArchiveError`."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damaged(error):
            raise DamagedArchiveError(errno.EIO, says_damaged(path)) from error
        raise ArchiveError(errno.EIO, f"{path} cannot be opened: {error}") from error
    except (MalformedError, msgspec.MsgspecError, TypeError, UnicodeDecodeError) as error:
        # A bit that is wrong within a value, or in its type, is nothing that SQLite sees.
        raise DamagedArchiveError(errno.EIO, says_damaged(path)) from error
    except ArchiveError:
        raise
    except OSError as error:
        number = error.errno or errno.EIO
        raise ArchiveError(number, f"{path} cannot be opened: {error.strerror}") from None


def open_archive(path: Path) -> sqlite3.Connection:
    """Open the file of an archive for writing, once it is locked; raises `ArchiveError`."""
    with clear_errors(path):
        connection = connect(path, "rw")
        try:
            _check(connection, path)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                connection.executescript(
                    f"BEGIN;{_TABLES}PRAGMA application_id={APPLICATION};"
                    f"PRAGMA user_version={FORMAT};COMMIT;"
                )
        except BaseException:
            connection.close()
            raise
        return connection


def read_archive(path: Path) -> sqlite3.Connection:
    """Open the file of an archive for reading alone; raises `ArchiveError`."""
    with clear_errors(path):
        if not path.exists():
            raise ArchiveError(errno.ENOENT, f"{path}: there is no such file")
        connection = connect(path, "rw")  # a reader of WAL mode needs the file of its index
        try:
            connection.execute("PRAGMA query_only=1")
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a file as it is, read-write (``rw``) or for reading alone (``ro``)."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,  # transactions begin where they are said to
        check_same_thread=False,  # each connection has one user at a time
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not tables and not version:
        return  # a new file
    if application != APPLICATION:
        raise ArchiveError(errno.EINVAL, f"{path} is a database, and no archive of camcast")
    if version > FORMAT:
        raise ArchiveError(
            errno.EINVAL,
            f"{path} was written by a newer release of camcast (format {version}; this release"
            f" knows {FORMAT}): run that release, or name another file",
        )


class Lock:
    """The lock of the one process that writes to an archive; others may read it.

    It makes the file unless it is there, for its owner alone: events may be confidential. It is on
    the file itself, ends with the process, and is to be closed after all connections: to close a
    descriptor of the file takes SQLite's own locks away.
    """

    def __init__(self, path: Path) -> None:
        with clear_errors(path):
            self._descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise ArchiveError(
                errno.EAGAIN,
                f"another process writes to {path} (fuser {path} names it): give each process an"
                " archive of its own",
            ) from None
        except OSError:  # a file system without locks: SQLite's own keep two writers apart
            return

    def close(self) -> None:
        """Let another process have the archive."""
        os.close(self._descriptor)


def pack_numbers(numbers: tuple[int, ...]) -> bytes:
    """Return numbers of events as the column `known` has them."""
    return pack(f">{len(numbers)}Q", *numbers)


def unpack_numbers(packed: bytes) -> tuple[int, ...]:
    """Return the numbers of a column `known`."""
    return unpack(f">{len(packed) // 8}Q", packed)
