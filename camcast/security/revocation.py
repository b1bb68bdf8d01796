"""Revocation: each issuer's signed, numbered list of its revoked certificates.

The list with the highest number counts, so replaying an old list changes nothing. A list says when
the next one is due; `Revocations.overdue` names the issuers whose next list has not come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Final

import msgspec
from attrs import frozen

from camcast.security.certificates import SLACK_SECONDS, Serial
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

# chosen: 1,500 entries of 16 bytes leave room in a frame of 32 KiB; expired ones are left out
REVOKED_MAX: Final = 1500
REVOCATIONS_BYTES_MAX: Final = 16 * REVOKED_MAX + 256  # chosen: entries, other fields, signature
NEXT_UPDATE_SECONDS: Final = 24 * 3600  # chosen: an authority signs its list once a day
# chosen: an issuer of a department has that many below it; a bound, because any issuer can make
# keys and let these issue
ISSUERS_MAX: Final = 16

SponsorOf = Callable[[bytes], bytes | None]
"""Returns in whose share of the places the list of an issuer is: the key by which a root let others
issue, ``b""`` for a root's own list and the lists of those keys, which always have room, and None
if the issuer's key has no verified chain with the right to issue."""


class RevokedSerial(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A revoked certificate, which is valid until `not_after`."""

    serial: Serial
    not_after: Seconds


class RevocationList(SealedValue, frozen=True, tag=1):
    """The certificates that `issuer` issued and revoked, by ascending serial."""

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


REVOCATIONS: Final = Seal(RevocationList, Domain.REVOCATIONS, REVOCATIONS_BYTES_MAX)


def next_list(
    before: RevocationList | None,
    issuer: bytes,
    revoked: Iterable[RevokedSerial],
    now: int,
    next_update_seconds: int = NEXT_UPDATE_SECONDS,
) -> RevocationList:
    """Return the issuer's list that follows `before`, with these certificates revoked as well.

    Certificates that have expired are left out. The number of the list is the time, so that it is
    higher than that of a lost list, or the number after that of `before` if that is higher. Raises
    `ValueError` if more than `REVOKED_MAX` certificates are left.
    """
    entries = {entry.serial: entry for entry in before.revoked} if before else {}
    entries.update((entry.serial, entry) for entry in revoked)
    left = [entries[serial] for serial in sorted(entries)]
    left = [entry for entry in left if entry.not_after + SLACK_SECONDS >= now]
    if len(left) > REVOKED_MAX:
        raise ValueError(
            f"a list has room for {REVOKED_MAX} revoked certificates, and {len(left)} have not"
            " expired; issue certificates for a shorter time, or take a new key"
        )
    number = max(now, before.number + 1 if before else 1)
    return RevocationList(issuer, number, now, now + next_update_seconds, tuple(left))


@frozen
class _Known:
    """An issuer's latest list."""

    number: int
    data: bytes
    next_update: int
    serials: Mapping[bytes, object]
    sponsor: bytes


class Revocations:
    """The latest lists of all issuers that a process knows."""

    def __init__(self) -> None:
        self._lists: dict[bytes, _Known] = {}
        self._hash: SealHash | None = None

    def __bool__(self) -> bool:
        """Whether any certificate is revoked."""
        return any(known.serials for known in self._lists.values())

    def take(self, data: bytes, now: float, sponsor_of: SponsorOf) -> bool:
        """Take a signed list; return whether it is new.

        Raises `RefusedError` for bytes that are no list, a list that is not signed by its issuer or
        dated in the future, an issuer that may not issue, and one more than `ISSUERS_MAX` issuers
        of one sponsor.
        """
        news = REVOCATIONS.read(data)
        known = self._lists.get(news.issuer)
        # Of two lists with one number, which an issuer signs by mistake, all keep the same one.
        if known is not None and (known.number, known.data) >= (news.number, data):
            return False
        sponsor = sponsor_of(news.issuer)
        if sponsor is None:
            raise RefusedError(Reason.UNTRUSTED, "its issuer may not issue certificates")
        if news.issued > now + SLACK_SECONDS:
            ahead = news.issued - now
            raise RefusedError(
                Reason.EARLY,
                f"a list of revocations is dated {ahead:.0f} s ahead of this machine's clock;"
                f" {LOOK}",
            )
        if known is None and sponsor:
            beside = sum(one.sponsor == sponsor for one in self._lists.values())
            if beside >= ISSUERS_MAX:
                raise RefusedError(
                    Reason.UNTRUSTED,
                    f"lists of {ISSUERS_MAX} issuers below {PublicKey(sponsor)} are known",
                )
        REVOCATIONS.check(data, news.issuer)
        serials = {entry.serial: entry for entry in news.revoked}
        self._hash = None
        self._lists[news.issuer] = _Known(news.number, data, news.next_update, serials, sponsor)
        return True

    def revoked(self, issuer: bytes, serial: bytes) -> bool:
        """Return whether the issuer's latest list names the certificate of this serial."""
        known = self._lists.get(issuer)
        return known is not None and serial in known.serials

    def overdue(self, now: float) -> list[bytes]:
        """Return the issuers whose next list is overdue."""
        return [
            issuer
            for issuer, known in self._lists.items()
            if now > known.next_update + SLACK_SECONDS
        ]

    def all(self) -> list[bytes]:
        """Return the latest signed list of each issuer, in the order of the issuers' keys."""
        return [self._lists[issuer].data for issuer in sorted(self._lists)]

    def hash(self) -> SealHash:
        """Return a hash of all lists; equal in processes that know the same lists."""
        if self._hash is None:
            self._hash = seal_hash(b"".join(self.all()))
        return self._hash
