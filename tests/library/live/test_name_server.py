"""A gateway moves under its name: real processes ask a real name server, over UDP.

The processes, the addresses 127.0.0.x and ``/etc/resolv.conf`` are those of namespaces that the
test makes; it takes root, and is skipped where there are none.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from struct import pack, unpack_from
from typing import Final

import pytest

from tests.patience import wait_until

ROOT: Final = Path(__file__).parents[3]
NAME: Final = "gateway.test"
GATEWAY: Final = f"tcp://{NAME}:7000"
SERVER: Final = "127.0.0.1", 53
INSIDE: Final = """
ip link set lo up && mount --bind "$1" /etc/resolv.conf
exec "$2" -m tests.library.live.test_name_server "$3"
"""


class NameServer:
    """Answers each question for an A record from a table, which may change; one thread."""

    def __init__(self) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(SERVER)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, asker = self._socket.recvfrom(512)
            self._socket.sendto(self._answer(question), asker)

    def _answer(self, question: bytes) -> bytes:
        """Return the answer to a question of one name [RFC 1035, 4.1]."""
        labels, at = list[str](), 12
        while length := question[at]:
            labels.append(question[at + 1 : at + 1 + length].decode())
            at += 1 + length
        name, (kind,) = ".".join(labels), unpack_from("!H", question, at + 1)
        self.asked.append(name)
        found = self.addresses.get(name)
        given = [socket.inet_aton(one) for one in found or () if kind == 1]
        flags = 0x8180 if found else 0x8183  # an answer, with recursion; 3: there is no such name
        head = question[:2] + pack("!HHHHH", flags, 1, len(given), 0, 0)
        records = [pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + address for address in given]
        return head + question[12 : at + 5] + b"".join(records)


def camcast(*arguments: str, output: Path | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "camcast", *arguments]
    if output is None:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with output.open("wb") as file:
        return subprocess.Popen(command, stdout=file)


def move(folder: Path) -> None:
    """Let a gateway move while two processes subscribe; each event comes to both, once."""
    names = NameServer()
    running = list[subprocess.Popen[bytes]]()
    outputs = [folder / f"{number}.txt" for number in range(2)]

    def heard(*events: str) -> bool:
        return all(output.read_text().splitlines() == list(events) for output in outputs)

    def publish(event: str, host: str) -> None:
        at = ("--bind", f"tcp://{host}:0", "--gateway", GATEWAY)
        assert camcast("publish", ".roof", event, "--retry", *at).wait() == 0

    try:
        names.addresses[NAME] = ["127.0.0.2"]
        gateway = camcast("gateway", "--bind", "tcp://127.0.0.2:7000")
        running.append(gateway)
        for number, output in enumerate(outputs):
            at = ("--bind", f"tcp://127.0.0.1{number}:0", "--gateway", GATEWAY)
            running.append(
                camcast(
                    "subscribe", ".roof", "--format", "{payload}", "--retry", *at, output=output
                )
            )
        publish("one", "127.0.0.21")
        wait_until(lambda: heard("one"))
        gateway.kill()
        gateway.wait()
        names.addresses[NAME] = ["127.0.0.3"]
        running.append(camcast("gateway", "--bind", "tcp://127.0.0.3:7000"))
        names.asked.clear()
        wait_until(lambda: len(names.asked) > 2)  # both subscribers look where it is
        publish("two", "127.0.0.22")
        wait_until(lambda: heard("one", "two"))
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"),
    reason="only root can make namespaces, with `unshare` and `ip`",
)
def test_a_gateway_that_moves_is_found_by_its_name(tmp_path: Path) -> None:
    resolver = tmp_path / "resolv.conf"
    resolver.write_text(f"nameserver {SERVER[0]}\noptions timeout:1\n")
    inside = ["sh", "-c", INSIDE, "inside", str(resolver), sys.executable, str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--net", "--mount", *inside], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    move(Path(sys.argv[1]))
