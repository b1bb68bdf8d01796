"""Refused events, which are not fetched again from the processes that sent them.

An event that is refused (`camcast.engine.guard.signing`) stays missing, and so is a good candidate
for repair: the neighbours that took it offer it. A copy is refused for what is in it, its time, its
certificate or its signature, and the same holder sends the same copy again. It is asked for once
from each of `REFUSED_BY` holders, since one of them may have forged it, and then from nobody. The
subscribers learn of it as `Missed`, as of all that cannot be had.
"""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import PeerId

REFUSED_BY: Final = 3  # chosen: as `asking.PASSED_BY`; one may have forged it, or two together
REFUSED_MAX: Final = 4096  # chosen: a minute of 60 events/s, as `asking.MISSING_MAX`; 1 MB


class RefusedEvents:
    """The events of one community that were refused, with the processes that sent them."""

    def __init__(self) -> None:
        self._streams: dict[StreamId, dict[int, dict[PeerId, None]]] = {}
        """The senders of each refused event, by its stream and number; the oldest come first."""
        self._events = 0

    def add(self, stream: StreamId, first: int, count: int, source: PeerId) -> None:
        """Note that events came from a process and were refused; the oldest make room."""
        for number in range(first, first + min(count, REFUSED_MAX)):
            senders = self._streams.setdefault(stream, {}).setdefault(number, {})
            self._events += not senders
            if len(senders) < REFUSED_BY:
                senders[source] = None
            if self._events > REFUSED_MAX:
                self._forget_oldest()

    def clear(self) -> None:
        """Forget all: this process's clock was set, and what was out of time may be in time."""
        self._streams.clear()
        self._events = 0

    def without(
        self, stream: StreamId, ranges: list[tuple[int, int]], holder: PeerId | None = None
    ) -> list[tuple[int, int]]:
        """Return ranges of a stream, as (start, stop), without what is not to be asked for.

        That is what `holder` has sent in vain, or enough others.
        """
        refused = self._streams.get(stream)
        if refused is None:
            return ranges
        vain = sorted(n for n, s in refused.items() if holder in s or len(s) >= REFUSED_BY)
        left: list[tuple[int, int]] = []
        for start, stop in ranges:
            for number in vain:
                if start <= number < stop:
                    left.append((start, number))
                    start = number + 1
            left.append((start, stop))
        return [(start, stop) for start, stop in left if start < stop]

    def _forget_oldest(self) -> None:
        stream, refused = next(iter(self._streams.items()))
        del refused[next(iter(refused))]
        self._events -= 1
        if not refused:
            del self._streams[stream]
