"""The dashboard of real processes, as a browser gets it, and as it shows it if there is one."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socketserver
import subprocess
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import ClassVar

import pytest

from camcast import CommunityManager
from camcast.app import blocking
from camcast.live.control_socket import ask
from camcast.ops.dashboard.dashboard_page import page
from camcast.ops.dashboard.gathering import COUNTERS, gather, sockets_of
from camcast.ops.dashboard.server import DashboardServer
from camcast.research.experiment.demo_flights import departures
from tests.library.live.communities import connected
from tests.patience import PATIENCE_SECONDS, eventually, live

CHROMIUM = shutil.which("chromium")


def get(
    server: DashboardServer, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, headers={} if host is None else {"Host": host})
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
        events = both[1].subscribe()
        await both[0].publish(b"x")
        await anext(events)
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
        assert "<span>latency p50, ms</span>" in shown
        assert len(re.findall('class="dot', shown)) == 2
        [arcs] = re.findall('class="arc" d="([^"]*)"', shown)
        assert arcs.count("M") == 2  # each holds the other


class Counting(socketserver.StreamRequestHandler):
    """A process that answers as a real one did, and counts who asks it what."""

    asked: ClassVar[list[list[bytes]]] = []
    answers: ClassVar[dict[str, object]] = {}

    def handle(self) -> None:
        questions: list[bytes] = []
        self.asked.append(questions)
        for line in self.rfile:
            questions.append(line)
            answer = self.answers[json.loads(line)["ask"]]
            self.wfile.write(json.dumps({"answer": answer}).encode() + b"\n")


def test_a_look_costs_a_process_one_connection_and_two_answers(tmp_path: Path) -> None:
    """What a look costs is counted: how long it takes depends on the machine."""
    real, counting = tmp_path / "real", tmp_path / "counting"
    with blocking.CommunityManager(control=real) as manager:
        manager.join(".soccer.italy")
        Counting.answers = {name: ask(real, name) for name in ("status", "peers")}
    with socketserver.ThreadingUnixStreamServer(str(counting), Counting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for looks in (1, 2):
            [seen] = gather([counting])["nodes"]
            assert "error" not in seen
            assert len(Counting.asked) == looks
        server.shutdown()
    assert [len(questions) for questions in Counting.asked] == [2, 2]
    assert sum(len(line) for questions in Counting.asked for line in questions) < 100
    assert len(json.dumps(Counting.answers)) < 5000  # and some 200 bytes a peer


def shown_by_a_browser(path: Path, *more: str) -> str:
    """Return the document as it is after its scripts have run."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000")
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [str(CHROMIUM), *options, *more, profile, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


WIDTHS = (390, 1280)  # a telephone, a desk
IN_FRAMES = """<iframe src="page.html" width="390" height="900"></iframe>
<iframe src="page.html" width="1280" height="900"></iframe>
<p id="found">nothing</p><script>
addEventListener("load", () => setTimeout(() => {
  const pages = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
  document.getElementById("found").textContent = JSON.stringify(pages.map((shown) => {
    const style = shown.defaultView.getComputedStyle(shown.body);
    const labels = [...shown.querySelectorAll("#overlay text")];
    const boxes = labels.map((one) => one.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right
      && a.top < b.bottom - 3 && b.top < a.bottom - 3;
    const met = boxes.map((one, n) => boxes.slice(n + 1).filter((other) => meet(one, other)));
    return [shown.documentElement.scrollWidth, shown.querySelectorAll("#tiles div").length,
      style.backgroundColor, style.color,
      boxes.length, Math.min(...boxes.map((one) => one.height)), met.flat().length,
      /[0-9]e[+]/.test(shown.body.textContent)];
  }));
}, 500));</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(("scheme", "dark"), [("0", True), ("1", False)])
def test_the_demo_can_be_read_on_a_telephone_and_a_desk_in_light_and_dark(
    scheme: str, dark: bool, tmp_path: Path
) -> None:
    """In frames of these widths, since a window of Chromium has 500 pixels at least."""
    nodes = [
        node(f"{number:032x}", topic)
        for number, topic in enumerate(
            topic.name for topic, count in departures().communities.items() for _ in range(count)
        )
    ]
    nodes.append({"socket": "s", "error": "x" * 300})
    (tmp_path / "page.html").write_text(page([{"taken": at, "nodes": nodes} for at in (1, 3)]))
    (tmp_path / "frames.html").write_text(IN_FRAMES)
    options = (f"--blink-settings=preferredColorScheme={scheme}", "--allow-file-access-from-files")
    shown = shown_by_a_browser(tmp_path / "frames.html", *options)
    found = re.search('<p id="found">(.*?)</p>', shown)
    assert found is not None

    def lightness(colour: str) -> int:
        return sum(map(int, re.findall(r"\d+", colour)))

    for width, told in zip(WIDTHS, json.loads(found[1].replace("&quot;", '"')), strict=True):
        scroll_width, tiles, background, ink, labels, lowest, meeting, exponent = told
        assert scroll_width <= width
        assert (labels, meeting) == (4 + 2 * 29, 0)  # each carrier's name, and its size below it
        assert lowest >= 10  # pixels
        assert not exponent
        assert tiles == 14
        assert (lightness(background) < lightness(ink)) is dark


def node(peer: str, topic: str) -> dict[str, object]:
    """Return a process as a moment has it, with peers and names as long as they come."""
    counters = dict.fromkeys(
        (*COUNTERS, "bytes_received", "bytes_sent", "records_dropped"), 12345678
    )
    of: dict[str, object] = dict.fromkeys(
        ("size", "peers", "published", "delivered", "missed"), 12345
    )
    of |= {"topic": topic, "state": "member", "supers": [".departures"], "latency_ms_p50": 99.7}
    of |= {"latency_ms_p99": 1234.5, "haves_sent": 1, "wants_sent": 2, "holes": 3}
    known: dict[str, object] = {
        "peer": "ab" * 16,
        "address": "tcp://[2001:db8::1234:5678]:65535",
        "state": "heard",
    }
    known |= {"tables": [topic], "holds": [topic], "links": []}
    about = {"socket": peer, "peer": peer, "address": known["address"], "process": 1}
    about |= {"up_seconds": 1.0, "conditions": [], "suspects": 0, "discovery": "connected"}
    return {**about, "counters": counters, "communities": [of], "peers": [known] * 20}


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
        assert get(server, "/", method="HEAD") == (200, b"")
        assert get(server, "/gone", method="HEAD") == (404, b"")
        server.latest = lambda: None
        assert get(server, "/moment.json")[0] == 503
        server.shutdown()
