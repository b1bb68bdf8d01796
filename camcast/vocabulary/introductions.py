"""Introductions: how processes get to know each other in the profile ``signed``."""

from __future__ import annotations

import msgspec
from attrs import frozen

from camcast.vocabulary.identity import Contact


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """A process's own record, signed by its key, and the certificates that the record names."""

    record: bytes
    chains: tuple[tuple[bytes, ...], ...]
    """Chains of certificates, the root's first in each."""


@frozen
class Moved:
    """Two records of one key: a process has moved, or two processes have the key."""

    key: str
    """The text of the public key."""
    now_at: Contact
    """The process as its latest record says."""
    record: bytes
    """This record."""
    former: bytes
    """The record before, with the former address."""
