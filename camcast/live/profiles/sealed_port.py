"""The datagram port of a process whose group has a key: it seals and opens datagrams.

CURVE covers connections only. The datagrams of an overlay are sealed here, so that overlays need
not know of it (`camcast.security.datagram_seal` says what a seal protects from).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.live.wire.udp import UdpPort
from camcast.security.datagram_seal import DatagramSeal
from camcast.security.taken_once import NONCE_BYTES, DatagramError
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog

_log = Logger(__name__)


class SealedPort(DatagramPort):
    """UDP among those that have a key of these; `receive(port, source, data)` takes what they send.

    `refused` counts all other datagrams.
    """

    def __init__(
        self,
        receive: Callable[[int, Endpoint, bytes], None],
        keys: tuple[bytes, ...],
        clock: Clock,
    ) -> None:
        self.refused = 0
        self._receive = receive
        self._seal = DatagramSeal(keys)
        self._clock = clock
        self._port = UdpPort(self._unsealed)
        self._loop = asyncio.get_running_loop()
        self._log = MinuteLog()

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._port.open(host, port)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; all members can read it."""
        wall = self._clock.wall(self._loop.time())
        self._port.send(port, target, self._seal.seal(data, os.urandom(NONCE_BYTES), wall))

    @override
    def close(self, port: int) -> None:
        self._port.close(port)

    def _unsealed(self, port: int, source: Endpoint, data: bytes) -> None:
        now = self._loop.time()
        try:
            opened = self._seal.open(data, self._clock.wall(now))
        except DatagramError as error:
            self.refused += 1
            if self._log.due(source[0], now):
                _log.warning("refused a datagram of %s: %s (said once a minute)", source[0], error)
            return
        self._receive(port, source, opened)
