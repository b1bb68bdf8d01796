"""The news of one community: what has changed of late is told to some neighbours.

A second after something came it is told to two neighbours; nothing when nothing came
(`camcast.engine.repair.changes`). What was asked for, and came, is told sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.changes import NEWS_SECONDS
from camcast.engine.repair.haves import Haves
from camcast.engine.repair.shared import Shared
from camcast.engine.repair.upward import Upward
from camcast.vocabulary.events import StreamId

TOLD_AT_ONCE: Final = 2  # [PROTOCOLS 8] news go to one or two neighbours
URGENT_SECONDS: Final = 0.2  # chosen: what was asked for is announced soon, for it is late already


class News:
    """Tells neighbours, and through `Upward` super-processes, what has changed."""

    def __init__(self, shared: Shared, haves: Haves, upward: Upward) -> None:
        self._shared = shared
        self._haves = haves
        self._upward = upward
        self._timer = 0  # the number of the timer for news; those before are void
        self._at = inf  # when it ends
        self._urgent: dict[StreamId, None] = {}  # what was asked for, has come, and is untold

    def note(self, stream: StreamId, known: KnownRanges, now: float) -> None:
        """Note that something has changed in a stream, which the next news tell."""
        changes = self._shared.changes
        if stream not in changes.recent:
            changes.note(stream, known)
            if self._at > now + NEWS_SECONDS:
                self._tell_after(NEWS_SECONDS, now)

    def note_urgent(self, stream: StreamId) -> None:
        """Note that something of a stream came that was asked for."""
        if not self._urgent:
            self._shared.outlet.wake(URGENT_SECONDS, "urgent")
        self._urgent[stream] = None

    def tell_urgent(self, now: float) -> None:
        """Tell neighbours what came that was asked for."""
        urgent, self._urgent = self._urgent, {}
        self._tell_neighbours(list(urgent), now)

    def wake(self, number: int, now: float) -> None:
        """Tell the news, if this timer is the latest."""
        if number != self._timer:
            return
        self._at = inf
        self._shared.store.expire(now)
        news, upward = self._shared.changes.take_news(now)
        self._tell_neighbours(news, now)
        self._upward.tell(upward, now)
        if self._shared.changes.active or self._upward.waits:
            self._tell_after(NEWS_SECONDS, now)
        elif self._shared.context.super_tables and self._keeps_something(now):
            self._tell_after(self._shared.context.parameters.check_seconds, now)

    def _tell_after(self, seconds: float, now: float) -> None:
        self._timer += 1
        self._at = now + seconds
        self._shared.outlet.wake(seconds, "news", self._timer)

    def _tell_neighbours(self, news: Sequence[StreamId], now: float) -> None:
        neighbours = self._shared.context.membership.neighbours() if news else ()
        held = list(self._haves.held(news, -inf, now)) if neighbours else ()
        for contact in self._shared.sample(neighbours, TOLD_AT_ONCE):
            self._haves.send(contact, held, now)

    def _keeps_something(self, now: float) -> bool:
        """Whether a body is still kept here that a super-process could lack."""
        newest = next(self._shared.changes.newest_first(), None)
        known = None if newest is None else self._shared.streams.known.get(newest)
        return known is not None and now - known.heard < self._shared.retention
