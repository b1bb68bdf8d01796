"""Loops on virtual time, and protocols for the sockets on them, for tests."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Any

from camcast.settings.climate import Climate
from camcast.simulation.network import VirtualNetwork
from camcast.simulation.virtual_asyncio.datagrams import DatagramNetwork, VirtualSocket
from camcast.simulation.virtual_asyncio.loop import VirtualLoop

PORT = 8468


def new_loop(climate: Climate | None = None, **options: Any) -> VirtualLoop:
    return beside(VirtualNetwork(seed=7, climate=climate), **options)


def beside(network: VirtualNetwork, **options: Any) -> VirtualLoop:
    return VirtualLoop(DatagramNetwork(network.queue, network.weather), **options)


async def fails(after: float = 0.0, error: type[BaseException] = ZeroDivisionError) -> None:
    await asyncio.sleep(after)
    raise error("lost")


async def waits_for_ever(event: asyncio.Event) -> None:
    await event.wait()


class Ear(asyncio.DatagramProtocol):
    """Writes down all that it is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.log: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.transport: VirtualSocket = transport
        self.log.append("made")

    def datagram_received(self, data: bytes, addr: Any) -> None:
        now = asyncio.get_running_loop().time()
        self.heard.append((round(now, 6), data, addr))

    def error_received(self, exc: Exception) -> None:
        assert isinstance(exc, OSError)
        self.log.append(errno.errorcode[exc.errno or 0])

    def connection_lost(self, exc: Exception | None) -> None:
        self.log.append(f"lost {exc!r}")


class Rpc(asyncio.DatagramProtocol):
    """Requests, responses and timeouts, in the way of rpcudp."""

    wait_seconds = 5.0

    def __init__(self) -> None:
        self.asked: dict[int, tuple[asyncio.Future[Any], asyncio.TimerHandle]] = {}
        self.last = 0
        self.answered = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        _ = asyncio.ensure_future(self.solve(data, addr))  # noqa: RUF006 # as rpcudp does

    async def solve(self, data: bytes, addr: Any) -> None:
        kind, number, payload = data[:1], int.from_bytes(data[1:5]), data[5:]
        if kind == b"?":
            self.answered += 1
            self.transport.sendto(b"!" + data[1:5] + payload.upper(), addr)
        elif number in self.asked:
            future, timer = self.asked.pop(number)
            timer.cancel()
            if not future.done():  # as rpcudp forgets to ask
                future.set_result(payload)

    def ask(self, addr: Any, payload: bytes) -> asyncio.Future[Any]:
        loop = asyncio.get_event_loop()
        self.last += 1
        self.transport.sendto(b"?" + self.last.to_bytes(4) + payload, addr)
        timer = loop.call_later(self.wait_seconds, self.give_up, self.last)
        future = loop.create_future()
        self.asked[self.last] = (future, timer)
        return future

    def give_up(self, number: int) -> None:
        future, _ = self.asked.pop(number)
        if not future.done():
            future.set_result(None)


async def open_on(loop: VirtualLoop, number: int, kind: Callable[[], Any], port: int = PORT) -> Any:
    with loop.host(number):
        _, protocol = await loop.create_datagram_endpoint(kind, local_addr=("0.0.0.0", port))
    return protocol
