"""The door of signatures: signs a process's own events, and judges those of other processes.

A node without it, as in the profile `open`, signs nothing and believes every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.topics import Topic

UNKNOWN: Final = "unknown"
"""The refusal of a batch whose certificate this process does not know; it may ask for it."""

OVER_RATE: Final = "over_rate"
"""The refusal of what is beyond what the publisher's certificate allows a second."""


class NotAllowedError(CamcastError, PermissionError):
    """A process has no certificate to publish in a topic; the message says in which."""


class RateExceededError(NotAllowedError):
    """A process publishes more a second than its certificate allows; the message says how much."""


class Signatures(Protocol):
    """Signs and judges batches for one process; all times are in seconds since 1970."""

    @property
    def peer_id(self) -> PeerId:
        """The identity of this process."""

    def may_publish(self, topic: Topic, now: float) -> bool:
        """Return whether this process has a valid certificate to publish in a topic."""

    def spend(self, topic: Topic, size: int, now: float) -> Refusal:
        """Count an event that this process publishes, of `size` bytes with its share of the batch.

        Returns why it is refused, uncounted, or `TAKEN`: a certificate may allow so much a second.
        """

    def sign(self, batch: Batch) -> Batch:
        """Return this process's own batch with its signature."""

    def refusal(self, batch: Batch, group: Topic, now: float, retention_seconds: float) -> Refusal:
        """Return why a batch that came in a group is not believed, or `TAKEN`.

        Batches that are older than `retention_seconds` are refused.
        """

    def chain(self, certificate: bytes) -> Sequence[bytes]:
        """Return the chain that ends in the certificate of this hash; empty if it is not known."""

    def revocations_hash(self) -> bytes:
        """Return a hash of all lists of revocations that this process knows."""

    def revocations(self) -> Sequence[bytes]:
        """Return the latest list of revocations of each issuer."""

    def take_revocations(self, data: bytes, now: float) -> Refusal:
        """Take an issuer's list if it is newer; return why it is refused, or `TAKEN`."""

    def put_out(self, now: float) -> Sequence[PeerId]:
        """Return the processes of which a certificate is revoked and no other one is valid."""

    def validity(self) -> Mapping[tuple[str, str], tuple[int, int]]:
        """Return when each certificate of this process begins and ends, by its topic and serial."""

    def lists(self) -> Mapping[str, tuple[int, int]]:
        """Return when each issuer's latest list of revocations was signed, and its next is due.

        By the issuer's key.
        """

    def unlisted_roots(self) -> Sequence[str]:
        """Return the keys of the trusted roots of which a list is expected and none is known."""

    def learn(self, chain: Sequence[bytes], now: float, expired_seconds: float = 0.0) -> Refusal:
        """Verify and remember a chain of certificates; return why it is refused, or `TAKEN`.

        One that has expired, so long ago at most, proves what was published before.
        """
