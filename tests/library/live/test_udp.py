"""The datagram port over real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
import errno

import pytest

from camcast.doors.datagrams import Endpoint
from camcast.live.wire.udp import READS_MAX, UdpPort
from tests.patience import eventually, live

HOST = "127.0.0.1"


@live
async def test_datagrams_cross_with_their_sources() -> None:
    heard: list[tuple[int, Endpoint, bytes]] = []
    udp = UdpPort(lambda *datagram: heard.append(datagram))
    one, other = udp.open(HOST, 0), udp.open(HOST, 0)
    for data in (b"", b"ping", bytes(60_000)):
        udp.send(one[1], other, data)
    await eventually(lambda: len(heard) == 3)
    assert heard == [(other[1], one, data) for data in (b"", b"ping", bytes(60_000))]
    udp.close(one[1])
    udp.close(other[1])


@live
async def test_an_endpoint_that_cannot_be_had_raises_what_the_system_says() -> None:
    udp = UdpPort(lambda *_: None)
    port = udp.open(HOST, 0)[1]
    with pytest.raises(OSError, match=f"Errno {errno.EADDRINUSE}"):
        udp.open(HOST, port)
    with pytest.raises(OSError, match=f"Errno {errno.EADDRNOTAVAIL}"):
        udp.open("192.0.2.1", 0)
    udp.close(port)
    assert udp.open(HOST, port) == (HOST, port)  # free again at once
    udp.close(port)


@live
async def test_what_the_system_refuses_is_counted_and_the_endpoint_goes_on() -> None:
    heard: list[bytes] = []
    udp = UdpPort(lambda _port, _source, data: heard.append(data))
    one, other = udp.open(HOST, 0), udp.open(HOST, 0)
    udp.send(one[1], other, bytes(70_000))  # EMSGSIZE
    assert udp.errors == 1
    udp.send(one[1], other, b"after")
    await eventually(lambda: heard == [b"after"])
    udp.close(one[1])
    udp.close(other[1])


@live
async def test_an_endpoint_may_be_closed_by_what_it_receives_and_shares_the_loop() -> None:
    heard: list[bytes] = []

    def receive(port: int, _source: Endpoint, data: bytes) -> None:
        heard.append(data)
        if data == b"close":
            udp.close(port)

    udp = UdpPort(receive)
    one, other = udp.open(HOST, 0), udp.open(HOST, 0)
    for _ in range(2 * READS_MAX):
        udp.send(one[1], other, b"?")
    for data in (b"close", b"too late"):
        udp.send(one[1], other, data)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(heard) <= 2 * READS_MAX  # others have had a turn
    await eventually(lambda: heard[-1:] == [b"close"])
    await asyncio.sleep(0)
    assert heard[-1] == b"close"
    udp.close(one[1])
