"""The batches whose signature a process verified recently, so that it verifies each once.

A process is often a member of several groups of an event's hierarchy, and gets the batch in each of
them. It checks in each group whether the certificate allows the batch, but the signature only once.
"""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.batches import Batch

# chosen: the copies in other groups come within a second, in which a process can verify a few
# thousand batches at most
BATCHES_MAX: Final = 1024
BYTES_MAX: Final = 1 << 22  # chosen: 128 batches of full frames, most of which repair keeps, too


class VerifiedBatches:
    """At most `BATCHES_MAX` batches with bodies of `BYTES_MAX` together; the oldest goes first."""

    def __init__(self) -> None:
        self._bodies: dict[bytes, bytes] = {}
        """By signature, which is quicker to look up; the bodies are compared as a whole."""
        self._bytes = 0

    def __contains__(self, batch: Batch) -> bool:
        return self._bodies.get(batch.signature) == batch.body

    def add(self, batch: Batch) -> None:
        """Remember that the signature of a batch, which is not in here yet, verified."""
        body, bodies = batch.body, self._bodies
        bodies[batch.signature] = body
        self._bytes += len(body)
        while len(bodies) > BATCHES_MAX or self._bytes > BYTES_MAX:
            self._bytes -= len(bodies.pop(next(iter(bodies))))
