"""The limit on the connections that peers may have to the inputs of one event loop."""

from __future__ import annotations

import socket
from contextlib import suppress


class Connections:
    """The connections that were accepted, by descriptor; those beyond `most` are cut off.

    ZeroMQ accepts every connection and has no means to refuse one. It reports each descriptor
    that it accepts or closes, and takes one that is shut down from outside for a peer that left.
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
        # The descriptor may be in other use by now: only a connection to this port is shut down.
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
        """Forget a connection; nothing happens if it was refused."""
        self._inputs.pop(descriptor, None)

    def closed(self, address: str) -> None:
        """Forget all connections to an input that is closed."""
        self._inputs = {fd: to for fd, to in self._inputs.items() if to != address}
