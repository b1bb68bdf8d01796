"""Own events: which batches this process has published, as they were.

A batch of this process may come back to it in a community that it joined after the publication, or
one in which it did not accept the batch then. Such a batch is genuine if its body is the one that
was published. The bodies are kept for as long as others may keep them, in bounded memory. Where
events are repaired they are in the store, too, and take no room of their own. What the store has is
no proof: other nodes of the event loop share it, and may have believed a forger.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from math import inf
from typing import Final

from camcast.engine.store import BATCH_BYTES, published_at
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId

# chosen: a full batch takes 20 us to hash, so that the bodies themselves are kept
BYTES_MAX: Final = 1 << 24
KEPT_SECONDS: Final = 120.0  # chosen: without repair: as long as others keep batches by default


class Verdict(Enum):
    """The answer to whether a batch in this process's name is the one that it published."""

    GENUINE = "genuine"
    FORGED = "forged"
    FORGOTTEN = "forgotten"
    """It is as old as batches of which not all is remembered."""


class OwnEvents:
    """The batches that one process has published, in bounded memory; the latest in any case."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._kept: OrderedDict[tuple[StreamId, int], Batch] = OrderedDict()
        """The batches by their first event, oldest first."""
        self._forgotten_until = -inf  # when the last that was forgotten had been published

    def add(self, batch: Batch, retention_seconds: float) -> None:
        """Keep a batch that this process publishes; those that nobody keeps any longer go."""
        kept, now = self._kept, batch.since
        self._bytes += len(batch.body) + BATCH_BYTES
        kept[batch.stream, batch.first] = batch
        after = now - (retention_seconds or KEPT_SECONDS)
        oldest = kept[next(iter(kept))]
        while oldest is not batch and (oldest.since < after or self._bytes > self._bytes_max):
            del kept[oldest.stream, oldest.first]
            self._bytes -= len(oldest.body) + BATCH_BYTES
            self._forgotten_until = oldest.since
            oldest = kept[next(iter(kept))]

    def judge(self, batch: Batch) -> Verdict:
        """Compare a batch that came in this process's name with what was published."""
        known = self._kept.get((batch.stream, batch.first))
        if known is not None:
            return Verdict.GENUINE if known.body == batch.body else Verdict.FORGED
        is_old = published_at(batch) <= self._forgotten_until
        return Verdict.FORGOTTEN if is_old else Verdict.FORGED
