"""The systems that do the job: how their workers and servers are started, and what they need."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen
from camcast_members import CamcastMembers
from fleet import Server, Worker
from fleet_worker import FleetError, PythonWorker
from members import Members

from camcast import Parameters
from peers.free_port import free_port
from peers.gossipsub_worker import FOLDER as GOSSIPSUB
from peers.gossipsub_worker import GossipsubWorker

PARAMETERS = Parameters(c=2)  # as in test_live_multicast, and the default spread, as users have it
PATHS = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's brokers: /usr/sbin
)
SERVER_SECONDS_MAX = 10.0  # chosen: they need a tenth of a second

_PYPI = "pip install -r benchmarks/peers/requirements.txt"


@frozen
class System:
    """A system, and what is not comparable about it."""

    name: str
    note: str
    missing: Callable[[], str | None]
    """Returns what is not installed, and how to get it; None if all is there."""
    hire: Callable[[], Worker]
    server: Callable[[], AbstractContextManager[Server | None]] = nullcontext


def camcast(membership: str) -> list[System]:
    """Return ours on this backend, by each transport; by the first one the others are measured.

    That is `tcp`, which connects all nodes as the others do, those of a process included.
    """
    return [
        System(
            f"camcast, {transport}",
            "Python, 2 processes; no server; gossip, each event some 5 to 6 times",
            lambda: None,
            partial(
                PythonWorker, partial(CamcastMembers, membership, PARAMETERS, transport=transport)
            ),
        )
        for transport in ("tcp", "zmtp", "zmq")
    ]


def peers() -> list[System]:
    """Return the systems that camcast is compared with."""
    return [
        System(
            "zenoh",
            "native threads under Python, 2 processes; no server; everybody connected to everybody",
            partial(_missing, "zenoh"),
            partial(_python, "zenoh_members", "ZenohMembers"),
        ),
        System(
            "nats",
            "clients in Python, 2 processes; a server in Go, which must live and does the fan-out",
            partial(_missing, "nats", "nats-server"),
            partial(_python, "nats_members", "NatsMembers"),
            partial(_server, _nats_command, "nats://127.0.0.1:{}"),
        ),
        System(
            "mosquitto",
            "clients in Python (paho), 2 processes; a broker in C, which must live; QoS 0",
            partial(_missing, "paho.mqtt", "mosquitto"),
            partial(_python, "mosquitto_members", "MosquittoMembers"),
            partial(_server, _mosquitto_command, "127.0.0.1:{}"),
        ),
        System(
            "gossipsub",
            "JavaScript, 2 processes; no server; gossip in a mesh of 6",
            _missing_gossipsub,
            GossipsubWorker,
        ),
        System(
            "py-ipv8",
            "Python, 2 processes; no server; UDP, the publisher sends to each, nobody relays",
            partial(_missing, "ipv8"),
            partial(_python, "ipv8_members", "Ipv8Members"),
        ),
    ]


def _missing(module: str, server: str | None = None) -> str | None:
    if find_spec(module.partition(".")[0]) is None:
        return f"the Python package {module.partition('.')[0]} is not installed ({_PYPI})"
    if server is not None and shutil.which(server, path=PATHS) is None:
        return f"{server} is not installed (apt install {server})"
    return None


def _missing_gossipsub() -> str | None:
    if shutil.which("node") is None:
        return "Node.js is not installed"
    if not (GOSSIPSUB / "node_modules").exists():
        return "its packages are not installed (npm ci in benchmarks/peers/gossipsub)"
    return None


def _python(module: str, name: str) -> Worker:
    # Imported when it is needed, since the package that it uses may be absent.
    members: Callable[[], Members] = getattr(import_module(f"peers.{module}"), name)
    return PythonWorker(members)


@contextmanager
def _server(command: Callable[[int, Path], Sequence[str]], address: str) -> Iterator[Server]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command(port, Path(folder)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            _wait_for(port, process)
            yield Server(address.format(port), process.pid)
        finally:
            process.terminate()
            process.wait(SERVER_SECONDS_MAX)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SERVER_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.05)
    raise FleetError(f"the server does not listen: {process.args!r}")


def _executable(name: str) -> str:
    found = shutil.which(name, path=PATHS)
    assert found is not None
    return found


def _nats_command(port: int, _folder: Path) -> Sequence[str]:
    return [_executable("nats-server"), "-a", "127.0.0.1", "-p", str(port)]


def _mosquitto_command(port: int, folder: Path) -> Sequence[str]:
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\n"
        "allow_anonymous true\n"
        "max_queued_messages 0\n"  # unlimited: else it drops what a burst has too much
        "set_tcp_nodelay true\n"
        "user root\n"  # else, started by root, it cannot read this file; no effect otherwise
    )
    return [_executable("mosquitto"), "-c", str(config)]
