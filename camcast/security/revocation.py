"""Revocation: each issuer's signed, numbered list of its revoked certificates.

Revoking is for good: a certificate that any list of its issuer names is revoked until it expires.
The list with the highest number says what is due when, and as a rule it names all that those before
it named. Where it does not, since it was signed by an older copy of the issuer's files, the lists
that name more are kept beside it and spread like it, and the log says which certificates the issuer
has forgotten. Replaying an old list therefore changes nothing.

An issuer can also revoke by time: all certificates that it issued before a moment, to one key or to
all. What it issues later counts, so that a key is certified again and stays. Who signs the list
names the serials of these certificates as well, as far as they are known and there is room.

Two kinds of entries are no certificate's, since they end when no certificate can. One that ends in
second 0 has the hash of the list before in place of a serial. Any other that ends before
`CERTIFICATES_END_FROM` revokes by time (`RevocationList.issued_before`). To a release that knows
neither they are the serials of certificates that nobody has.

A list says when the next one is due (`Revocations.due`): until it comes, nobody knows what its
issuer has revoked since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from attrs import frozen

from camcast.security.certificates import SERIAL_BYTES, SLACK_SECONDS, Certificate, Serial
from camcast.security.keys import Domain, PublicKey
from camcast.security.refusals import LOOK, Reason, RefusedError
from camcast.security.sealed import (
    KeyBytes,
    Number,
    Seal,
    SealedValue,
    SealHash,
    Seconds,
    seal_hash,
)
from camcast.vocabulary.logger import Logger

# chosen: 1,500 entries of 16 bytes leave room in a frame of 32 KiB; expired ones are left out
REVOKED_MAX: Final = 1500
REVOCATIONS_BYTES_MAX: Final = 16 * REVOKED_MAX + 256  # chosen: entries, other fields, signature
NEXT_UPDATE_SECONDS: Final = 24 * 3600  # chosen: an authority signs its list once a day
# chosen: an issuer of a department has that many below it; a bound, because any issuer can make
# keys and let these issue
ISSUERS_MAX: Final = 16
# chosen: each beyond the latest is a mistake of the issuer, until its certificates expire; where
# there are more, the oldest is not kept. 25 kB each at most
LISTS_MAX: Final = 4
_PREDECESSOR: Final = 0
"""The end of the entry that names the list before."""
CERTIFICATES_END_FROM: Final = 2**30  # chosen: in January 2004; no certificate ended before
# chosen: 2026-01-01, before the first release; an entry can then state each second until 2060
BY_TIME_FROM: Final = 1_767_225_600
EVERY_KEY: Final = bytes(SERIAL_BYTES)
"""Stands for all keys where certificates are revoked by time."""
_log = Logger(__name__)

SponsorOf = Callable[[bytes], bytes | None]
"""Returns in whose share of the places the list of an issuer is: the key by which a root let others
issue, ``b""`` for a root's own list and the lists of those keys, which always have room, and None
if the issuer's key has no verified chain with the right to issue."""


