"""The door of profiles: who may talk to a process, and how traffic is encrypted.

A transport asks its profile four things of a link: the key of this process, the key of the process
that it dials, the *proof* that this process shows once the link is encrypted (`Profile.shown`), and
whether the process at the other end, with its key and its proof, may talk to this one. Datagrams
are sealed with one key that all members share, or with the keys of the two processes. A profile
makes and judges keys, and does no I/O. The profile `open` encrypts nothing; None stands for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

from camcast.vocabulary.identity import Contact, PeerId

OPEN: Final = "open"
SHARED_KEY: Final = "shared-key"
SIGNED: Final = "signed"
PROFILES: Final = (OPEN, SHARED_KEY, SIGNED)


class Profile(ABC):
    """The access rules for the processes of one event loop. Keys of links are X25519, 32 bytes."""

    name: ClassVar[str]
    """The name of the profile, as ``--profile`` takes it."""
    tells_processes_apart: ClassVar[bool] = False
    """Whether each process has a key of its own, so that a link's key names the process there."""

    @property
    @abstractmethod
    def link_secret(self) -> bytes:
        """The secret key of this process's links."""

    @property
    @abstractmethod
    def link_public(self) -> bytes:
        """The public key that belongs to `link_secret`."""

    @property
    def also_secret(self) -> bytes:
        """Another secret key, which processes that dial this one may take for its; or empty."""
        return b""

    @abstractmethod
    def key_of(self, contact: Contact) -> bytes | None:
        """Return the public key of the process that a contact names; None if it is unknown.

        A contact of `UNKNOWN_PEER` names whichever process listens at the address.
        """

    @abstractmethod
    def admits(self, key: bytes, shown: bytes = b"") -> bool:
        """Say whether the owner of a public key, who shows a proof, may talk to this process."""

    def may_connect(self, key: bytes) -> bool:
        """Say whether the owner of a key may finish a handshake that has no room for a proof."""
        return self.admits(key)

    def may_answer(self, contact: Contact, key: bytes, shown: bytes) -> bool:
        """Say whether this process talks to the one that it dialled at a contact.

        That process has proved `key`, which is `key_of` the contact. `shown` is empty if its
        transport shows no proof to a process that dials it.
        """
        return self.admits(key, shown)

    @property
    @abstractmethod
    def datagram_keys(self) -> tuple[bytes, ...]:
        """The keys, of 32 bytes, that open datagrams, of which the first one seals them.

        Empty if each process has its own key.
        """

    @property
    def shown(self) -> bytes:
        """The proof that this process shows at the other end of an encrypted link."""
        return b""

    def process_of(self, key: bytes) -> PeerId | None:
        """Return the process that `admits` has accepted with this key of a link.

        None if there is none, if its right to talk has ended, or if the profile does not tell
        processes apart.
        """
        return None

    def process_at(self, contact: Contact) -> PeerId | None:
        """Return the process whose key `key_of` returns for a contact.

        None if there is none, or if the profile does not tell processes apart.
        """
        return None

    @property
    def said_key(self) -> bytes:
        """The key that this process sends on the loopback before a handshake, if asked for it.

        A process that was configured with a loopback address alone learns the key by this. If
        empty, no key is sent.
        """
        return b""

    def pin(self, address: str, said: bytes) -> bytes | None:
        """Take the key that a process has sent from an address as `said_key`; return its link key.

        None if this process does not trust what is sent from that address.
        """
        return None
