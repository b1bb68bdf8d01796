"""The steps of walks that a process has taken, so that a duplicate starts no second walk."""

from __future__ import annotations

from typing import Final

from camcast.vocabulary.identity import PeerId

# chosen: a process takes 6 steps a second while 200 renew their arcs (n = 200, c = 2), and 270
# while 600 join within one: a duplicate is recognised for a second at the worst. 50 kB.
STEPS_REMEMBERED: Final = 256

WALK_BITS: Final = 32  # chosen: a walk's random name must differ within one subscriber's walks


class WalkSteps:
    """The latest steps of walks that one process has taken.

    A walk may pass a process several times, but each time has another number of steps left.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[PeerId, int, int], None] = {}  # ordered: the oldest goes first

    def first_time(self, subscriber: PeerId, walk: int, left: int) -> bool:
        """Note a step; return False if it was taken before."""
        step = (subscriber, walk, left)
        if step in self._taken:
            return False
        if len(self._taken) >= STEPS_REMEMBERED:
            del self._taken[next(iter(self._taken))]
        self._taken[step] = None
        return True
