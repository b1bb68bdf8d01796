"""MQTT: Debian's mosquitto (C), and a client of paho-mqtt for each node, at QoS 0.

The clients run on one event loop a process, as paho's documentation has it, and not on a thread
each: 25 threads of a process would measure the interpreter's lock.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from members import Members, Share
from typing_extensions import override

# Any: where types are checked it may be absent.
mqtt: Any = import_module("paho.mqtt.client")

TOPIC = "bench"
SETTLE_SECONDS_MAX = 60.0  # chosen: far more than 50 clients need


class MosquittoMembers(Members):
    """Clients of one broker."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: list[Any] = []
        self._subscribed = 0

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        loop = asyncio.get_running_loop()
        host, _, port = known[0].rpartition(":")
        for _ in range(share.nodes):
            client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
            client.on_connect = lambda c, *_: c.subscribe(TOPIC)
            client.on_subscribe = self._on_subscribe
            client.on_message = self._deliver
            client.on_socket_register_write = lambda c, _data, sock: loop.add_writer(
                sock, c.loop_write
            )
            client.on_socket_unregister_write = lambda _c, _data, sock: loop.remove_writer(sock)
            client.connect(host, int(port), keepalive=0)
            loop.add_reader(client.socket(), client.loop_read)
            self._clients.append(client)
        return []

    def _on_subscribe(self, *_: Any) -> None:
        self._subscribed += 1

    def _deliver(self, _client: Any, _data: Any, message: Any) -> None:
        self.on_event(message.payload)

    @override
    async def settle(self, everybody: list[str]) -> None:
        """Wait until the broker has confirmed the subscriptions."""
        async with asyncio.timeout(SETTLE_SECONDS_MAX):
            while self._subscribed < len(self._clients):
                await asyncio.sleep(0.05)

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        self._clients[node].publish(TOPIC, payload)

    @override
    async def flush(self) -> None:
        """Let the loop write."""
        while any(client.want_write() for client in self._clients):
            await asyncio.sleep(0)

    @override
    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        for client in self._clients:
            loop.remove_reader(client.socket())
            client.disconnect()
