"""How late events come that nothing has lost, since processes are short of CPU or links are full.

What lies in a queue for seconds looks missing: n+1 has come, a neighbour tells of it, the tallies
of two neighbours differ. To ask for it, and to tell all that one knows, makes the queue longer, and
a machine that is too slow for its events ends up repairing. So repair waits in proportion to what
it sees: how long a hole was there before an ordinary copy filled it.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Final

from attrs import define

from camcast.engine.repair.agreement import LAG_SECONDS

REORDER_SECONDS: Final = 0.2  # [PROTOCOLS 8] by then most of what was overtaken has come
REORDER_SECONDS_MAX: Final = 5.0  # chosen: half of the time after which a hole may be given up
LATE_SECONDS_MAX: Final = 5.0  # chosen: a forger can make repair as much slower, and no more
_FACTOR: Final = 2  # chosen: what is as late as ever is not asked for; TCP waits longer still
_HALF_SECONDS: Final = 10.0  # chosen: what is late for longer than that shows so again


@define
class Lateness:
    """How late the latest events of this process were of late: a maximum that decays by half."""

    _late: float = 0.0
    _at: float = -inf

    def came(self, seconds: float, now: float) -> None:
        """Note that what was missing came by itself, so many seconds after that was noticed."""
        self._late = max(min(seconds, LATE_SECONDS_MAX), self._now(now))
        self._at = now

    def reorder_seconds(self, now: float) -> float:
        """Return for how long to wait for what others have overtaken before it is asked for."""
        return min(max(REORDER_SECONDS, _FACTOR * self._now(now)), REORDER_SECONDS_MAX)

    def second(self, since_1970: float, now: float) -> int:
        """Return up to which second since 1970 all that was published is here, unless it is lost.

        The tallies of neighbours go so far. `since_1970` is the time when the clock was at 0.
        """
        return int(since_1970 + now) - LAG_SECONDS - self.lag(now)

    def lag(self, now: float) -> int:
        """Return by how many seconds more than usual the tallies of neighbours are to lag."""
        late = _FACTOR * self._now(now)
        return 0 if late < 1.0 else ceil(late)

    def _now(self, now: float) -> float:
        return self._late and self._late * 0.5 ** ((now - self._at) / _HALF_SECONDS)
