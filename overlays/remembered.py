"""Endpoints that answered, kept in a small file for a start at which no gateway answers.

The file is one line of JSON with a checksum, replaced atomically and readable by its owner only.
A file that is damaged, too long or of another version is ignored. An endpoint from the file is
asked like a stranger's: its silence has no consequence. In the profile ``signed`` the file has the
process's public key beside the endpoint, so another process that listens there is not believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

import msgspec

from camcast.doors.datagrams import Endpoint
from camcast.vocabulary.given_file import read_regular
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.logger import Logger

log = Logger(__name__)

REMEMBERED_MAX: Final = 64  # chosen: three buckets; in a churn of 90 % some six still answer
REMEMBERED_ASKED: Final = 16  # chosen: asked at a time; in a churn of 80 % three still answer
WRITE_SECONDS: Final = 60.0  # chosen: a crash forgets a minute; 2 KB a minute wear no disk
_FILE_BYTES_MAX: Final = 65_536  # chosen: 64 contacts need 2 KB
_VERSION: Final = 2


class _Contact(msgspec.Struct, array_like=True):
    host: str
    port: int
    key: str


class _File(msgspec.Struct):
    version: int
    crc32: int
    contacts: msgspec.Raw


_file = msgspec.json.Decoder(_File)
_contacts = msgspec.json.Decoder(list[_Contact])


class Remembered:
    """The `REMEMBERED_MAX` endpoints that answered last, and the file that keeps them.

    Without a `path` they are kept for this run only. Endpoints of the file for which `usable` is
    False are left out.
    """

    def __init__(self, path: Path | None, usable: Callable[[Endpoint], bool]) -> None:
        self._path = path
        self._usable = usable
        self._endpoints: dict[Endpoint, str] = {}
        """The public key of the process at each, "" if unknown; the latest answer comes last."""
        self._written_at: float | None = None
        self._changed = False

    def recall(self) -> None:
        """Add the endpoints of the file; an absent, unreadable or damaged file has none.

        A folder in which the file could not be written is told of now, not after the first minute.
        """
        if self._path is not None:
            if not os.access(self._path.parent, os.W_OK | os.X_OK):
                log.warning(
                    "contacts cannot be remembered in %s: there is no folder %s that can be"
                    " written to",
                    self._path,
                    self._path.parent,
                )
            for endpoint, key in reversed(recall(self._path).items()):
                if self._usable(endpoint):
                    self.note(endpoint, key)
            self._changed = False

    def note(self, endpoint: Endpoint, key: str = "") -> None:
        """Remember an endpoint that has answered; the one whose answer is oldest makes room.

        `key` is the public key of the process there, spelled as the discovery chooses, empty if it
        is not known.
        """
        self._changed = True
        known = self._endpoints.pop(endpoint, "")
        self._endpoints[endpoint] = key or known
        if len(self._endpoints) > REMEMBERED_MAX:
            del self._endpoints[next(iter(self._endpoints))]

    @property
    def full(self) -> bool:
        """Whether a further endpoint would replace one."""
        return len(self._endpoints) >= REMEMBERED_MAX

    @property
    def latest(self) -> tuple[Endpoint, ...]:
        """The endpoints, the latest answer first."""
        return tuple(reversed(self._endpoints))

    def key_of(self, endpoint: Endpoint) -> str:
        """Return the public key of the process at an endpoint; empty if it is not known."""
        return self._endpoints.get(endpoint, "")

    def some(self, rng: Random, without: Iterable[Endpoint]) -> list[Endpoint]:
        """Draw up to `REMEMBERED_ASKED` endpoints, none of `without`."""
        excluded = tuple(without)
        others = [endpoint for endpoint in self.latest if endpoint not in excluded]
        return rng.sample(others, min(len(others), REMEMBERED_ASKED))

    def write(self, now: float, *, final: bool = False) -> None:
        """Write the file if the endpoints have changed, at most once in `WRITE_SECONDS`.

        The `final` time it is written in any case.
        """
        if self._path is None or not self._changed:
            return
        if final or self._written_at is None or now - self._written_at >= WRITE_SECONDS:
            self._written_at, self._changed = now, False
            latest = {endpoint: self._endpoints[endpoint] for endpoint in self.latest}
            remember(self._path, latest)


def recall(path: Path) -> dict[Endpoint, str]:
    """Return the endpoints in the file and their keys; none if it is absent or cannot be read."""
    try:
        data = read_regular(path, _FILE_BYTES_MAX)
    except FileNotFoundError:
        return {}
    except OSError as error:
        log.warning("cannot read the remembered contacts in %s: %s", path, error.strerror)
        return {}
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
        return {}
    return {(one.host, one.port): one.key for one in contacts[:REMEMBERED_MAX]}


def remember(path: Path, contacts: Mapping[Endpoint, str]) -> bool:
    """Write endpoints and their keys; return whether that worked.

    After a crash the file is the old one or the new one.
    """
    kept = [(*endpoint, key) for endpoint, key in islice(contacts.items(), REMEMBERED_MAX)]
    body = msgspec.json.encode(kept)
    data = msgspec.json.encode(_File(_VERSION, crc32(body), msgspec.Raw(body)))
    try:
        write_lasting(path, data, 0o600)
    except OSError as error:
        log.warning("cannot write the remembered contacts to %s: %s", path, error)
        return False
    return True
