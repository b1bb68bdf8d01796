"""Recent batches of a group, kept by a dissemination that sends members what they lack.

For protocols that pull: a member sends the ids of what it has, and is sent the rest.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Final

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId

BATCHES_MAX: Final = 1000  # chosen: 32 MB of the largest batches; ten seconds of a hundred events
IDS_MAX: Final = 500  # chosen: a message of 20 kB
LACKING_MAX: Final = 100  # chosen: batches in answer to one message; the next one brings more


class KeptBatches:
    """At most `BATCHES_MAX` batches, each until it is `keep_seconds` old."""

    def __init__(self, keep_seconds: float) -> None:
        self._keep_seconds = keep_seconds
        self._batches: dict[EventId, Batch] = {}
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """Note that this process has become a member of the group."""
        self._since = now

    def member_seconds(self, now: float) -> float:
        """Return for how long this process has been a member; what is older is not for it."""
        return 0.0 if self._since is None else now - self._since

    def add(self, batch: Batch, now: float) -> None:
        """Keep a batch; the one that was kept first makes room."""
        self._forget_old(now)
        if len(self._batches) >= BATCHES_MAX:
            del self._batches[next(iter(self._batches))]
        self._batches[batch.id] = batch

    def ids(self, now: float) -> tuple[EventId, ...]:
        """Return the ids of the batches that were kept last, at most `IDS_MAX`."""
        self._forget_old(now)
        return tuple(self._batches)[-IDS_MAX:]

    def lacking(self, ids: Collection[EventId], now: float, age_max: float = inf) -> list[Batch]:
        """Return batches that are not among `ids`, at most `LACKING_MAX`, the oldest first.

        Only batches that are younger than `age_max` seconds are returned: give the `member_seconds`
        of the process that lacks them. Nor is a batch returned of which less than a fifth of its
        time is left: its receiver would send it back when this process has forgotten it.
        """
        known = dict.fromkeys(ids)
        oldest = min(age_max, 0.8 * self._keep_seconds)
        lacking = [
            batch
            for event_id, batch in self._batches.items()
            if event_id not in known and _age(batch, now) < oldest
        ]
        return lacking[:LACKING_MAX]

    def _forget_old(self, now: float) -> None:
        for event_id in [i for i, b in self._batches.items() if _age(b, now) >= self._keep_seconds]:
            del self._batches[event_id]


def _age(batch: Batch, now: float) -> float:
    return batch.age + now - batch.since
