"""Zenoh (PyPI eclipse-zenoh, native code): sessions that find each other by its own gossip."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

from members import Members, Share
from typing_extensions import override

from peers.free_port import free_port

# Any: where types are checked it may be absent.
zenoh: Any = import_module("zenoh")

KEY = "bench"
SETTLE_SECONDS_MAX = 60.0  # chosen: ten times what 50 sessions need


class ZenohMembers(Members):
    """Sessions that connect to the first one, and then, by zenoh's own gossip, to each other."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: list[Any] = []
        self._publishers: list[Any] = []
        self._fleet = 0

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        self._fleet = share.fleet
        first = known[0] if known else f"tcp/127.0.0.1:{free_port()}"
        for number in range(share.first, share.first + share.nodes):
            config = zenoh.Config()
            config.insert_json5("mode", json.dumps("peer"))
            config.insert_json5("scouting/multicast/enabled", "false")
            listen = first if number == 0 else "tcp/127.0.0.1:0"
            config.insert_json5("listen/endpoints", json.dumps([listen]))
            config.insert_json5("connect/endpoints", json.dumps([first] if number else []))
            session = zenoh.open(config)
            session.declare_subscriber(KEY, self._deliver)
            self._sessions.append(session)
            # BLOCK, or it drops when it is too fast.
            block = zenoh.CongestionControl.BLOCK
            self._publishers.append(session.declare_publisher(KEY, congestion_control=block))
        return [first]

    def _deliver(self, sample: Any) -> None:
        self.on_event(sample.payload.to_bytes())

    @override
    async def settle(self, everybody: list[str]) -> None:
        """Wait until all know all."""
        async with asyncio.timeout(SETTLE_SECONDS_MAX):
            while any(len(s.info.peers_zid()) < self._fleet - 1 for s in self._sessions):
                await asyncio.sleep(0.2)
        await asyncio.sleep(2)  # chosen: declarations follow connections

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        self._publishers[node].put(payload)

    @override
    async def close(self) -> None:
        for session in self._sessions:
            session.close()
