"""The timers of one process; patient ones share a wake-up of the event loop, and give way.

A process in a hundred communities, each of which sets a timer once a second, would wake a hundred
times a second. A timer of `PATIENT_SECONDS` or more comes up to `TOGETHER_SECONDS` later, with the
others of the same moment, so that such a process wakes 10 times a second. The moments are the same
for all nodes of an operating system's process, so that heartbeats of several nodes to one peer
share a frame: with 150 nodes a frame carries 3.2 of them, and 2.4 where moments were 0.05 s apart,
for three quarters of the CPU.

A loop that comes to a moment late is *busy*: it has more to do than it can, with events most of
all, which somebody waits for. Its patient timers are then put off from moment to moment, by
`PUT_OFF_SECONDS` at most. So heartbeats and upkeep, which take half of a core where a process has
five hundred nodes, make room for events as long as that helps: with two processes of 400 nodes,
half of the deliveries took less than 0.08 s, and without this 0.26 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import ceil
from random import random
from typing import Final

from camcast.vocabulary.outbox import Token

PATIENT_SECONDS: Final = 0.5  # chosen: shorter ones repair and retry, and events wait for them
TOGETHER_SECONDS: Final = 0.1  # chosen: the jitter of a second's heartbeats; see above
# chosen: the heartbeats of 50 nodes take as long; those of more then spread over several moments
BUSY_SECONDS: Final = 0.02
# chosen: with a moment's delay less than a period of a second, from which on the liveness service
# takes a late timer for a pause of the process; and a third of the silence that it suspects
PUT_OFF_SECONDS: Final = 0.7
_PUT_OFF_MOMENTS: Final = round(PUT_OFF_SECONDS / TOGETHER_SECONDS)
_PHASE: Final = random()  # no secret
"""The part of `TOGETHER_SECONDS`, from 0 to 1, at which the shared moments lie: by chance, so that
the processes of a machine do not all wake at once."""


class Timers:
    """Gives tokens back when their time has come, in the order of their times.

    `wake` takes the tokens of one moment.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        wake: Callable[[Sequence[Token]], None],
        phase: float = _PHASE,
    ) -> None:
        self._loop = loop
        self._wake = wake
        self._phase = phase
        self._together: dict[int, list[tuple[int, Token]]] = {}
        """By moment: the tokens, each with the moment that it was set for."""

    def set(self, delay_seconds: float, token: Token) -> None:
        """Give a token back after a delay."""
        if delay_seconds < PATIENT_SECONDS:
            self._loop.call_later(delay_seconds, self._wake, (token,))
            return
        moment = ceil((self._loop.time() + delay_seconds) / TOGETHER_SECONDS - self._phase)
        self._put(moment, moment, token)

    def close(self) -> None:
        """Give no token back any more, and let go of who takes them."""
        self._wake = lambda _: None  # the loop keeps the handles, some of them for minutes
        self._together.clear()

    def _put(self, moment: int, set_for: int, token: Token) -> None:
        """Have a token come at a moment, which may be later than the one it was set for."""
        waiting = self._together.get(moment)
        if waiting is None:
            waiting = self._together[moment] = []
            self._loop.call_at(self._time_of(moment), self._come, moment)
        waiting.append((set_for, token))

    def _time_of(self, moment: int) -> float:
        return (moment + self._phase) * TOGETHER_SECONDS

    def _come(self, moment: int) -> None:
        late = self._loop.time() - self._time_of(moment)
        later = moment + 1 + int(late / TOGETHER_SECONDS)
        due: list[Token] = []
        for set_for, token in self._together.pop(moment, ()):
            if late > BUSY_SECONDS and later - set_for <= _PUT_OFF_MOMENTS:
                self._put(later, set_for, token)
            else:
                due.append(token)
        if due:
            self._wake(due)
