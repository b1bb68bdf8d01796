"""--health: the health and the metrics of a process over HTTP, while a command runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from camcast.app.manager import CommunityManager
from camcast.cli.failure import remark
from camcast.doors.options import OptionError

LOOPBACK: Final = "127.0.0.1"


@asynccontextmanager
async def served_health(manager: CommunityManager, address: str | None) -> AsyncIterator[None]:
    """Serve the health of a running manager, and say where; None: serve nothing.

    Raises `OptionError` for an address that is none, and `BindError`.
    """
    if address is None:
        yield
        return
    host, port = health_address(address)
    from camcast.ops.health import serve  # which imports the server, and only then

    with serve(manager, host, port) as url:
        remark(f"health at {url}/livez and /readyz, metrics at {url}/metrics")
        yield


def health_address(given: str) -> tuple[str, int]:
    """Read the address of --health as a host and a port; raises `OptionError`."""
    host, _, port = given.removeprefix("http://").rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdecimal() and int(port) < 2**16):
        raise OptionError(
            f"--health takes [HOST:]PORT, such as 9100 or 192.0.2.1:9100, not {given!r}"
        )
    return host, int(port)
