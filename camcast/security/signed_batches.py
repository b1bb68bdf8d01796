"""Batches that their publisher signs, and that every process verifies before it takes them.

The signature covers the group of the batch's topic and the body, with the hash of the publisher's
certificate in it. It does not cover the head, which is rewritten at every hop. A batch counts if
the publisher's key has the identity in the stream's id, if a chain of certificates grants this key
the right to publish in the topic at the signed time of publication, and if that time is recent: a
process remembers the streams long enough to recognise replays of recent batches only.

A batch climbs from its topic's group into the groups of the topics above, and never goes down. In a
group below its topic it is refused: otherwise any process could send a genuine batch to members
that want only a part of its topic. In a group neither above nor below its topic it counts only if
its publisher may publish there, too: otherwise a right to publish anywhere would be one to publish
everywhere. A topic with several super-topics (3.6) needs a certificate for a topic above all of
them.
"""

from __future__ import annotations

from typing import Final

from camcast.security.certificates import SLACK_SECONDS, Rights
from camcast.security.chains import Chain
from camcast.security.keys import Domain, SecretKey
from camcast.security.known_chains import KnownChains
from camcast.security.publisher_rates import PublisherRates
from camcast.security.refusals import LOOK, Reason, RefusedError
from camcast.security.sealed import SealHash
from camcast.security.verified_batches import VerifiedBatches
from camcast.vocabulary.batches import SIGNED, Batch
from camcast.vocabulary.identity import PEER_ID_BYTES
from camcast.vocabulary.topics import Topic

_MILLISECONDS: Final = 1000.0


def sign_batch(batch: Batch, certificate: SealHash, secret: SecretKey) -> Batch:
    """Return this process's own batch with its signature."""
    return batch.signed(certificate, lambda part: secret.sign(Domain.BATCH, part))


def verify_batch(
    batch: Batch,
    group: Topic,
    chains: KnownChains,
    now: float,
    retention_seconds: float,
    verified: VerifiedBatches | None = None,
    rates: PublisherRates | None = None,
) -> Chain:
    """Return the chain by which the publisher of this batch may publish it in a group.

    `now` is in seconds since 1970; `retention_seconds` is how long batches are kept for processes
    that missed them. Raises `RefusedError`. The signature, which costs most, is checked last, and
    not at all for a batch among the `verified`, which is not counted for the `rates` again.
    """
    if not batch.flags & SIGNED:
        raise RefusedError(Reason.UNSIGNED, "a batch is not signed")
    chain = chains.chain(batch.certificate)
    if batch.stream[:PEER_ID_BYTES] != chain.subject_id:
        raise RefusedError(Reason.FORGED, "a batch names the certificate of another publisher")
    published = batch.published / _MILLISECONDS
    if published < now - retention_seconds - SLACK_SECONDS:
        ago = now - published
        raise RefusedError(
            Reason.EXPIRED,
            f"it was published {ago:.0f} s ago, and so long no event is kept; {LOOK}",
        )
    if published > now + SLACK_SECONDS:
        ahead = published - now
        raise RefusedError(
            Reason.EARLY,
            f"it was published {ahead:.0f} s ahead of this machine's clock; {LOOK}",
        )
    chain.check(Rights.PUBLISH, batch.topic, published, chains.revocations.revoked)
    if not group.includes(batch.topic):
        if batch.topic.includes(group):
            raise RefusedError(Reason.OUTSIDE, f"the group {group} is below {batch.topic}")
        if not chain.last.grants(Rights.PUBLISH, group):
            prefix = chain.last.prefix
            raise RefusedError(Reason.OUTSIDE, f"{prefix} is not above the group {group}")
    if verified is None or batch not in verified:
        if rates is not None:
            rates.check(chain, batch, now)
        if not chain.subject.verify(Domain.BATCH, batch.signed_part, batch.signature):
            raise RefusedError(Reason.FORGED, "the signature of a batch does not verify")
        if rates is not None:
            rates.count(chain, batch, now)
        if verified is not None:
            verified.add(batch)
    return chain
