"""--metrics: a process's metrics over HTTP, while a command runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from camcast.app.manager import CommunityManager
from camcast.cli.extras import extras_named
from camcast.cli.failure import complain
from camcast.doors.options import OptionError

LOOPBACK: Final = "127.0.0.1"


@asynccontextmanager
async def served_metrics(manager: CommunityManager, address: str | None) -> AsyncIterator[None]:
    """Serve the metrics of a running manager, and say where; None: serve nothing.

    Raises `OptionError` for an address that is none, `BindError`, and `CommandError` without the
    extra.
    """
    if address is None:
        yield
        return
    host, port = metrics_address(address)
    from camcast.ops.metrics import serve

    with serve(manager, host, port) as url:
        complain(f"metrics at {url}")
        yield


def metrics_address(given: str) -> tuple[str, int]:
    """Read the address of --metrics as a host and a port; raises as `served_metrics`."""
    with extras_named("metrics"):
        import camcast.ops.metrics  # noqa: F401  # only whether it can be
    host, _, port = given.removeprefix("http://").rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdecimal() and int(port) < 2**16):
        raise OptionError(
            f"--metrics takes [HOST:]PORT, such as 9100 or 192.0.2.1:9100, not {given!r}"
        )
    return host, int(port)
