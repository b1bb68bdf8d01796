"""UDP between simulated hosts.

A host has one IP address, of either version, that of `camcast.virtual.network.address_of`. A
datagram crosses the
weather between two hosts as a frame does. Each copy that arrives is given to the process that then
has the port, so unlike a frame it may reach a later life of the host. A datagram to an endpoint
that no process has is lost silently (there is no ICMP). There is no loopback, and buffers never
fill up.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from os import strerror
from struct import Struct
from typing import Final
from zlib import crc32

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.virtual.event_queue import EventQueue
from camcast.virtual.weather import Weather

FIRST_HOST: Final = int(IPv4Address("10.0.0.1"))
FIRST_HOST_6: Final = int(IPv6Address("fd00::1"))
HOSTS_MAX: Final = (1 << 24) - 2  # the hosts of 10/8
_EPHEMERAL: Final = range(49_152, 65_536)  # for port 0 [RFC 6335, 6: dynamic ports]
_DIGEST: Final = Struct(">dIHIH")  # time, source's host and port, target's host and port

Receive = Callable[[int, Endpoint, bytes], None]
"""Takes a datagram: the port at which it has arrived, its source, its content."""


@lru_cache(maxsize=1 << 16)  # chosen: 65,536 hosts talk at a time
def ip_of(number: int, version: int = 4) -> str:
    """Return the address of the host of this number, in this version of IP."""
    if version == 6:
        return str(IPv6Address(FIRST_HOST_6 + number))
    return str(IPv4Address(FIRST_HOST + number))


@lru_cache(maxsize=1 << 16)  # as above; an attacker may name as many
def number_of(ip: str) -> int | None:
    """Return the number of the host at an IP address, None if there cannot be one.

    Raises `ValueError` for what is no IP address.
    """
    parsed = ip_address(ip)
    number = int(parsed) - (FIRST_HOST if parsed.version == 4 else FIRST_HOST_6)
    return number if 0 <= number < HOSTS_MAX else None


class DatagramNetwork:
    """All endpoints, and what crosses the weather between them."""

    def __init__(self, queue: EventQueue, weather: Weather) -> None:
        self.queue = queue
        self.weather = weather
        self.endpoints: dict[Endpoint, HostPort] = {}
        self.sent = 0
        """Datagrams sent so far."""
        self.sent_bytes = 0
        """Their contents, without the headers of UDP and IP."""
        self.undeliverable = 0
        """Copies that found no process at their endpoint."""
        self.checksum = 0
        """CRC-32 over all datagrams sent, with time, source and target, in their order."""
        self._opened = 0

    def free_port(self, ip: str) -> int:
        """Return the next free port in turn, so that no port is used again soon."""
        for _ in _EPHEMERAL:
            port = _EPHEMERAL[self._opened % len(_EPHEMERAL)]
            self._opened += 1
            if (ip, port) not in self.endpoints:
                return port
        raise OSError(errno.EADDRINUSE, strerror(errno.EADDRINUSE))

    def send(self, source: Endpoint, target: Endpoint, data: bytes) -> None:
        """Let a datagram meet the weather; raise ValueError if the target is no endpoint."""
        ip, port = target
        here, there = number_of(source[0]), number_of(ip)
        if not 0 < port < 65_536:
            raise ValueError(f"{port} is no port to send to")
        if (":" in ip) is not (":" in source[0]):
            raise ValueError(f"{ip} is of another version of IP than {source[0]}")
        self.sent += 1
        self.sent_bytes += len(data)
        if here is None or there is None:
            self.undeliverable += 1
            return
        queue = self.queue
        digest = _DIGEST.pack(queue.now, here, source[1], there, port)
        self.checksum = crc32(data, crc32(digest, self.checksum))
        for delay in self.weather.delays(here, there):
            queue.after(delay, self._arrive, source, target, data)

    def _arrive(self, source: Endpoint, target: Endpoint, data: bytes) -> None:
        host = self.endpoints.get(target)
        if host is None:
            self.undeliverable += 1
        else:
            host.receive(target[1], source, data)


class HostPort(DatagramPort):
    """The UDP of one life of a host; `receive` takes what arrives."""

    def __init__(
        self, network: DatagramNetwork, number: int, receive: Receive, version: int = 4
    ) -> None:
        self.ip = ip_of(number, version)
        self.receive = receive
        self.ports: dict[int, None] = {}
        """The ports at which the host listens."""
        self._network = network

    @override
    def open(self, host: str, port: int) -> Endpoint:
        code = 0
        if host not in (self.ip, "::" if ":" in self.ip else "0.0.0.0"):
            code = errno.EADDRNOTAVAIL
        elif port and (self.ip, port) in self._network.endpoints:
            code = errno.EADDRINUSE
        if code:
            raise OSError(code, strerror(code))
        port = port or self._network.free_port(self.ip)
        self.ports[port] = None
        self._network.endpoints[self.ip, port] = self
        return host, port

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; what the socket of a real host would refuse is a ValueError."""
        assert port in self.ports, f"{self.ip} does not listen at port {port}"
        self._network.send((self.ip, port), target, data)

    @override
    def close(self, port: int) -> None:
        del self.ports[port], self._network.endpoints[self.ip, port]

    def move(self, ip: str) -> None:
        """Have another address: what was listened at is listened at there."""
        for port in self.ports:
            self._network.endpoints[ip, port] = self._network.endpoints.pop((self.ip, port))
        self.ip = ip

    def crash(self) -> None:
        """Close every endpoint."""
        for port in list(self.ports):
            self.close(port)
