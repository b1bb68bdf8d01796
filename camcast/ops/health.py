"""The health of a running process over HTTP, for orchestrators and Prometheus.

`serve` answers, from a thread of its own::

    /livez    200 while the event loop answers
    /readyz   200 if `Stats.unready` has nothing to say: all communities that the process was
              asked to join are joined, it is not isolated, and it is not deaf
    /metrics  the metrics of `camcast.ops.metrics`, with the extra ``camcast[metrics]``

Where it is not so, the status is 503, and the body says why, a reason a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from importlib.util import find_spec

from camcast.doors.transport import BindError
from camcast.observe.stats import Stats
from camcast.ops.http_server import Answer, HttpServer
from camcast.ops.snapshots import AnyManager, BusyError, Snapshots


@contextmanager
def serve(
    managers: AnyManager | Mapping[str, AnyManager], host: str = "127.0.0.1", port: int = 0
) -> Iterator[str]:
    """Serve the health and the metrics of processes until the block ends; yield the URL.

    With port 0 it is any free port. Nobody who asks is authenticated: off the loopback, anybody can
    read topics and gateways. Raises `BindError`.
    """
    snapshots = Snapshots(managers)
    routes = {
        "/livez": lambda _: _verdict(snapshots, lambda _: ()),
        "/readyz": lambda _: _verdict(snapshots, Stats.unready),
        "/metrics": _metrics_of(managers),
    }
    try:
        server = HttpServer(host, port, routes)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BindError(
            error.errno, f"health cannot be served at {host}:{port}: {reason}; choose another port"
        ) from error
    with server:
        server.start()
        try:
            yield server.url
        finally:
            server.shutdown()


def _verdict(snapshots: Snapshots, reasons_of: Callable[[Stats], tuple[str, ...]]) -> Answer:
    """Answer whether there is no reason against any process."""
    try:
        taken = snapshots.take()
    except BusyError as error:
        reasons = [str(error)]
    else:
        reasons = [why for stats in taken.values() for why in reasons_of(stats)]
        if not taken:
            reasons = ["the process has ended"]
    if not reasons:
        return Answer(b"ok\n")
    return Answer("\n".join([*reasons, ""]).encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)


def _metrics_of(managers: AnyManager | Mapping[str, AnyManager]) -> Callable[[str], Answer]:
    if find_spec("prometheus_client") is None:
        missing = b"this needs prometheus_client: pip install 'camcast[metrics]'\n"
        return lambda _: Answer(missing, status=HTTPStatus.NOT_IMPLEMENTED)
    from camcast.ops.metrics import exposition

    return exposition(managers)
