"""The datagram port: UDP as a driver offers it to a discovery with a transport of its own.

Datagrams are sent best effort: one may be lost, duplicated or overtaken, and nobody is told. What
arrives comes back as an input (`Discovery.receive_datagram`), never within a call to the port.
Where each process has a key, it comes with that of its sender, who has proved it.
"""

from __future__ import annotations

from typing import Protocol

Endpoint = tuple[str, int]
"""An IPv4 address in digits and a UDP port."""


class DatagramPort(Protocol):
    """The UDP endpoints of one process."""

    def open(self, host: str, port: int) -> Endpoint:
        """Listen at an endpoint and return it; port 0 stands for any free port.

        Raises `OSError`: EADDRINUSE if the port is taken, EADDRNOTAVAIL if the host is no address
        of this machine.
        """

    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """Send a datagram from the endpoint at `port`; errors are counted, and not raised.

        Where each process has a key (the profile ``signed``), only the owner of the public key
        `to` can read it. Without one that is the owner of the key which the configuration gives
        for the endpoint, or which is said there on the loopback; else the datagram is lost.
        """

    def close(self, port: int) -> None:
        """Stop listening at the endpoint at `port`; what was sent before still leaves."""
