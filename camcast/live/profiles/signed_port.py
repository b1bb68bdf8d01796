"""The datagram port of a process with an identity: datagrams in boxes between two keys.

The datagrams of an overlay are boxed here (`camcast.security.datagram_boxes`). A datagram that
arrives is handed on with the key of its sender, if a trusted root certifies that.

An overlay knows the keys of the nodes that other nodes have named. The keys of its first nodes are
given with their addresses (``tcp://host:port#KEY``). A first node on the loopback without a key is
asked for it, as gateways are over their links (`camcast.live.profiles.signed_links`), and its first
answer is *pinned*; until then, one datagram for each endpoint waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.wire.udp import UdpPort
from camcast.security.taken_once import NONCE_BYTES, DatagramError, UnknownSenderError
from camcast.vocabulary.addresses import is_loopback
from camcast.vocabulary.host_rates import HostRates
from camcast.vocabulary.identity import PUBLIC_KEY_BYTES
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog

_log = Logger(__name__)

# Both are shorter than any box; the question is the longer one, so that nothing is amplified.
WHO: Final = b"camcast-who".ljust(48, b"\0")
"""Asks a process on the loopback for its key."""
SAID: Final = b"camcast-key"
"""The beginning of the answer; the key follows."""
WAITING_MAX: Final = 64  # chosen: endpoints asked for their keys at a time; as many are remembered
# chosen: 1.2 % of a core with a common secret and a signature, 120 µs, each; a newcomer sends one
# or two, until it is known
STRANGERS_A_SECOND: Final = 100
PINNED_MAX: Final = 1024  # chosen: as many first nodes as a run may meet on one machine

Receive = Callable[[int, Endpoint, bytes, bytes], None]
"""Takes a datagram: the port, its source, its content, and the key of who has sent it."""


class SignedPort(DatagramPort):
    """UDP between identities; `receive(port, source, data, sender)` takes their datagrams.

    `beneath` makes the port that carries the boxes, given what takes its datagrams. `refused`
    counts all other datagrams.
    """

    def __init__(
        self,
        receive: Receive,
        links: SignedLinks,
        beneath: Callable[[Callable[[int, Endpoint, bytes], None]], DatagramPort] = UdpPort,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.refused = 0
        self._receive = receive
        self._links = links
        self._boxes = links.boxes
        self._port = beneath(self._take)
        self._random_bytes = random_bytes
        self._pinned: dict[Endpoint, bytes] = {}
        self._waiting: dict[Endpoint, tuple[int, bytes]] = {}
        """The port to send from, and the datagram to send, once an endpoint's key is known."""
        self._strangers = HostRates(STRANGERS_A_SECOND)
        self._log = MinuteLog()

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._port.open(host, port)

    @override
    def close(self, port: int) -> None:
        self._port.close(port)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        key = to or self._links.given_key(address_of(target)) or self._pinned.get(target)
        if key is not None:
            nonces = self._random_bytes(NONCE_BYTES), self._random_bytes(NONCE_BYTES)
            for datagram in self._boxes.seal(data, key, nonces, self._links.wall()):
                self._port.send(port, target, datagram)
        elif _is_on_loopback(target):
            if target not in self._waiting and len(self._waiting) >= WAITING_MAX:
                del self._waiting[next(iter(self._waiting))]
            self._waiting[target] = port, data
            self._port.send(port, target, WHO)

    def _take(self, port: int, source: Endpoint, datagram: bytes) -> None:
        if datagram == WHO:
            if _is_on_loopback(source):
                self._port.send(port, source, SAID + self._links.said_key)
            return
        if datagram.startswith(SAID) and len(datagram) == len(SAID) + PUBLIC_KEY_BYTES:
            self._pin(source, datagram[len(SAID) :])
            return
        now, host = self._links.now(), source[0]
        try:
            sender, data = self._boxes.open(
                datagram, self._links.wall(), lambda: self._strangers.allow(host, now)
            )
        except DatagramError as error:
            self.refused += 1
            if not isinstance(error, UnknownSenderError) and self._log.due(host, now):
                _log.warning("refused a datagram of %s: %s (said once a minute)", host, error)
            return
        if data:
            self._receive(port, source, data, sender)

    def _pin(self, source: Endpoint, key: bytes) -> None:
        """Pin the key that an endpoint says, if it was asked for."""
        waiting = self._waiting.pop(source, None)
        if waiting is None or source in self._pinned:
            self.refused += 1
            return
        if len(self._pinned) >= PINNED_MAX:
            del self._pinned[next(iter(self._pinned))]
        self._pinned[source] = key
        port, data = waiting
        self.send(port, source, data)


def _is_on_loopback(endpoint: Endpoint) -> bool:
    return is_loopback(address_of(endpoint))
