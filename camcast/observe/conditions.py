"""Conditions: what is wrong with a process, since when, and what to do about it, from one table.

Theory of operation
-------------------
`camcast.observe.condition_table` has a row for each condition. A `Watch` gets one snapshot after
the other, every `LOOK_SECONDS` and whenever somebody asks for one. A condition *begins* with its
first sight, *lasts* once it has been seen for the `after_seconds` of its row, and is *over* at the
first snapshot that does not show it. It is then history, which is kept for `HISTORY_SECONDS`. The
log, ``camcast doctor``, ``camcast status``, the
metrics, the dashboard and the readiness of the process all come from the watch.

*Cause before consequence.* A row names the conditions that it explains. While both last, the
explained one has the name of its cause, and is no warning of its own; nor is what the cause leaves
behind for `FADES_SECONDS` after its end, since a gateway that did not answer is asked again only
after some 10 s. The rows of causes stand above those of their consequences.

*Who is told.* The application gets a `Change` when a condition begins to last that nothing
explains, and one when it is over.

A row with a `level` is logged: once when the condition lasts, with what to do, and once when it is
over. Rows without one are of faults that are logged in more detail where they happen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final

from attrs import define

from camcast.observe.condition_table import FADES_SECONDS, TABLE, Past, Row, Sight, utc
from camcast.observe.stats import ConditionStats, Stage, Stats
from camcast.vocabulary.happenings import ConditionKind
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

HISTORY_SECONDS: Final = 3600.0  # chosen: what was wrong in the night is for a trace, not for this
HISTORY_MAX: Final = 64  # chosen: more than rows; what flaps for an hour fills no memory


@define
class _Condition:
    """A condition of the process, from its first sight on."""

    row: Row
    sight: Sight
    began: float
    """When it was seen first, and last, in seconds since the process started."""
    seen: float
    lasts: bool = False
    told: bool = False
    """Whether it was told as wrong."""
    logged: bool = False
    """Whether its beginning was logged as more than a consequence."""
    because: str | None = None
    explained: float = -inf
    """When it was explained last."""

    def counts(self, now: float) -> bool:
        """Say whether it lasts, and is more than what a cause that has just ended leaves behind."""
        left_behind = self.because is None and now - self.explained < FADES_SECONDS
        return self.lasts and not left_behind


Tell = Callable[[ConditionKind, str, Sight], None]
"""Takes a condition that begins to last, or is over: its name, and what was seen of it last."""


class Watch:
    """The conditions of one process, by the snapshots that it is given.

    `tell` is told of those that nothing explains.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._past = Past()
        self._seen: dict[tuple[str, str], _Condition] = {}
        """The conditions that the last snapshot showed, by their name and what they are about."""
        self._over: deque[_Condition] = deque(maxlen=HISTORY_MAX)

    def look(self, stats: Stats) -> tuple[ConditionStats, ...]:
        """Take a snapshot; log what begins to last and what is over; return the conditions.

        Those that are seen come first, causes above consequences, then history, the latest first.
        """
        past = self._past
        past.now = stats.up_seconds
        before, self._seen = self._seen, {}
        for row in TABLE:
            for sight in row.test(stats, past):
                key = row.name, sight.about
                condition = before.pop(key, None) or _Condition(row, sight, past.now, past.now)
                condition.sight, condition.seen = sight, past.now
                condition.lasts |= past.now - condition.began >= row.after_seconds
                self._seen[key] = condition
        for condition in self._seen.values():
            condition.because = self._cause_of(condition.row.name)
            if condition.because:
                condition.explained = past.now
            self._log_beginning(condition, stats)
            if condition.counts(past.now) and not condition.because and not condition.told:
                condition.told = True
                self._tell_of(condition, "wrong")
        for condition in before.values():
            if condition.lasts:
                self._over.appendleft(condition)
                self._log_end(condition, stats)
            if condition.told:
                self._tell_of(condition, "right")
        while self._over and past.now - self._over[-1].seen > HISTORY_SECONDS:
            self._over.pop()
        return (
            *(
                _as_stats(one, "lasting" if one.counts(past.now) else "beginning", stats)
                for one in self._seen.values()
            ),
            *(_as_stats(one, "over", stats) for one in self._over),
        )

    def _tell_of(self, condition: _Condition, kind: ConditionKind) -> None:
        if self._tell is not None:
            self._tell(kind, condition.row.name, condition.sight)

    def _cause_of(self, name: str) -> str | None:
        """Return the condition that explains another one, of those that are seen."""
        rows = {one.row.name: one.row for one in self._seen.values()}
        return next((row.name for row in rows.values() if name in row.explains), None)

    def _log_beginning(self, condition: _Condition, stats: Stats) -> None:
        level = condition.row.level
        is_due = condition.counts(self._past.now) and not condition.because
        if condition.logged or level is None or not is_due:
            return
        condition.logged = True
        sight, since = condition.sight, _wall(condition.began, stats)
        said = f"{condition.row.name}: {sight.says} (since {utc(since)}); {sight.do}"
        _log.log(level, "%s", said, extra={"camcast": _fields(condition, since, None)})

    def _log_end(self, condition: _Condition, stats: Stats) -> None:
        if not condition.logged:
            return
        assert condition.row.level is not None
        lasted = self._past.now - condition.began
        about = f" of {condition.sight.about}" if condition.sight.about else ""
        said = f"{condition.row.name}{about} is over, after {lasted:.0f} s"
        fields = _fields(condition, _wall(condition.began, stats), lasted)
        _log.log(condition.row.level, "%s", said, extra={"camcast": fields})


def _fields(condition: _Condition, since: float, lasted: float | None) -> dict[str, object]:
    fields: dict[str, object] = {"event": "condition", "condition": condition.row.name}
    fields |= {"about": condition.sight.about, "since": since, "do": condition.sight.do}
    return fields if lasted is None else fields | {"seconds": lasted}


def _as_stats(condition: _Condition, stage: Stage, stats: Stats) -> ConditionStats:
    row, sight = condition.row, condition.sight
    return ConditionStats(
        name=row.name,
        about=sight.about,
        stage=stage,
        ok=row.ok,
        says=sight.says,
        do=sight.do,
        because=condition.because,
        since=_wall(condition.began, stats),
        seen=_wall(condition.seen, stats),
        unready=row.unready,
    )


def _wall(when: float, stats: Stats) -> float:
    """Return the seconds since 1970 at a time in seconds since the process started."""
    return stats.taken - stats.up_seconds + when
