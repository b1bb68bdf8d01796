"""Signatures of the virtual network: as long as real ones, with a stated cost, and no cryptography.

A run of thousands of processes would spend most of its time on Ed25519. A `StubSignatures` seals
a batch with a keyed hash whose key only the stubs of a run have: a batch that a liar makes without
it does not verify, as with real keys. Every process may publish everywhere, and all certificates
are known; they are sent all the same, with their usual length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

from attrs import define
from typing_extensions import override

from camcast.doors.signatures import Signatures
from camcast.security.verified_batches import VerifiedBatches
from camcast.vocabulary.batches import SIGNED, Batch
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.refusal import TAKEN, Refusal
from camcast.vocabulary.topics import Topic

# [docs/measured/speed.md] CPU of PyNaCl for batches of 64 bytes to 1 KiB
SIGN_SECONDS: Final = 20e-6
VERIFY_SECONDS: Final = 50e-6
CERTIFICATE_BYTES: Final = 310  # [docs/security.md] 170 to 450, with a topic of middling length
_SIGNATURE_BYTES: Final = 64  # [Ed25519]


@define
class StubAuthority:
    """The key that the stubs of one run share, and how often it was used."""

    key: bytes
    signed: int = 0
    verified: int = 0

    @property
    def cpu_seconds(self) -> float:
        """The cost of real signatures, for all processes together."""
        return self.signed * SIGN_SECONDS + self.verified * VERIFY_SECONDS

    def seal(self, publisher: bytes, part: bytes) -> bytes:
        """Return the signature of a publisher over a part of a batch."""
        return blake2b(publisher + part, key=self.key, digest_size=_SIGNATURE_BYTES).digest()


class StubSignatures(Signatures):
    """The signatures of one process."""

    def __init__(self, peer: PeerId, authority: StubAuthority) -> None:
        self._peer_id = peer
        self._authority = authority
        self._verified = VerifiedBatches()

    @property
    @override
    def peer_id(self) -> PeerId:
        return self._peer_id

    @override
    def may_publish(self, topic: Topic, now: float) -> bool:
        return True

    @override
    def spend(self, topic: Topic, size: int, now: float) -> Refusal:
        return TAKEN

    @override
    def sign(self, batch: Batch) -> Batch:
        self._authority.signed += 1
        return batch.signed(
            _certificate(self.peer_id), lambda part: self._authority.seal(self.peer_id, part)
        )

    @override
    def refusal(self, batch: Batch, group: Topic, now: float, retention_seconds: float) -> Refusal:
        """See `Signatures`; only the signature is looked at."""
        if not batch.flags & SIGNED:
            return Refusal("unsigned")
        if batch in self._verified:
            return TAKEN
        self._authority.verified += 1
        publisher = batch.stream[:PEER_ID_BYTES]
        if batch.signature != self._authority.seal(publisher, batch.signed_part):
            return Refusal("forged")
        self._verified.add(batch)
        return TAKEN

    @override
    def chain(self, certificate: bytes) -> Sequence[bytes]:
        return (certificate.ljust(CERTIFICATE_BYTES, b"\0"),)

    @override
    def learn(self, chain: Sequence[bytes], now: float, expired_seconds: float = 0.0) -> Refusal:
        return TAKEN

    @override
    def revocations_hash(self) -> bytes:
        """See `Signatures`; nothing is ever revoked."""
        return b""

    @override
    def revocations(self) -> Sequence[bytes]:
        return ()

    @override
    def take_revocations(self, data: bytes, now: float) -> Refusal:
        return TAKEN

    @override
    def put_out(self, now: float) -> Sequence[PeerId]:
        return ()

    @override
    def validity(self) -> Mapping[tuple[str, str], tuple[int, int]]:
        return {}

    @override
    def lists(self) -> Mapping[str, tuple[int, int]]:
        return {}

    @override
    def unlisted_roots(self) -> Sequence[str]:
        return ()


def _certificate(peer: PeerId) -> bytes:
    """Return what stands for the hash of a process's certificate."""
    return blake2b(peer, digest_size=8).digest()