class RevokedSerial(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A revoked certificate, which is valid until `not_after`."""

    serial: Serial
    not_after: Seconds


class RevocationList(SealedValue, frozen=True, tag=1):
    """The certificates that `issuer` issued and revoked, by ascending serial.

    `certificates` are these, and `issued_before` revokes others by time; `revoked` has the entries
    of both, and the one that names the list before.
    """

    issuer: KeyBytes
    number: Number
    issued: Seconds
    next_update: Seconds
    revoked: Annotated[tuple[RevokedSerial, ...], msgspec.Meta(max_length=REVOKED_MAX)]

    def __post_init__(self) -> None:
        if self.next_update <= self.issued:
            raise ValueError("the next list is due after this one was issued")
        if any(a.serial >= b.serial for a, b in pairwise(self.revoked)):
            raise ValueError("the serials are not in ascending order")
        if any(before > self.issued for before in self.issued_before.values()):
            raise ValueError("a list revokes nothing that is issued after it")

    @property
    def certificates(self) -> tuple[RevokedSerial, ...]:
        """The revoked certificates."""
        return tuple(entry for entry in self.revoked if entry.not_after >= CERTIFICATES_END_FROM)

    @property
    def issued_before(self) -> dict[bytes, int]:
        """Before which second certificates were issued that are revoked, by `key_mark`.

        `EVERY_KEY` stands for those of all keys.
        """
        return {
            entry.serial: BY_TIME_FROM + entry.not_after
            for entry in self.revoked
            if _PREDECESSOR < entry.not_after < CERTIFICATES_END_FROM
        }

    def names(self, certificate: Certificate) -> bool:
        """Return whether this list revokes a certificate of its issuer."""
        by_serial = any(entry.serial == certificate.serial for entry in self.certificates)
        return by_serial or is_issued_before(self.issued_before, certificate)

    @property
    def predecessor(self) -> bytes:
        """The hash (`seal_hash`) of the list before this one; empty if there is none."""
        named = (entry.serial for entry in self.revoked if entry.not_after == _PREDECESSOR)
        return next(named, b"")


REVOCATIONS: Final = Seal(RevocationList, Domain.REVOCATIONS, REVOCATIONS_BYTES_MAX)


@frozen
class Predecessor:
    """The last list that an issuer has signed."""

    number: int
    hash: bytes


def key_mark(key: bytes) -> bytes:
    """Return what stands for a public key where its certificates are revoked by time."""
    return blake2b(key, digest_size=SERIAL_BYTES).digest()


def is_issued_before(issued_before: Mapping[bytes, int], certificate: Certificate) -> bool:
    """Return whether a certificate is revoked by time; see `RevocationList.issued_before`."""
    of_key = issued_before.get(key_mark(certificate.subject), 0)
    return certificate.not_before < max(of_key, issued_before.get(EVERY_KEY, 0))


def next_list(
    issuer: bytes,
    revoked: Iterable[RevokedSerial],
    before: Predecessor | None,
    now: int,
    next_update_seconds: int = NEXT_UPDATE_SECONDS,
    issued_before: Mapping[bytes, int] = MappingProxyType({}),
    by_time: Iterable[RevokedSerial] = (),
) -> RevocationList:
    """Return the issuer's list of these revoked certificates, which follows another one.

    `issued_before` revokes by time, and `by_time` are the certificates known to be revoked by it.
    Processes of a release that revokes by serial only need their serials; they get as many as there
    is room for, those that are valid for longest first.

    Certificates that have expired are left out. The number of the list is the time, so that it is
    higher than that of a lost list, or the number after that of `before` if that is higher. Raises
    `ValueError` if more than `REVOKED_MAX` entries are left, and for a time after `now`.
    """
    entries = {entry.serial: entry for entry in revoked if entry.not_after + SLACK_SECONDS >= now}
    for mark, time in issued_before.items():
        if not BY_TIME_FROM < time < BY_TIME_FROM + CERTIFICATES_END_FROM:
            raise ValueError("a list revokes by a time after 2025 and before 2060")
        # One for all keys says what those for single keys say.
        if mark == EVERY_KEY or time > issued_before.get(EVERY_KEY, 0):
            entries[mark] = RevokedSerial(mark, time - BY_TIME_FROM)
    number = now
    if before is not None:
        entries[before.hash] = RevokedSerial(before.hash, _PREDECESSOR)
        number = max(now, before.number + 1)
    if len(entries) > REVOKED_MAX:
        raise ValueError(
            f"a list has room for {REVOKED_MAX} entries, and {len(entries)} have not expired; issue"
            " certificates for a shorter time, revoke all that were issued before some time"
            " (--issued-before), or take a new key"
        )
    for entry in sorted(by_time, key=lambda entry: entry.not_after, reverse=True):
        if len(entries) < REVOKED_MAX and entry.not_after + SLACK_SECONDS >= now:
            entries.setdefault(entry.serial, entry)
    by_serial = tuple(entries[serial] for serial in sorted(entries))
    return RevocationList(issuer, number, now, now + next_update_seconds, by_serial)


@frozen
class _Known:
    """A list of an issuer."""

    value: RevocationList
    data: bytes

    @property
    def rank(self) -> tuple[int, bytes]:
        # Of two lists with one number, which an issuer signs by mistake, all take the same one for
        # the latest.
        return self.value.number, self.data


class Revocations:
    """The lists of all issuers that a process knows, as far as they revoke anything."""

    def __init__(self) -> None:
        self._lists: dict[bytes, tuple[_Known, ...]] = {}
        """By issuer, the latest list first."""
        self._serials: dict[bytes, dict[bytes, int]] = {}
        """By issuer, what is revoked, and until when."""
        self._issued_before: dict[bytes, dict[bytes, int]] = {}
        """By issuer that revokes by time, see `RevocationList.issued_before`."""
        self._sponsors: dict[bytes, bytes] = {}
        """By issuer, in whose share of the places its lists are."""
        self._hash: SealHash | None = None

    def __bool__(self) -> bool:
        """Whether any certificate is revoked."""
        return bool(self._issued_before) or any(self._serials.values())

    def take(self, data: bytes, now: float, sponsor_of: SponsorOf) -> bool:
        """Take a signed list; return whether it says anything new.

        Raises `RefusedError` for bytes that are no list, a list that is not signed by its issuer or
        dated in the future, an issuer that may not issue, and one more than `ISSUERS_MAX` issuers
        of one sponsor.
        """
        news = _Known(REVOCATIONS.read(data), data)
        issuer = news.value.issuer
        before = self._lists.get(issuer, ())
        if any(known.data == data for known in before):
            return False
        lists = _needed(sorted((*before, news), key=lambda known: known.rank, reverse=True), now)
        if news not in lists:
            return False
        sponsor = sponsor_of(issuer)
        if sponsor is None:
            raise RefusedError(Reason.UNTRUSTED, "its issuer may not issue certificates")
        if news.value.issued > now + SLACK_SECONDS:
            ahead = news.value.issued - now
            raise RefusedError(
                Reason.EARLY,
                f"a list of revocations is dated {ahead:.0f} s ahead of this machine's clock;"
                f" {LOOK}",
            )
        if not before and sponsor:
            beside = sum(one == sponsor for one in self._sponsors.values())
            if beside >= ISSUERS_MAX:
                raise RefusedError(
                    Reason.UNTRUSTED,
                    f"lists of {ISSUERS_MAX} issuers below {PublicKey(sponsor)} are known",
                )
        REVOCATIONS.check(data, issuer)
        self._hash = None
        self._lists[issuer] = lists
        self._sponsors[issuer] = sponsor
        self._serials[issuer] = {
            entry.serial: entry.not_after for known in lists for entry in known.value.certificates
        }
        if issued_before := _latest_times(known.value for known in lists):
            self._issued_before[issuer] = issued_before
        _tell_forgotten(lists, now)
        return True

    def revoked(self, certificate: Certificate) -> bool:
        """Return whether a list of its issuer revokes this certificate."""
        if certificate.serial in self._serials.get(certificate.issuer, ()):
            return True
        issued_before = self._issued_before.get(certificate.issuer)
        return issued_before is not None and is_issued_before(issued_before, certificate)

    def latest(self) -> dict[bytes, RevocationList]:
        """Return the latest list of each issuer."""
        return {issuer: latest.value for issuer, (latest, *_) in self._lists.items()}

    def all(self) -> list[bytes]:
        """Return the signed lists of each issuer, in the order of the issuers' keys."""
        return [known.data for issuer in sorted(self._lists) for known in self._lists[issuer]]

    def hash(self) -> SealHash:
        """Return a hash of all lists; equal in processes that know the same lists."""
        if self._hash is None:
            self._hash = seal_hash(b"".join(self.all()))
        return self._hash


def _needed(lists: Sequence[_Known], now: float) -> tuple[_Known, ...]:
    """Return the first of an issuer's lists, and those that revoke what none before them does.

    In whichever order lists arrive, the same ones are left.
    """
    needed = [lists[0]]
    for known in lists[1:]:
        if len(needed) < LISTS_MAX and any(_lacking(needed, known, now)):
            needed.append(known)
    return tuple(needed)


def _lacking(
    lists: Iterable[_Known], other: _Known, now: float
) -> tuple[list[bytes], dict[bytes, int]]:
    """Return what `other` revokes and none of the lists: unexpired serials, and times by key."""
    values = [known.value for known in lists]
    serials = dict.fromkeys(entry.serial for value in values for entry in value.certificates)
    times = _latest_times(values)
    of_all = times.get(EVERY_KEY, 0)
    return [
        entry.serial
        for entry in other.value.certificates
        if entry.not_after + SLACK_SECONDS >= now and entry.serial not in serials
    ], {
        mark: time
        for mark, time in other.value.issued_before.items()
        if time > max(of_all, times.get(mark, 0))
    }


def _latest_times(lists: Iterable[RevocationList]) -> dict[bytes, int]:
    """Return by key the latest of the times that lists state, see `issued_before`."""
    latest = dict[bytes, int]()
    for value in lists:
        for mark, time in value.issued_before.items():
            latest[mark] = max(time, latest.get(mark, 0))
    return latest


def _tell_forgotten(lists: Sequence[_Known], now: float) -> None:
    """Name what an issuer's latest list lacks."""
    latest, *earlier = lists
    lost = dict[str, None]()
    for known in earlier:
        serials, times = _lacking([latest], known, now)
        lost |= dict.fromkeys(serial.hex() for serial in serials)
        lost |= dict.fromkeys(said_by_time(mark, time) for mark, time in times.items())
    if lost:
        _log.warning(
            "the latest list of revocations of %s, number %d, lacks %d certificates that earlier"
            " lists revoked (%s): they stay revoked until they expire. Let the issuer sign again"
            " with camcast revoke --known FILE, where FILE has the earlier list",
            PublicKey(latest.value.issuer),
            latest.value.number,
            len(lost),
            ", ".join(lost),
        )


def said_by_time(mark: bytes, time: int) -> str:
    """Return in words what is revoked by time."""
    whose = "all keys" if mark == EVERY_KEY else f"the key with the hash {mark.hex()}"
    return f"those of {whose} issued before {datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"
