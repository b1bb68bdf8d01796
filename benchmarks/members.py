"""Members: the nodes of one system that one OS process runs, for a fleet to give orders to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from attrs import frozen


@frozen
class Share:
    """Which of a fleet's nodes one process runs."""

    nodes: int
    first: int
    """The number of its first node in the fleet."""
    fleet: int
    """How many nodes all processes together run."""
    seed: int


class Members(ABC):
    """Nodes of one system, each subscribed to the one topic that there is.

    `on_event` takes the payload of every delivery, at whatever node and in whatever thread.
    """

    def __init__(self) -> None:
        self.on_event: Callable[[bytes], None] = lambda _payload: None

    @abstractmethod
    async def start(self, share: Share, known: list[str]) -> list[str]:
        """Start the nodes; return what others need to know to reach them.

        `known` is the server's address if the system has a server, or what the processes that
        were started before have returned; empty for the first.
        """

    @abstractmethod
    async def settle(self, everybody: list[str]) -> None:
        """Wait until the nodes are ready; `everybody` is what all processes have returned."""

    @abstractmethod
    async def publish(self, payload: bytes, node: int) -> None:
        """Publish from a node of this process; the first is 0."""

    async def flush(self) -> None:  # noqa: B027  # most send at once
        """See to it that what was published is on its way."""

    def counts(self) -> dict[str, int]:
        """Return what was sent so far, by name; empty if the system does not say."""
        return {}

    def facts(self) -> dict[str, float]:
        """Return what else is worth reporting, by name."""
        return {}

    @abstractmethod
    async def close(self) -> None:
        """End the nodes."""
