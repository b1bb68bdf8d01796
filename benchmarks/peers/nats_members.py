"""NATS: Debian's nats-server (Go), and a client of nats-py (asyncio) for each node."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from members import Members, Share

# Any: where types are checked it may be absent.
nats: Any = import_module("nats")

SUBJECT = "bench"
FLUSH_SECONDS_MAX = 60  # chosen: the server may be behind by a whole burst


class NatsMembers(Members):
    """Clients of one server."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: list[Any] = []

    async def start(self, share: Share, known: list[str]) -> list[str]:
        """See `Members`."""
        for _ in range(share.nodes):
            client = await nats.connect(known[0])
            await client.subscribe(SUBJECT, cb=self._deliver)
            await client.flush()
            self._clients.append(client)
        return []

    async def _deliver(self, message: Any) -> None:
        self.on_event(message.data)

    async def settle(self, everybody: list[str]) -> None:
        """Do nothing: the server has confirmed the subscriptions."""

    async def publish(self, payload: bytes, node: int) -> None:
        """See `Members`."""
        await self._clients[node].publish(SUBJECT, payload)

    async def flush(self) -> None:
        """See `Members`."""
        for client in self._clients:
            if client.pending_data_size:
                await client.flush(FLUSH_SECONDS_MAX)

    async def close(self) -> None:
        """See `Members`."""
        for client in self._clients:
            await client.close()
