"""Coroutines of a discovery on virtual time (`Waiting`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Hashable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from camcast.virtual.event_queue import EventQueue
from camcast.vocabulary.clock import Clock

ResultT = TypeVar("ResultT")


class _Pause:
    """Awaited, it gives its seconds to whatever steps the coroutine."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self._seconds


class VirtualWaiting:
    """Steps the coroutines of one process on the queue of its network.

    `finish(name, outcome)` takes each outcome; `alive()` says whether the process is, without which
    nothing of its coroutines runs any more. `names` has the addresses of each first contact that is
    configured by a host name.
    """

    def __init__(
        self,
        queue: EventQueue,
        clock: Clock,
        alive: Callable[[], bool],
        finish: Callable[[tuple[Hashable, ...], object], None],
        names: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        self._names = names
        self._queue, self._clock, self._alive, self._finish = queue, clock, alive, finish

    def start(self, coroutine: Coroutine[Any, Any, Any], *name: Hashable) -> None:
        """See `Waiting`."""
        self._step(coroutine, name)

    async def sleep(self, seconds: float) -> None:
        """See `Waiting`."""
        await _Pause(seconds)

    async def call(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """See `Waiting`."""
        return function(*arguments)

    async def look_up(self, named: str) -> tuple[str, ...]:
        """See `Waiting`; it takes no time."""
        if named not in self._names:
            raise OSError(f"the virtual network knows no {named}")
        return self._names[named]

    def wall(self) -> float:
        """See `Waiting`."""
        return self._clock.wall(self._queue.now)

    def _step(self, coroutine: Coroutine[Any, Any, Any], name: tuple[Hashable, ...]) -> None:
        try:
            seconds = coroutine.send(None)
        except StopIteration as end:
            self._queue.after(0.0, self._finish, name, end.value)
        except Exception as error:  # it is the discovery's, which takes it
            self._queue.after(0.0, self._finish, name, error)
        else:
            if isinstance(seconds, float | int):
                self._queue.after(seconds, self._go_on, coroutine, name)
            else:
                coroutine.close()
                wrong = TypeError(f"on virtual time only `sleep` and `call` wait, not {seconds!r}")
                self._queue.after(0.0, self._finish, name, wrong)

    def _go_on(self, coroutine: Coroutine[Any, Any, Any], name: tuple[Hashable, ...]) -> None:
        if self._alive():
            self._step(coroutine, name)
        else:
            coroutine.close()
