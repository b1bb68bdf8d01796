"""Peer records: the key and the addresses of a process, signed by the process itself.

A record takes the place of a bare contact in `open`: no process is connected to or put into a table
without one, and an address changes only by a record with a higher incarnation.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import Domain, PublicKey
from camcast.security.refusals import LOOK, Reason, RefusedError
from camcast.security.sealed import SEAL_HASH_BYTES, KeyBytes, Number, Seal, SealedValue, Seconds
from camcast.vocabulary.addresses import check_address, is_numeric
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import GROUP_ID_BYTES

RECORD_BYTES_MAX: Final = 400  # chosen: fits a datagram of 1,200 bytes, beside what it answers
LIFETIME_SECONDS: Final = 3600  # chosen: until the latest expiry; so long are the dead passed on
# chosen: IPv4 and IPv6, each behind the loopback or a translation of addresses
ADDRESSES_MAX: Final = 4

_Group = Annotated[bytes, msgspec.Meta(min_length=GROUP_ID_BYTES, max_length=GROUP_ID_BYTES)]
_Hash = Annotated[bytes, msgspec.Meta(min_length=SEAL_HASH_BYTES, max_length=SEAL_HASH_BYTES)]


class PeerRecord(SealedValue, frozen=True, tag=1):
    """The process with `key` is reached at `addresses`, the first of which is best, until `expiry`.

    `incarnation` grows with each change of addresses, over restarts too. The process is in the
    communities `groups` by the certificates with these hashes; it names as many as fit.
    """

    key: KeyBytes
    addresses: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=ADDRESSES_MAX)]
    incarnation: Number
    expiry: Seconds
    groups: tuple[_Group, ...]
    certificates: tuple[_Hash, ...]

    def __post_init__(self) -> None:
        for address in self.addresses:
            if check_address(address) != address or not is_numeric(address):
                raise ValueError(f"a record's address is numeric and canonical, not {address}")

    @property
    def peer_id(self) -> PeerId:
        """The identity of the process that the record is of."""
        return PublicKey(self.key).peer_id

    def replaces(self, known: PeerRecord) -> bool:
        """Return whether this record of the same process takes the place of the `known` one.

        A record with a higher incarnation does; one with the same incarnation does only if it has
        the same addresses and expires later.
        """
        if self.key != known.key or self.incarnation < known.incarnation:
            return False
        return self.incarnation > known.incarnation or (
            self.addresses == known.addresses and self.expiry > known.expiry
        )


_RECORD: Final = Seal(PeerRecord, Domain.PEER_RECORD, RECORD_BYTES_MAX)
sign_record: Final = _RECORD.sign
"""Returns the bytes of a record and their signature."""
read_record: Final = _RECORD.read
"""Returns a record without verifying its signature; raises `RefusedError`."""


def verify_record(data: bytes, now: float) -> PeerRecord:
    """Return the record that its owner signed and that is valid at `now`, in seconds since 1970.

    Raises `RefusedError`.
    """
    record = _RECORD.read(data)
    if now > record.expiry + SLACK_SECONDS:
        ago = now - record.expiry
        raise RefusedError(Reason.EXPIRED, f"a peer record has expired {ago:.0f} s ago; {LOOK}")
    if record.expiry > now + LIFETIME_SECONDS + SLACK_SECONDS:
        ahead = record.expiry - LIFETIME_SECONDS - now
        raise RefusedError(
            Reason.EARLY,
            f"a peer record was signed {ahead:.0f} s ahead of this machine's clock; {LOOK}",
        )
    _RECORD.check(data, record.key)
    return record
