"""The key and certificates by which a process signs its events and verifies those of others.

`EventSignatures` implements `camcast.doors.signatures.Signatures` for the profile `signed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from camcast.security.certificates import Rights
from camcast.security.chains import Chain
from camcast.security.keys import PublicKey, SecretKey
from camcast.security.known_chains import KnownChains
from camcast.security.mandates import sign_mandate
from camcast.security.publisher_rates import PublisherRates
from camcast.security.records import PeerRecord, sign_record
from camcast.security.refusals import Reason, RefusedError, reason_against
from camcast.security.signed_batches import sign_batch, verify_batch
from camcast.security.verified_batches import VerifiedBatches
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.topics import Topic


class EventSignatures:
    """The key and the certificates of one process, and the roots that it trusts.

    It has no certificate until `renew` gives it some. All times are in seconds since 1970.
    `lists_expected` says whether the roots are to have lists of revocations.
    """

    def __init__(
        self, secret: SecretKey, roots: Sequence[PublicKey], *, lists_expected: bool = True
    ) -> None:
        self._secret = secret
        self._listing_roots = roots if lists_expected else ()
        self.known = KnownChains(roots)
        self._verified = VerifiedBatches()
        self._rates = PublisherRates()
        self._own: list[Chain] = []

    @property
    def peer_id(self) -> PeerId:
        """The identity of this process."""
        return self._secret.public.peer_id

    def check_own(self, certificates: Sequence[bytes], now: float) -> Chain:
        """Return the chain of these certificates, the root's first, for this process's key.

        Raises `RefusedError` for a chain that is for another key, that begins at no trusted root,
        or that is not valid at `now`.
        """
        chain = self.known.learn(certificates, now)
        if chain.subject != self._secret.public:
            raise RefusedError(Reason.UNTRUSTED, "the certificate is for another key than this one")
        return chain

    def renew(self, chains: Sequence[Sequence[bytes]], now: float) -> None:
        """Use these chains, at least one, to sign from now on; raises as `check_own`."""
        self._own = [self.check_own(chain, now) for chain in chains]

    @property
    def public(self) -> PublicKey:
        """The key of this process."""
        return self._secret.public

    @property
    def link_secret(self) -> bytes:
        """The X25519 secret of this process's links."""
        return self._secret.curve_secret

    @property
    def own(self) -> Sequence[Chain]:
        """The chains that grant this process its rights."""
        return self._own

    def sign_record(
        self, address: str, incarnation: int, expiry: int, certificates: tuple[bytes, ...]
    ) -> bytes:
        """Return a record of this process, signed (`camcast.security.records`)."""
        key = self._secret.public.raw
        record = PeerRecord(key, (address,), incarnation, expiry, (), certificates)
        return sign_record(record, self._secret)

    def sign_mandate(self, said: bytes, when: int, number: int) -> bytes:
        """Return a mandate of this process, signed (`camcast.security.mandates`)."""
        return sign_mandate(said, when, number, self._secret)

    def may_publish(self, topic: Topic, now: float) -> bool:
        """Return whether this process has a valid certificate to publish in a topic."""
        chain = self._chain_for(topic)
        try:
            chain.check(Rights.PUBLISH, topic, now, self.known.revocations.revoked)
        except RefusedError:
            return False
        return True

    def spend(self, topic: Topic, size: int, now: float) -> Refusal:
        """See `Signatures`."""
        return reason_against(self._rates.publish, self._chain_for(topic), size, now)

    def sign(self, batch: Batch) -> Batch:
        """Return this process's own batch with its signature."""
        return sign_batch(batch, self._chain_for(batch.topic).hash, self._secret)

    def refusal(self, batch: Batch, group: Topic, now: float, retention_seconds: float) -> Refusal:
        """Return why a batch that came in a group is not believed, or `TAKEN`."""
        return reason_against(
            verify_batch,
            batch,
            group,
            self.known,
            now,
            retention_seconds,
            self._verified,
            self._rates,
        )

    def chain(self, certificate: bytes) -> Sequence[bytes]:
        """Return the chain that ends in the certificate of this hash; empty if it is not known."""
        own = next((chain for chain in self._own if chain.hash == certificate), None)
        try:
            return (own or self.known.chain(certificate)).data
        except RefusedError:
            return ()

    def learn(self, chain: Sequence[bytes], now: float, expired_seconds: float = 0.0) -> Refusal:
        """See `Signatures`."""
        return reason_against(self.known.learn, chain, now, expired_seconds)

    def revocations_hash(self) -> bytes:
        """Return a hash of all lists of revocations that this process knows."""
        return self.known.revocations.hash()

    def revocations(self) -> Sequence[bytes]:
        """Return the latest list of revocations of each issuer."""
        return self.known.revocations.all()

    def take_revocations(self, data: bytes, now: float) -> Refusal:
        """Take an issuer's list if it is newer; return why it is refused, or `TAKEN`."""
        return reason_against(self.known.take_revocations, data, now)

    def put_out(self, now: float) -> Sequence[PeerId]:
        """Return the processes of which a certificate is revoked and no other one is valid."""
        return self.known.put_out(now)

    def validity(self) -> Mapping[tuple[str, str], tuple[int, int]]:
        """See `Signatures`."""
        return {
            (chain.last.prefix, chain.last.serial.hex()): (
                chain.last.not_before,
                chain.last.not_after,
            )
            for chain in self._own
        }

    def lists(self) -> Mapping[str, tuple[int, int]]:
        """See `Signatures`."""
        return {
            PublicKey(issuer).text: (latest.issued, latest.next_update)
            for issuer, latest in self.known.revocations.latest().items()
        }

    def unlisted_roots(self) -> Sequence[str]:
        """See `Signatures`."""
        known = self.known.revocations.latest()
        return [root.text for root in self._listing_roots if root.raw not in known]

    def _chain_for(self, topic: Topic) -> Chain:
        """Return a chain that grants to publish in a topic; the first one if none does."""
        fitting = (chain for chain in self._own if chain.last.grants(Rights.PUBLISH, topic))
        return next(fitting, self._own[0])
