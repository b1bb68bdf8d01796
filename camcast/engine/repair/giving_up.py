"""Giving up: which holes nobody fills any more, and the subscribers are told of as `Missed`.

A hole that is older than the retention, or that three neighbours have passed and keep nothing of
(`camcast.engine.repair.lack`) ten seconds after it was noticed, is told to the subscribers as
`Missed`, and not asked for again. A neighbour that never had it says nothing of those who are cut
off and may bring it: only one that had it, and keeps it no more, shows that it is too old. What is
given up does not count as known, so that an event which comes all the same is delivered: a forged
jump makes a false `Missed` at worst, and silences nobody. What was published before this process
became a member is not missed; the age of a stream, which `Have` tells, says so, and each batch that
is older: all that its publisher said before it is older as well. What seems to be from just after
that time may be from before, since no age counts the ways of the messages that tell it: that is not
told either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.history import History
from camcast.engine.repair.lack import Lack, missing_of
from camcast.engine.repair.news import News
from camcast.engine.repair.shared import JOINING_SECONDS, Shared
from camcast.vocabulary.events import Missed, StreamId

GIVE_UP_SECONDS: Final = 10.0  # [issue 14] by then what a partition held back is there


class GivingUp:
    """Tells of what cannot be had any more."""

    def __init__(
        self,
        shared: Shared,
        news: News,
        history: History,
        tell_missed: Callable[[Missed, float], None],
    ) -> None:
        self.told_missed = 0
        """The events that were given up, and of which subscribers were told."""
        self._shared = shared
        self._news = news
        self._history = history
        self._tell_missed = tell_missed

    def look(
        self, stream: StreamId, lack: Lack, known: KnownRanges | None, neighbours: int, now: float
    ) -> None:
        """Tell of what cannot be had any more, and do not ask for it again."""
        member = self._shared.member_since
        wants_history = self._history.asked(now) > 0
        if not wants_history and (known is None or (known.low == 1 and known.bounds)):
            # Who keeps all from before this process's time would have offered what is not older.
            # But one that has taken this process for younger does not, and another may offer it.
            before = max((p.below for p in lack.passed.values() if p.kept <= member), default=1)
            offers = (missing_of(one.held, known) for one in lack.holders)
            before = min([before, *(missing[0][0] for missing in offers if missing)])
            if known is None:
                lack.before = max(lack.before, before)
            else:
                known.floor = max(known.floor, min(before, known.bounds[0]))
        out_of_reach = 0
        if now - lack.since > self._shared.retention:
            out_of_reach = 1 if known is None else known.stop
        if now - lack.since > GIVE_UP_SECONDS:
            out_of_reach = max(out_of_reach, lack.out_of_reach(neighbours))
        if out_of_reach <= (1 if known is None else known.floor):
            return
        # Who keeps everything since before this process was a member would have offered it.
        lived_longer = all(one.kept > member for one in lack.passed.values())
        joined = member + JOINING_SECONDS
        in_my_time = lived_longer and any(p.begun > joined for p in lack.passed.values())
        if known is None:
            if not in_my_time:
                return
            known = self._shared.streams.introduce(stream, self._shared.context.me.peer, now)
            if known is None:
                return
        start = max(known.floor, known.before)
        for first, stop in known.missing(start, out_of_reach - start):
            if in_my_time or (lived_longer and first > 1):
                self.told_missed += stop - first
                self._tell_missed(Missed(stream, self._shared.context.group, first, stop - 1), now)
        known.floor = out_of_reach
        self._news.note(stream, known, now)
