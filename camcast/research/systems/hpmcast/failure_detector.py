"""Failure detection by stamps, for the processes in hpmcast's tables (002, 6.1.3).

A line's stamp rises once a period while somebody is there. Where it has not risen for
`suspect_after` periods the line is *overdue*, and asked about; `PATIENCE` periods later it is
*gone*. A subsystem is given up likewise, level for level later, for its own processes have to
notice first, and to elect another delegate. The gone are remembered for a while, lest who has not
heard of it brings them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define

from camcast.research.systems.hpmcast.address import Address, branch
from camcast.research.systems.hpmcast.view_tables import Entry, Tables

PATIENCE: Final = 2  # chosen: periods for an answer before a neighbour is removed
GONE_PERIODS: Final = 60  # chosen: how long the gone are remembered; gossip spreads in ten


@define(eq=False)
class Silence:
    """One process's view of the silence of others, whose lines are in its tables."""

    _period_seconds: float
    _suspect_after: int
    """Periods without a newer stamp until a neighbour is overdue."""
    _last_period: float = 0.0

    def begin(self, now: float) -> None:
        """Begin the first period."""
        self._last_period = now

    def forgive_pause(self, tables: Tables, now: float) -> None:
        """Begin a period: after a pause of this very process nobody's silence counts."""
        paused = now - self._last_period - self._period_seconds
        self._last_period = now
        if paused > 2 * self._period_seconds:
            for _, _, entry in tables.entries():
                entry.heard = min(now, entry.heard + paused)

    def bury(self, tables: Tables, now: float) -> None:
        """Remove the lines of who is gone, and forget who has been gone for long."""
        for level, at, _ in self._silent(tables, now, PATIENCE):
            tables.bury(level, at, now)
        tables.forget(now - GONE_PERIODS * self._period_seconds)

    def overdue(self, tables: Tables, now: float) -> Iterator[tuple[int, Entry]]:
        """Yield the lines to be asked whether they are there, with their levels."""
        for level, _, entry in self._silent(tables, now, 0):
            yield level, entry

    def _silent(
        self, tables: Tables, now: float, longer: int
    ) -> Iterator[tuple[int, Address, Entry]]:
        """Yield lines not heard of; of its own subsystems a process knows that they are there."""
        for level, at, entry in tables.entries():
            periods = self._suspect_after * level + longer
            since = now - periods * self._period_seconds
            if (
                entry.line is not None
                and entry.heard < since
                and at != branch(tables.address, level - 1)
            ):
                yield level, at, entry
