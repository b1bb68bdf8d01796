"""The matrix: each fault of a running system, as each instrument tells it, and nothing else.

Twelve processes in network namespaces: a gateway, two in `.plant`, five in `.plant.roof` and four
in `.plant.hall`, of which one each publishes. For minutes, nothing is told of them. Then come
the faults of `FAULTS`, one after the other. Of each, log or doctor of some process say who, what
and what to do; status, dashboard and metrics have it under the same name; nobody names another
cause. After each, all is well again.

`TESTS` says which test holds which of the fourteen faults. What a machine that is too busy does to
a process is told rightly, as `paused`; it is no fault of the matrix, and not judged.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from camcast.cli.ask import wrong_with
from camcast.live.control_socket import Connection
from camcast.ops.checkup import Finding, of_process, of_processes
from camcast.ops.dashboard.gathering import gather, sockets_of, status_of_all
from tests.library.chaos.network import Wires, obstacles
from tests.library.live import test_told_faults as told_faults
from tests.library.live.running_command import COMMAND
from tests.patience import PATIENCE_SECONDS

PASSPHRASE: Final = "one two three four five six"
# chosen: for 15 CPU s. 600 passed on 28 November 2026; ten virtual minutes are in `laws`.
HEALTHY_SECONDS: Final = 120.0
HEALTHY_LOOK_SECONDS: Final = 15.0  # chosen: shorter than what is told of for the shortest time
LOOK_SECONDS: Final = 2.0  # chosen: 12 snapshots cost some 20 ms
STEADY_LOOKS: Final = 8  # chosen: for as many seconds as the slowest consequence takes
LASTING_LOOKS: Final = 3  # chosen: what ends within 4 s is no finding that anybody acts on
METRICS: Final = "127.0.0.1:9100"  # in each namespace
_FETCH: Final = f"""
from urllib.request import urlopen
print(urlopen("http://{METRICS}/metrics").read().decode())
"""
_ODD: Final = """
import os, sys, time
from types import SimpleNamespace
from camcast.cli import main, subscribe
from camcast.live import wall_clock

folder = sys.argv.pop(1)
print_line = subscribe.print_line
def slowly(text):
    while os.path.exists(folder + "/slow"):
        time.sleep(0.1)
    print_line(text)
def wall():
    return time.time() + 600 * os.path.exists(folder + "/ahead")
