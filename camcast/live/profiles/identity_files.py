"""The files of a process's identity and of its trust, read at the start and again later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from camcast.doors.options import OptionError
from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    read_chain,
    read_revocations,
)
from camcast.live.profiles.key_file import beside, read_public_key, read_secret_key
from camcast.live.profiles.stream_numbers import StreamNumbers
from camcast.security.event_signatures import EventSignatures
from camcast.security.refusals import RefusedError


def _paths(given: Path | Iterable[Path]) -> tuple[Path, ...]:
    return (given,) if isinstance(given, Path) else tuple(given)


@frozen
class IdentityFiles:
    """Paths: a secret key, its certificates, public keys of trusted roots, lists of revocations.

    ``camcast keys``, ``certify`` and ``revoke`` make these files. Raises `OptionError` unless there
    are a key, a certificate and a root.
    """

    identity: Path | None
    certificates: tuple[Path, ...] = field(converter=_paths)
    trust: tuple[Path, ...] = field(converter=_paths)
    revocations: tuple[Path, ...] = field(default=(), converter=_paths)

    def __attrs_post_init__(self) -> None:
        given = {"identity": self.identity, "certificate": self.certificates, "trust": self.trust}
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise OptionError(
                "identity, certificate and trust go together, and there is no"
                f" {' and no '.join(missing)}"
            )

    def read(self, now: float) -> EventSignatures:
        """Read all files; `now` is the time in seconds since 1970.

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
        """Read certificates and lists of revocations again, but no keys.

        Raises as `read`, and then leaves the certificates as they are. Lists of revocations are
        taken even if the certificates are no longer valid.
        """
        try:
            self._valid_chains(signatures, now)  # chains say which keys may issue, and so revoke
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
    """Name the file in an error about its content."""
    try:
        yield
    except RefusedError as error:
        raise CertificateFileError(f"{path}: {error}") from error
