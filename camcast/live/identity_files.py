"""The files that say who a process is and whom it believes, read at the start and again later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from camcast.doors.options import OptionError
from camcast.live.certificate_file import CertificateFileError, read_chain, read_revocations
from camcast.live.key_file import beside, read_public_key, read_secret_key
from camcast.live.stream_numbers import StreamNumbers
from camcast.security.event_signatures import EventSignatures
from camcast.security.refusals import RefusedError


def _paths(given: Path | Iterable[Path]) -> tuple[Path, ...]:
    return (given,) if isinstance(given, Path) else tuple(given)


@frozen
class IdentityFiles:
    """A secret key, its certificates, the public keys of the trusted roots, and what they revoked.

    All are paths of files that ``camcast keys``, ``certify`` and ``revoke`` have made. Raises
    `OptionError` unless there are a key, a certificate and a root.
    """

    identity: Path | None
    certificates: tuple[Path, ...] = field(converter=_paths)
    trust: tuple[Path, ...] = field(converter=_paths)
    revocations: tuple[Path, ...] = field(default=(), converter=_paths)

    def __attrs_post_init__(self) -> None:
        given = {
            "identity": self.identity,
            "certificate": self.certificates,
            "trust": self.trust,
        }
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise OptionError(
                "identity, certificate and trust go together, and there is no"
                f" {' and no '.join(missing)}"
            )

    def read(self, now: float) -> EventSignatures:
        """Return what the files say; `now` is the time in seconds since 1970.

        Raises `KeyFileError` and `CertificateFileError`, also for what is not valid now.
        """
        assert self.identity is not None
        secret = read_secret_key(self.identity)
        roots = [read_public_key(path) for path in self.trust]
        signatures = EventSignatures(secret, roots)
        self.read_again(signatures, now)
        return signatures

    def stream_numbers(self) -> StreamNumbers:
        """Return what numbers the streams of this identity; raises `KeyFileError`."""
        assert self.identity is not None
        return StreamNumbers(beside(self.identity, ".streams"))

    def read_again(self, signatures: EventSignatures, now: float) -> None:
        """Take certificates and lists of revocations anew; keys stay as they are.

        Raises as `read`, and then the certificates stay as they are, too. Lists are taken also
        where the certificates are not valid any more.
        """
        try:
            self._valid_chains(signatures, now)  # which say who may issue, and so revoke
        finally:
            for path in self.revocations:
                _, data = read_revocations(path)
                with _naming(path):
                    signatures.known.take_revocations(data, now)
        signatures.renew(self._valid_chains(signatures, now), now)

    def _valid_chains(self, signatures: EventSignatures, now: float) -> list[list[bytes]]:
        chains = []
        for path in self.certificates:
            chain = read_chain(path)
            with _naming(path):
                signatures.check_own(chain, now)
            chains.append(chain)
        return chains


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let the error about what stands in a file name the file."""
    try:
        yield
    except RefusedError as error:
        raise CertificateFileError(f"{path}: {error}") from error
