"""Conditions: a task waits until something holds of a node's state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Conditions:
    """What tasks wait for; each condition is looked at again after every step of the node."""

    def __init__(self) -> None:
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[bool]]] = []

    def stepped(self) -> None:
        """Wake the tasks whose conditions hold now."""
        for holds, future in self._waiters:
            if not future.done() and holds():
                future.set_result(True)

    async def wait_for(self, holds: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until a condition holds; False if that took longer than `timeout` seconds."""
        if holds():
            return True
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        waiter = holds, future
        self._waiters.append(waiter)

        def expire() -> None:
            if not future.done():
                future.set_result(False)

        timer = None if timeout is None else loop.call_later(timeout, expire)
        try:
            return await future
        finally:
            self._waiters.remove(waiter)
            if timer is not None:
                timer.cancel()
