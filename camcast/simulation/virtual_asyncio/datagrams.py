"""Simulated hosts and their UDP sockets, for parts that are asyncio inside.

Theory of operation
-------------------
A *host* is a process number of the virtual network; its one IP address is that of
`network.address_of`. Number and IP are translated both ways, so who binds a socket at an IP is
that host. Who binds at a wildcard, or at none, does so on behalf of the host in whose name he
runs (`VirtualLoop.host`): the host is a context variable, so what a host's task or socket
starts - tasks, timers, callbacks - belongs to that host, too.

A datagram is copied at `sendto`, crosses the weather of its two hosts, and each copy that
arrives is given to whoever then holds the port: a happening of the queue each. The sender's
address is its host's IP and the socket's port, whatever it is bound to.

*Crash*: `DatagramNetwork.close_host` ends a life of a host between two instants. Its sockets
are gone without `connection_lost`, and its tasks, timers and callbacks never run again: no
`finally`, no farewell, as if the process were killed. What it had sent is still under way.
The next use of the number is a new life, which may bind the same ports, and is then given
what was sent to the old one, as with UDP.

Like the sockets of asyncio on Linux (tried on CPython 3.11 to 3.13), a socket here

- tells `error_received` of a datagram that is too long (EMSGSIZE), of port 0 (EINVAL) and of
  an IPv6 address (EAFNOSUPPORT), and goes on;
- is closed, with `connection_lost` and a report to the loop's exception handler, by an address
  that is none: a port that is no number or beyond 65535, a host that is no text. A lie about
  an address in a message can do that to a careless protocol, so it is simulated;
- refuses a port in use (EADDRINUSE) and an IP of another host (EADDRNOTAVAIL).

Unlike them, it

- tells nobody that a port is closed (ICMP, ECONNREFUSED to a connected socket): what is sent
  to nobody vanishes, and is counted;
- knows no loopback, broadcast, multicast and no buffers, which would fill up;
- drops what is sent after the close (asyncio raises AttributeError, which nobody can want).
"""

from __future__ import annotations

import asyncio
import errno
from contextvars import Context, ContextVar, copy_context
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from os import strerror
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import urlsplit
from zlib import crc32

from camcast.simulation.event_queue import EventQueue
from camcast.simulation.network import PROCESSES_MAX, address_of
from camcast.simulation.virtual_asyncio.fence import LeavesSimulationError
from camcast.simulation.weather import Weather

if TYPE_CHECKING:
    from camcast.simulation.virtual_asyncio.loop import VirtualLoop

Address = tuple[str, int]

DATAGRAM_BYTES_MAX: Final = 65_507  # 65,535 less the headers of IPv4 (20) and UDP (8) [RFC 768]
_EPHEMERAL: Final = range(49_152, 65_536)  # for port 0 [RFC 6335, 6: dynamic ports]
_PORTS: Final = range(1, 65_536)
_WILDCARDS: Final = (None, "", "0.0.0.0")
_DIGEST: Final = Struct(">dIHIH")  # when, and from and to which host and port


class Host:
    """One life of a host."""

    __slots__ = ("alive", "ip", "number", "sockets")

    def __init__(self, number: int) -> None:
        self.number = number
        self.ip = ip_of(number)
        self.alive = True
        self.sockets: dict[int, VirtualSocket] = {}
        """Who holds which port."""


HOST: Final[ContextVar[Host | None]] = ContextVar("camcast.simulation.host", default=None)
"""On whose behalf code runs; None for the driver of the simulation, who stands outside."""


@lru_cache(maxsize=1 << 16)  # chosen: 65,536 hosts talk at a time, or liars name as many
def ip_of(number: int) -> str:
    """Return the IP address of the host of this number."""
    ip = urlsplit(address_of(number)).hostname
    assert ip is not None
    return ip


_FIRST: Final = int(IPv4Address(ip_of(0)))


@lru_cache(maxsize=1 << 16)  # as above
def number_of(ip: str) -> int | None:
    """Return whose IP address this is, None for nobody's; raise ValueError if it is none."""
    number = int(IPv4Address(ip)) - _FIRST
    return number if 0 <= number < PROCESSES_MAX else None


