"""The audit file: a JSON line for each refusal, cut-off and revocation, which says of whom.

The log says once a minute that something was refused; the counters say how often. This file says
of whom: each line has the time, what happened, why, and the peer with its key, or the address of a
process that proved no key. What one process does again and again takes a line a second, which says
how often it was since the line before, so that an attacker fills no disk and takes little CPU. A
full file becomes ``FILE.1``, in the place of the one before, and a new one begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from camcast.doors.transport import OutputPipes
from camcast.observe.failure_log import FailureLog
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import open_to_write
from camcast.vocabulary.identity import PeerId

FILE_BYTES_MAX: Final = 2**24  # chosen: 100,000 lines, so 32 MiB with the file before
AGAIN_SECONDS: Final = 1.0  # chosen: a line a second and peer is read by nobody faster
AGAIN_MAX: Final = 1024  # chosen: as many as are refused in a second in a busy system; 300 kB
_MODE: Final = 0o600


class AuditLine(msgspec.Struct, omit_defaults=True, frozen=True):
    """One line of the file."""

    time: float
    """When it happened, in seconds since 1970."""
    what: str
    """``refused``, ``barred``, ``cut_off`` or ``revoked``."""
    reason: str
    """Why: for what is ``refused`` a reason such as ``event_forged``, as metrics name it."""
    peer: str = ""
    """The id of the process, in hexadecimal; left out where it proved none."""
    key: str = ""
    """Its public key, as ``camcast keys show`` prints it; left out where it is not known."""
    address: str = ""
    """Where it is, of a process that proved no key."""
    count: int = 1
    """How often, since the line before that says the same; left out for once."""


class _Again(NamedTuple):
    written: float
    """When the latest line was written, by the clock of inputs."""
    more: int
    """How often it happened since."""


def _nothing() -> None:
    pass


class Keys(Protocol):
    """Knows the keys of processes, as `camcast.security.known_peers.KnownPeers`."""

    def key_named(self, peer: PeerId) -> str:
        """Return the public key of a process, as text; empty if it is not known."""


class AuditError(CamcastError, OSError):
    """The audit file cannot be written."""


def open_audit(
    path: Path | None, wall: Callable[[float], float], keys: Keys | None
) -> AuditFile | None:
    """Return the audit file at a path, None if there is no path; without `keys` it names none.

    Raises `AuditError` where no line could be appended.
    """
    if path is None:
        return None
    try:
        os.close(_open(path))
    except OSError as error:
        raise AuditError(_unwritable(path, error)) from None
    return AuditFile(path, wall, (lambda _peer: "") if keys is None else keys.key_named)


def _open(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    descriptor = open_to_write(path, flags, _MODE)
    os.set_blocking(descriptor, False)  # a pipe that is full costs lines, and does not stop events
    return descriptor


def _unwritable(path: Path, error: OSError) -> str:
    return f"the audit file {path} cannot be written: {error.strerror}"


class AuditFile:
    """Appends to a file, which only its owner may read.

    `wall` returns the time since 1970 for a time of inputs, and `key_of` the public key of a
    process, empty if it is not known. A file that can no longer be written is logged, once a second
    at most, and the process goes on.
    """

    def __init__(
        self, path: Path, wall: Callable[[float], float], key_of: Callable[[PeerId], str]
    ) -> None:
        self._path = path
        self._wall = wall
        self._key_of = key_of
        self._again: dict[tuple[str, str, PeerId, str], _Again] = {}
        """The lines of the last second and later, by what they say; the latest one comes last."""
        self._failures = FailureLog()
        self._unwatch: Callable[[], None] = _nothing

    def note(
        self, what: str, reason: str, now: float, peer: PeerId | None = None, address: str = ""
    ) -> None:
        """Write that something happened to a process, unless a line has just said the same."""
        name = what, reason, peer or PeerId(b""), address
        again = self._again.pop(name, None)
        if again is not None and now - again.written < AGAIN_SECONDS:
            self._again[name] = _Again(again.written, again.more + 1)
            return
        if again is None and len(self._again) >= AGAIN_MAX:
            oldest = next(iter(self._again))
            self._write_rest(oldest, self._again.pop(oldest), now)
        self._again[name] = _Again(now, 0)
        self._write(name, 1 if again is None else again.more + 1, now)

    def watch(self, pipes: OutputPipes, clock: Callable[[], float]) -> None:
        """Write of the connections that inputs refuse or cut off, too, until `close`.

        `clock` returns the time of inputs.
        """

        def note(what: str, where: str, why: str) -> None:
            self.note(what, why, clock(), address=where)

        pipes.refused.append(note)
        self._unwatch = partial(pipes.refused.remove, note)

    def close(self, now: float) -> None:
        """Write what happened since the latest lines."""
        self._unwatch()
        self._unwatch = _nothing
        again, self._again = self._again, {}
        for name, one in again.items():
            self._write_rest(name, one, now)

    def _write_rest(self, name: tuple[str, str, PeerId, str], again: _Again, now: float) -> None:
        if again.more:
            self._write(name, again.more, now)

    def _write(self, name: tuple[str, str, PeerId, str], count: int, now: float) -> None:
        what, reason, peer, address = name
        key = self._key_of(peer) if peer else ""
        time = round(self._wall(now), 3)
        line = AuditLine(time, what, reason, peer.hex(), key, address, count)
        data = msgspec.json.encode(line) + b"\n"
        try:
            self._append(data)
        except OSError as error:
            self._failures.take(_unwritable(self._path, error), error, now)

    def _append(self, data: bytes) -> None:
        # Opened for each line: whoever moves the file away, as logrotate does, loses none.
        file = _open(self._path)
        try:
            if os.fstat(file).st_size + len(data) > FILE_BYTES_MAX:
                os.replace(self._path, f"{self._path}.1")
                os.close(file)
                file = _open(self._path)
            os.write(file, data)
        finally:
            os.close(file)
