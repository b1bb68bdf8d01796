"""Files of certificates and of revocations.

A line says what it is, and has the bytes in Base64; lines that begin with # are for people::

    # v4dk… may join, publish in .soccer until 2027-01-22, serial 2f0c8f5e19a3b6d7
    camcast-certificate-1 mQHEIFtk…

A chain has its certificates in their order, the root's first. What an authority keeps beside its
key is in `camcast.live.profiles.issuer_register`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from camcast.security.certificates import CERTIFICATE, CHAIN_MAX, Certificate
from camcast.security.keys import PublicKey
from camcast.security.refusals import RefusedError
from camcast.security.revocation import REVOCATIONS, RevocationList, said_by_time
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import read_regular

CERTIFICATE_LINE: Final = "camcast-certificate-1"
_REVOCATIONS: Final = "camcast-revocations-1"
# chosen: 10,000 certificates with their comments, or a full list of revocations with its own
FILE_BYTES_MAX: Final = 2**23


class CertificateFileError(CamcastError, ValueError):
    """A file of certificates is wrong or cannot be used; the message names it and the fault."""


def certificate_text(data: Sequence[bytes]) -> str:
    """Return the lines of these certificates; raises `RefusedError` for bytes that are none."""
    lines = []
    for signed in data:
        lines += [f"# {described(CERTIFICATE.read(signed))}", _line(CERTIFICATE_LINE, signed)]
    return "".join(f"{line}\n" for line in lines)


def described(certificate: Certificate) -> str:
    """Return a certificate in words, on a line."""
    return (
        f"{PublicKey(certificate.subject)} may {', '.join(certificate.rights.names)} in"
        f" {certificate.prefix} from {day(certificate.not_before)} to {day(certificate.not_after)},"
        f" serial {certificate.serial.hex()}"
        + (f", at most {certificate.rate}" if any(certificate.rate) else "")
    )


def read_chain(path: Path) -> list[bytes]:
    """Read a chain of certificates, of which only the form is checked."""
    chain = _read(path, CERTIFICATE_LINE)
    if not 0 < len(chain) <= CHAIN_MAX:
        raise CertificateFileError(
            f"{path}: expected 1 to {CHAIN_MAX} lines, {CERTIFICATE_LINE} and a certificate; found"
            f" {len(chain)}"
        )
    for signed in chain:
        _parse(path, signed)
    return chain


def revocations_text(data: bytes) -> str:
    """Return the lines of a list of revocations; raises `RefusedError` for bytes that are none."""
    revocations = REVOCATIONS.read(data)
    revoked = revocations.certificates
    lines = [entry.serial.hex() for entry in revoked]
    lines += [said_by_time(mark, time) for mark, time in revocations.issued_before.items()]
    named = "".join(f"# {line}\n" for line in lines)
    return (
        f"# revoked by {PublicKey(revocations.issuer)}: {len(revoked)}; the next list is"
        f" due {day(revocations.next_update)}\n{named}{_line(_REVOCATIONS, data)}\n"
    )


def read_revocations(path: Path) -> tuple[RevocationList, bytes]:
    """Read an issuer's list, and check its signature."""
    found = _read(path, _REVOCATIONS)
    if len(found) != 1:
        raise CertificateFileError(f"{path}: expected one line, {_REVOCATIONS} and a list")
    try:
        revocations = REVOCATIONS.read(found[0])
        REVOCATIONS.check(found[0], revocations.issuer)
    except RefusedError as error:
        raise CertificateFileError(f"{path}: {error}") from error
    return revocations, found[0]


def read_lists(path: Path) -> list[bytes]:
    """Read a file of lists of several issuers, without checking them; none if there is no file."""
    return _read(path, _REVOCATIONS) if path.exists() else []


def day(seconds: int) -> str:
    """Return a time as people read it, to the minute and in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _line(kind: str, data: bytes) -> str:
    return f"{kind} {b64encode(data).decode()}"


def _read(path: Path, kind: str) -> list[bytes]:
    """Return the bytes in the lines of a file whose lines all have to be of this kind."""
    try:
        raw = read_regular(path, FILE_BYTES_MAX)  # a running process reads it again
    except OSError as error:
        raise CertificateFileError(f"{path}: {error.strerror}") from error
    if len(raw) > FILE_BYTES_MAX:
        raise CertificateFileError(f"{path}: longer than {FILE_BYTES_MAX:,} bytes")
    found = []
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        try:
            if len(words) != 2 or words[0] != kind:
                raise ValueError
            found.append(b64decode(words[1], validate=True))
        except (binascii.Error, ValueError):
            raise CertificateFileError(
                f"{path}: line {number} is not {kind} and its bytes in Base64"
            ) from None
    return found


def _parse(path: Path, signed: bytes) -> Certificate:
    try:
        return CERTIFICATE.read(signed)
    except RefusedError as error:
        raise CertificateFileError(f"{path}: a certificate is wrong: {error}") from error
