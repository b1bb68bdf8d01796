"""Whether a process lives and is ready: over HTTP, and by `camcast ready`."""

import asyncio
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import attrs
import pytest

from camcast import CommunityManager, Stats
from camcast.app import blocking
from camcast.observe.conditions import Watch
from camcast.ops import http_server, snapshots
from camcast.ops.health import serve
from camcast.ops.http_server import CONNECTIONS_MAX, HttpServer
from tests.camcast_command import Capture, camcast
from tests.library.live.communities import free_address
from tests.patience import PATIENCE_SECONDS, live


def get(url: str, path: str, host: str | None = None) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", path, headers={} if host is None else {"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Told(blocking.CommunityManager):
    """A process whose snapshot is another one."""

    def __init__(self, change: Callable[[Stats], Stats]) -> None:
        super().__init__()
        self._change = change

    def stats(self) -> Stats:
        return self._change(super().stats())


def with_condition(name: str) -> Callable[[Stats], Stats]:
    """A snapshot is looked at as if this were so."""

    def change(stats: Stats) -> Stats:
        ill = attrs.evolve(stats, liveness=attrs.evolve(stats.liveness, **{name: True}))
        return attrs.evolve(ill, conditions=Watch().look(ill))

    return change


@live
async def test_a_process_is_ready_when_it_has_joined_what_it_was_asked_to(tmp_path: Path) -> None:
    silent, path = free_address(), tmp_path / "control"
    gateways = {".a": [], ".b": [silent]}
    async with CommunityManager(gateways=gateways, control=path) as manager:
        with serve(manager) as url:
            ask = asyncio.to_thread
            assert await ask(get, url, "/readyz") == (200, "ok\n")  # as a gateway is
            await manager.join(".a")
            assert await ask(get, url, "/readyz") == (200, "ok\n")
            assert await ask(camcast, "ready", path) == 0
            joining = asyncio.create_task(manager.community(".b").join(timeout=None, retry=True))
            await asyncio.sleep(0)  # which begins to join
            assert await ask(get, url, "/readyz") == (503, "unjoined: .b is not joined\n")
            assert await ask(get, url, "/livez") == (200, "ok\n")
            assert await ask(camcast, "ready", path) == 1
            joining.cancel()
            await asyncio.wait([joining])
            assert await ask(get, url, "/readyz") == (200, "ok\n")


@pytest.mark.parametrize("state", ["deaf", "isolated"])
def test_a_process_that_hears_nothing_is_not_ready_and_lives(state: str) -> None:
    with Told(with_condition(state)) as manager, serve(manager) as url:
        status, why = get(url, "/readyz")
        assert (status, why.partition(":")[0]) == (503, state)
        assert get(url, "/livez") == (200, "ok\n")


@live
async def test_a_loop_that_does_not_answer_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "STATS_SECONDS", 0.2)
    async with CommunityManager() as manager:
        with serve(manager) as url, ExitStack() as stack:
            asking = stack.enter_context(
                socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
            )
            asking.sendall(b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
            asking.settimeout(PATIENCE_SECONDS)
            said = asking.recv(1 << 16)  # which blocks the loop meanwhile
            assert said.startswith(b"HTTP/1.0 503 ")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (None, 200),
        ("192.0.2.1:9100", 200),  # as kubelet and Prometheus name a pod
        ("[2001:db8::1]:9100", 200),
        ("localhost", 200),
        ("evil.example:9100", 403),  # a name that only leads here
        ("evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_a_request_that_names_somebody_else_is_refused(host: str | None, status: int) -> None:
    with blocking.CommunityManager() as manager, serve(manager) as url:
        assert get(url, "/livez", host)[0] == status
        assert get(url, "/etc/passwd", host)[0] == (404 if status == 200 else 403)


def test_connections_are_few_and_have_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends byte after byte has no more time than others, who wait for a place."""
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 1.0)
    with HttpServer("127.0.0.1", 0, {}) as server, ExitStack() as stack:
        server.start()
        stack.callback(server.shutdown)
        address = ("127.0.0.1", server.server_port)
        slow = [
            stack.enter_context(socket.create_connection(address)) for _ in range(CONNECTIONS_MAX)
        ]
        for one in slow:
            one.sendall(b"G")
        with socket.create_connection(address) as late:
            late.settimeout(PATIENCE_SECONDS)
            assert late.recv(1) == b""
        ended = 0
        while ended < len(slow):
            for one in slow:
                one.settimeout(0.01)
                try:
                    one.sendall(b"E")
                    ended += one.recv(1) == b""
                except TimeoutError:
                    pass
                except OSError:
                    ended += 1
            time.sleep(0.05)
        assert get(server.url, "/") == (404, get(server.url, "/")[1])


def cpu_of(*arguments: object) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_ready_costs_little_more_than_starting_python(tmp_path: Path, capfd: Capture) -> None:
    """At most five times the CPU, the least of five each: others only add to it."""
    path = tmp_path / "control"
    with blocking.CommunityManager(control=path) as manager:
        manager.join(".a")
        python = min(cpu_of("-c", "pass") for _ in range(5))
        ready = min(cpu_of("-m", "camcast", "ready", path) for _ in range(5))
        assert ready <= 5 * python
    assert camcast("ready", path) == 1
    assert "no process listens there" in capfd.readouterr().err
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(tmp_path / "stranger"))
        assert camcast("ready", tmp_path / "stranger") == 1
    assert camcast("ready", tmp_path / ("long" * 40)) == 1
