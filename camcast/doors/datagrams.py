"""The datagram port: UDP as a driver offers it to a discovery with a transport of its own.

Datagrams are best effort: the network may lose, duplicate or reorder them, and the port does not
report it. A datagram that arrives is an input of the discovery (`Discovery.receive_datagram`),
never given within a call to the port. In the profile ``signed`` that input names the public key
of the sender, which the sender has proved.
"""

from __future__ import annotations

from typing import Final, Protocol

Endpoint = tuple[str, int]
"""An IPv4 or IPv6 address in digits, without brackets, and a UDP port."""
_SCHEME: Final = "tcp://"


def endpoint_of(address: str) -> Endpoint:
    """Return (host, port) of an address like ``tcp://127.0.0.1:7000``."""
    host, _, port = address.removeprefix(_SCHEME).rpartition(":")
    return host.strip("[]"), int(port)


def address_of(endpoint: Endpoint) -> str:
    """Return the address whose endpoint this is."""
    host, port = endpoint
    return f"{_SCHEME}[{host}]:{port}" if ":" in host else f"{_SCHEME}{host}:{port}"


class DatagramPort(Protocol):
    """The UDP endpoints of one process."""

    def open(self, host: str, port: int) -> Endpoint:
        """Listen at an endpoint and return it with the real port; port 0 means any free port.

        At ``::`` the endpoint hears IPv4, too; the sources and targets of such datagrams are IPv4.
        Raises `OSError`: EADDRINUSE if the port is taken, EADDRNOTAVAIL if the host is no address
        of this machine.
        """

    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """Send a datagram from the own endpoint at `port`; errors are counted, and not raised.

        In the profile ``signed`` only the owner of the public key `to` can read the datagram. If
        `to` is empty, the driver takes the key that the configuration has for the target, or asks
        a target on the loopback for its key; if there is neither, the datagram is lost. The other
        profiles ignore `to`.
        """

    def close(self, port: int) -> None:
        """Stop listening at the own endpoint at `port`; datagrams sent before still leave."""
