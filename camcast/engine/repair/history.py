"""History: what was published before this process became a member, for who asked for it.

`subscribe(since=30.0)` asks for it: what neighbours still keep goes to the asking subscription
only, is marked as known, is never announced and never climbs.
"""

from __future__ import annotations

from math import inf
from typing import Final

from camcast.engine.repair.haves import Haves
from camcast.engine.repair.lateness import REORDER_SECONDS
from camcast.engine.repair.news import TOLD_AT_ONCE
from camcast.engine.repair.shared import Shared
from camcast.engine.store import published_at
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId

HISTORY_SECONDS: Final = 10.0  # chosen: so long answers are taken for the history asked for


class History:
    """Asks neighbours for what is older than this process's membership."""

    def __init__(self, shared: Shared, haves: Haves) -> None:
        self._shared = shared
        self._haves = haves
        self._seconds = 0.0  # before the membership
        self._until = -inf

    def asked(self, now: float) -> float:
        """Return for how many seconds before the membership history is asked for now, or 0."""
        return self._seconds if now < self._until else 0.0

    def wants(self, batch: Batch, now: float) -> bool:
        """Whether a batch from before the membership is for a subscription that asked for it."""
        return (
            now < self._until
            and published_at(batch) >= self._shared.member_since - self._seconds - REORDER_SECONDS
        )

    def start(self, now: float) -> None:
        """Ask, now that this process is a member, for what was wanted before."""
        if self._seconds:
            self._ask(now)

    def fetch(self, seconds: float, now: float) -> list[Batch]:
        """Return what is kept here of the last `seconds`, and ask others for the rest.

        The rest arrives as batches that this `wants`.
        """
        shared = self._shared
        kept = [
            batch
            for stream, known in shared.streams.known.items()
            for batch in shared.store.batches(StreamId(stream), 1, known.stop, now - seconds)
            if known.knows(batch.first, batch.count)
        ]
        joined = shared.member_since
        before = seconds if joined == inf else seconds - (now - joined)
        if before > 0:
            self._seconds = max(self._seconds, before)
            if joined < inf:
                self._ask(now)
        return sorted(kept, key=published_at)

    def _ask(self, now: float) -> None:
        """Ask two neighbours."""
        shared = self._shared
        self._until = now + HISTORY_SECONDS
        seconds = self._seconds + now - shared.member_since
        for contact in shared.sample(shared.context.membership.neighbours(), TOLD_AT_ONCE):
            self._haves.send(contact, (), now, history=seconds)
