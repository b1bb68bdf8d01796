"""What has changed of late in a community's streams, and is told as news."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from camcast.engine.known_streams import KnownRanges
from camcast.vocabulary.events import StreamId

NEWS_SECONDS: Final = 1.0  # [PROTOCOLS 8] news are told so long after something came
# chosen: what comes between two rounds is told in both. What comes in quiet begins the rounds and
# is told in the first alone, for the second comes when this is over: 13 % of the members are told
# by nobody, and learn it from the hash. Measured, 50 members, 30 % loss: to tell it twice takes
# half as many messages again, and at c = 5 nothing comes sooner (99.9 % within 0.2 s); at c = 0 the
# p99 is 4.3 s in place of 6.3 s.
TOLD_AGAIN: Final = 2
CLIMBING_SECONDS: Final = 8.0  # chosen: at 0, 1, 3 and 7 s, so that a short cut is outlived
_NEWS_AGE_MAX: Final = TOLD_AGAIN * NEWS_SECONDS
_CLIMBING_AGES: Final = (0, 1, 3, 7)
REMEMBERED_SECONDS: Final = 1800.0  # [PROTOCOLS 8] (stream, top) is remembered for 30 minutes

FindRanges = Callable[[StreamId], KnownRanges | None]


class Changes:
    """The streams of one community, by how long they have been quiet.

    A stream that has changed within two rounds of news is *recent*, then it is *settled*, and for
    some seconds it may be *climbing* as well.
    """

    def __init__(self, find: FindRanges) -> None:
        self._find = find
        self.recent: dict[StreamId, KnownRanges] = {}
        self._settled: dict[StreamId, None] = {}  # the oldest first
        self._climbing: dict[StreamId, KnownRanges] = {}
        self.brought: dict[StreamId, float] = {}
        """The streams of which this process brought something into the community, while they
        climb, and when the oldest of it was published that this process takes for others only;
        else infinite."""
        self._looked = -inf  # when the round of news before was

    def note(self, stream: StreamId, known: KnownRanges) -> None:
        """Note that something new came of a stream."""
        if stream not in self.recent:
            self.recent[stream] = known
            self._settled.pop(stream, None)

    def take_news(self, now: float) -> tuple[list[StreamId], list[list[StreamId]]]:
        """Return what to tell the neighbours, and what to tell upward, in this round.

        The latter is told several times, and is given by how often it was told before. A round
        that is late, after a pause of this process, skips all times but the last that was due.
        """
        news = [s for s, known in self.recent.items() if now - known.heard < _NEWS_AGE_MAX]
        upward: list[list[StreamId]] = [[] for _ in _CLIMBING_AGES]
        for stream, known in (self._climbing | self.recent).items():
            quiet = now - known.heard
            times = bisect_right(_CLIMBING_AGES, quiet / NEWS_SECONDS)
            if known.heard + _CLIMBING_AGES[times - 1] * NEWS_SECONDS > self._looked:
                upward[times - 1].append(stream)
            if quiet >= CLIMBING_SECONDS:
                self._climbing.pop(stream, None)
                self.brought.pop(stream, None)
            if stream in self.recent and quiet >= _NEWS_AGE_MAX:
                del self.recent[stream]
                self._climbing[stream] = known
                self._settled[stream] = None
        self._looked = now
        self._forget(now)
        return news, upward

    @property
    def active(self) -> bool:
        """Whether there is something that a later round has to tell."""
        return bool(self.recent or self._climbing)

    def newest_first(self) -> Iterator[StreamId]:
        """Yield all streams that are remembered."""
        yield from reversed(self.recent)
        yield from reversed(self._settled)

    def _forget(self, now: float) -> None:
        """Forget the streams that have been quiet for long, or are not known any more."""
        while self._settled:
            stream = next(iter(self._settled))
            known = self._find(stream)
            if known is not None and now - known.heard <= REMEMBERED_SECONDS:
                return
            del self._settled[stream]
