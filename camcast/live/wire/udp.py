"""UDP sockets on the running event loop: the datagram port of a live process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.live.wire.forks import close_in_forks
from camcast.vocabulary.logger import Logger

log = Logger(__name__)

READS_MAX: Final = 32  # chosen: datagrams read in a row, some milliseconds; then others have a turn
_MAPPED: Final = "::ffff:"  # [RFC 4291, 2.5.5.2] IPv4, as a socket of IPv6 has it
_BYTES_MAX: Final = 65_535  # [RFC 768] the length field; no datagram is cut


class UdpPort(DatagramPort):
    """The UDP sockets of one process; `receive(port, source, data)` takes what arrives.

    A datagram that the operating system refuses, or has no room for, counts in `errors`, and is
    lost as any datagram may be.
    """

    def __init__(self, receive: Callable[[int, Endpoint, bytes], None]) -> None:
        self.errors = 0
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[int, socket.socket] = {}

    @override
    def open(self, host: str, port: int) -> Endpoint:
        six = ":" in host
        udp = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        close_in_forks(udp)
        try:
            udp.setblocking(False)
            if six:
                udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            udp.bind((host, port))
        except BaseException:
            udp.close()
            raise
        address: Endpoint = udp.getsockname()[:2]
        self._sockets[address[1]] = udp
        self._loop.add_reader(udp, self._read, address[1], udp)
        return address

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; everybody can read it."""
        udp = self._sockets[port]
        if udp.family == socket.AF_INET6 and ":" not in target[0]:
            target = _MAPPED + target[0], target[1]
        try:
            udp.sendto(data, target)
        except OSError as error:
            self._count(error)

    @override
    def close(self, port: int) -> None:
        udp = self._sockets.pop(port)
        self._loop.remove_reader(udp)
        udp.close()

    def _read(self, port: int, udp: socket.socket) -> None:
        for _ in range(READS_MAX):
            if self._sockets.get(port) is not udp:
                return  # closed by what it received
            try:
                data, source = udp.recvfrom(_BYTES_MAX)
            except BlockingIOError:
                return
            except OSError as error:  # what ICMP says of something sent earlier
                self._count(error)
                return
            if udp.family == socket.AF_INET6:
                source = source[0].partition("%")[0].removeprefix(_MAPPED), source[1]
            self._receive(port, source, data)

    def _count(self, error: OSError) -> None:
        self.errors += 1
        log.debug("UDP: %s", error)
