"""Faults of running processes, as log, `doctor`, `status` and metrics tell them; and nothing else.

A gateway and three subscribers of a topic with one passphrase, as commands in processes of their
own. After each fault is undone, `doctor` finds the whole system well again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.camcast_command import Capture, camcast
from tests.library.live.communities import free_address
from tests.library.live.running_command import COMMAND
from tests.patience import wait_until

RIGHT, WRONG = "one two three four five six", "six five four three two one"


class Site:
    """The processes, with a folder of control sockets and a log each."""

    def __init__(self, folder: Path, capfd: Capture) -> None:
        self.folder, self.sockets, self.capfd = folder, folder / "run", capfd
        self.sockets.mkdir()
        self.gateway = free_address()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str, passphrase: str = RIGHT) -> None:
        """Start a command, and wait until its control socket answers."""
        watched = ("--control", self.sockets / name, "--health", "0")
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [*COMMAND, *arguments, *map(str, watched)],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "CAMCAST_PASSPHRASE": passphrase},
            )
        wait_until(lambda: self.doctor(name)[0]["check"] == "process")
        wait_until(lambda: self.doctor(name)[0]["ok"], self.running[name])

    def start_gateway(self) -> None:
        self.start("gateway", "gateway", "--bind", self.gateway)

    def subscribe(self, name: str, passphrase: str = RIGHT) -> None:
        more = ("--retry", "--gateway", self.gateway)
        self.start(name, "subscribe", ".s", *more, passphrase=passphrase)

    def end(self, name: str) -> None:
        """Kill a process."""
        process = self.running.pop(name)
        process.kill()
        process.communicate()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text("utf-8")

    def doctor(self, name: str = "") -> list[dict[str, Any]]:
        """Ask the doctor of one process, or of the whole folder."""
        self.capfd.readouterr()
        camcast("doctor", self.sockets / name, "--json")
        found: list[dict[str, Any]] = json.loads(self.capfd.readouterr().out)
        return found

    def wrong(self, name: str = "") -> list[str]:
        """The findings that name a cause, of one process or of the whole folder."""
        return [o["check"] for o in self.doctor(name) if o["ok"] is False and not o["because"]]

    def assert_told(self, name: str, condition: str) -> None:
        """Wait until a process says so, by every instrument, and nothing else in its place."""
        wait_until(lambda: condition in self.wrong(name))
        assert self.wrong(name) == [condition]
        self.capfd.readouterr()
        assert camcast("status", self.sockets / name) == 0
        said = " ".join(self.capfd.readouterr().out.split())
        assert f"! {condition}" in said
        (url,) = {word for word in self.log(name).split() if word.endswith("/metrics")}
        with urlopen(url) as answer:
            metrics = answer.read().decode()
        assert f'camcast_condition{{condition="{condition}"}} 1.0' in metrics
        for other in self.running.keys() - {name}:
            assert self.wrong(other) in ([], [condition])

    def assert_well(self) -> None:
        wait_until(lambda: self.wrong() == [])


@pytest.fixture
def site(tmp_path: Path, capfd: Capture) -> Iterator[Site]:
    site = Site(tmp_path, capfd)
    try:
        site.start_gateway()
        site.subscribe("a")
        site.subscribe("b")
        site.subscribe("c")  # or who has lost b would be cut off
        wait_until(lambda: "member" in str(site.doctor("b")))
        yield site
    finally:
        for name in [*site.running]:
            site.end(name)


@pytest.mark.slow  # 30 s, and three minutes of waiting
def test_each_instrument_names_each_fault_and_none_misleads(site: Site) -> None:
    site.assert_well()
    assert all(" WARNING " not in site.log(name) for name in site.running)

    site.subscribe("stranger", WRONG)
    site.assert_told("stranger", "not_admitted")
    assert f"lost {site.gateway}" in site.log("stranger")
    assert "strangers" in {one["check"] for one in site.doctor("gateway")}  # a question, no fault
    site.end("stranger")
    (site.sockets / "stranger").unlink()  # which a killed process leaves behind
    site.assert_well()

    site.running["b"].send_signal(signal.SIGSTOP)
    wait_until(lambda: site.wrong() == ["no_answer"])
    wait_until(lambda: "peer_lost" in {one["check"] for one in site.doctor("a")})
    assert site.wrong("a") == []
    site.running["b"].send_signal(signal.SIGCONT)
    site.assert_well()

    site.end("gateway")
    site.assert_told("a", "no_gateway")
    assert "no gateway answers any longer" in site.log("a")
    assert site.wrong() == ["no_answer"]  # whose consequence the rest is
    site.start_gateway()
    site.assert_well()
    assert "no_gateway is over" in site.log("a")

    lines = b"".join(b"%d %s\n" % (number, b"x" * 100) for number in range(3000))
    publish = [*COMMAND, "publish", ".s", "--gateway", site.gateway]
    env = {**os.environ, "CAMCAST_PASSPHRASE": RIGHT}
    assert subprocess.run(publish, input=lines, env=env, check=False).returncode == 0
    site.assert_told("a", "slow_subscriber")
    assert "slow_subscriber: " in site.log("a")
    for name in ("a", "b", "c"):
        reader = site.running[name].stdout
        assert reader is not None
        for _ in range(3000):
            assert reader.readline()
    site.assert_well()
    assert "slow_subscriber of .s is over" in site.log("a")
