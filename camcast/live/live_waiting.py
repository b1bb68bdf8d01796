"""Coroutines of a discovery as tasks of the event loop (`Waiting`)."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from camcast.inbox.own_exceptions import is_for_task
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.printable import shown
from camcast.vocabulary.refused_threads import refused_threads_as

ResultT = TypeVar("ResultT")


class LiveWaiting:
    """Runs the coroutines of one process; `finish(name, outcome)` takes each outcome."""

    def __init__(
        self, clock: Clock, finish: Callable[[tuple[Hashable, ...], object], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock, self._finish = clock, finish
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, Any], *name: Hashable) -> None:
        """See `Waiting`."""
        task = self._loop.create_task(_ended(coroutine))
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, name))

    async def sleep(self, seconds: float) -> None:
        """See `Waiting`."""
        await asyncio.sleep(seconds)

    async def call(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """See `Waiting`; a thread that never returns keeps neither the loop nor the process."""
        outcome: asyncio.Future[ResultT] = self._loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if outcome.done():  # cancelled meanwhile
                return
            if error is None:
                outcome.set_result(result)
            else:
                outcome.set_exception(error)

        def run() -> None:
            result: Any = None
            failed: BaseException | None = None
            try:
                result = function(*arguments)
            except StopIteration as error:  # which no coroutine may raise
                failed = RuntimeError(f"{shown(function)} raised {shown(error)}")
            except BaseException as error:  # the coroutine gets it
                failed = error
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(settle, result, failed)

        with refused_threads_as(_no_thread):
            Thread(target=run, name="camcast discovery", daemon=True).start()
        return await outcome

    async def look_up(self, named: str) -> tuple[str, ...]:
        """See `Waiting`; the resolver of the operating system knows the names."""
        host, _, port = named.removeprefix("tcp://").rpartition(":")
        try:
            with refused_threads_as(_no_thread):
                found = await self._loop.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
        except UnicodeError as error:  # by Python, for an empty or long label
            raise OSError(f"{host!r} is no host name: {error}") from error
        hosts = [str(one[4][0]) for one in found]
        return tuple(f"tcp://[{h}]:{port}" if ":" in h else f"tcp://{h}:{port}" for h in hosts)

    def wall(self) -> float:
        """See `Waiting`."""
        return self._clock.wall(self._loop.time())

    async def drain(self, timeout_seconds: float) -> None:
        """Wait for what is under way, such as a withdrawal."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_seconds)

    def close(self) -> None:
        """Cancel what is under way."""
        for task in self._tasks:
            task.cancel()

    def _done(self, name: tuple[Hashable, ...], task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._finish(name, task.result())


def _no_thread(why: str) -> OSError:
    """Return the error of a resource that is missing, which is no fault of the discovery's."""
    return OSError(errno.EAGAIN, why)


async def _ended(coroutine: Coroutine[Any, Any, Any]) -> object:
    """Return what a coroutine returns or raises, unless its task is cancelled.

    What is no `Exception` would end the loop, or nobody would hear of it.
    """
    try:
        return await coroutine
    except Exception as error:
        return error
    except BaseException as error:
        if is_for_task(error):
            raise
        return RuntimeError(f"a coroutine of the discovery raised {shown(error)}")
