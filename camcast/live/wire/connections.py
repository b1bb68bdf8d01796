"""The limit on the connections that peers may have to the inputs of one event loop."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final

from attrs import define

# chosen: as long as a handshake may take; a process that dials has something to send
_SILENT_SECONDS: Final = 5.0


@define
class _Connection:
    address: str
    """The address of the input."""
    since: float
    proved: bool = False
    """Whether something was taken from it already."""


class Connections:
    """The connections that were accepted, by descriptor; those beyond `most` are cut off.

    ZeroMQ accepts every connection and has no means to refuse one. It reports each descriptor
    that it accepts or closes, and takes one that is shut down from outside for a peer that left.

    With `spares_silent`, a connection from which nothing was taken for some seconds makes room for
    a new one. This is for inputs whose peers prove only by their first message that they may talk.
    """

    def __init__(self, most: int, *, spares_silent: bool = False) -> None:
        self.most = most
        self._spares_silent = spares_silent
        self._connections: dict[int, _Connection] = {}
        """By descriptor; the first accepted comes first."""

    def __len__(self) -> int:
        return len(self._connections)

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._connections

    def accepted(self, descriptor: int, address: str, now: float) -> bool:
        """Take note of a connection to our input at `address`, and say whether it may stay."""
        self._connections.pop(descriptor, None)
        if len(self) >= self.most and self._spares_silent:
            self._spare_one(now)
        if len(self) < self.most:
            self._connections[descriptor] = _Connection(address, now)
            return True
        _shut_down(descriptor, address)
        return False

    def _spare_one(self, now: float) -> None:
        for descriptor, one in self._connections.items():
            if now < one.since + _SILENT_SECONDS:
                return
            if not one.proved:
                self.cut_off(descriptor)
                return

    def has_proved(self, descriptor: int) -> None:
        """Take note that something was taken from a connection."""
        if (one := self._connections.get(descriptor)) is not None:
            one.proved = True

    def cut_off(self, descriptor: int) -> None:
        """End a connection; nothing happens if it was ended before."""
        if (one := self._connections.pop(descriptor, None)) is not None:
            _shut_down(descriptor, one.address)

    def gone(self, descriptor: int) -> None:
        """Forget a connection; nothing happens if it was refused."""
        self._connections.pop(descriptor, None)

    def closed(self, address: str) -> None:
        """Forget all connections to an input that is closed."""
        kept = {fd: one for fd, one in self._connections.items() if one.address != address}
        self._connections = kept


def _shut_down(descriptor: int, address: str) -> None:
    """Shut a connection to an input of ours down; by now the descriptor may be in other use."""
    port = int(address.rpartition(":")[2])
    with suppress(OSError):
        borrowed = socket.socket(fileno=descriptor)
        try:
            if borrowed.getsockname()[1] == port:
                borrowed.shutdown(socket.SHUT_RDWR)
        finally:
            borrowed.detach()
