"""Catching up: whether the past that a process has asked for is here.

Whoever reads an archive in the order of publication (`camcast.app.durable`) begins when nothing
older is on its way. The past is here when the question for it is answered
(`camcast.engine.repair.history`), and what the answers offered has come, or is given up. What is
published meanwhile does not count: the numbers that were offered when the question was answered are
those that are awaited, whatever the same neighbours offer later, who tell of parts in turn.

*Hostile.* An offer of events that never were is awaited while something else comes, and for
`STILL_SECONDS` more; whoever waits has a limit of its own besides.
"""

from __future__ import annotations

from math import inf
from typing import Final

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.asking import Asking, missing_of
from camcast.engine.repair.history import History
from camcast.engine.repair.told import RepairContext
from camcast.vocabulary.events import StreamId

STILL_SECONDS: Final = 10.0  # chosen: as long as a hole is asked for that nobody fills


class CatchingUp:
    """One community's past, on its way to this process."""

    def __init__(self, context: RepairContext, history: History, asking: Asking) -> None:
        self._context = context
        self._history = history
        self._asking = asking
        self._awaited: dict[StreamId, list[tuple[int, int]]] | None = None
        """The offers of each stream, as (start, stop); None while answers come."""
        self._left = 0
        """How many events of these are still to come; those that two offer count twice."""
        self._moved_at = -inf

    def is_over(self, now: float) -> bool:
        """Say whether the past is here, as far as neighbours offer it."""
        if self._context.member_since == inf or self._history.is_open:
            self._awaited = None
            return False
        known = self._context.streams.known
        if self._awaited is None:
            self._awaited = {
                stream: [
                    offered
                    for one in lacking.holders
                    for offered in missing_of(one.held, known.get(stream))
                ]
                for stream, lacking in self._asking.missing.items()
            }
            self._moved_at = now
        left = 0
        for stream, offered in list(self._awaited.items()):
            missing = sum(_count_missing(known.get(stream), *one) for one in offered)
            left += missing
            if not missing:
                del self._awaited[stream]
        if left != self._left:
            self._left, self._moved_at = left, now
        if now - self._moved_at > STILL_SECONDS:
            self._awaited.clear()
        return not self._awaited


def _count_missing(known: KnownRanges | None, start: int, stop: int) -> int:
    """Return how many events of a stream are missing and were not given up."""
    if known is None:
        return stop - start
    start = max(start, known.floor)
    return sum(end - begin for begin, end in known.missing(start, stop - start))