def _refuse(code: int) -> NoReturn:
    raise OSError(code, strerror(code))


def _check_ip(ip: Any) -> None:
    """Raise what a socket would raise for something that is not an IPv4 address."""
    if not isinstance(ip, str):
        raise TypeError(f"a host is a text, not {ip!r}")
    try:
        IPv4Address(ip)
    except AddressValueError:
        try:
            IPv6Address(ip)
        except AddressValueError:
            raise LeavesSimulationError(f"looking up the name {ip!r}") from None
        _refuse(errno.EAFNOSUPPORT)


def _check_port(port: Any) -> None:
    if not isinstance(port, int):
        raise TypeError(f"a port is a number, not {port!r}")
    if port != 0 and port not in _PORTS:
        raise OverflowError(f"a port is 0 to 65535, not {port}")


class DatagramNetwork:
    """The hosts that live, and what is under way between them."""

    def __init__(self, queue: EventQueue, weather: Weather) -> None:
        self.queue = queue
        self.weather = weather
        self.sent = 0
        """Datagrams sent so far."""
        self.sent_bytes = 0
        """Their contents, without the headers of UDP and IP."""
        self.received = 0
        """Copies that found a socket."""
        self.undeliverable = 0
        """Datagrams for what is no host, and copies that found no socket at their port."""
        self.checksum = 0
        """CRC-32 over all datagrams sent, with time, source and target, in their order."""
        self._hosts: dict[int, Host] = {}
        self._ephemeral: dict[int, int] = {}

    def host(self, number: int) -> Host:
        """Return the present life of a host, a new one if it has none."""
        host = self._hosts.get(number)
        if host is None:
            host = self._hosts[number] = Host(number)
        return host

    def close_host(self, number: int) -> None:
        """Let a host crash; see the module's theory of operation."""
        host = self._hosts.pop(number, None)
        if host is not None:
            host.alive = False

    def bound(self, number: int) -> list[int]:
        """Return the ports that a host holds, in the order in which it bound them."""
        return list(self.host(number).sockets)

    def bind(self, address: Address | None, remote: Address | None) -> tuple[Host, str, int]:
        """Return for whom a socket at an address is, its IP, and its port, which is free."""
        for given in (address, remote):
            if given is not None and not (isinstance(given, tuple) and len(given) == 2):
                raise TypeError("2-tuple is expected")
        if remote is not None:
            _check_ip(remote[0])
            _check_port(remote[1])
        ip, port = address or ("0.0.0.0", 0)
        _check_port(port)
        host = HOST.get()
        if ip in _WILDCARDS:
            ip = "0.0.0.0"
            if host is None:
                raise LeavesSimulationError(
                    f"create_datagram_endpoint at {ip}:{port}",
                    "on behalf of which host? Enter loop.host(number)",
                )
        else:
            _check_ip(ip)
            number = number_of(ip)
            if number is None or (host is not None and host.number != number):
                _refuse(errno.EADDRNOTAVAIL)
            host = host or self.host(number)
        if not host.alive:
            _refuse(errno.ENETDOWN)  # only a crashed host's code can come here, and not far
        if port in host.sockets:
            _refuse(errno.EADDRINUSE)
        return host, ip, port or self._free_port(host)

    def _free_port(self, host: Host) -> int:
        """Return the next free port in turn, so that a port is not reused at once."""
        start = self._ephemeral.get(host.number, 0)
        for step in range(len(_EPHEMERAL)):
            index = (start + step) % len(_EPHEMERAL)
            if _EPHEMERAL[index] not in host.sockets:
                self._ephemeral[host.number] = index + 1
                return _EPHEMERAL[index]
        _refuse(errno.EADDRINUSE)

    def send(self, host: Host, port: int, data: bytes, target: Any) -> None:
        """Let a datagram go; raise what sendto of a real socket raises."""
        if not (isinstance(target, tuple) and len(target) == 2):
            raise TypeError(f"an address is (host, port), not {target!r}")
        target_ip, target_port = target
        _check_port(target_port)
        try:
            number = number_of(target_ip) if isinstance(target_ip, str) else None
        except AddressValueError:
            number = None
        if number is None:
            _check_ip(target_ip)
        if target_port == 0:
            _refuse(errno.EINVAL)
        if len(data) > DATAGRAM_BYTES_MAX:
            _refuse(errno.EMSGSIZE)
        self.sent += 1
        self.sent_bytes += len(data)
        if number is None:
            self.undeliverable += 1
            return
        queue = self.queue
        digest = _DIGEST.pack(queue.now, host.number, port, number, target_port)
        self.checksum = crc32(data, crc32(digest, self.checksum))
        for delay in self.weather.delays(host.number, number):
            queue.after(delay, self._arrive, number, target_port, data, (host.ip, port))

    def _arrive(self, number: int, port: int, data: bytes, source: Address) -> None:
        host = self._hosts.get(number)
        socket = None if host is None else host.sockets.get(port)
        if socket is None:
            self.undeliverable += 1
        else:
            socket.receive(data, source)


