"""What has begun and what has failed on a virtual loop, so that nothing is lost.

Theory of operation
-------------------
asyncio tells of an exception that nobody retrieved, and of a task that is still pending, when
the garbage collector frees it: at some time, or never. Here a *watch* holds on to every task
from its beginning and to every future from its failure, in order, and forgets in batches those
that are over and about which nothing is left to say. The same goes for asynchronous generators:
they are closed in the order of their first steps, and never by the garbage collector.

Failures are of two kinds. What is *urgent* comes from a callback and is raised when that has
ended. What is *late* is an exception that somebody might still retrieve: it is raised when the
watch is asked. What belongs to a host that has crashed is of no interest.

asyncio keeps tasks in sets (`wait`, `TaskGroup`, `all_tasks`), whose order is that of memory
addresses. Tasks and futures of the loop are hashed by a number instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import AsyncGeneratorType
from typing import Any, Final

from camcast.simulation.virtual_asyncio.datagrams import HOST, Host

_TOLD_MAX: Final = 20  # chosen: a message about stalled tasks fits on a screen
_SWEEP_MIN: Final = 1024  # chosen: what is over is forgotten in batches; a megabyte or so
_CLOSE_MAX: Final = 8  # chosen: `finally`s that await, nested so deep, in one coroutine

Failure = tuple[str, BaseException | None]


class UnhandledError(RuntimeError):
    """Something failed in the simulation, and nobody handled it; the cause is the first."""


class StalledError(RuntimeError):
    """What the run waits for does not come; the message says which tasks wait, and where."""


class DeadlockError(StalledError):
    """Nothing is to come."""


class TimeLimitError(StalledError):
    """Too much virtual time has passed."""


class LivelockError(StalledError):
    """Too much happens at one instant: something polls, and time cannot pass."""


class VirtualFuture(asyncio.Future[Any]):
    """A future whose failure is watched, and whose place in a set can be reproduced."""

    def __init__(
        self, number: int, watch: Callable[[VirtualFuture], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._number = number  # first: asyncio may hash what is being made
        self._watch = watch
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number

    def set_exception(self, exception: Any, /) -> None:
        """See `asyncio.Future`."""
        super().set_exception(exception)
        self._watch(self)


class VirtualTask(asyncio.Task[Any]):
    """A task whose place in a set can be reproduced."""

    def __init__(self, coro: Any, number: int, **options: Any) -> None:
        self._number = number  # first, as above
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


def where(task: asyncio.Task[Any]) -> Iterator[str]:
    """Yield the lines where a task waits, from the outermost one inwards."""
    coroutine: Any = task.get_coro()
    while coroutine is not None:
        kind = next((k for k in ("cr", "gi", "ag") if hasattr(coroutine, f"{k}_frame")), None)
        frame = kind and getattr(coroutine, f"{kind}_frame")
        if not frame:
            return
        yield f'File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {coroutine.__name__}'
        coroutine = getattr(coroutine, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")


class Watch:
    """The tasks, futures and asynchronous generators of a loop, and what has failed."""

    def __init__(self) -> None:
        self.urgent: list[Failure] = []
        """What has failed since the last callback began."""
        self.late: list[Failure] = []
        """What has failed without anybody's notice."""
        self._futures: list[tuple[asyncio.Future[Any], Host | None]] = []
        self._futures_sweep = _SWEEP_MIN
        self._generators: list[tuple[AsyncGeneratorType[Any, Any], Host | None]] = []
        self._generators_sweep = _SWEEP_MIN

    def add(self, future: asyncio.Future[Any], host: Host | None) -> None:
        """Watch a task from its beginning, or a future from its failure."""
        self._futures.append((future, host))
        if len(self._futures) >= self._futures_sweep:
            # asyncio's own mark: there is an exception, and nobody has retrieved it.
            self._futures = [(f, h) for f, h in self._futures if not f.done() or f._log_traceback]
            self._futures_sweep = max(_SWEEP_MIN, 2 * len(self._futures))

    def add_failed(self, future: asyncio.Future[Any]) -> None:
        """Watch a future that has failed just now."""
        self.add(future, HOST.get())

    def add_generator(self, generator: Any) -> None:
        """Watch an asynchronous generator from its first step; a hook of the interpreter."""
        self._generators.append((generator, HOST.get()))
        if len(self._generators) >= self._generators_sweep:
            self._generators = [(g, h) for g, h in self._generators if g.ag_frame is not None]
            self._generators_sweep = max(_SWEEP_MIN, 2 * len(self._generators))

    def drop_generator(self, _generator: Any) -> None:
        """Do nothing: the watch has let go of the generator, or it has ended; a hook, too."""

    def pop_generator(self) -> AsyncGeneratorType[Any, Any] | None:
        """Return the next generator to be closed."""
        while self._generators:
            generator, host = self._generators.pop(0)
            if host is None or host.alive:
                return generator
        return None

    def pending(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of living hosts that are not over, in order of their beginning."""
        return [task for task, host in self._unfinished() if host is None or host.alive]

    def who_waits(self) -> list[str]:
        """Return lines that tell which tasks wait, and where."""
        pending = self.pending()
        lines = [f"{len(pending)} tasks wait:"]
        for task in pending[:_TOLD_MAX]:
            lines += [f"  {task.get_name()}", *(f"    {line}" for line in where(task))]
        if len(pending) > _TOLD_MAX:
            lines.append(f"  and {len(pending) - _TOLD_MAX} more")
        crashed = sum(1 for _, host in self._unfinished() if host is not None and not host.alive)
        if crashed:
            lines.append(f"{crashed} tasks stand still, since their hosts have crashed")
        return lines

    def _unfinished(self) -> Iterator[tuple[asyncio.Task[Any], Host | None]]:
        for future, host in self._futures:
            if isinstance(future, asyncio.Task) and not future.done():
                yield future, host

    def unretrieved(self) -> Iterator[dict[str, Any]]:
        """Yield, as asyncio's exception handlers are told, each lost exception once."""
        for future, host in list(self._futures):
            if not (future.done() and future._log_traceback) or (host and not host.alive):
                continue
            error = future.exception()  # which also marks it as retrieved
            if not isinstance(error, KeyboardInterrupt | SystemExit):  # they passed through
                kind = "Task" if isinstance(future, asyncio.Task) else "Future"
                message = f"{kind} exception was never retrieved"
                yield {"message": message, "exception": error, kind.lower(): future}

    def note(self, context: dict[str, Any]) -> None:
        """Note a failure of which the loop is told."""
        what = context.get("message") or "Unhandled exception in event loop"
        # That of a bare future, as of a `gather`, comes from its destructor: at any time.
        failures = self.late if "never retrieved" in what else self.urgent
        task = context.get("task")
        if task is not None:
            what += f" ({task.get_name()}, {getattr(task.get_coro(), '__qualname__', '?')})"
        failures.append((what, context.get("exception")))

    def take(self, *, late: bool) -> list[Failure]:
        """Return the urgent failures, and also the late ones; they are not told again."""
        failures = self.urgent[:]
        self.urgent.clear()
        if late:
            failures += self.late
            self.late.clear()
        return failures

    def bury(self) -> None:
        """End the coroutines in order; the garbage collector would, in an order of its own."""
        for task, _ in list(self._unfinished()):
            coroutine: Any = task.get_coro()
            for _ in range(_CLOSE_MAX):
                try:
                    coroutine.close()
                    break
                except (Exception, asyncio.CancelledError):
                    continue  # a `finally` that awaits, or that needs the loop
        self._futures.clear()
        self._generators.clear()


def raise_unhandled(now: float, failures: list[Failure]) -> None:
    """Raise UnhandledError if there are failures."""
    if failures:
        lines = [f"{what}: {error!r}" if error else what for what, error in failures]
        text = "\n  ".join([f"t={now:.6f} s, and nobody has handled:", *lines])
        raise UnhandledError(text) from next((e for _, e in failures if e is not None), None)
