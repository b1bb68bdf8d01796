"""The register of an issuer: all that its key has ever issued and revoked, beside the key.

Two files lie beside ``root.key``. ``root.issued`` is the register: the certificates that the key
has issued, all that it has ever revoked, and which list of revocations it signed last.
``root.revoked`` is that list, as it is handed out::

    # v4dk… may join, publish in .soccer from … to …, serial 2f0c8f5e19a3b6d7
    camcast-certificate-1 mQHEIFtk…
    camcast-revoked-1 2f0c8f5e19a3b6d7 1795351636
    camcast-issued-before-1 8d1c5a77e0b2f394 1794740000
    camcast-last-list-1 1794746836 1794746836 5b1f6a2e90c4d387
    camcast-lines-1 3 8f0e1c2d

Theory of operation
-------------------
A revocation is never taken back by accident. What is revoked is the union of what the register, the
list beside it and any list given by hand say: an older copy of one of them, put in its place, takes
nothing away. Numbers of lists only grow. Two commands cannot work at once: each holds the lock of
the folder while it reads, changes and writes. The register is written before the list, and the list
before it is handed out.

The register survives damage: a line that cannot be read is named and kept as a comment, the others
count. The last line counts the lines and has their checksum, so that a file that was cut, emptied
or joined from two is noticed.

A clock that is wrong makes certificates that nobody takes. It is compared with the latest time that
stands in the register and in the list.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Final

from camcast.live.profiles.certificate_file import (
    CERTIFICATE_LINE,
    FILE_BYTES_MAX,
    CertificateFileError,
    certificate_text,
    day,
    read_revocations,
    revocations_text,
)
from camcast.live.profiles.key_file import beside
from camcast.security.certificates import CERTIFICATE, SERIAL_BYTES, SLACK_SECONDS, Certificate
from camcast.security.keys import SecretKey
from camcast.security.refusals import RefusedError
from camcast.security.revocation import (
    EVERY_KEY,
    REVOCATIONS,
    Predecessor,
    RevocationList,
    RevokedSerial,
    is_issued_before,
    key_mark,
    next_list,
)
from camcast.security.sealed import seal_hash
from camcast.vocabulary.given_file import read_regular
from camcast.vocabulary.lasting_file import locked, write_lasting
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

_REVOKED: Final = "camcast-revoked-1"
_ISSUED_BEFORE: Final = "camcast-issued-before-1"
_LAST_LIST: Final = "camcast-last-list-1"
_LINES: Final = "camcast-lines-1"
_DAMAGED: Final = "# damaged: "
_DAY_SECONDS: Final = 86_400
# chosen: longer than any mistake of a clock that is not refused goes unnoticed; an authority with a
# thousand members a week then keeps some 5,000 certificates, 2 MB
_KEPT_SECONDS: Final = 30 * _DAY_SECONDS
# chosen: a certificate of a year and the list of a year are over by then, so that somebody signs
_AHEAD_SECONDS: Final = 400 * _DAY_SECONDS


class IssuerRegister:
    """The certificates that one key has issued and revoked.

    `opened` reads it, and holds the lock meanwhile.
    """

    def __init__(self, key_file: Path, secret: SecretKey) -> None:
        self._secret = secret
        self._key_file = key_file
        self._path = beside(key_file, ".issued")
        self._list_path = beside(key_file, ".revoked")
        self._issued: list[tuple[Certificate, bytes]] = []
        self._revoked: dict[bytes, RevokedSerial] = {}
        self._issued_before: dict[bytes, int] = {}
        """The times before which certificates are revoked, see `RevocationList.issued_before`."""
        self._last: Predecessor | None = None
        self._signed_at = 0
        """When the last list was signed, in seconds since 1970."""
        self._damaged: list[str] = []
        found = self._read_register()
        has_list = self._read_list()
        if not found and has_list:
            _log.warning(
                "%s is not there, and %s is: the register begins again from that list. What was"
                " issued before is revoked by its certificate, not by its serial",
                self._path,
                self._list_path,
            )

    def check_clock(self, now: float, *, sure: bool) -> None:
        """Raise `CertificateFileError` if `now` is far from the times beside the key.

        `sure`: a person has looked at the clock, and it is right.
        """
        latest = max([self._signed_at, *(one.not_before for one, _ in self._issued)])
        behind, ahead = latest - now > SLACK_SECONDS, now - latest > _AHEAD_SECONDS
        if latest and (behind or ahead) and not sure:
            raise CertificateFileError(
                f"this machine's clock says {day(int(now))}, and what was signed last with"
                f" {self._key_file} is of {day(latest)}: set the clock right, or, if it is right,"
                " give --clock-is-right"
            )

    def add(self, signed: bytes, now: float) -> None:
        """Note a certificate that the key has issued; raises `CertificateFileError`."""
        self._issued.append((CERTIFICATE.read(signed), signed))
        self._write_register(now)

    def find(self, serial: bytes) -> Certificate:
        """Return the certificate with this serial; `LookupError` if none is noted."""
        for certificate, signed in self._issued:
            if certificate.serial == serial:
                try:
                    CERTIFICATE.check(signed, self._secret.public.raw)
                except RefusedError as error:
                    raise CertificateFileError(
                        f"{self._path}: the certificate {serial.hex()} is damaged there: {error};"
                        " name the certificate's file instead"
                    ) from None
                return certificate
        raise LookupError(f"{self._path} has no certificate {serial.hex()}")

    def is_revoked(self, certificate: Certificate) -> bool:
        """Return whether the key has revoked this certificate, which it issued."""
        by_time = is_issued_before(self._issued_before, certificate)
        return by_time or certificate.serial in self._revoked

    def issued_to(self, subject: bytes) -> list[Certificate]:
        """Return the certificates that this public key has got, as far as they are noted."""
        return [one for one, _ in self._issued if one.subject == subject]

    def valid_at(self, now: int) -> list[Certificate]:
        """Return the certificates that have neither ended nor been revoked, in their order."""
        return [one for one, _ in self._issued if one.not_after > now and not self.is_revoked(one)]

    def revoke(
        self,
        certificates: Iterable[Certificate],
        known: Iterable[tuple[RevocationList, bytes]],
        now: int,
        next_update_seconds: int,
        *,
        issued_before: Mapping[bytes, int] = MappingProxyType({}),
        first: bool = False,
    ) -> tuple[RevocationList, bytes]:
        """Sign, keep and return the list that follows all that are known, and revokes these, too.

        `known` are lists of this issuer from elsewhere, each with its bytes. `issued_before`
        revokes by time (`RevocationList.issued_before`). `first`: the key is
        new, so that there is no list before. Raises
        `CertificateFileError` if the files cannot be written, and `ValueError` for a list that
        cannot be.
        """
        for value, data in known:
            self._add_list(value, data)
        if self._last is None and not first:
            _log.warning(
                "no list of revocations of %s is known: this is taken for the first. If there was"
                " one before, sign again with --known FILE, where FILE has it",
                self._key_file,
            )
        for certificate in certificates:
            entry = RevokedSerial(certificate.serial, certificate.not_after)
            self._revoked[entry.serial] = entry
        self._add_times(issued_before)
        for one, _ in self._issued:
            # Issued in the second in which this list is: before it, as far as it is noted here.
            times = [issued_before.get(mark) for mark in (key_mark(one.subject), EVERY_KEY)]
            if one.not_before == now in times:
                self._revoked[one.serial] = RevokedSerial(one.serial, one.not_after)
        by_time = {
            one.serial: RevokedSerial(one.serial, one.not_after)
            for one, _ in self._issued
            if is_issued_before(self._issued_before, one)
        }
        value = next_list(
            self._secret.public.raw,
            [entry for serial, entry in self._revoked.items() if serial not in by_time],
            self._last,
            now,
            next_update_seconds,
            self._issued_before,
            by_time.values(),
        )
        data = REVOCATIONS.sign(value, self._secret)
        self._add_list(value, data)
        self._write_register(now)
        self._write(self._list_path, revocations_text(data), 0o644)
        return value, data

    def _add_list(self, value: RevocationList, data: bytes) -> None:
        self._revoked |= {entry.serial: entry for entry in value.certificates}
        self._add_times(value.issued_before)
        if self._last is None or value.number > self._last.number:
            self._last = Predecessor(value.number, seal_hash(data))
            self._signed_at = max(self._signed_at, value.issued)

    def _add_times(self, issued_before: Mapping[bytes, int]) -> None:
        for mark, time in issued_before.items():
            self._issued_before[mark] = max(time, self._issued_before.get(mark, 0))

    # -- files -----------------------------------------------------------------------------

    def _read_list(self) -> bool:
        """Read the list beside the register; say whether there is one."""
        path, noted = self._list_path, self._last
        if not path.exists():
            if noted is not None:
                _log.warning(
                    "%s is not there; what was revoked stands in %s, and is signed again",
                    path,
                    self._path,
                )
            return False
        try:
            value, data = read_revocations(path)
        except CertificateFileError as error:
            if noted is None:
                raise
            _log.warning(
                "%s; what was revoked stands in %s, and is signed again", error, self._path
            )
            return False
        if value.issuer != self._secret.public.raw:
            raise CertificateFileError(
                f"{path}: the list of another key than that in {self._key_file}"
            )
        if noted is not None and seal_hash(data) != noted.hash:
            old, new = (path, self._path) if value.number <= noted.number else (self._path, path)
            _log.warning(
                "%s is an older copy than %s: what either of them revokes is revoked", old, new
            )
        self._add_list(value, data)
        return True

    def _read_register(self) -> bool:
        """Read the register; say whether there is one."""
        try:
            raw = read_regular(self._path, FILE_BYTES_MAX)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise CertificateFileError(f"{self._path}: {error.strerror}") from error
        if len(raw) > FILE_BYTES_MAX:
            raise CertificateFileError(f"{self._path}: longer than {FILE_BYTES_MAX:,} bytes")
        lines = raw.decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines, 1):
            if not line.strip("\0 ") or line.startswith("#"):
                continue
            try:
                self._take(line.split())
            except (RefusedError, ValueError):
                _log.warning(
                    "%s: line %d is damaged; the others count. What it said can only be revoked by"
                    " the certificate's file",
                    self._path,
                    number,
                )
                self._damaged.append(line)
        if not lines or lines[-1] != _last_line(lines[:-1]):
            _log.warning(
                "%s was changed, cut or joined since it was written: what it says now counts. If a"
                " list of revocations has more than it, give that with camcast revoke --known",
                self._path,
            )
        return True

    def _take(self, words: Sequence[str]) -> None:
        """Take a line; raises `ValueError` or `RefusedError` for one that is damaged."""
        match words:
            case [kind, text] if kind == CERTIFICATE_LINE:
                signed = b64decode(text, validate=True)
                self._issued.append((CERTIFICATE.read(signed), signed))
            case [kind, serial, ends] if kind == _REVOKED:
                entry = RevokedSerial(bytes.fromhex(serial), int(ends))
                self._revoked[entry.serial] = entry
            case [kind, mark, time] if kind == _ISSUED_BEFORE and len(mark) == 2 * SERIAL_BYTES:
                self._add_times({bytes.fromhex(mark): int(time)})
            case [kind, number, at, named] if kind == _LAST_LIST:
                if self._last is None or int(number) > self._last.number:
                    self._last = Predecessor(int(number), bytes.fromhex(named))
                    self._signed_at = int(at)
            case [kind, _, _] if kind == _LINES:
                pass
            case _:
                raise ValueError

    def _write_register(self, now: float) -> None:
        kept = [signed for one, signed in self._issued if one.not_after + _KEPT_SECONDS >= now]
        lines = certificate_text(kept).splitlines()
        lines += [
            f"{_REVOKED} {entry.serial.hex()} {entry.not_after}" for entry in self._revoked.values()
        ]
        lines += [
            f"{_ISSUED_BEFORE} {mark.hex()} {time}" for mark, time in self._issued_before.items()
        ]
        lines += [f"{_DAMAGED}{line}" for line in self._damaged]
        if self._last is not None:
            last = self._last
            lines.append(f"{_LAST_LIST} {last.number} {self._signed_at} {last.hash.hex()}")
        text = "".join(f"{line}\n" for line in (*lines, _last_line(lines)))
        if len(text) > FILE_BYTES_MAX:
            raise CertificateFileError(
                f"{self._path} would be longer than {FILE_BYTES_MAX:,} bytes: take a new key"
            )
        self._write(self._path, text, 0o600)

    def _write(self, path: Path, text: str, mode: int) -> None:
        try:
            write_lasting(path, text.encode(), mode, owner=self._key_file)
        except OSError as error:
            raise CertificateFileError(f"{path}: {error.strerror}") from error


@contextmanager
def opened(
    key_file: Path, secret: SecretKey, now: float, *, clock_is_right: bool = False
) -> Iterator[IssuerRegister]:
    """Read the register of a key, checked against the clock, and hold its lock in the block.

    Raises `CertificateFileError` for a list that is damaged or another key's, for a register that
    cannot be read, for a clock that is far from both, and where another command holds the lock.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(beside(key_file, ".issued")))
        except OSError as error:
            raise CertificateFileError(f"{error.filename}: {error.strerror}") from error
        register = IssuerRegister(key_file, secret)
        register.check_clock(now, sure=clock_is_right)
        yield register


def _last_line(lines: Sequence[str]) -> str:
    checksum = blake2b("\n".join(lines).encode(), digest_size=4).hexdigest()
    return f"{_LINES} {len(lines)} {checksum}"
