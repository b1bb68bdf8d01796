"""Own events: which batches this process has published, as they were.

A batch of this process may come back to it in a community that it joined after the publication, or
one in which it did not accept the batch then. Such a batch is genuine if its body is the one that
was published. A hash of each body is remembered for this, not the body: without repair nobody keeps
it.
"""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from typing import Final

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId

# chosen: 100 batches/s for longer than the two minutes for which they are repaired; 4 MB
BATCHES_MAX: Final = 1 << 14
HASH_BYTES: Final = 16  # chosen: nobody finds another body with the same 128 bits


class Verdict(Enum):
    """The answer to whether a batch in this process's name is the one that it published."""

    GENUINE = "genuine"
    FORGED = "forged"
    FORGOTTEN = "forgotten"
    """The batch claims a time of publication of which not all is remembered."""


class OwnEvents:
    """The batches that one process has published, in bounded memory."""

    def __init__(self, batches_max: int = BATCHES_MAX) -> None:
        self._batches_max = batches_max
        self._bodies: dict[tuple[StreamId, int], tuple[int, bytes]] = {}
        """The time of publication and the hash of the body of each batch, oldest first."""
        self._forgotten_until = -1  # the time of publication of the newest that was forgotten

    def add(self, batch: Batch) -> None:
        """Remember a batch that this process publishes; the oldest makes room."""
        bodies = self._bodies
        if len(bodies) >= self._batches_max:
            published, _ = bodies.pop(next(iter(bodies)))
            self._forgotten_until = max(self._forgotten_until, published)
        bodies[batch.stream, batch.first] = batch.published, _hash(batch)

    def judge(self, batch: Batch) -> Verdict:
        """Compare a batch that came in this process's name with what was published."""
        known = self._bodies.get((batch.stream, batch.first))
        if known is None:
            forgotten = batch.published <= self._forgotten_until
            return Verdict.FORGOTTEN if forgotten else Verdict.FORGED
        return Verdict.GENUINE if known[1] == _hash(batch) else Verdict.FORGED


def _hash(batch: Batch) -> bytes:
    return sha256(batch.body).digest()[:HASH_BYTES]
