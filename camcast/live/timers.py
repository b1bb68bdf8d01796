"""The timers of one process; patient ones share a wake-up of the event loop.

A process in a hundred communities, each of which sets a timer once a second, would wake a hundred
times a second. A timer of `PATIENT_SECONDS` or more comes up to `TOGETHER_SECONDS` later, with the
others of the same moment, so that such a process wakes 10 times a second. The moments are the same
for all nodes of an operating system's process, so that heartbeats of several nodes to one peer
share a frame: with 150 nodes a frame carries 3.2 of them, and 2.4 where moments were 0.05 s apart,
for three quarters of the CPU.
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
        self._together: dict[int, list[Token]] = {}

    def set(self, delay_seconds: float, token: Token) -> None:
        """Give a token back after a delay."""
        if delay_seconds < PATIENT_SECONDS:
            self._loop.call_later(delay_seconds, self._wake, (token,))
            return
        moment = ceil((self._loop.time() + delay_seconds) / TOGETHER_SECONDS - self._phase)
        tokens = self._together.get(moment)
        if tokens is None:
            tokens = self._together[moment] = []
            self._loop.call_at((moment + self._phase) * TOGETHER_SECONDS, self._come, moment)
        tokens.append(token)

    def close(self) -> None:
        """Give no token back any more, and let go of who takes them."""
        self._wake = lambda _: None  # the loop keeps the handles, some of them for minutes
        self._together.clear()

    def _come(self, moment: int) -> None:
        self._wake(self._together.pop(moment, ()))
