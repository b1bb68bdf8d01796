"""Connections: how many strangers may have to the inputs of one event loop, and who is refused."""

from __future__ import annotations

import socket
from contextlib import suppress


class Connections:
    """The connections that were accepted, by descriptor; those beyond `most` are cut off.

    ZeroMQ accepts whatever comes, and offers nothing to refuse it. It tells of every descriptor
    that it accepted or gave up, and one that is shut down behind its back looks to it as if the
    peer had gone.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._inputs: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._inputs)

    def accepted(self, descriptor: int, address: str) -> bool:
        """Take note of a connection to our input at `address`, and say whether it may stay."""
        if descriptor in self._inputs or len(self) < self.most:
            self._inputs[descriptor] = address
            return True
        # By now it may be another's: only what is a connection to this very port is shut down.
        port = int(address.rpartition(":")[2])
        with suppress(OSError):
            borrowed = socket.socket(fileno=descriptor)
            try:
                if borrowed.getsockname()[1] == port:
                    borrowed.shutdown(socket.SHUT_RDWR)
            finally:
                borrowed.detach()
        return False

    def gone(self, descriptor: int) -> None:
        """Forget a connection; of one that was refused nothing is known."""
        self._inputs.pop(descriptor, None)

    def closed(self, address: str) -> None:
        """Forget all connections to an input that is closed."""
        self._inputs = {fd: to for fd, to in self._inputs.items() if to != address}
