"""NATS: Debian's nats-server (Go), and a client of nats-py (asyncio) for each node."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from members import Members, Share
from typing_extensions import override

# Any: where types are checked it may be absent.
nats: Any = import_module("nats")

SUBJECT = "bench"
FLUSH_SECONDS_MAX = 60  # chosen: the server may be behind by a whole burst


class NatsMembers(Members):
    """Clients of one server."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: list[Any] = []

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        for _ in range(share.nodes):
            client = await nats.connect(known[0])
            await client.subscribe(SUBJECT, cb=self._deliver)
            await client.flush()
            self._clients.append(client)
        return []

    async def _deliver(self, message: Any) -> None:
        self.on_event(message.data)

    @override
    async def settle(self, everybody: list[str]) -> None:
        """Do nothing: the server has confirmed the subscriptions."""

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        await self._clients[node].publish(SUBJECT, payload)

    @override
    async def flush(self) -> None:
        for client in self._clients:
            if client.pending_data_size:
                await client.flush(FLUSH_SECONDS_MAX)

    @override
    async def close(self) -> None:
        for client in self._clients:
            await client.close()
