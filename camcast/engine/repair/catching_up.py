"""Catching up: whether the past that a process has asked for is here.

Whoever reads an archive in the order of publication (`camcast.app.durable`) begins when nothing
older is on its way. The past is here when the question for it is answered
(`camcast.engine.repair.history`), and what the answers offered has come, or is offered by nobody
any longer. What is published meanwhile does not count: the numbers that were offered when the
question was answered are those that are awaited.

*Hostile.* An offer of events that never were is awaited while something else comes, and for
`STILL_SECONDS` more; whoever waits has a limit of its own besides.
"""

from __future__ import annotations

from math import inf
from typing import Final

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
        self._awaited: dict[StreamId, int] | None = None
        """The number after the last that was offered of each stream; None while answers come."""
        self._left: dict[StreamId, int] = {}
        """How many events of these are still to come."""
        self._moved_at = -inf

    def is_over(self, now: float) -> bool:
        """Say whether the past is here, as far as neighbours offer it."""
        if self._context.member_since == inf or self._history.is_open:
            self._awaited = None
            return False
        missing = self._asking.missing
        if self._awaited is None:
            self._awaited = {
                stream: max((one.held[3][-1] for one in lacking.holders), default=0)
                for stream, lacking in missing.items()
            }
            self._moved_at = now
        left = {
            stream: number
            for stream, stop in self._awaited.items()
            if stream in missing and (number := self._offered(stream, stop))
        }
        if left != self._left:
            self._left, self._moved_at = left, now
        if not left or now - self._moved_at > STILL_SECONDS:
            self._awaited = {}
        return not self._awaited

    def _offered(self, stream: StreamId, stop: int) -> int:
        """Return how many events below `stop` are missing that somebody offers."""
        known = self._context.streams.known.get(stream)
        offers = (missing_of(one.held, known, stop) for one in self._asking.missing[stream].holders)
        return max((sum(end - start for start, end in ranges) for ranges in offers), default=0)
