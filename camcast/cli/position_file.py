"""The file of ``camcast subscribe --position``: how far the command has come in a topic.

It is written once a second at most while events come, and at the end. What is printed after that
by a command that is killed comes again.

The file has the bytes of `Subscription.position` and nothing else: a program may read it, or hand
it to another machine, whose process goes on there.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Final

from camcast.doors.options import OptionError
from camcast.inbox.position import POSITION_BYTES_MAX, Position
from camcast.vocabulary.given_file import read_regular
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.topics import Topic

WRITE_SECONDS: Final = 1.0  # chosen: so much is printed twice after a kill; a write is synced
_MODE: Final = 0o600  # it names publishers


class PositionFile:
    """Holds the position of one subscription; reads what another run has left."""

    def __init__(self, path: Path, topic: Topic) -> None:
        """Read the file; raises `OptionError` if it has no position in this topic."""
        self._path = path
        self.begins_at: bytes | None = None
        """The position that the file had; None without a file."""
        self._written_at = -WRITE_SECONDS
        try:
            self.begins_at = read_regular(path, POSITION_BYTES_MAX)
            Position.decode(self.begins_at, topic.group)
        except FileNotFoundError:
            if not path.parent.is_dir():
                raise OptionError(f"--position {path}: there is no such folder") from None
        except ValueError as error:
            raise OptionError(f"--position {path}: {error}") from None
        except OSError as error:
            raise OptionError(f"--position {path}: {error.strerror}") from None

    @property
    def is_due(self) -> bool:
        """Whether no position was written a moment ago."""
        return monotonic() - self._written_at >= WRITE_SECONDS

    def move(self, position: bytes) -> None:
        """Write a position, and wait for the disk; raises `OSError`."""
        write_lasting(self._path, position, _MODE)
        self._written_at = monotonic()
