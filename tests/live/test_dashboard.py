"""The dashboard of real processes, as a browser gets it, and as it shows it if there is one."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest

from camcast import CommunityManager
from camcast.dashboard.gathering import gather, sockets_of
from camcast.dashboard.page import page
from camcast.dashboard.server import DashboardServer
from tests.live.communities import connected
from tests.patience import PATIENCE_SECONDS, eventually, live

CHROMIUM = shutil.which("chromium")


def get(server: DashboardServer, path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", path, headers={} if host is None else {"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@live
async def test_it_shows_who_holds_whom_and_who_gives_no_answer(tmp_path: Path) -> None:

    sockets = tmp_path / "sockets"
    sockets.mkdir()
    async with (
        CommunityManager(control=sockets / "a") as first,
        CommunityManager(control=sockets / "b", gateways=[first.address]) as second,
    ):
        both = [await manager.join(".soccer") for manager in (first, second)]
        await eventually(lambda: connected(both))
        addresses = {first.address, second.address}
        moment = await asyncio.to_thread(gather, [*sockets_of([sockets]), tmp_path / "gone"])
    one, other, silent = moment["nodes"]
    assert {node["address"] for node in (one, other)} == addresses
    [held] = one["peers"]
    assert (held["peer"], held["tables"]) == (other["peer"], [".soccer"])
    assert "no process listens there" in silent["error"]
    (tmp_path / "page.html").write_text(page([moment]))
    if CHROMIUM is not None:
        shown = await asyncio.to_thread(shown_by_a_browser, tmp_path / "page.html")
        assert "gone: no process listens there" in shown
        assert ".soccer 2</text>" in shown
        assert len(re.findall('class="dot', shown)) == 2
        assert len(re.findall('class="arc', shown)) == 2  # each holds the other


def shown_by_a_browser(path: Path) -> str:
    """Return the document as it is after its scripts have run."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000")
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [str(CHROMIUM), *options, profile, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def server() -> DashboardServer:
    server = DashboardServer("127.0.0.1", 0, lambda: {"taken": 1.0, "nodes": []})
    server.start()
    return server


def test_it_answers_this_machine_s_browsers_alone(server: DashboardServer) -> None:
    """A page of somebody else's whose name leads here (DNS rebinding) reads nothing."""
    with server:
        assert get(server, "/")[0] == 200
        status, body = get(server, "/moment.json")
        assert (status, json.loads(body)) == (200, {"taken": 1.0, "nodes": []})
        assert get(server, "/moment.json", "evil.example:80")[0] == 403
        assert get(server, "/../etc/passwd")[0] == 404
        server.latest = lambda: None
        assert get(server, "/moment.json")[0] == 503
        server.shutdown()
