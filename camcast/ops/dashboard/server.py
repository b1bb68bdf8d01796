"""Serves the dashboard to browsers on this machine: the page, and the latest moment."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import msgspec

from camcast.ops.dashboard.dashboard_page import page
from camcast.ops.dashboard.gathering import Moment
from camcast.ops.http_server import Answer, HttpServer


class DashboardServer(HttpServer):
    """Answers browsers: ``/`` is the page, and ``/moment.json`` what it shows.

    `latest` gives the moment to show, or None before there is one.
    """

    def __init__(self, host: str, port: int, latest: Callable[[], Moment | None]) -> None:
        """Listen; raises `OSError` if that is not possible."""
        self.latest = latest
        super().__init__(host, port, {"/": _page, "/moment.json": self._moment})

    def _moment(self, _accept: str) -> Answer:
        moment = self.latest()
        status = HTTPStatus.OK if moment else HTTPStatus.SERVICE_UNAVAILABLE
        return Answer(msgspec.json.encode(moment), "application/json", status)


def _page(_accept: str) -> Answer:
    return Answer(page().encode(), "text/html; charset=utf-8")
