"""Reads files of certificates and of revocations again when they have changed, and keeps lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from camcast.live.profiles.certificate_file import CertificateFileError
from camcast.live.profiles.identity_files import IdentityFiles
from camcast.live.profiles.key_file import KeyFileError
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

# chosen: a revocation shall be everywhere within 30 s, of which its spread takes some 15;
# to look at a file takes 2 µs
WATCH_SECONDS: Final = 5.0

_State = tuple[int, int, int, int] | None
"""The number of a file in its file system, its size, and when its content and its state (such as
its mode) were changed; None: there is none."""


class IdentityWatch:
    """Reads the files of an identity, and calls `renew` when one changed, from `start` to `stop`.

    `renew` calls `read_again`. An error of `renew` about a wrong file is logged, and the process
    goes on with what it had; it reads the file again each time it looks, for a certificate that is
    early becomes valid, or the clock is set right. A certificate that does not count, beside one
    that does, is logged and left out. Raises what `IdentityFiles.read` raises.
    """

    def __init__(self, files: IdentityFiles, renew: Callable[[], None]) -> None:
        self._files = files
        self._paths = (*files.certificates, *files.revocations)
        self._renew = renew
        self._heard = files.heard_lists()
        self._known = self._look()  # before the files are read: no change is missed
        now = time.time()
        self.signatures = files.read(now)
        """Sign events, with the certificates that were read last."""
        self._heard.take_into(self.signatures.known, now)
        self._left_out = dict[Path, Reason]()
        """The files whose certificates do not count, beside others that do."""
        self.read_again(now)
        self._timer: asyncio.TimerHandle | None = None
        self._wrong = False
        """Whether something was wrong when the files were read last."""

    def start(self) -> None:
        """Begin to look, in the running loop."""
        self._timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._check)

    def stop(self) -> None:
        """Look no more."""
        self._heard.keep(self.signatures.known, time.time())
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def read_again(self, wall: float) -> None:
        """Read certificates and lists of revocations again, but no keys."""
        self._leave_out(self._files.read_again(self.signatures, wall))

    def _leave_out(self, refused: Mapping[Path, RefusedError]) -> None:
        for path, error in refused.items():
            if self._left_out.get(path) is not error.reason:
                _log.warning("%s: %s; this process goes by its other certificates", path, error)
        self._left_out = {path: error.reason for path, error in refused.items()}

    def _look(self) -> dict[Path, _State]:
        return {path: _state(path) for path in self._paths}

    def _check(self) -> None:
        self.start()
        self._heard.keep(self.signatures.known, time.time())
        before, self._known = self._known, self._look()
        changed = [str(path) for path in self._paths if self._known[path] != before[path]]
        left_out = self._left_out
        if not changed and not self._wrong and not left_out:
            return
        try:
            self._renew()
        except (CertificateFileError, KeyFileError) as error:
            if changed:
                _log.warning("%s; this process goes on with what it had of that", error)
            self._wrong = True
        else:
            if changed or self._wrong or self._left_out != left_out:
                why = f"{', '.join(changed)} changed" if changed else "what was wrong is right now"
                _log.info("read certificates and revocations anew: %s", why)
            self._wrong = False


def _state(path: Path) -> _State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
