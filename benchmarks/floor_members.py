"""The floor: nodes that are sockets without a protocol, with as many copies as ours send.

Each node writes what it gets for the first time, in frames as long as ours, to fixed others: along
a tree, a copy a node, or to six at random. Nothing is watched, repaired, queued or counted. What a
delivery costs so is what no protocol over the same sockets, in the same loop, gets below.
"""

from __future__ import annotations

import asyncio
from random import Random
from struct import Struct

from members import Members, Share
from typing_extensions import override

HEAD_BYTES = 98  # chosen: the head and body of our records beside the payload, and ZMTP's frame
CHILDREN = 3  # chosen: as a tree of ours begins
COPIES = 6  # chosen: ceil(ln 20 + 2) is 5, ceil(ln 50 + 2) is 6
_LENGTH = Struct(">IQ")  # of all that follows the length, and the number of the event


class FloorMembers(Members):
    """Bare nodes for a fleet; along a `tree`, or each to `COPIES` others. The first publishes."""

    def __init__(self, *, tree: bool) -> None:
        super().__init__()
        self._tree = tree
        self._nodes: list[_Node] = []
        self._share = Share(0, 0, 0, 0)
        self._servers: list[asyncio.Server] = []
        self._published = 0

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        self._share, loop, addresses = share, asyncio.get_running_loop(), list[str]()
        for number in range(share.first, share.first + share.nodes):
            node = _Node(number, self)
            server = await loop.create_server(node.accept, "127.0.0.1", 0)
            addresses.append(str(server.sockets[0].getsockname()[1]))
            self._nodes.append(node)
            self._servers.append(server)
        return addresses

    @override
    async def settle(self, everybody: list[str]) -> None:
        loop = asyncio.get_running_loop()
        for node in self._nodes:
            for number in self._others(node.number):
                port = int(everybody[number])
                transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
                node.outputs.append(transport)
        await asyncio.sleep(1.0)  # until all others have connected, too

    def _others(self, number: int) -> list[int]:
        """Return to whom a node writes."""
        count = self._share.fleet
        if self._tree:
            first = CHILDREN * number + 1
            return [one for one in range(first, first + CHILDREN) if one < count]
        others = [one for one in range(count) if one != number]
        rng = Random(f"{self._share.seed} {number}")
        return rng.sample(others, min(COPIES, len(others)))

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        self._published += 1
        rest = bytes(HEAD_BYTES - _LENGTH.size) + payload
        frame = _LENGTH.pack(len(rest) + 8, self._published) + rest
        self._nodes[node].take(self._published, frame)

    def counts(self) -> dict[str, int]:
        """Return the copies that arrived."""
        return {"messages": sum(node.copies for node in self._nodes)}

    @override
    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for node in self._nodes:
            for transport in node.outputs:
                transport.close()


class _Node:
    def __init__(self, number: int, members: FloorMembers) -> None:
        self.number = number
        self.outputs: list[asyncio.WriteTransport] = []
        self.copies = 0
        self._members = members
        self._seen: set[int] = set()

    def accept(self) -> asyncio.Protocol:
        return _Input(self)

    def take(self, number: int, frame: bytes) -> None:
        if number not in self._seen:
            self._seen.add(number)
            for output in self.outputs:
                output.write(frame)
            self._members.on_event(frame[HEAD_BYTES:])


class _Input(asyncio.Protocol):
    def __init__(self, node: _Node) -> None:
        self._node = node
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        start = 0
        while len(data) - start >= _LENGTH.size:
            length, number = _LENGTH.unpack_from(data, start)
            end = start + 4 + length
            if end > len(data):
                break
            self._node.copies += 1
            self._node.take(number, data[start:end])
            start = end
        self._rest = data[start:]
