"""The control socket: who may ask, what is answered, and that nothing sent there does harm."""

import asyncio
import json
import signal
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from camcast import BindError, CommunityManager
from camcast.app import blocking
from camcast.cli.ask import row_of
from camcast.live import control_socket
from camcast.live.control_socket import (
    CONNECTIONS_MAX,
    QUESTION_BYTES_MAX,
    ControlError,
    ControlServer,
    ask,
)
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.library.live.communities import OPTIONS, free_address
from tests.library.live.running_command import Running
from tests.patience import PATIENCE_SECONDS, live

LONG = ".a." + ".".join(["long"] * 12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control"


@pytest.fixture
def running(path: Path) -> Iterator[blocking.CommunityManager]:
    """A process that is in two communities with another one."""
    with (
        blocking.CommunityManager(options=OPTIONS, control=path) as manager,
        blocking.CommunityManager(options=OPTIONS, gateways=[manager.address]) as other,
    ):
        for topic in (LONG, ".a"):
            manager.join(topic)
            other.join(topic).ready(timeout=PATIENCE_SECONDS)
            manager.community(topic).ready(timeout=PATIENCE_SECONDS)
        yield manager


def converse(path: Path, data: bytes) -> list[bytes]:
    """Send bytes, say that there are no more, and return the lines of the answer."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(PATIENCE_SECONDS)
        asking.connect(str(path))
        asking.sendall(data)
        asking.shutdown(socket.SHUT_WR)
        pieces = b""
        while piece := asking.recv(1 << 16):
            pieces += piece
    return pieces.splitlines()


def test_what_is_answered_is_what_the_manager_says(
    running: blocking.CommunityManager, path: Path
) -> None:
    said, stats = ask(path, "status"), running.stats().as_dict()
    assert said.keys() == stats.keys()
    for key in ("peer", "address", "process"):
        assert said[key] == stats[key]
    assert [one["topic"] for one in said["communities"]] == [LONG, ".a"]
    (peer,) = ask(path, "peers")
    (known,) = running.peers()
    assert (peer["peer"], peer["address"]) == (known.peer, known.address)
    assert peer["tables"] == [LONG, ".a"]


def test_its_owner_alone_may_ask_and_it_ends_with_the_process(path: Path) -> None:
    with blocking.CommunityManager(control=path):
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not path.exists()
    with pytest.raises(ControlError, match="no process listens there"):
        ask(path, "status")


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"\n", "line of JSON"),
        (b"\xff\xfe\x00\n", "line of JSON"),
        (b"[]\n", "line of JSON"),
        (b'{"ask": "status"\n', "line of JSON"),
        (b"[" * 4000 + b"\n", "line of JSON"),
        (b"{}\n", "nothing to ask called None"),
        (b'{"ask": 7}\n', "nothing to ask called 7"),
        (b'{"ask": ["status"]}\n', "nothing to ask called"),
        (b'{"ask": "the way"}\n', "there is: status, peers"),
        (b"x" * (QUESTION_BYTES_MAX + 1000) + b"\n", "4096 bytes at most"),
        (b"x" * 100_000, "4096 bytes at most"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(
    sent: bytes, why: str, running: blocking.CommunityManager, path: Path
) -> None:
    said = json.loads(converse(path, sent)[0])
    assert why in said["error"]
    assert len(converse(path, b'{"ask": "status"}\n' * 3)) == 3
    assert converse(path, b'{"ask": "status"}') == []  # half a question


@live
async def test_connections_are_bounded_and_may_not_be_silent_for_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with CommunityManager(control=path):
        held = [await asyncio.open_unix_connection(path) for _ in range(CONNECTIONS_MAX)]
        reader, refused = await asyncio.open_unix_connection(path)
        assert await reader.read() == b""
        monkeypatch.setattr(control_socket, "SILENT_SECONDS", 0.01)
        for _, writer in held:
            writer.write(b'{"ask": "nothing"}\n')
        for reader, _ in held:
            assert b"error" in await reader.readline()
            assert await reader.read() == b""  # said nothing more
        for writer in (refused, *(writer for _, writer in held)):
            writer.close()
            await writer.wait_closed()


@live
async def test_an_answer_that_fails_is_logged_and_the_next_one_comes(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Mapping[str, Any]) -> object:
        raise RuntimeError("a defect")

    server = ControlServer(path, {"fail": fail, "hello": lambda given: given["name"]})
    await server.open()
    loop = asyncio.get_running_loop()
    with pytest.raises(ControlError, match="its log says more"):
        await loop.run_in_executor(None, ask, path, "fail")
    assert "a defect" in caplog.text
    assert await loop.run_in_executor(None, lambda: ask(path, "hello", name="you")) == "you"
    await server.close()


def test_what_is_in_the_way_is_kept_unless_nobody_answers_there(tmp_path: Path) -> None:
    path, link = tmp_path / "control", tmp_path / "link"
    path.write_text("mine")
    with pytest.raises(BindError, match="is no socket"):
        blocking.CommunityManager(control=path).start()
    assert path.read_text() == "mine"
    path.unlink()
    link.symlink_to(path)
    with pytest.raises(BindError, match="is no socket"):
        blocking.CommunityManager(control=link).start()
    with blocking.CommunityManager(control=path):
        with pytest.raises(BindError, match="another process answers"):
            blocking.CommunityManager(control=path).start()
        assert ask(path, "status")
    with pytest.raises(BindError, match="too long a path"):
        blocking.CommunityManager(control=tmp_path / ("x" * 200)).start()
    with pytest.raises(BindError, match="cannot make the control socket"):
        blocking.CommunityManager(control=tmp_path / "no" / "folder").start()


@pytest.fixture
def stopped(path: Path) -> Iterator[None]:
    """A process that has its socket at the path, with as many connections waiting as it takes."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(str(path))
        yield
        for one in waiting:
            one.close()


@pytest.mark.usefixtures("stopped")
def test_one_that_is_stopped_keeps_its_socket_and_is_named(path: Path) -> None:
    with pytest.raises(BindError, match=f"another process has the control socket {path} and does"):
        blocking.CommunityManager(control=path).start()
    assert path.exists()


def test_one_that_was_killed_makes_room_for_the_next(path: Path) -> None:
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", "--control", path) as running:
        running.line()
        assert ask(path, "status")["process"] == running.process.pid
        running.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ControlError, match="is stopped, or far too busy"):
            ask(path, "status", timeout_seconds=0.05)
    assert path.exists()
    with pytest.raises(ControlError, match="no process listens there"):
        ask(path, "status")
    with blocking.CommunityManager(control=path):
        assert ask(path, "status")


