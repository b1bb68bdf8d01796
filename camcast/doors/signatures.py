"""The door of signatures: who signs a process's events, and judges those of the others.

A node without it, as in the profile `open`, signs nothing and believes every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

UNKNOWN: Final = "unknown"
"""Why a batch is not believed whose certificate is not known here; it may be asked for."""

FORGERIES: Final = ("forged", "malformed", "no_right", "unsigned", "wider")
"""Why something signed is not believed that nobody who verifies it has ever passed on.

These follow from its bytes alone. What else is refused, an honest process may have believed: it
trusts other roots, has another list of revocations, or its clock goes differently.
"""


class NotAllowedError(CamcastError, PermissionError):
    """A process has no certificate to publish in a topic; the message says in which."""


class Signatures(Protocol):
    """Signs and judges batches for one process; all times are in seconds since 1970."""

    @property
    def peer_id(self) -> PeerId:
        """Who this process is."""

    def may_publish(self, topic: Topic, now: float) -> bool:
        """Return whether the others will believe what this process publishes in a topic."""

    def sign(self, batch: Batch) -> Batch:
        """Return this process's own batch with its signature."""

    def refusal(self, batch: Batch, group: Topic, now: float, retention_seconds: float) -> str:
        """Return why a batch that came in a group is not believed, as a counter's name; or ""."""

    def chain(self, certificate: bytes) -> Sequence[bytes]:
        """Return the chain that ends in the certificate of this hash; empty if it is not known."""

    def revocations_hash(self) -> bytes:
        """Return a hash of all lists of revocations that are known here."""

    def revocations(self) -> Sequence[bytes]:
        """Return the latest list of each issuer."""

    def take_revocations(self, data: bytes, now: float) -> str:
        """Take a list of revocations, if it is newer; return why it is refused, or ""."""

    def put_out(self, now: float) -> Sequence[PeerId]:
        """Return the processes that are known to be revoked, and to have no other certificate."""

    def warnings(self, now: float) -> Mapping[bytes, str]:
        """Return what the operator has to see to soon: a sentence each, by what it is about."""

    def learn(self, chain: Sequence[bytes], now: float) -> str:
        """Take a chain of certificates; return why it does not count, "" if it does."""
