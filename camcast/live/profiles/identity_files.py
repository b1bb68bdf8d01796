"""The files of a process's identity and of its trust, read at the start and again later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import field, frozen

from camcast.doors.options import OptionError
from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    read_chain,
    read_revocations,
)
from camcast.live.profiles.heard_lists import HeardLists
from camcast.live.profiles.key_file import read_root, read_secret_key
from camcast.live.profiles.stream_numbers import StreamNumbers
from camcast.security.chains import Chain
from camcast.security.event_signatures import EventSignatures
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.topics import Topic

_PASSES: Final = (Reason.EARLY, Reason.EXPIRED, Reason.REVOKED)
"""Why a certificate may not count for a while, or no longer, though its file is right."""


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
    lists_expected: bool = field(default=True, kw_only=True)
    """Whether the roots are to have lists of revocations, so that a missing one is a fault."""

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

        Raises `KeyFileError` and `CertificateFileError`, also if no certificate is valid now.
        """
        assert self.identity is not None
        secret = read_secret_key(self.identity)
        roots = [read_root(path) for path in self.trust]
        signatures = EventSignatures(secret, roots, lists_expected=self.lists_expected)
        self.read_again(signatures, now)
        return signatures

    def stream_numbers(self) -> StreamNumbers:
        """Return what numbers the streams of this identity; raises `KeyFileError`."""
        assert self.identity is not None
        return StreamNumbers(self.identity)

    def heard_lists(self) -> HeardLists:
        """Return what keeps the lists of revocations that a process with this identity hears of."""
        assert self.identity is not None
        return HeardLists(self.identity)

    def read_again(self, signatures: EventSignatures, now: float) -> Mapping[Path, RefusedError]:
        """Read certificates and lists of revocations again, but no keys.

        Returns the files whose certificates do not count now, and why, as long as one is left that
        does. A file that is wrong spoils no other: what the others have is taken, and where its
        certificate was, the one that it had counts until its end. Then raises as `read`. Lists of
        revocations are taken even if the certificates are no longer valid, and also of an issuer
        whose certificate this process has not met yet.
        """
        wrong = list[str]()
        for path in self.revocations:
            try:
                _, data = read_revocations(path)
                signatures.known.keep_revocations(data, now)
            except CertificateFileError as error:
                wrong.append(str(error))
            except RefusedError as error:
                wrong.append(f"{path}: {error}")
        valid, refused = list[Sequence[bytes]](), dict[Path, RefusedError]()
        topics = set[Topic]()
        for path in self.certificates:
            try:
                chain = read_chain(path)
                topics.add(signatures.check_own(chain, now).last.topic)
            except CertificateFileError as error:
                wrong.append(str(error))
            except RefusedError as error:
                refused[path] = error
                if error.reason not in _PASSES:
                    wrong.append(f"{path}: {error}")
            else:
                valid.append(chain)
        if not valid:
            passing = (one for one in refused.items() if one[1].reason in _PASSES)
            wrong += (f"{path}: {why}" for path, why in passing)
        else:
            still = _still_valid(signatures, now) if wrong or refused else ()
            valid += (one.data for one in still if one.last.topic not in topics)
            signatures.renew(valid, now)
        if wrong:
            raise CertificateFileError("; ".join(wrong))
        return refused


def _still_valid(signatures: EventSignatures, now: float) -> Iterator[Chain]:
    for chain in signatures.own:
        with suppress(RefusedError):
            yield signatures.check_own(chain.data, now)