subscribe.print_line = slowly
wall_clock.time = SimpleNamespace(time=wall)
main.main()
"""
"""`camcast subscribe`, whose callback is slow, and whose clock is ahead, while a file is there."""

LEVELS: Final = {
    "gateway": "",
    **dict.fromkeys(("plant-1", "plant-2"), ".plant"),
    **dict.fromkeys(("roof-1", "roof-2", "roof-3", "odd"), ".plant.roof"),
    "roof-publisher": ".plant.roof",
    **dict.fromkeys(("hall-1", "hall-2", "hall-3"), ".plant.hall"),
    "hall-publisher": ".plant.hall",
}
"""The processes, by their names, each on a host of its own, and the topic of each."""
HOSTS: Final = {name: host for host, name in enumerate(LEVELS)}
PUBLISHERS: Final = [name for name in LEVELS if name.endswith("publisher")]
ALL_INSTRUMENTS: Final = ["doctor", "status", "dashboard", "metrics"]


class System:
    """The twelve processes; each has a control socket, a log, and its output in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sockets = folder, folder / "run"
        self.sockets.mkdir()
        self.wires = Wires(len(HOSTS))
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.patience_seconds = PATIENCE_SECONDS
        self.published: Counter[str] = Counter()
        """The events that a publisher was given since it started."""

    def start(self, *names: str) -> None:
        for name in names:
            self._start(name)

    def _start(self, name: str) -> None:
        topic = LEVELS[name]
        command = [*COMMAND]
        more = ["--retry", "--gateway", self.address("gateway")]
        if not topic:
            more = ["gateway"]
        elif name in PUBLISHERS:
            more = ["publish", topic, *more, "--wait", "100"]
        else:
            more = ["subscribe", topic, *more, "--format", "{payload}"]
        if name == "odd":
            command = [sys.executable, "-W", "error", "-c", _ODD, str(self.folder)]
        more += ["--bind", self.address(name), "--control", str(self.sockets / name)]
        self.published[name] = 0
        with self.log_of(name).open("ab") as log, self.output_of(name).open("wb") as output:
            self.running[name] = subprocess.Popen(
                self.wires.command(HOSTS[name], [*command, *more, "--health", METRICS]),
                env={**os.environ, "CAMCAST_PASSPHRASE": PASSPHRASE},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=log,
            )

    def publish(self) -> None:
        """Let each publisher that runs publish an event."""
        for name in PUBLISHERS:
            if name in self.running:
                lines = self.running[name].stdin
                assert lines is not None
                lines.write(f"{name}\n".encode())
                lines.flush()
                self.published[name] += 1

    def close(self) -> None:
        self.kill(*self.running)
        self.wires.close()

    def kill(self, *names: str) -> None:
        for name in names:
            process = self.running.pop(name)
            process.kill()
            process.communicate()

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def cut(self, name: str, *, both: bool) -> None:
        """Lose what a process sends to others, and what they send to it."""
        others = [host for host in HOSTS.values() if host != HOSTS[name]]
        self.wires.cut((HOSTS[name], host) for host in others)
        if both:
            self.wires.cut((host, HOSTS[name]) for host in others)

    # -- instruments -----------------------------------------------------------------------------

    def address(self, name: str) -> str:
        return f"tcp://{self.wires.address(HOSTS[name])}:7000"

    def log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def output_of(self, name: str) -> Path:
        return self.folder / f"{name}.out"

    def complaints(self) -> list[str]:
        """The lines of all logs; what a command says of its own accord is no log."""
        return [
            f"{name}: {line}"
            for name in HOSTS
            for line in self.log_of(name).read_text("utf-8").splitlines()
            if not line.startswith("camcast: ")
        ]

    def answers(self) -> dict[str, dict[str, Any] | str]:
        answers = status_of_all(sockets_of([self.sockets]))
        return {socket.name: one for socket, one in answers.items()}

    def snapshot(self, name: str) -> dict[str, Any]:
        answer = self.answers()[name]
        assert not isinstance(answer, str), answer
        return answer

    def findings(self) -> list[Finding]:
        """What `camcast doctor FOLDER` finds wrong, or asks about."""
        return [
            one
            for one in of_processes(self.answers())
            if one.ok is not True and "paused" not in (one.check, one.because)
        ]

    def about(self, name: str) -> list[Finding]:
        """The findings about a process, or about members whose level above it was."""
        meant = (self.address(name), *(of for of in LEVELS.values() if of > LEVELS[name]))
        return [one for one in self.findings() if one.about in meant]

    def causes(self) -> dict[tuple[str, str], Finding]:
        """The findings that nothing explains, of processes that are not merely busy."""
        return {
            (one.check, one.about): one
            for one in self.findings()
            if one.ok is False and one.because is None and one.about not in self.running
        }

    def pauses(self) -> dict[str, int]:
        """How often each process that answers did not run."""
        found = self.answers().items()
        return {name: one["liveness"]["pauses"] for name, one in found if not isinstance(one, str)}

    def told_by(self, name: str, condition: str) -> list[str]:
        """Return which instruments have a condition of a process that nothing explains."""
        answer = self.answers()[name]
        [node] = gather([self.sockets / name])["nodes"]
        if isinstance(answer, str):  # there is nobody who could have metrics
            doctor = [one.about for one in self.findings() if one.check == condition]
            return ALL_INSTRUMENTS if name in doctor and "error" in node else []
        doctor = [one.check for one in of_process(answer) if one.ok is not True and not one.because]
        shown = [one["name"] for one in node.get("conditions", ()) if not one["because"]]
        said = {
            "doctor": condition in doctor,
            "status": condition in wrong_with(answer).split(", "),
            "dashboard": condition in shown,
            "metrics": f'camcast_condition{{condition="{condition}"}} 1.0' in self.metrics(name),
        }
        return [instrument for instrument, has_it in said.items() if has_it]

    def metrics(self, name: str) -> str:
        fetch = self.wires.command(HOSTS[name], [sys.executable, "-S", "-c", _FETCH])
        return subprocess.run(fetch, capture_output=True, text=True, check=True).stdout

    def counted_by(self, name: str, what: str) -> set[float]:
        """Return how many events status, dashboard and metrics have of a process."""
        [node] = gather([self.sockets / name])["nodes"]
        of_metrics = re.findall(rf"community_events_{what}_total{{.*}} (.*)", self.metrics(name))
        answers = (self.snapshot(name), node)
        return {*map(float, of_metrics), *(one["communities"][0][what] for one in answers)}

    def lines(self, name: str) -> int:
        return self.output_of(name).read_bytes().count(b"\n")

    def is_well(self) -> bool:
        return len(self.answers()) == len(HOSTS) and not self.findings()

    def has_delivered(self, name: str, due: int) -> bool:
        return self.counted_by(name, "delivered") == {due} == {self.lines(name)}

    def wait(self, holds: Callable[[], Any], *, publishing: bool = True) -> None:
        """Wait until something holds; say what is found if it never does."""
        begun = time.monotonic()
        while not holds():
            waited = time.monotonic() - begun
            found = [*map(str, self.findings())], self.complaints()
            assert waited < self.patience_seconds, found
            if publishing:
                self.publish()
            time.sleep(LOOK_SECONDS)


