"""The door of profiles: who may talk to a process, and what hides what is said (TRUST, profiles).

A transport asks its profile four things of a link: the key of this process, the key of the process
that it dials, what this process shows of itself once the link is encrypted, and whether the owner
of a key, who shows such a thing too, may talk to this process. Datagrams are sealed with a key that
all share who may talk to each other, or with those of the two processes. A profile makes keys and
judges them, and does no I/O. The profile `open` has nothing to say, and stands for itself as None.
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
    """Who may talk to the processes of one event loop; keys of links are of X25519, 32 bytes."""

    name: ClassVar[str]
    """As ``--profile`` says it."""
    tells_processes_apart: ClassVar[bool] = False
    """Whether each process has a key of its own, so that a link's key says who is at its end."""

    @property
    @abstractmethod
    def link_secret(self) -> bytes:
        """The secret key of this process's links."""

    @property
    @abstractmethod
    def link_public(self) -> bytes:
        """The public key that belongs to `link_secret`."""

    @abstractmethod
    def key_of(self, contact: Contact) -> bytes | None:
        """Return the public key of the process that a contact names; None if nothing is known.

        Of a contact of `UNKNOWN_PEER` only the address is known.
        """

    @abstractmethod
    def admits(self, key: bytes, shown: bytes = b"") -> bool:
        """Say whether the owner of this public key, who shows this, may talk to this process."""

    def may_connect(self, key: bytes) -> bool:
        """Say whether the owner of a key may end a handshake in which nothing can be shown."""
        return self.admits(key)

    def may_answer(self, contact: Contact, key: bytes, shown: bytes) -> bool:
        """Say whether a process that was dialled, and has proved `key_of` a contact, is talked to.

        `shown` is empty where the transport of that process shows nothing to who dials it.
        """
        return self.admits(key, shown)

    @property
    @abstractmethod
    def datagram_key(self) -> bytes | None:
        """The 32 bytes that datagrams are sealed with; None where each process has its own key."""

    @property
    def shown(self) -> bytes:
        """What this process shows to whoever has proved a key of a link."""
        return b""

    def process_of(self, key: bytes) -> PeerId | None:
        """Return who may talk to this process by this key, where processes can be told apart.

        None if nobody, by what `admits` was shown, or nobody any more.
        """
        return None

    def process_at(self, contact: Contact) -> PeerId | None:
        """Return whose key `key_of` gives for a contact, where processes can be told apart."""
        return None

    def has_forged(self, peer: PeerId, count: int) -> bool:
        """Take note of forged records that came over a process's link; say whether to cut it off.

        Whoever is cut off is admitted again after a while only.
        """
        return False

    @property
    def said_key(self) -> bytes:
        """The key that this process says on the loopback to who asks for it, before anything else.

        Whoever was given a loopback address without a key learns it so; empty: nothing is said.
        """
        return b""

    def pin(self, address: str, said: bytes) -> bytes | None:
        """Take the key that a process has said at an address; return its key of links.

        None if this process does not go by what is said there.
        """
        return None
