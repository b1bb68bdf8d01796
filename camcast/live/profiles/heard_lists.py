"""Lists of revocations that a process has heard of, kept beside its key from one start to the next.

A process that starts again would otherwise believe a revoked certificate until somebody told it of
the list once more; whoever is between the process and all others could withhold that. Each list has
the signature of its issuer, so a file needs no checksum: a line that was altered is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from camcast.live.profiles.certificate_file import (
    FILE_BYTES_MAX,
    CertificateFileError,
    read_lists,
    revocations_text,
)
from camcast.live.profiles.key_file import beside
from camcast.security.known_chains import KnownChains
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.lasting_file import locked, write_lasting
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)


class HeardLists:
    """The file beside the secret key at `key`, ``ada.lists`` for ``ada.key``.

    A file that cannot be read or written, as on a read-only volume, is logged once, and the process
    does without.
    """

    def __init__(self, key: Path) -> None:
        self._key = key
        self._path = beside(key, ".lists")
        self._written: dict[bytes, None] = {}
        """The lists in the file, as far as this process knows."""
        self._early: list[bytes] = []
        """Those of them that this process's clock is behind."""
        self._warned = False

    def take_into(self, known: KnownChains, now: float) -> None:
        """Let `known` take the lists of the file; `now` is in seconds since 1970."""
        try:
            lists = read_lists(self._path)
        except CertificateFileError as error:
            self._warn(error)
            return
        self._written, self._early = dict.fromkeys(lists), []
        for data in lists:
            try:
                known.keep_revocations(data, now, heard=True)
            except RefusedError as error:
                self._warn(error)
                if error.reason is Reason.EARLY:
                    self._early.append(data)

    def keep(self, known: KnownChains, now: float) -> None:
        """Write the lists that `known` has, with those that another process with the key wrote."""
        if all(data in self._written for data in known.lists()):
            return
        try:
            with locked(self._path):
                self.take_into(known, now)
                lists = [*known.lists(), *self._early]
                write_lasting(self._path, _text(lists), 0o600, owner=self._key)
                self._written = dict.fromkeys(lists)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "lists of revocations are not kept as they should be in %s: %s. After a restart a"
                " revoked certificate may be believed until others tell of its list",
                self._path,
                getattr(error, "strerror", None) or error,
            )


def _text(lists: Sequence[bytes]) -> bytes:
    """Return the lines of as many lists as a file may have."""
    text = b""
    for data in lists:
        lines = revocations_text(data).encode()
        if len(text) + len(lines) <= FILE_BYTES_MAX:
            text += lines
    return text