@frozen
class Fault:
    """A fault, how it is undone, and how it is to be told."""

    name: str
    begin: Callable[[System], None]
    end: Callable[[System], None]
    condition: str
    """The check of the doctor."""
    by: str
    """The process that tells it; of one that gives no answer, the doctor of the folder does."""
    do: str
    """Words of the advice."""
    logged: Sequence[str] = ()
    """How the lines of logs begin that may be written meanwhile; the first one must be."""
    others: str | None = "peer_lost"
    """The check by which other processes have it."""


def killed(*names: str, logged: Sequence[str] = (), others: str = "peer_lost") -> Fault:
    return Fault(
        f"kill -9 of {' and '.join(names)}",
        lambda system: system.kill(*names),
        lambda system: system.start(*names),
        "no_answer",
        names[0],
        "start it again",
        logged,
        others,
    )


def cut(name: str, *, both: bool) -> Fault:
    return Fault(
        f"packets {'to and ' if both else ''}from {name} are dropped",
        lambda system: system.cut(name, both=both),
        lambda system: system.wires.heal(),
        "deaf",
        name,
        "check this machine's network and firewall",
        ("deaf", "isolated", "cut off a connection to"),
    )


FAULTS: Final = (
    killed("roof-2"),
    killed("hall-publisher"),
    killed("plant-1", "plant-2", logged=("no_link",), others="no_link"),
    cut("roof-3", both=True),
    cut("roof-3", both=False),
    Fault(
        "a callback is slow",
        lambda system: system.touch("slow"),
        lambda system: system.remove("slow"),
        "slow_subscriber",
        "odd",
        "take events faster",
        ("slow_subscriber",),
        others=None,
    ),
    Fault(
        "a clock is set",
        lambda system: system.touch("ahead"),
        lambda system: system.remove("ahead"),
        "clock_set",
        "odd",
        "chrony",
        ("the clock of this machine was set",),
        others=None,
    ),
)
_TOLD: Final = told_faults.test_each_instrument_names_each_fault_and_none_misleads
TESTS: Final[dict[str, Callable[..., None] | Fault]] = {
    "a subscriber is killed": FAULTS[0],
    "the only publisher is killed": FAULTS[1],
    "the level above is killed": FAULTS[2],
    "a process is stopped (SIGSTOP)": _TOLD,
    "all packets of a process are dropped": FAULTS[3],
    "packets of a process are dropped one way": FAULTS[4],
    "the gateway is killed": _TOLD,
    "a wrong passphrase": _TOLD,
    "nobody reads a subscriber's output": _TOLD,
    "UDP is dropped": told_faults.test_udp_that_is_dropped_is_told_as_that_and_ends_with_it,
    "a certificate has expired": (
        told_faults.test_an_expired_certificate_is_told_by_each_instrument_until_it_is_renewed
    ),
    "a full pipe": (
        told_faults.test_a_full_pipe_is_told_by_who_fills_it_with_the_address_of_the_slow_one
    ),
    "a callback is slow": FAULTS[5],
    "a clock is set": FAULTS[6],
}
"""The fourteen faults, and the test of each: a function, or a row of `FAULTS`."""


