"""The numbers of a process's streams, kept beside its key from one start to the next.

A publisher numbers its streams by the clock, in milliseconds, and keeps its identity over restarts.
If the clock was set back meanwhile, or the process started twice in a millisecond, a number would
come again, and other processes would take the new stream's events for known. The records by which
it introduces itself are numbered likewise, and one with a lower number is not believed. Numbers
are reserved in a file before they are used, some thousand at a time, and a number that an earlier
start, or another process with the same key, has reserved is not used again. That there is another
process is said in the log.

The file is one line with a checksum, replaced atomically and readable by its owner only.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Final

from camcast.live.profiles.key_file import KeyFileError
from camcast.live.profiles.whole_file import write_whole
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

_KIND: Final = "camcast-streams-1"
_FILE_BYTES_MAX: Final = 256  # chosen: a line has 50
_NUMBER_MAX: Final = 2**63  # chosen: of the 2^64 that a stream's eight bytes have


class StreamNumbers:
    """Reserves numbers in the file at `path`.

    Raises `KeyFileError` for a file that is damaged or cannot be read. A file that cannot be
    written, as on a read-only volume, is logged, and numbers go by the clock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = self._read()
        """The first number that is not reserved yet."""
        self._warned = False

    def reserve(self, at_least: int, count: int) -> int:
        """Return the first of so many numbers in a row that nobody with this key has used."""
        try:
            reserved = self._read()
            if reserved > self._next:
                _log.warning(
                    "another process uses %s, and so this process's key: give each process a key"
                    " of its own",
                    self._path,
                )
            self._next = max(self._next, reserved)
        except KeyFileError as error:
            self._warn(error)
        first = max(at_least, self._next)
        self._next = first + count
        try:
            write_whole(self._path, _line(self._next), 0o600, replace=True)
        except OSError as error:
            self._warn(error)
        return first

    def _read(self) -> int:
        try:
            with self._path.open("rb") as source:
                data = source.read(_FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise KeyFileError(f"{self._path}: {error.strerror}") from error
        try:
            text = data.decode("ascii")
            number = int(text.split()[1])
            if text == _line(number) and 0 <= number < _NUMBER_MAX:
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
                error,
            )


def _line(number: int) -> str:
    checksum = blake2b(b"%d" % number, digest_size=4).hexdigest()
    return f"{_KIND} {number} {checksum}\n"
