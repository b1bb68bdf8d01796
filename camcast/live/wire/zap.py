"""Admission to an input of libzmq: our own handler of ZAP [ZeroMQ RFC 27].

libzmq asks the handler of its context about each client that has proved a key. Without a handler,
or for an input without a domain, libzmq lets everybody in, and a handler that raises locks
everybody out (measured). Each input has a domain and enforces it, and the
handler is there before the first input and answers every question. Other faults show when a
stranger knocks (`camcast.live.profiles.self_test`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import zmq

from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

CURVE_OVERHEAD: Final = 33  # [RFC 26, 3.6] the bytes of a MESSAGE beside what it holds
_ENDPOINT: Final = "inproc://zeromq.zap.01"  # [RFC 27, 3.1]
_VERSION: Final = b"1.0"
_DOMAIN: Final = b"camcast"  # any but the empty one
_PARTS: Final = 7  # [RFC 27, 3.2] of a request with one credential, which CURVE has


def require_keys(socket: zmq.SyncSocket, secret: bytes) -> None:
    """Make a socket, before it is bound, a server of CURVE that asks the handler."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
    socket.setsockopt(zmq.ZAP_DOMAIN, _DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


class Handler:
    """Answers libzmq; `admits(key)` says whether the owner of a public key may connect.

    The key, in hexadecimal digits, is then the ``User-Id`` of each message that the owner sends.
    """

    def __init__(
        self,
        context: zmq.SyncContext,
        loop: asyncio.AbstractEventLoop,
        admits: Callable[[bytes], bool],
    ) -> None:
        self._admits = admits
        self._loop = loop
        self.socket = context.socket(zmq.REP)
        try:
            self.socket.setsockopt(zmq.LINGER, 0)
            self.socket.bind(_ENDPOINT)
        except zmq.ZMQError:
            self.socket.close()
            raise
        self._descriptor = int(self.socket.getsockopt(zmq.FD))
        loop.add_reader(self._descriptor, self._answer_all)

    def close(self) -> None:
        """Answer no more: from now on libzmq lets nobody in."""
        if not self.socket.closed:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)
            self.socket.close(linger=0)

    def _answer_all(self) -> None:
        while not self.socket.closed and int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            try:
                request = self.socket.recv_multipart(zmq.NOBLOCK)
                self.socket.send_multipart(self._answer(request), zmq.NOBLOCK)
            except zmq.ZMQError as error:
                _log.warning("a question of ZAP went unanswered: %s", error)
                return

    def _answer(self, request: list[bytes]) -> list[bytes]:
        """Return the answer to any request: a refusal if the request is odd or `admits` fails."""
        number = request[1] if len(request) > 1 else b""
        key = b""
        try:
            domain, mechanism, key = request[2], request[5], request[6]
            known = (request[0], domain, mechanism) == (_VERSION, _DOMAIN, b"CURVE")
            admitted = known and len(request) == _PARTS and self._admits(key)
        except Exception:
            _log.exception("a key could not be judged; its owner is refused")
            admitted = False
        status = [b"200", b"OK"] if admitted else [b"400", b"not admitted"]
        return [_VERSION, number, *status, key.hex().encode() if admitted else b"", b""]
