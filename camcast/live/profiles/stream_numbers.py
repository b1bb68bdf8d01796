"""The numbers of a process's streams, kept beside its key from one start to the next.

A publisher numbers its streams by the clock, in milliseconds, and keeps its identity over restarts.
If the clock was set back meanwhile, or the process started twice in a millisecond, a number would
come again, and other processes would take the new stream's events for known. The records by which
it introduces itself are numbered likewise, and one with a lower number is not believed. Numbers
are reserved in a file before they are used, some thousand at a time, and a number that an earlier
start, or another process with the same key, has reserved is not used again. That there is another
process, or that an older copy of the file was put in its place, is said in the log and counted.

The file is one line with a checksum, written as files are that must last, and readable by its
owner only. The first file of an identity that started as root belongs to the owner of its key.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final

from camcast.live.profiles.key_file import KeyFileError, beside
from camcast.vocabulary.given_file import read_regular
from camcast.vocabulary.lasting_file import locked, write_lasting
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

_KIND: Final = "camcast-streams-1"
_FILE_BYTES_MAX: Final = 256  # chosen: a line has 50
_NUMBER_MAX: Final = 2**63  # chosen: of the 2^64 that a stream's eight bytes have


class StreamNumbers:
    """Reserves numbers in the file beside the secret key at `key`.

    Raises `KeyFileError` for a file that is damaged. One that cannot be read or written, as on a
    read-only volume, is logged, and numbers go by the clock. `on_conflict` is called for each time
    that another process, or an older copy of the file, is noticed.
    """

    def __init__(self, key: Path) -> None:
        self._key = key
        self._path = beside(key, ".streams")
        self.on_conflict: Callable[[], None] = lambda: None
        self._warned = False
        self._kept = 0
        """The number in the file when this process read or wrote it last."""
        try:
            self._kept = self._read()
        except OSError as error:
            self._warn(error)
        self._next = self._kept
        """The first number that is not reserved yet."""

    def reserve(self, at_least: int, count: int) -> int:
        """Return the first of so many numbers in a row that nobody with this key has used."""
        try:
            with locked(self._path):
                first = self._first(at_least)
                write_lasting(self._path, _line(first + count), 0o600, owner=self._key)
                self._kept = first + count
        except (OSError, KeyFileError) as error:
            self._warn(error)
            first = max(at_least, self._next)
        self._next = first + count
        return first

    def _first(self, at_least: int) -> int:
        """Return the first free number, at least this one, by what the file says now."""
        kept, self._kept = self._kept, self._read()
        if self._kept > kept:
            _log.warning(
                "another process uses %s, and so this process's key: give each process a key"
                " of its own",
                self._path,
            )
        elif self._kept < kept:
            _log.warning(
                "%s was removed, or replaced by an older copy: no number is used again while this"
                " process runs. If a copy of this process runs elsewhere, give it another key",
                self._path,
            )
        if self._kept != kept:
            self.on_conflict()
        return max(at_least, self._next, self._kept)

    def _read(self) -> int:
        try:
            data = read_regular(self._path, _FILE_BYTES_MAX)
        except FileNotFoundError:
            return 0
        try:
            number = int(data.decode("ascii").split()[1])
            if data == _line(number) and 0 <= number < _NUMBER_MAX:
                return number
        except (ValueError, IndexError):
            pass
        raise KeyFileError(
            f"{self._path}: damaged; it has the number of this identity's next stream of events."
            " If the clock was not set back since the last start, remove the file"
        )

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "cannot keep the numbers of this process's streams in %s: %s. If the clock is set"
                " back before the next start, events of it may be lost",
                self._path,
                getattr(error, "strerror", None) or error,
            )


def _line(number: int) -> bytes:
    checksum = blake2b(b"%d" % number, digest_size=4).hexdigest()
    return f"{_KIND} {number} {checksum}\n".encode()