@live
async def test_a_manager_that_cannot_have_its_socket_leaves_nothing_open(tmp_path: Path) -> None:
    address = free_address()
    manager = CommunityManager(bind=address, control=tmp_path / "no" / "folder")
    with pytest.raises(BindError):
        await manager.start()
    async with CommunityManager(bind=address):  # the port is free
        pass


# -- the commands --------------------------------------------------------------------------------


def test_tables_keep_their_first_column_at_80_columns(
    running: blocking.CommunityManager, path: Path, capfd: Capture
) -> None:
    running.community(LONG).publish(b"x")
    for command in ("status", "peers", "topics"):
        assert camcast(command, path) == 0
        out = capfd.readouterr().out
        assert max(map(len, out.splitlines())) <= 80
        assert "…" not in out
        folded = "".join(line.split(" ")[0] for line in out.splitlines())
        assert LONG in folded if command != "peers" else running.peers()[0].peer[:8] in folded


def test_with_json_there_is_all_that_was_answered(
    running: blocking.CommunityManager, path: Path, capfd: Capture
) -> None:
    assert answer(capfd, "status", path)["address"] == running.address
    assert answer(capfd, "peers", path)[0]["peer"] == running.peers()[0].peer
    rows = {row["topic"]: row for row in answer(capfd, "topics", path)}
    assert list(rows) == sorted(rows)
    assert rows[".a"]["state"] == "member"
    assert rows["."]["state"] == "not found"


def test_nobody_there_is_one_sentence_and_exit_code_1(path: Path, capfd: Capture) -> None:
    for command in ("status", "peers", "topics"):
        code, said = refusal(capfd, command, path)
        assert code == 1
        assert "no process listens there" in said


def test_the_path_may_come_from_the_environment(
    running: blocking.CommunityManager, path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMCAST_CONTROL", str(path))
    assert answer(capfd, "status")["address"] == running.address


@live
async def test_whoever_cancels_start_or_close_leaves_nothing_behind(path: Path) -> None:
    for turns in range(4):  # in each of which `start` may be
        manager = CommunityManager(control=path)
        starting = asyncio.create_task(manager.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        await manager.close()
        assert not path.exists()
    async with CommunityManager(control=path) as manager:
        events = (await manager.join(".a")).subscribe()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"ask": "peers"}\n')
        assert await reader.readline() == b'{"answer":[]}\n'
        closing = asyncio.create_task(manager.close())
        await asyncio.sleep(0)  # it waits for the connection to end
        closing.cancel()
        await asyncio.wait([closing])
        assert events.closed
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


def test_the_status_of_a_folder_has_each_process_and_names_those_that_are_silent(
    tmp_path: Path, capfd: Capture
) -> None:
    with (
        blocking.CommunityManager(options=OPTIONS, control=tmp_path / "first") as first,
        blocking.CommunityManager(
            options=OPTIONS, gateways=[first.address], control=tmp_path / "second"
        ) as second,
    ):
        for community in [one.join(".a") for one in (first, second)]:
            community.ready(timeout=PATIENCE_SECONDS)
        processes = [one["peer"] for one in answer(capfd, "status", tmp_path)]
        assert processes == [one.stats().peer for one in (first, second)]
        with socket.socket(socket.AF_UNIX) as left:  # as a process that was killed leaves it
            left.bind(str(tmp_path / "third"))
        assert camcast("status", tmp_path) == 1
        printed, error = capfd.readouterr()
        assert [line.split()[:2] for line in printed.splitlines()] == [
            ["process", "communities"],
            ["first", ".a"],
            ["second", ".a"],
        ]
        assert error.startswith("camcast: third: ")
        assert "no process listens there" in " ".join(error.split())


def test_a_folder_without_sockets_has_no_status(tmp_path: Path, capfd: Capture) -> None:
    code, said = refusal(capfd, "status", tmp_path)
    assert (code, "has no control sockets" in said) == (1, True)


def test_a_row_of_the_status_has_causes_and_what_is_lost() -> None:
    condition = {"name": "deaf", "stage": "lasting", "because": None}
    stats = {
        "conditions": [
            condition,
            condition,  # of something else
            {"name": "alone", "stage": "lasting", "because": "deaf"},
            {"name": "unjoined", "stage": "beginning", "because": None},
            {"name": "paused", "stage": "over", "because": None},
        ],
        "communities": [
            {"topic": ".a", "state": "deaf", "subscriptions": [{"queued_events": 3}]},
            {"topic": ".b", "state": "member", "subscriptions": [{"queued_events": 4}]},
        ],
        "counters": {"events": 9, "missed": 1, "told_missed": 2},
        "liveness": {"watched": 5},
        "up_seconds": 60.0,
    }
    assert row_of("one", stats) == ("one", ".a (deaf), .b", "deaf", "60 s", 5, 9, 7, 3)
