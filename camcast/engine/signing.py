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
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from camcast.doors.signatures import NotAllowedError, Signatures
from camcast.engine.asked_lately import AskedLately
from camcast.engine.revocation_spread import RevocationNews, RevocationsKnown, RevocationSpread
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
WARN_SECONDS: Final = 3600.0  # chosen: a certificate of a week is warned of for 34 hours


class Certificates(Message, frozen=True, tag=1):
    """A chain of certificates, the root's first, for batches that name the last one."""

    chain: tuple[bytes, ...]


DECODER: Final[Decoder[Certificates | RevocationNews | RevocationsKnown]] = Decoder(
    Certificates | RevocationNews | RevocationsKnown
)


class Signing:
    """Signs and verifies for one node; `offset` is the time since 1970 when its clock was at 0."""

    def __init__(
        self,
        signatures: Signatures,
        outlet: ControlOutlet,
        neighbours: Callable[[int], list[Contact]],
        rng: Random,
        offset: float,
    ) -> None:
        self._signatures = signatures
        self._outlet = outlet
        self._offset = offset
        self._carried = AskedLately()
        """When a chain last went to a peer, by peer and certificate."""
        self._spread = RevocationSpread(signatures, outlet, neighbours, rng)
        self._log = MinuteLog()
        self._warned = AskedLately()
        self.refused: Counter[str] = Counter()
        """Events, chains of certificates, and lists, by why they were not believed."""

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

    def wake(self, now: float) -> None:
        """Take this part's timer."""
        self._spread.wake()
        for subject, warning in self._signatures.warnings(self._offset + now).items():
            if self._warned.due(subject, WARN_SECONDS, now):
                _log.warning("%s", warning)

    def receive(
        self,
        source: Contact,
        message: Certificates | RevocationNews | RevocationsKnown,
        now: float,
    ) -> None:
        """Take the chain that a batch needs, or what a neighbour knows of revocations."""
        match message:
            case Certificates():
                if reason := self._signatures.learn(message.chain, self._offset + now):
                    self.refused[f"chain_{reason}"] += 1
            case RevocationNews():
                if reason := self._spread.take(source, message, self._offset + now, now):
                    self.refused[f"list_{reason}"] += 1
            case RevocationsKnown():
                self._spread.compare(source, message, now)

    def accompany(
        self, batch: Batch, peers: Sequence[Contact], now: float, *, asked_for: bool = False
    ) -> None:
        """Send the chain of a batch, which is sent next, to those of its receivers that need it."""
        seconds, certificate = 0.0 if asked_for else CARRY_SECONDS, batch.certificate
        carried = self._carried
        lacking = [p for p in peers if carried.due((p.peer, certificate), seconds, now)]
        if lacking and (chain := self._signatures.chain(certificate)):
            self._outlet.send(lacking, Certificates(tuple(chain)))
