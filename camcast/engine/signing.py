"""The signing part of a node: batches are signed, verified, and accompanied by certificates.

Theory of operation
-------------------
A signed batch names the certificate of its publisher by a hash. Who sends a batch to a process,
be it the publisher or a forwarder, sends the chain of certificates before it, unless it did so
within the last seconds; a copy that was asked for always has it. So whoever gets a batch can verify
it at once. Where the chain got lost, the batch is dropped as one of an unknown certificate. It does
not count as known then, so another copy, or repair, brings it later.

A batch is verified when it is new to its group, before it counts as known there: a forged copy of
an event must not keep the genuine one out.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Final

from camcast.doors.signatures import NotAllowedError, Signatures
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import Topic

_log = logging.getLogger(__name__)

# chosen: a chain of two has 350 bytes, so it costs a link 35 bytes a second at most; for so long a
# process that lost one does without this sender's copies, unless it asks for them
CARRY_SECONDS: Final = 10.0
# chosen: 30 peers and 500 publishers; a bound, because the publishers of others fill this table
CARRIED_MAX: Final = 2**14


class Certificates(Message, frozen=True, tag=1):
    """A chain of certificates, the root's first, for batches that name the last one."""

    chain: tuple[bytes, ...]


DECODER: Final[Decoder[Certificates]] = Decoder(Certificates)


class Signing:
    """Signs and verifies for one node; `offset` is the time since 1970 when its clock was at 0."""

    def __init__(self, signatures: Signatures, outlet: ControlOutlet, offset: float) -> None:
        self._signatures = signatures
        self._outlet = outlet
        self._offset = offset
        self._carried: dict[bytes, float] = {}
        """When a chain last went to a peer, by the ids of both, the latest at the end."""
        self._log = MinuteLog()
        self.refused: Counter[str] = Counter()
        """Events, and chains of certificates, by why they were not believed."""

    def check_may_publish(self, topic: Topic, now: float) -> None:
        """Raise `NotAllowedError` if nobody would believe what this process publishes in a topic.

        `now` is by the node's clock, here and below.
        """
        if not self._signatures.may_publish(topic, self._offset + now):
            raise NotAllowedError(
                f"this process has no certificate to publish in {topic} now; certify its key for"
                " it, or renew the certificate"
            )

    def sign(self, batch: Batch) -> Batch:
        """See `Signatures.sign`."""
        return self._signatures.sign(batch)

    def believes(self, batch: Batch, group: Topic, retention_seconds: float, now: float) -> bool:
        """Verify a batch of another process that came in a group; count it if it is refused."""
        reason = self._signatures.refusal(batch, group, self._offset + now, retention_seconds)
        if reason:
            self.refused[reason] += batch.count
            if self._log.due(reason, now):
                _log.info(
                    "an event in %s was dropped: %s (%d so far; logged once a minute)",
                    batch.topic,
                    reason,
                    self.refused[reason],
                )
        return not reason

    def receive(self, message: Certificates, now: float) -> None:
        """Take the chain that a batch needs."""
        reason = self._signatures.learn(message.chain, self._offset + now)
        if reason:
            self.refused[f"chain_{reason}"] += 1

    def accompany(
        self, batch: Batch, peers: Sequence[Contact], now: float, *, asked_for: bool = False
    ) -> None:
        """Send the chain of a batch, which is sent next, to those of its receivers that need it."""
        carried, certificate = self._carried, batch.certificate
        latest = inf if asked_for else now - CARRY_SECONDS
        lacking = []
        for peer in peers:
            key = peer.peer + certificate
            if carried.get(key, -inf) <= latest:
                carried.pop(key, None)
                carried[key] = now
                lacking.append(peer)
        if lacking:
            while len(carried) > CARRIED_MAX:
                del carried[next(iter(carried))]
            if chain := self._signatures.chain(certificate):
                self._outlet.send(lacking, Certificates(tuple(chain)))
