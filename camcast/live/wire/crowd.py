"""The *crowd*: output pipes that are more than half full, for whose room publishers wait.

Theory of operation
-------------------
Only a publisher may wait: if forwarding did, two processes could stop each other. A publisher waits
for *slow* pipes alone: those that are more than half full, lead to a peer of its own first hop, and
sent something in the last `MOVES_SECONDS`. A pipe that stands still leads to a peer that is stopped
or gone. Nobody waits for that peer, and records beyond the bound of its queue are dropped; so one
stopped peer delays a publisher by `MOVES_SECONDS`, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from camcast.doors.transport import PipeLimits
from camcast.live.wire.output_pipe import OutputPipe
from camcast.vocabulary.identity import Contact

MOVES_SECONDS: Final = 0.25  # chosen: a pipe that moved so recently is worth waiting for


class Crowd:
    """See the module's theory of operation.

    `pipes` are those that were more than half full when a record came, by address.
    """

    def __init__(self, limits: PipeLimits, loop: asyncio.AbstractEventLoop) -> None:
        self.pipes: dict[str, OutputPipe] = {}
        self.records_max = limits.queue_records_max // 2
        self.bytes_max = limits.queue_bytes_max // 2
        self._limits = limits
        self._loop = loop
        self._waiters: list[asyncio.Future[None]] = []

    def renew(self, pipe: OutputPipe) -> None:
        """Take note that less waits in a pipe of the crowd, or that it was closed."""
        if len(pipe.records) <= self.records_max and pipe.waiting <= self.bytes_max:
            self.pipes.pop(pipe.address, None)
            self._wake()

    def has_room(self, contacts: Iterable[Contact], size: int) -> bool:
        """Say whether a record of so many bytes finds room in the pipes to these processes.

        There is none if all the pipes are full, or a full one still moves.
        """
        limits = self._limits
        full = {
            address: pipe
            for address, pipe in self.pipes.items()
            if pipe.waiting + size > limits.queue_bytes_max
            or len(pipe.records) >= limits.queue_records_max
        }
        if not full:
            return True
        room, now = False, self._loop.time()
        for contact in contacts:
            pipe = full.get(contact.address)
            if pipe is None:
                room = True
            elif now - pipe.moved <= MOVES_SECONDS:
                return False
        return room

    async def wait(self, contacts: Callable[[], Sequence[Contact]], timeout_seconds: float) -> None:
        """Wait until no pipe to these processes is slow, or until the time is over."""
        end = self._loop.time() + timeout_seconds
        while (slow := self._slow(contacts())) and self._loop.time() < end:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            stands_still = min(pipe.moved for pipe in slow) + MOVES_SECONDS
            timer = self._loop.call_at(min(end, stands_still), self._wake)
            try:
                await waiter
            finally:
                timer.cancel()

    def _slow(self, contacts: Sequence[Contact]) -> list[OutputPipe]:
        since = self._loop.time() - MOVES_SECONDS
        moving = {address: pipe for address, pipe in self.pipes.items() if pipe.moved > since}
        if not moving:
            return []
        return [moving[c.address] for c in contacts if c.address in moving]

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
