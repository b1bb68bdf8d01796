"""Serves the dashboard to browsers on this machine: the page, and the latest moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from typing_extensions import override

from camcast.ops.dashboard.dashboard_page import page
from camcast.ops.dashboard.gathering import Moment


class DashboardServer(ThreadingHTTPServer):
    """Answers browsers in threads of its own, from `serve_forever` on, until `shutdown`.

    `latest` gives the moment to show, or None before there is one. Only GET is answered, for ``/``
    and ``/moment.json``, and only if the request names this machine as its host: another site's
    page in a browser here gets nothing, whatever its name resolves to.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, latest: Callable[[], Moment | None]) -> None:
        """Listen; raises `OSError` if that is not possible."""
        self.latest = latest
        super().__init__((host, port), _Handler)
        self.hosts = (f"{host}:{self.server_port}", f"localhost:{self.server_port}")

    def start(self) -> None:
        """Serve in the background."""
        threading.Thread(target=self.serve_forever, name="camcast-dashboard", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: DashboardServer
    timeout = 10.0  # chosen: a browser asks at once

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path == "/":
            self._answer(page().encode(), "text/html; charset=utf-8")
        elif self.path == "/moment.json":
            moment = self.server.latest()
            found = HTTPStatus.OK if moment else HTTPStatus.SERVICE_UNAVAILABLE
            self._answer(msgspec.json.encode(moment), "application/json", found)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, *_: object) -> None:
        """Log no requests."""
