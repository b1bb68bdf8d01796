"""Faults of running processes, as log, `doctor`, `status`, dashboard and metrics tell them.

A gateway and three subscribers of a topic with one passphrase, as commands in processes of their
own. Nothing else is told. After each fault is undone, `doctor` finds the whole system well again.
`test_fault_matrix` has the other faults, and the table of all.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from camcast.ops.dashboard.gathering import gather
from tests.camcast_command import Capture, camcast
from tests.library.chaos.network import Wires, obstacles
from tests.library.live.communities import free_address
from tests.library.live.running_command import COMMAND
from tests.patience import wait_until

Within = Sequence[str]
"""The command that runs another one elsewhere."""
RIGHT, WRONG = "one two three four five six", "six five four three two one"
READ = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())"


class Site:
    """The processes, with a folder of control sockets and a log each."""

    def __init__(self, folder: Path, capfd: Capture) -> None:
        self.folder, self.sockets, self.capfd = folder, folder / "run", capfd
        self.sockets.mkdir()
        self.gateway = free_address()
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.within: dict[str, Within] = {}

    def start(
        self,
        name: str,
        *arguments: str,
        passphrase: str = RIGHT,
        within: Within = (),
        **streams: Any,
    ) -> None:
        """Start a command, and wait until its control socket answers."""
        self.within[name] = within
        watched = ("--control", self.sockets / name, "--health", "0")
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [*within, *COMMAND, *arguments, *map(str, watched)],
                env={**os.environ, "CAMCAST_PASSPHRASE": passphrase},
                **{"stdout": subprocess.PIPE, "stderr": log, **streams},
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
        self.assert_shown(name, condition)
        for other in self.running.keys() - {name}:
            assert self.wrong(other) in ([], [condition])

    def assert_shown(self, name: str, condition: str, *others: str) -> None:
        """Status, dashboard and metrics have a condition of a process; others are no mistake."""
        self.capfd.readouterr()
        assert camcast("status", self.sockets / name) == 0
        said = " ".join(self.capfd.readouterr().out.split())
        assert f"! {condition}" in said
        [node] = gather([self.sockets / name])["nodes"]
        causes = {one["name"] for one in node["conditions"] if not one["because"]}
        assert condition in causes <= {condition, *others}
        (url,) = {word for word in self.log(name).split() if word.endswith("/metrics")}
        asking = [*self.within[name], sys.executable, "-c", READ, url]
        metrics = subprocess.run(asking, stdout=subprocess.PIPE, check=True).stdout.decode()
        assert f'camcast_condition{{condition="{condition}"}} 1.0' in metrics

    def assert_well(self) -> None:
        wait_until(lambda: self.wrong() == [])


@pytest.fixture
def bare(tmp_path: Path, capfd: Capture) -> Iterator[Site]:
    """A site without processes."""
    site = Site(tmp_path, capfd)
    yield site
    for name in [*site.running]:
        site.end(name)


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


@pytest.mark.slow  # 20 s, and a minute of waiting
def test_an_expired_certificate_is_told_by_each_instrument_until_it_is_renewed(bare: Site) -> None:
    system = ("--in", bare.folder / "plant")
    assert camcast("system", "init", bare.folder / "plant") == 0
    serves = ("--may", "serve", "--at", bare.gateway)
    assert camcast("system", "admit", "gateway", *serves, *system) == 0
    members = bare.folder / "plant/members"
    for name in ("a", "b"):
        assert camcast("system", "admit", name, "--at", "tcp://127.0.0.1:0", *system) == 0

    def start(name: str, *arguments: str) -> None:
        bare.start(name, *arguments, "--config", str(members / name / "camcast.toml"))

    start("gateway", "gateway")
    for name in ("a", "b"):
        start(name, "subscribe", ".s", "--retry")
    bare.assert_well()
    assert camcast("system", "renew", "a", "--days", 0.0002, *system) == 0  # 17 s
    bare.assert_told("a", "no_certificate")
    wait_until(lambda: "no_certificate: the last certificate of this" in bare.log("a"))
    assert all("no_certificate" not in bare.log(name) for name in ("gateway", "b"))
    assert camcast("system", "renew", "a", "--days", 9, *system) == 0
    bare.assert_well()
    assert "no_certificate is over" in bare.log("a")


@pytest.mark.slow  # 15 s, and a minute of waiting
@pytest.mark.skipif(bool(obstacles()), reason="; ".join(obstacles()))
def test_udp_that_is_dropped_is_told_as_that_and_ends_with_it(bare: Site) -> None:
    """The DHT is cut off, and TCP is not: members are told what to let pass."""
    wires = Wires(3)
    try:
        gateway = f"tcp://{wires.address(0)}:7000"
        bare.start(
            "gateway", "gateway", "--overlay", "--bind", gateway, within=wires.command(0, ())
        )
        dht = ("--membership", "dht", "--gateway", gateway, "--retry")
        for host, name in enumerate(("a", "b"), 1):
            bind = ("--bind", f"tcp://{wires.address(host)}:7000")
            bare.start(name, "subscribe", ".s", *dht, *bind, within=wires.command(host, ()))
        bare.assert_well()
        wires.cut_udp()
        wait_until(lambda: {"no_gateway", "gateway_silent"} & {*bare.wrong("a")})
        [finding] = [one for one in bare.doctor("a") if one["ok"] is False and not one["because"]]
        assert "let UDP pass" in finding["do"]
        wait_until(lambda: "let UDP pass" in bare.log("a"))
        bare.assert_shown("a", finding["check"])
        wires.heal()
        bare.assert_well()
    finally:
        wires.close()


@pytest.mark.slow  # 15 s, and half a minute of waiting
@pytest.mark.skipif(bool(obstacles()), reason="; ".join(obstacles()))
@pytest.mark.skipif(shutil.which("tc") is None, reason="the command `tc` is not installed")
def test_a_full_pipe_is_told_by_who_fills_it_with_the_address_of_the_slow_one(bare: Site) -> None:
    wires = Wires(2)
    try:
        addresses = [f"tcp://{wires.address(host)}:7000" for host in (0, 1)]
        for host, name in enumerate(("a", "b")):
            of = ["--bind", addresses[host]] + ["--retry", "--gateway", addresses[0]] * host
            within = wires.command(host, ())
            bare.start(name, "subscribe", ".s", *of, within=within, stdout=subprocess.DEVNULL)
        wires.slow(1, kilobits=400)
        with subprocess.Popen(["yes", "x" * 10_000], stdout=subprocess.PIPE) as lines:
            try:
                bind = ("--bind", f"tcp://{wires.address(0)}:0", "--gateway", addresses[0])
                within = wires.command(0, ())
                bare.start("fast", "publish", ".s", *bind, within=within, stdin=lines.stdout)
                wait_until(lambda: "slow_peer" in bare.wrong("fast"))
                [finding] = [one for one in bare.doctor("fast") if one["check"] == "slow_peer"]
                assert finding["about"] == addresses[1]
                wait_until(lambda: "slow_peer: takes records more slowly" in bare.log("fast"))
                bare.assert_shown("fast", "slow_peer", "store_filling")
                # What b lacks waits in the pipes to it: nobody is sent to a gateway that is well.
                wait_until(lambda: "slow_peer" in bare.wrong("b"))
                assert "no_gateway" not in bare.log("b")
                assert "slow_peer" in bare.wrong()
                assert not {"no_gateway", "events_gone", "no_answer"} & {*bare.wrong()}
            finally:
                lines.kill()  # or a failure would wait for its end
        bare.end("fast")
    finally:
        wires.close()
