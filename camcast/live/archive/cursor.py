"""Cursors: how far a durable subscription has come in an archive, in a small file beside it.

A subscription takes the batches of an archive by their numbers, in *passes*: all with numbers above
`base` and up to `until`, in the order of their publication. The cursor says how far the pass has
come, to the event.

The file has two records, which are written in turn, each with a checksum: a kill at any moment
leaves the last or the one before. Nothing is synced: after a crash of the machine the last seconds
may come again.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Final
from zlib import crc32

from attrs import astuple, evolve, frozen

from camcast.live.archive.schema import ArchiveError
from camcast.vocabulary.given_file import open_regular

_RECORD: Final = Struct(">4sQQQQQIII")  # magic, count, the six numbers of a cursor, checksum
_MAGIC: Final = b"CCU1"
_CHECKSUM_BYTES: Final = 4


@frozen
class Cursor:
    """A place in an archive."""

    base: int = 0
    """All batches up to this number are done."""
    until: int = 0
    """The pass goes up to this number; not above `base` between two passes."""
    published: int = 0
    """Of the pass, all batches are done that were published before this time ..."""
    batch: int = 0
    """... or at this time and have a number up to this one."""
    sequence: int = 0
    """Of the batch that follows, the events up to this number of their stream are done."""
    begun: int = 0
    """When the subscriber began to read and there was nothing, in seconds since 1970; else 0."""

    def after_batch(self, published: int, batch: int) -> Cursor:
        """Return the place behind a batch of the pass."""
        return evolve(self, published=published, batch=batch, sequence=0)

    def after_pass(self) -> Cursor:
        """Return the place behind the pass."""
        return Cursor(self.until, self.until)


class CursorFile:
    """The file of one cursor; raises `ArchiveError` if it cannot be opened.

    `fresh` says whether it is new, so that nothing was ever taken.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            number = error.errno or errno.EIO
            raise ArchiveError(number, f"{path} cannot be opened: {error.strerror}") from None
        self._count, self.cursor = 0, Cursor()
        for place in (0, 1):
            data = os.pread(self._descriptor, _RECORD.size, place * _RECORD.size)
            with suppress(StructError):
                magic, count, *numbers, checksum = _RECORD.unpack(data)
                good = magic == _MAGIC and checksum == crc32(data[:-_CHECKSUM_BYTES])
                if good and count > self._count:
                    self._count, self.cursor = count, Cursor(*numbers)
        self.fresh = self._count == 0

    def move(self, cursor: Cursor) -> None:
        """Put the cursor elsewhere; raises `OSError`, as for a full disk."""
        self.cursor = cursor
        self._count += 1
        data = _RECORD.pack(_MAGIC, self._count, *astuple(cursor), 0)[:-_CHECKSUM_BYTES]
        data += crc32(data).to_bytes(_CHECKSUM_BYTES)
        os.pwrite(self._descriptor, data, self._count % 2 * _RECORD.size)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
