"""The datagram port: UDP as a driver offers it to a discovery with a transport of its own.

Datagrams are sent best effort: one may be lost, duplicated or overtaken, and nobody is told. What
arrives comes back as an input (`Discovery.receive_datagram`), never within a call to the port.
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

    def send(self, port: int, target: Endpoint, data: bytes) -> None:
        """Send a datagram from the endpoint at `port`; errors are counted, and not raised."""

    def close(self, port: int) -> None:
        """Stop listening at the endpoint at `port`; what was sent before still leaves."""
