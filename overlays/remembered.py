"""Endpoints that answered, kept in a small file for a start at which no gateway answers.

The file is one line of JSON with a checksum, replaced atomically and readable by its owner only.
A file that is damaged, too long or of another version is ignored. An endpoint from the file is
asked like a stranger: who does not answer there is of no consequence.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

import msgspec

from camcast.doors.datagrams import Endpoint

log = logging.getLogger(__name__)

REMEMBERED_MAX: Final = 64  # chosen: three buckets; in a churn of 90 % some six still answer
REMEMBERED_ASKED: Final = 16  # chosen: asked at a time; in a churn of 80 % three still answer
WRITE_SECONDS: Final = 60.0  # chosen: what a crash forgets; 2 KB a minute wear no disk
_FILE_BYTES_MAX: Final = 65_536  # chosen: 64 contacts need 2 KB
_VERSION: Final = 1
_contacts = msgspec.json.Decoder(list[Endpoint])


class _File(msgspec.Struct):
    version: int
    crc32: int
    contacts: msgspec.Raw


_file = msgspec.json.Decoder(_File)


class Remembered:
    """The `REMEMBERED_MAX` endpoints that answered last, and the file that keeps them.

    Without a `path` they are kept for this run only. `usable` says whether an endpoint of the file
    may be asked at all.
    """

    def __init__(
        self,
        path: Path | None,
        usable: Callable[[Endpoint], bool],
    ) -> None:
        self._path = path
        self._usable = usable
        self._endpoints: dict[Endpoint, None] = {}  # who answered last comes last
        self._written_at: float | None = None
        self._changed = False

    def recall(self) -> None:
        """Add what the file has; an absent, unreadable or damaged file has nothing."""
        if self._path is not None:
            for endpoint in reversed(recall(self._path)):
                if self._usable(endpoint):
                    self.note(endpoint)
            self._changed = False

    def note(self, endpoint: Endpoint) -> None:
        """Remember an endpoint that has answered; the one that did so first makes room."""
        self._changed = True
        self._endpoints.pop(endpoint, None)
        self._endpoints[endpoint] = None
        if len(self._endpoints) > REMEMBERED_MAX:
            del self._endpoints[next(iter(self._endpoints))]

    @property
    def full(self) -> bool:
        """Whether one more would make another one go."""
        return len(self._endpoints) >= REMEMBERED_MAX

    @property
    def latest(self) -> tuple[Endpoint, ...]:
        """The endpoints, who answered last first."""
        return tuple(reversed(self._endpoints))

    def some(self, rng: Random, without: Iterable[Endpoint]) -> list[Endpoint]:
        """Draw `REMEMBERED_ASKED` endpoints at most, none of those given."""
        excluded = tuple(without)
        others = [endpoint for endpoint in self.latest if endpoint not in excluded]
        return rng.sample(others, min(len(others), REMEMBERED_ASKED))

    def write(self, now: float, *, final: bool = False) -> None:
        """Write the file if there is news, once in `WRITE_SECONDS` but for the last time."""
        if self._path is None or not self._changed:
            return
        if final or self._written_at is None or now - self._written_at >= WRITE_SECONDS:
            self._written_at, self._changed = now, False
            remember(self._path, self.latest)


def recall(path: Path) -> list[Endpoint]:
    """Return the endpoints in the file; none if the file is absent or cannot be read."""
    try:
        with path.open("rb") as source:
            data = source.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("cannot read the remembered contacts in %s: %s", path, error)
        return []
    try:
        if len(data) > _FILE_BYTES_MAX:
            raise ValueError("it is too long")
        content = _file.decode(data)
        if content.version != _VERSION:
            raise ValueError(f"its version is {content.version}, not {_VERSION}")
        if crc32(content.contacts) != content.crc32:
            raise ValueError("its checksum is wrong")
        contacts = _contacts.decode(content.contacts)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        log.warning("the remembered contacts in %s are ignored: %s", path, error)
        return []
    return contacts[:REMEMBERED_MAX]


def remember(path: Path, contacts: Sequence[Endpoint]) -> bool:
    """Write the endpoints; return whether that worked. A crash leaves the old file or the new."""
    body = msgspec.json.encode(list(contacts[:REMEMBERED_MAX]))
    data = msgspec.json.encode(_File(_VERSION, crc32(body), msgspec.Raw(body)))
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        # Left by a process of this number that crashed; O_EXCL then follows no link of others.
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            target.write(data)  # No fsync: what a power cut tears, the checksum shows.
        new.replace(path)
    except OSError as error:
        log.warning("cannot write the remembered contacts to %s: %s", path, error)
        with suppress(OSError):
            new.unlink(missing_ok=True)
        return False
    return True
