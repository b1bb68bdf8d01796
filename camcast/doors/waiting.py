"""The door of waiting: how a driver runs the coroutines of a discovery.

A discovery that asks a file system, a name server or a registry has to wait, and a synchronous
state machine cannot. It gives the driver a coroutine instead, and gets the outcome as a later
input (`Discovery.finished`). Live, coroutines are tasks of the event loop; in a virtual network
they run on virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Protocol, TypeVar

ResultT = TypeVar("ResultT")


class Waiting(Protocol):
    """Runs the coroutines of the discovery of one process."""

    def start(self, coroutine: Coroutine[Any, Any, Any], *name: Hashable) -> None:
        """Run a coroutine; `Discovery.finished` takes its outcome under this name.

        That comes after the input that started it. When the process closes, it is cancelled.
        """

    async def sleep(self, seconds: float) -> None:
        """Wait; live and in virtual networks, which know no other timer."""

    async def call(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Return what a function returns that may block: in a thread of its own, if live.

        A virtual network calls it at once.
        """

    def wall(self) -> float:
        """Return the seconds since 1970; in virtual networks, virtual ones."""
