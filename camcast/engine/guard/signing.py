"""The signing part of a node: batches are signed, verified, and accompanied by certificates.

Theory of operation
-------------------
A signed batch names the certificate of its publisher by a hash. The publisher, and each forwarder,
sends a receiver the chain of certificates before the batch, unless it did so within the last
seconds; a copy that was asked for always comes with the chain. A receiver can mostly verify a
batch at once. Where the chain got lost, the batch is *held*, and the chain is asked for: of the
sender, whose address is in the batch or in a table, else of two neighbours. A batch that waits for
`HELD_SECONDS`, or has to make room for others, is dropped. It does not count as known then, so
another copy, or repair, brings it later.

A batch is verified when it is new to its group, before it counts as known there: a forged copy of
an event must not keep the genuine one out.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final

from camcast.doors.archive import Archive
from camcast.doors.signatures import (
    OVER_RATE,
    UNKNOWN,
    NotAllowedError,
    RateExceededError,
    Signatures,
)
from camcast.engine.asked_lately import AskedLately
from camcast.engine.guard.held_batches import HeldBatch, HeldBatches
from camcast.engine.guard.revocation_spread import RevocationSpread
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.engine.security_messages import (
    Certificates,
    CertificateWanted,
    RevocationNews,
    RevocationsKnown,
    SigningMessage,
)
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.penalties import fault_in
from camcast.vocabulary.refusal import Refusal
from camcast.vocabulary.token_buckets import each_second
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind

_log = Logger(__name__)

# chosen: a chain of two has 350 bytes, so it costs a link 35 bytes a second at most; a process that
# lost a chain does without this sender's copies for so long, unless it asks
CARRY_SECONDS: Final = 10.0
ASK_SECONDS: Final = 1.0  # chosen: longer than most round trips; the next copy asks again
NEIGHBOURS_ASKED: Final = 2  # chosen: neighbours mostly have the batch too, and so the chain
# chosen: so many publishers may begin at once; a question has 60 bytes, may go to whom a stranger
# names, and draws an answer of some 400 bytes
QUESTIONS_A_SECOND: Final = 64
ANSWERS_A_SECOND: Final = 64


class Signing:
    """Signs and verifies for one node.

    `neighbours(k)` draws k contacts from the tables. The `archive` has chains of what it keeps.
    """

    def __init__(
        self,
        signatures: Signatures,
        process: ProcessContext,
        neighbours: Callable[[int], list[Contact]],
        archive: Archive | None = None,
    ) -> None:
        self._archive = archive
        self._signatures = signatures
        self._outlet = outlet = process.outlet(Kind.SECURITY, NO_GROUP)
        self._recorder = process.recorder
        self._guard = process.guard
        self._neighbours = neighbours
        self._contact = process.liveness.contact
        self._clock = process.clock
        self._hierarchy = process.hierarchy
        self._groups = process.groups
        self._carried = AskedLately()
        """When a chain last went to a peer, by peer and certificate."""
        self._held = HeldBatches()
        self._asked, self._answered = AskedLately(), AskedLately()
        self._questions, self._answers = (
            each_second(QUESTIONS_A_SECOND),
            each_second(ANSWERS_A_SECOND),
        )
        self._spread = RevocationSpread(signatures, outlet, neighbours, process.rng)
        self._log = MinuteLog()
        self.refused: Counter[str] = Counter()
        """Events, chains of certificates, and lists, by why they were not believed."""
        self.put_out: dict[PeerId, None] = {}
        """The processes known to be revoked: only messages about certificates are taken from
        them."""

    def validity(self) -> Mapping[tuple[str, str], tuple[int, int]]:
        """See `Signatures`."""
        return self._signatures.validity()

    def lists(self) -> Mapping[str, tuple[int, int]]:
        """See `Signatures`."""
        return self._signatures.lists()

    def unlisted_roots(self) -> Sequence[str]:
        """See `Signatures`."""
        return self._signatures.unlisted_roots()

    def check_may_publish(self, topic: Topic, now: float) -> None:
        """Raise `NotAllowedError` if nobody would believe what this process publishes in a topic.

        `now` is the time of inputs, here and below.
        """
        if not self._signatures.may_publish(topic, self._clock.wall(now)):
            raise NotAllowedError(
                f"this process has no certificate to publish in {topic} now; certify its key for"
                " it, or renew the certificate"
            )

    def spend(self, topic: Topic, size: int, now: float) -> None:
        """Count an own event of so many bytes; raises `RateExceededError`, see `Signatures`."""
        if reason := self._signatures.spend(topic, size, self._clock.wall(now)):
            self._recorder.counters.over_rate += 1
            raise RateExceededError(reason.says)

    def sign(self, batch: Batch) -> Batch:
        """Return this process's own batch with its signature."""
        return self._signatures.sign(batch)

    def believes(
        self,
        local_group: LocalGroup,
        batch: Batch,
        source: PeerId,
        address: str,
        now: float,
        *,
        asked_for: bool = False,
    ) -> bool:
        """Verify a batch of another process that came in a group.

        A batch that is refused is counted, and one whose certificate is not known is held. One that
        was `asked_for` may be as old as what is asked for, and not only as what everybody keeps.
        `address` is that of the sender `source`, empty if the record did not name it. Whoever may
        publish in a topic may so in those above it, which are known by names and by what this
        process's own application declares: what others tell gives nobody a right.
        """
        retention = local_group.context.parameters.retention_seconds
        if asked_for and local_group.repair is not None:
            retention = max(retention, local_group.repair.seconds_back(now))
        reason = self._refusal(batch, local_group.topic, retention, now)
        if not reason:
            return True
        held = HeldBatch(local_group, batch, source, now)
        if reason == UNKNOWN:
            self._hold(held, address, now)
        else:
            self._refuse(held, reason, now)
        return False

    def believes_value(self, batch: Batch, group: Topic, source: PeerId, now: float) -> bool:
        """Verify a last value that `source` sent, however old it is; who has it offers it again."""
        if reason := self._refusal(batch, group, inf, now):
            self._count_refused("value_", reason, source, now)
        return not reason

    def _refusal(self, batch: Batch, group: Topic, retention: float, now: float) -> Refusal:
        if not group.includes(batch.topic) and self._hierarchy.declares(group, batch.topic):
            group = batch.topic
        return self._signatures.refusal(batch, group, self._clock.wall(now), retention)

    def wake(self, now: float) -> None:
        """Take this part's timer."""
        self._spread.wake()
        self._note_put_out(now)
        for held in self._held.expire(now):
            self._refuse(held, Refusal(UNKNOWN), now)
        for certificate in self._held.certificates():
            self._ask(self._neighbours(NEIGHBOURS_ASKED), certificate, now)

    def receive(self, source: Contact, message: SigningMessage, now: float) -> list[HeldBatch]:
        """Take a chain, or a question for one, or what a neighbour knows of revocations.

        Returns the batches that waited for the chain, to be looked at again.
        """
        match message:
            case Certificates():
                expired = self._history_seconds(now)
                if reason := self._signatures.learn(message.chain, self._clock.wall(now), expired):
                    self._count_refused("chain_", reason, source.peer, now)
                    self._log_time("a chain of certificates", reason, now)
                else:
                    return self._release()
            case CertificateWanted():
                self._answer(source, message.certificate, now)
            case RevocationNews():
                before = self._signatures.revocations_hash()
                if reason := self._spread.take(source, message, self._clock.wall(now), now):
                    self._count_refused("list_", reason, source.peer, now)
                    self._log_time("a list of revocations", reason, now)
                elif self._signatures.revocations_hash() != before:
                    self._note_put_out(now)
            case RevocationsKnown():
                self._spread.compare(source, message, now)
        return []

    def accompany(
        self, batch: Batch, peers: Sequence[Contact], now: float, *, asked_for: bool = False
    ) -> None:
        """Send the chain for a batch, before the batch itself, to the receivers that need it."""
        seconds, certificate = 0.0 if asked_for else CARRY_SECONDS, batch.certificate
        carried = self._carried
        lacking = [p for p in peers if carried.due((p.peer, certificate), seconds, now)]
        if lacking and (chain := self.chain(certificate)):
            self._outlet.send(lacking, Certificates(tuple(chain)))

    def chain(self, certificate: bytes) -> Sequence[bytes]:
        """Return the chain of a certificate, of memory or of what the archive has kept."""
        chain = self._signatures.chain(certificate)
        return chain if chain or self._archive is None else self._archive.chain(certificate)

    def _history_seconds(self, now: float) -> float:
        """Return how far back events are wanted, which certificates of then may have signed."""
        repairs = (one.repair for one in self._groups.current.values())
        return max((one.history_seconds(now) for one in repairs if one is not None), default=0.0)

    def _note_put_out(self, now: float) -> None:
        """Renew `put_out` from all certificates; at 6 ms, too slow for each list that arrives."""
        before = self.put_out
        self.put_out = dict.fromkeys(self._signatures.put_out(self._clock.wall(now)))
        for peer in self.put_out:
            if peer not in before:
                self._guard.audit("revoked", "its_certificate", now, peer)

    def _refuse(self, held: HeldBatch, reason: Refusal, now: float) -> None:
        """Count a batch that is not believed, and say so once a minute."""
        local_group, batch, source, _ = held
        self._count_refused("", reason, source, now, batch.count)
        self._recorder.counters.unverified += batch.count
        if reason == OVER_RATE:
            self._recorder.counters.over_rate += batch.count
        if local_group.repair is not None:
            local_group.repair.add_refused(batch, source, now)
        if self._recorder.on_batch is not None:
            self._recorder.on_batch(now, "drop", batch, local_group.subscribed.name, (source,))
        if self._log.due(reason, now):
            _log.log(
                logging.WARNING if reason.is_of_time else logging.INFO,
                "an event of %s in %s was dropped: %s (%d so far; logged once a minute)",
                batch.stream[:PEER_ID_BYTES].hex(),
                batch.topic,
                reason.says or reason,
                self.refused[reason],
            )

    def _log_time(self, what: str, reason: Refusal, now: float) -> None:
        """Say once a minute that bytes were refused for their time: a clock may be wrong."""
        if reason.is_of_time and self._log.due((what, reason), now):
            _log.warning("%s was refused: %s (logged once a minute)", what, reason.says)

    def _count_refused(
        self, what: str, reason: str, source: PeerId, now: float, count: int = 1
    ) -> None:
        """Count what is refused against who sent it, which may be long before it is judged."""
        self.refused[what + reason] += count
        self._guard.audit("refused", (what or "event_") + reason, now, source)
        self._guard.penalise(source, fault_in(reason), now)

    def _hold(self, held: HeldBatch, address: str, now: float) -> None:
        """Let a batch wait for its certificate, and ask for that."""
        new, dropped = self._held.hold(held)
        if new:
            self._recorder.counters.held += held.batch.count
        for each in dropped:
            self._refuse(each, Refusal(UNKNOWN), now)
        sender = self._contact(held.source) or _contact_at(held.source, address)
        receivers = [sender] if sender else self._neighbours(NEIGHBOURS_ASKED)
        self._ask(receivers, held.batch.certificate, now)

    def _ask(self, receivers: Sequence[Contact], certificate: bytes, now: float) -> None:
        if self._asked.due(certificate, ASK_SECONDS, now) and self._questions.take(now):
            self._outlet.send(receivers, CertificateWanted(certificate))

    def _release(self) -> list[HeldBatch]:
        """Return the batches whose certificate is known by now."""
        return [
            held
            for certificate in self._held.certificates()
            if self._signatures.chain(certificate)
            for held in self._held.release(certificate)
        ]

    def _answer(self, source: Contact, certificate: bytes, now: float) -> None:
        """Send a process the chain that it asks for, if that is known here."""
        if (
            (chain := self.chain(certificate))
            and self._answered.due((source.peer, certificate), ASK_SECONDS, now)
            and self._answers.take(now)
        ):
            self._outlet.send([source], Certificates(tuple(chain)))


def _contact_at(peer: PeerId, address: str) -> Contact | None:
    try:
        return Contact(peer, address) if address else None
    except AddressError:
        return None