def test_each_of_the_fourteen_faults_has_its_test() -> None:
    assert len(TESTS) == 14
    assert {one for one in TESTS.values() if isinstance(one, Fault)} == {*FAULTS}
    functions = {one for one in TESTS.values() if not isinstance(one, Fault)}
    assert functions == {one for name, one in vars(told_faults).items() if name[:5] == "test_"}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = System(tmp_path_factory.mktemp("matrix"))
    begun = time.monotonic()
    try:
        system.start(*HOSTS)
        system.wait(system.is_well, publishing=False)  # all members get all events
        # A busy machine is as slow with what comes later: ten times what an undisturbed start took.
        system.patience_seconds = max(PATIENCE_SECONDS, 10 * (time.monotonic() - begun))
        yield system
    finally:
        system.close()


live = pytest.mark.skipif(bool(obstacles()), reason="; ".join(obstacles()))


@pytest.mark.slow  # 20 CPU s with the start of the twelve, and two minutes of waiting
@live
def test_nothing_is_told_of_healthy_minutes(system: System) -> None:
    for _ in range(round(HEALTHY_SECONDS / HEALTHY_LOOK_SECONDS)):
        time.sleep(HEALTHY_LOOK_SECONDS)
        system.publish()
        assert system.findings() == []
    busy = {name for name, pauses in system.pauses().items() if pauses}
    assert [one for one in system.complaints() if one.split(":")[0] not in busy] == []


@pytest.mark.slow
@live
def test_the_instruments_have_the_numbers_of_a_count(system: System) -> None:
    """As many events as were written to the publishers, and the members that were started."""
    published = Counter[str]()
    for name in PUBLISHERS:
        published[LEVELS[name]] = system.published[name]
        assert system.counted_by(name, "published") == {system.published[name]}
    for name, topic in LEVELS.items():
        if topic and name not in PUBLISHERS:
            due = sum(count for of, count in published.items() if of.startswith(topic))
            assert due
            system.wait(partial(system.has_delivered, name, due), publishing=False)
    with Connection(system.sockets / "gateway", PATIENCE_SECONDS) as connection:
        announced = {(one["topic"], one["address"]) for one in connection.ask("announced")}
    assert announced == {(topic, system.address(name)) for name, topic in LEVELS.items() if topic}


@pytest.mark.slow  # 3 CPU s, and half a minute of waiting each
@live
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_instrument_tells_a_fault_and_none_misleads(fault: Fault, system: System) -> None:
    system.wait(system.is_well)
    before, pauses = {*system.complaints()}, system.pauses()

    def lines() -> list[str]:
        return [one for one in system.complaints() if one not in before]

    fault.begin(system)
    try:
        system.wait(lambda: system.told_by(fault.by, fault.condition) == ALL_INSTRUMENTS)
        advice = [one.do for one in system.findings() if one.check == fault.condition]
        assert all(fault.do in one for one in advice)
        if fault.others is not None:
            system.wait(lambda: fault.others in {one.check for one in system.about(fault.by)})
        system.wait(lambda: not fault.logged or any(fault.logged[0] in one for one in lines()))
        assert_no_other_cause_lasts(fault, system)
    finally:
        fault.end(system)
    system.wait(system.is_well)
    busy = {name for name, count in system.pauses().items() if count > pauses.get(name, 0)}
    for line in lines():
        expected = any(f"WARNING {one}" in line for one in fault.logged)
        assert expected or line.split(":")[0] in busy, line


def assert_no_other_cause_lasts(fault: Fault, system: System) -> None:
    lasts = Counter[tuple[str, str]]()
    for _ in range(STEADY_LOOKS):  # what follows from it comes later, and is no cause
        time.sleep(LOOK_SECONDS)
        causes = system.causes()
        lasts = Counter({one: lasts[one] + 1 for one in causes if one[0] != fault.condition})
        assert all(looks < LASTING_LOOKS for looks in lasts.values()), causes
