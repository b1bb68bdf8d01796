"""Introductions: how processes get to know each other in the profile ``signed``."""

from __future__ import annotations

import msgspec


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """A process's own record, signed by its key, and the certificates that the record names."""

    record: bytes
    chains: tuple[tuple[bytes, ...], ...]
    """Chains of certificates, the root's first in each."""
