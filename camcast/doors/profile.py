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

    @property
    @abstractmethod
    def datagram_key(self) -> bytes | None:
        """The 32 bytes that datagrams are sealed with; None where each process has its own key."""

    @property
    def shown(self) -> bytes:
        """What this process shows to whoever has proved a key of a link."""
        return b""

    def process_of(self, key: bytes) -> PeerId | None:
        """Return whose key of a link this is, where processes can be told apart."""
        return None

    @property
    def said_key(self) -> bytes:
        """The key that this process says on the loopback to all who connect, before they ask.

        Whoever was given a loopback address without a key learns it so; empty: nothing is said.
        """
        return b""

    def pin(self, address: str, said: bytes) -> bytes | None:
        """Take the key that a process has said at an address; return its key of links.

        None if this process does not go by what is said there.
        """
        return None
