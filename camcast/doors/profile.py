"""The door of profiles: who may talk to a process, and what hides what is said (TRUST, profiles).

A transport asks its profile three things of a link: the key of this process, the key of the process
that it dials, and whether the owner of a key may talk to this process. Datagrams are sealed with a
key that all share who may talk to each other. A profile makes keys and judges them, and does no
I/O. The profile `open` has nothing to say, and stands for itself as None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

OPEN: Final = "open"
SHARED_KEY: Final = "shared-key"
PROFILES: Final = (OPEN, SHARED_KEY)


class Profile(ABC):
    """Who may talk to the processes of one event loop; all keys are of X25519, 32 bytes each."""

    name: ClassVar[str]
    """As ``--profile`` says it."""

    @property
    @abstractmethod
    def link_secret(self) -> bytes:
        """The secret key of this process's links."""

    @property
    @abstractmethod
    def link_public(self) -> bytes:
        """The public key that belongs to `link_secret`."""

    @abstractmethod
    def key_at(self, address: str) -> bytes:
        """Return the public key of the process that listens at an address."""

    @abstractmethod
    def admits(self, key: bytes) -> bool:
        """Say whether the owner of this public key may talk to this process."""

    @property
    @abstractmethod
    def datagram_key(self) -> bytes:
        """The 32 bytes that datagrams between processes are sealed with."""
