"""How lists of revocations reach every process.

A process that learns a newer list sends it to its neighbours at once, which do the same. Every few
seconds a process also tells one neighbour the hash of all lists that it knows. Where the hashes
differ, the neighbour answers with its own lists, and gets newer ones back, so that a list also
reaches processes that were away or joined later. Answers are bounded, since anybody may ask in
another process's name.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from camcast.doors.signatures import Signatures
from camcast.engine.asked_lately import AskedLately
from camcast.engine.security_messages import RevocationNews, RevocationsKnown
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.refusal import Refusal

# chosen: a list of one process reaches all within some periods, 30 s, and a hash costs a
# process 15 bytes a second
PERIOD_SECONDS: Final = 5.0
ANSWERS_MAX: Final = 4  # chosen: answers in a period; neighbours' hashes seldom differ
ANSWER_BYTES_MAX: Final = 2**16  # chosen: two full lists, of which most have some hundred bytes
NEIGHBOURS_MAX: Final = 64  # chosen: all in the tables of a process of a few communities


class RevocationSpread:
    """Spreads lists for one process; `neighbours(k)` draws k contacts from its tables."""

    def __init__(
        self,
        signatures: Signatures,
        outlet: ControlOutlet,
        neighbours: Callable[[int], list[Contact]],
        rng: Random,
    ) -> None:
        self._signatures = signatures
        self._outlet = outlet
        self._neighbours = neighbours
        self._rng = rng
        self._spread = signatures.revocations_hash()
        """The hash of the lists that the neighbours were sent; a list read from a file makes it
        differ."""
        self._answered = AskedLately()
        self._answers = 0
        outlet.wake(PERIOD_SECONDS, "revocations")

    def wake(self) -> None:
        """Take the timer: send what is new, else tell one neighbour what is known."""
        self._answers = 0
        known = self._signatures.revocations_hash()
        if known != self._spread:
            self._spread = known
            self._send_all(self._neighbours(NEIGHBOURS_MAX))
        else:
            self._outlet.send(self._neighbours(1), RevocationsKnown(known))
        self._outlet.wake(PERIOD_SECONDS, "revocations")

    def compare(self, source: Contact, message: RevocationsKnown, now: float) -> None:
        """Answer a process that knows other lists."""
        if message.hash != self._signatures.revocations_hash():
            self._answer(source, now)

    def take(self, source: Contact, message: RevocationNews, wall: float, now: float) -> Refusal:
        """Take a list, at the time `wall` since 1970; return why it is refused, or `TAKEN`."""
        before = self._signatures.revocations_hash()
        reason = self._signatures.take_revocations(message.data, wall)
        after = self._signatures.revocations_hash()
        if after != before:
            if self._spread == before:
                self._spread = after
            receivers = [c for c in self._neighbours(NEIGHBOURS_MAX) if c.peer != source.peer]
            self._outlet.send(receivers, message)
        elif not reason and message.data not in self._signatures.revocations():
            self._answer(source, now)  # the source has an older one
        return reason

    def _answer(self, source: Contact, now: float) -> None:
        if self._answers < ANSWERS_MAX and self._answered.due(source.peer, PERIOD_SECONDS, now):
            self._answers += 1
            self._send_all([source])

    def _send_all(self, receivers: list[Contact]) -> None:
        lists = list(self._signatures.revocations())
        if not lists:
            self._outlet.send(receivers, RevocationsKnown(self._signatures.revocations_hash()))
        self._rng.shuffle(lists)
        room = ANSWER_BYTES_MAX
        for data in lists:
            room -= len(data)
            if room < 0:
                break
            self._outlet.send(receivers, RevocationNews(data))