class VirtualSocket(asyncio.DatagramTransport):
    """A simulated UDP socket: the transport that `create_datagram_endpoint` returns."""

    def __init__(
        self,
        loop: VirtualLoop,
        protocol: asyncio.DatagramProtocol,
        place: tuple[Host, str, int],
        peer: Address | None,
    ) -> None:
        self.host, ip, self.port = place
        super().__init__({"sockname": (ip, self.port), "peername": peer})
        self._loop = loop
        self._network = loop.datagrams
        self._protocol: Any = protocol
        self._peer = peer
        self._connected = self._closing = False
        # What the protocol does is done on behalf of the host, whoever opened the socket.
        self.context: Context = copy_context()
        self.context.run(HOST.set, self.host)
        self.host.sockets[self.port] = self
        loop.call_soon(self._connect, context=self.context)

    def _connect(self) -> None:
        self._connected = True
        self._protocol.connection_made(self)

    def receive(self, data: bytes, source: Address) -> None:
        """Give the protocol a datagram that has arrived."""
        if not self._connected and not self._closing:
            # Bound, but nobody has been told: wait in line behind connection_made.
            self._network.queue.after(0.0, self.receive, data, source)
        elif self._closing or (self._peer is not None and source != self._peer):
            self._network.undeliverable += 1  # a connected socket hears its peer alone
        else:
            self._network.received += 1
            told = self._protocol.datagram_received
            self._loop.happen(
                asyncio.Handle(told, (data, source), self._loop, self.context), self.host
            )

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send a datagram; see the module's theory of operation."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__}")
        if self._peer is not None:
            if addr not in (None, self._peer):
                raise ValueError(f"Invalid address: must be None or {self._peer}")
            addr = self._peer
        if self._closing or not self.host.alive:
            return
        try:
            self._network.send(self.host, self.port, bytes(data), addr)
        except OSError as error:
            self._protocol.error_received(error)
        except (TypeError, OverflowError) as error:
            self._loop.call_exception_handler(
                {
                    "message": "Fatal write error on datagram transport",
                    "exception": error,
                    "transport": self,
                    "protocol": self._protocol,
                }
            )
            self._close(error)

    def close(self) -> None:
        """Receive nothing any more, and tell the protocol soon."""
        self._close(None)

    def abort(self) -> None:
        """Do as `close` does: nothing waits in a buffer."""
        self._close(None)

    def _close(self, error: Exception | None) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._disconnect, error, context=self.context)

    def _disconnect(self, error: Exception | None) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            del self.host.sockets[self.port]

    def is_closing(self) -> bool:
        """Say whether `close` has been called."""
        return self._closing

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return who is told of datagrams."""
        return self._protocol  # type: ignore[no-any-return] # any of the callbacks may be absent

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Change who is told of datagrams."""
        self._protocol = protocol

    def get_write_buffer_size(self) -> int:
        """Return 0: everything is sent at once."""
        return 0

    def __repr__(self) -> str:
        ip, port = self.get_extra_info("sockname")
        state = " closing" if self._closing else "" if self.host.alive else " crashed"
        return f"<VirtualSocket of host {self.host.number} at {ip}:{port}{state}>"
