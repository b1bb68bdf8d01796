"""The identity of a process, and the contact by which it is reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Final, NewType

import msgspec
from typing_extensions import override

from camcast.vocabulary.addresses import (
    PLACEHOLDER_START,
    PLACEHOLDERS,
    AddressError,
    check_address,
    is_dialable,
    is_numeric,
)

PeerId = NewType("PeerId", bytes)
"""Sixteen bytes, uniformly distributed, that name a process.

They are drawn at random at each start of a process; in the profile ``signed`` they are the hash of
the process's public key (`peer_of_key`). Nothing else depends on how they are made.
"""

PEER_ID_BYTES: Final = 16  # chosen: 128 bits, so that random ids never collide; fits the header

PUBLIC_KEY_BYTES: Final = 32  # [RFC 8032, 5.1] of Ed25519

UNKNOWN_PEER: Final = PeerId(b"")
"""Stands for the identity of a process, such as a gateway, of which only the address is known."""


class Contact(msgspec.Struct, frozen=True, array_like=True):
    """A process and the address of its input pipe: the paper's RemotePeer (5.3.1.1).

    A contact that a peer sends is checked while it is decoded: an identity of the wrong
    length or an address outside the grammar makes the whole message malformed.

    Args:
        peer: The identity of the process, 16 bytes.
        address: The address that it announces, such as ``tcp://192.0.2.1:7000``.

    Example:
        ::

            for contact in community.peers:
                print(contact.peer.hex(), contact.address)
    """

    peer: PeerId
    address: str

    def __post_init__(self) -> None:
        if len(self.peer) not in (PEER_ID_BYTES, 0):
            raise ValueError(f"a peer id has {PEER_ID_BYTES} bytes, this one has {len(self.peer)}")
        # AddressError is a ValueError, which makes msgspec call the message malformed.
        if check_address(self.address) != self.address or not is_numeric(self.address):
            raise AddressError(f"a contact's address is numeric and canonical, not {self.address}")

    @property
    def is_dialable(self) -> bool:
        """Whether the process can be connected to; else it connects to others (`placeholder`)."""
        address = self.address
        return not address.startswith(PLACEHOLDER_START) or is_dialable(address)

    def meets(self, other: Contact) -> bool:
        """Say whether a connection between the two processes is possible: one must be dialable."""
        return self.is_dialable or other.is_dialable

    @override
    def __str__(self) -> str:
        return f"{self.peer.hex()[:8]}@{self.address}"


# chosen: 4,096 contacts, some 1.5 MB: as many as `check_address` remembers. A bound, because
# peers feed this table. Making a contact takes five times as long as this look-up.
@lru_cache(maxsize=4_096)
def known_contact(peer: PeerId, address: str) -> Contact:
    """Return the `Contact` of these two, kept from earlier calls; raises `ValueError`."""
    return Contact(peer, address)


def placeholder(peer: PeerId) -> Contact:
    """Return the contact of a process that nobody can dial, as behind a firewall.

    Its address names no host: it has 64 bits of the peer id in place of one, and 16 in place of a
    port, so that no two processes share it, whatever their private addresses are. Frames for the
    process go over a connection that the process opened.
    """
    host = int(PLACEHOLDERS.network_address) | int.from_bytes(peer[:8])
    port = int.from_bytes(peer[8:10]) or 1  # port 0 is none
    return Contact(peer, check_address(f"tcp://[{IPv6Address(host)}]:{port}"))


def peer_of_key(key: bytes) -> PeerId:
    """Return the identity of the process that has this Ed25519 public key."""
    return PeerId(blake2b(key, digest_size=PEER_ID_BYTES).digest())


def new_peer_id(random_bytes: Callable[[int], bytes]) -> PeerId:
    """Draw an identity; `random_bytes` is `os.urandom` when live, and seeded in tests."""
    return PeerId(random_bytes(PEER_ID_BYTES))
