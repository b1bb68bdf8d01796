"""A small HTTP server for operators: few paths, few connections, and no way in for web pages.

The dashboard and the health of a process are served by it. Nobody who asks is authenticated. Each
connection is for one request, has `REQUEST_SECONDS` for all of it, and gets nothing while
`CONNECTIONS_MAX` others are open.

*Web pages.* A page from elsewhere may run in a browser that reaches this server, and may have let
its own name point to the server's address (DNS rebinding). The browser still sends that name as the
host of the request. Requests are therefore answered only if they name an IP address, ``localhost``
or the host that the server was given.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socketserver import TCPServer
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import frozen
from typing_extensions import override

from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

CONNECTIONS_MAX: Final = 16  # chosen: probes, a scraper and persons, several times over
REQUEST_SECONDS: Final = 10.0  # chosen: above the 5 s that a busy event loop has for its answer


@frozen
class Answer:
    """An answer to a request."""

    body: bytes
    kind: str = "text/plain; charset=utf-8"
    """The media type of the body."""
    status: HTTPStatus = HTTPStatus.OK


class HttpServer(ThreadingHTTPServer):
    """Answers GET and HEAD for each path of `routes`, in threads, from `start` until `shutdown`.

    A route is given the header ``Accept`` of the request. The server is a context manager, which
    stops listening.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, routes: Mapping[str, Callable[[str], Answer]]) -> None:
        """Listen; raises `OSError` if that is not possible."""
        self.routes = routes
        self._host = host
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """The URL of the server, without a path."""
        shown = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{shown}:{self.server_port}"

    def start(self) -> None:
        """Serve in the background."""
        threading.Thread(target=self.serve_forever, name="camcast-http", daemon=True).start()

    def is_named(self, host: str) -> bool:
        """Say whether the host of a request is this server, and no name that only leads to it."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in ("localhost", self._host.lower()):
                return True
            ip_address(name)
        except ValueError:
            return False
        return True

    @override
    def server_bind(self) -> None:
        """Bind, without the look-up of this host's name by which HTTPServer can wait for DNS."""
        TCPServer.server_bind(self)
        host, port, *_ = self.server_address
        self.server_name, self.server_port = str(host), int(port)

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    @override
    def process_request_thread(self, request: Any, client_address: Any) -> None:
        deadline = threading.Timer(REQUEST_SECONDS, _cut, [request])
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            self._free.release()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of a route; a client that is gone is none."""
        if not isinstance(sys.exception(), OSError):
            _log.error("a request could not be answered", exc_info=True)


def _cut(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    server_version = "camcast"
    sys_version = ""
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        route = self.server.routes.get(self.path.partition("?")[0])
        if not self.server.is_named(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif route is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            answer = route(self.headers.get("Accept", ""))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

    do_HEAD = do_GET  # which probes ask with, too

    @override
    def log_message(self, *_: object) -> None:
        """Log no requests."""
