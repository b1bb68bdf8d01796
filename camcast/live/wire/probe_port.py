"""Reach: what one plain connection shows of a gateway that gave no answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final

from camcast.live.wire.reading_time import patience

CONNECT_SECONDS: Final = 1.0  # chosen: two round trips around the world; the asking took 2 s
KEPT_SECONDS: Final = 0.2  # chosen: an input that is full cuts a connection off in milliseconds


class Reached(Enum):
    """How far a connection gets; the value completes "ADDRESS …", and {me} is who asked."""

    NAMELESS = "is a name without an address"
    ABSENT = "cannot be connected to"
    FULL = "takes no more connections"
    SILENT = (
        "takes connections, but no answer arrived at {me}: is it a gateway, can it reach that"
        " address (advertise), and have both the same passphrase, or neither?"
    )

    @property
    def by_udp(self) -> str:
        """The same of a node of a DHT, which was asked over UDP; this is what TCP shows."""
        return _BY_UDP[self]


_BY_UDP: Final = {
    Reached.NAMELESS: Reached.NAMELESS.value,
    Reached.ABSENT: Reached.ABSENT.value,
    Reached.FULL: "runs, but answered no datagram",
    Reached.SILENT: (
        "runs, but answered no datagram: is it a node of the DHT, does UDP pass to its port and to"
        " {me}, and have both the same passphrase, or neither?"
    ),
}


async def probe_ports(addresses: Iterable[str]) -> Mapping[str, Reached]:
    """Connect to each address once, all at the same time, and say how far that got."""
    listed = list(addresses)
    return dict(zip(listed, await asyncio.gather(*map(_reach, listed)), strict=True))


async def _reach(address: str) -> Reached:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    try:
        async with patience(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (socket.gaierror, UnicodeError):  # the latter by Python, for an empty or long label
        return Reached.NAMELESS
    except (OSError, TimeoutError):
        return Reached.ABSENT
    try:
        with suppress(TimeoutError):
            async with patience(KEPT_SECONDS):
                await reader.read()  # to the end; a transport's greeting comes before it
                return Reached.FULL
    except OSError:
        return Reached.FULL
    else:
        return Reached.SILENT
    finally:
        writer.close()
