"""The instruments of the chaos suite do what they say: cuts, weather, and the janitor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.library.chaos.network import (
    ROOT,
    Loopback,
    Network,
    Weather,
    Wires,
    filter_obstacles,
    obstacles,
)
from tests.patience import wait_until

needs_root = pytest.mark.skipif(bool(obstacles()), reason="; ".join(obstacles()))
needs_filter = pytest.mark.skipif(bool(filter_obstacles()), reason="; ".join(filter_obstacles()))

_LISTENER = """
import socket, sys
listener = socket.create_server((sys.argv[1], 5000))
print("up", flush=True)
connection, _ = listener.accept()
connection.sendall(b"back")
"""
_CALLER = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 5000), timeout=10)
sys.stdout.buffer.write(connection.recv(100))
"""
_RECEIVER = """
import select, socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
receiver.bind((sys.argv[1], 5000))
receiver.settimeout(float(sys.argv[2]))
print("up", flush=True)
while True:
    try:
        print(receiver.recv(100).decode())
    except TimeoutError:
        if select.select([sys.stdin], [], [], 0)[0]:
            break
"""
_SENDER = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[2])):
    sender.sendto(str(number).encode(), (sys.argv[1], 5000))
    time.sleep(0.001)
"""


def sent(network: Network, source: int, target: int, count: int = 3) -> list[int]:
    """Send numbered datagrams from one host to another, and return those that came."""
    address = network.address(target)
    # When all is sent, a second of silence says that nothing more comes: delays are below a tenth.
    receiver = [sys.executable, "-c", _RECEIVER, address, "1"]
    with subprocess.Popen(
        network.command(target, receiver),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        sender = [sys.executable, "-c", _SENDER, address, str(count)]
        subprocess.run(network.command(source, sender), check=True)
        process.stdin.close()
        return [int(line) for line in process.stdout]


@pytest.fixture
def wires() -> Iterator[Wires]:
    network = Wires(3)
    yield network
    network.close()


@pytest.fixture
def weather() -> Iterator[Weather]:
    network = Weather(2, seed=1)
    yield network
    network.close()


@needs_root
def test_a_cut_is_of_one_direction_and_ends_when_healed(wires: Wires) -> None:
    wires.cut([(0, 1)])
    assert sent(wires, 0, 1) == []
    assert sent(wires, 1, 0) == sent(wires, 0, 2) == [0, 1, 2]
    wires.heal()
    assert sent(wires, 0, 1) == [0, 1, 2]


@needs_root
@needs_filter
def test_a_closed_host_is_answered_on_the_connections_that_it_makes(wires: Wires) -> None:
    wires.close_in([1])
    assert sent(wires, 0, 1) == []
    listener = [sys.executable, "-c", _LISTENER, wires.address(0)]
    with subprocess.Popen(
        wires.command(0, listener), stdout=subprocess.PIPE, text=True
    ) as listening:
        assert listening.stdout is not None
        assert listening.stdout.readline() == "up\n"
        caller = wires.command(1, [sys.executable, "-c", _CALLER, wires.address(0)])
        assert subprocess.run(caller, capture_output=True, check=True).stdout == b"back"


@needs_root
@needs_filter
def test_hidden_hosts_have_the_same_address_and_reach_only_themselves_at_it(wires: Wires) -> None:
    wires.hide([1, 2])
    assert wires.address(1) == wires.address(2) != wires.address(0)
    assert sent(wires, 0, 1) == sent(wires, 1, 2) == sent(wires, 2, 1) == []
    assert sent(wires, 1, 1) == [0, 1, 2]


@needs_root
def test_on_a_clear_day_all_packets_come_in_order(weather: Weather) -> None:
    assert sent(weather, 0, 1, 200) == list(range(200))


@needs_root
def test_packets_are_lost(weather: Weather) -> None:
    weather.set_weather(loss=0.3)
    assert 0.2 < 1 - len(sent(weather, 0, 1, 1000)) / 1000 < 0.4  # 7 standard deviations


@needs_root
def test_packets_are_duplicated_and_overtake(weather: Weather) -> None:
    weather.set_weather(duplicate=0.3, delay=0.02, jitter=0.01)
    came = sent(weather, 0, 1, 1000)
    assert set(came) == set(range(1000))
    assert 1200 < len(came) < 1400
    assert came != sorted(came)


@needs_root
def test_new_weather_replaces_the_old(weather: Weather) -> None:
    weather.set_weather(loss=1)
    assert sent(weather, 0, 1) == []
    weather.set_weather()
    assert sent(weather, 0, 1) == [0, 1, 2]


def test_networks_on_the_loopback_have_addresses_of_their_own() -> None:
    one, other = Loopback(), Loopback()
    addresses = {network.address(host) for network in (one, other) for host in range(5)}
    assert len(addresses) == 10
    assert all(address.startswith("127.") for address in addresses)
    assert sent(one, 0, 1) == [0, 1, 2]


@needs_root
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_suite_ends(end: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.library.chaos", "--membership", "scamp", "--folder"]
    command += [str(tmp_path), "--only", "delay"]
    suite = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def spaces() -> list[str]:
        names = os.listdir("/run/netns") if os.path.exists("/run/netns") else []
        return [name for name in names if name.startswith(f"chaos{suite.pid}-")]

    def processes() -> list[int]:
        """Those that run in the namespaces, while these exist."""
        listed = [_ip("netns", "pids", space) for space in spaces()]
        return [int(word) for text in listed for word in text.split()]

    wait_until(lambda: list(tmp_path.rglob("p*.jsonl")), suite)  # workers run
    running = processes()
    assert running
    suite.send_signal(end)
    suite.wait()
    wait_until(lambda: not spaces())
    wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in running))


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False).stdout
