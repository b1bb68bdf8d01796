"""Revocation: each issuer's signed, numbered list of its revoked certificates.

Revoking is for good: a certificate that any list of its issuer names is revoked until it expires.
The list with the highest number says what is due when, and as a rule it names all that those before
it named. Where it does not, since it was signed by an older copy of the issuer's files, the lists
that name more are kept beside it and spread like it, and the log says which certificates the issuer
has forgotten. Replaying an old list therefore changes nothing.

Each list names the one before it: an entry that ends in second 0, when no certificate can, has that
list's hash in place of a serial. To a release that does not know this it is the serial of a
certificate that nobody has.

A list says when the next one is due (`Revocations.due`): until it comes, nobody knows what its
issuer has revoked since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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

    `certificates` are these; `revoked` has the entry that names the list before, too.
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

    @property
    def certificates(self) -> tuple[RevokedSerial, ...]:
        """The revoked certificates."""
        return tuple(entry for entry in self.revoked if entry.not_after != _PREDECESSOR)

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


def next_list(
    issuer: bytes,
    revoked: Iterable[RevokedSerial],
    before: Predecessor | None,
    now: int,
    next_update_seconds: int = NEXT_UPDATE_SECONDS,
) -> RevocationList:
    """Return the issuer's list of these revoked certificates, which follows another one.

    Certificates that have expired are left out. The number of the list is the time, so that it is
    higher than that of a lost list, or the number after that of `before` if that is higher. Raises
    `ValueError` if more than `REVOKED_MAX` entries are left.
    """
    entries = {entry.serial: entry for entry in revoked if entry.not_after + SLACK_SECONDS >= now}
    number = now
    if before is not None:
        entries[before.hash] = RevokedSerial(before.hash, _PREDECESSOR)
        number = max(now, before.number + 1)
    if len(entries) > REVOKED_MAX:
        raise ValueError(
            f"a list has room for {REVOKED_MAX} entries, and {len(entries)} have not expired; issue"
            " certificates for a shorter time, or take a new key"
        )
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
        self._sponsors: dict[bytes, bytes] = {}
        """By issuer, in whose share of the places its lists are."""
        self._hash: SealHash | None = None

    def __bool__(self) -> bool:
        """Whether any certificate is revoked."""
        return any(self._serials.values())

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
        _tell_forgotten(lists, now)
        return True

    def revoked(self, issuer: bytes, serial: bytes) -> bool:
        """Return whether a list of the issuer names the certificate of this serial."""
        return serial in self._serials.get(issuer, ())

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
    serials = dict.fromkeys(_unexpired(lists[0], now))
    for known in lists[1:]:
        more = [serial for serial in _unexpired(known, now) if serial not in serials]
        if more and len(needed) < LISTS_MAX:
            needed.append(known)
            serials |= dict.fromkeys(more)
    return tuple(needed)


def _unexpired(known: _Known, now: float) -> list[bytes]:
    return [
        entry.serial for entry in known.value.certificates if entry.not_after + SLACK_SECONDS >= now
    ]


def _tell_forgotten(lists: Sequence[_Known], now: float) -> None:
    """Name the certificates that an issuer's latest list lacks."""
    latest, *earlier = lists
    named = _unexpired(latest, now)
    lost = dict.fromkeys(
        serial for known in earlier for serial in _unexpired(known, now) if serial not in named
    )
    if lost:
        _log.warning(
            "the latest list of revocations of %s, number %d, lacks %d certificates that earlier"
            " lists revoked (%s): they stay revoked until they expire. Let the issuer sign again"
            " with camcast revoke --known FILE, where FILE has the earlier list",
            PublicKey(latest.value.issuer),
            latest.value.number,
            len(lost),
            ", ".join(serial.hex() for serial in lost),
        )
