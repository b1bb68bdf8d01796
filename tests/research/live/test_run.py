"""A small experiment with real processes, and how the commands begin and end."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import Any

import msgspec
import pytest

from camcast.observe.trace_reading import read_traces
from camcast.ops.output_place import OutputError
from camcast.research.cli import demo, experiment
from camcast.research.experiment import worker_messages as messages
from camcast.research.experiment.progress import Progress
from camcast.research.experiment.run import run_experiment
from camcast.research.experiment.workers import ExperimentError
from camcast.research.pipeline.ingest.run_to_read import read_run_folder
from camcast.research.pipeline.ingest.whole_runs import whole_runs
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.runs.summary import summarise
from camcast.research.scenarios.base import Processes
from camcast.research.scenarios.live import Scenario, chain
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from tests.camcast_command import Capture, answer, camcast
from tests.library.live.running_command import Running
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.research.live.worker_logs import said_by_workers

CERTAIN = Parameters(c=5, g=20, a=3, z=3)
ENDLESS = ("--sizes", "6,4", "--events", "100000", "--rate", "20")


def _small() -> Scenario:
    return Scenario(
        communities=chain([10, 6, 4]),
        workload=Workload(topic=Topic.parse(".t1.t2"), events=50),
        parameters=CERTAIN,
    )


def _ignore(_progress: Progress) -> None:
    pass


def test_everybody_receives_everything_and_nobody_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one system, which the gateway is of as well: else nobody would have joined."""
    systems, set_up = set[str](), messages.SetUp

    def noted(**given: Any) -> messages.SetUp:
        systems.add(given["system"])
        return set_up(**given)

    monkeypatch.setattr(messages, "SetUp", noted)
    seen: list[Progress] = []
    folder = OutputFolder(tmp_path / "out")
    outcome = asyncio.run(run_experiment(_small(), folder, seen.append))
    summary = outcome.summary
    assert [c.topic for c in summary.communities] == [".", ".t1", ".t1.t2"]
    assert [c.processes for c in summary.communities] == [4, 6, 10]
    assert [c.reception for c in summary.communities] == [1, 1, 1]
    assert [c.predicted for c in summary.communities] == pytest.approx([1, 1, 1], abs=1e-3)
    assert summary.deliveries == 50 * (9 + 6 + 4)
    assert outcome.parasites == 0
    assert outcome.subscribers_got == 50 * (10 + 6 + 4)
    assert not outcome.interrupted
    assert {"joining", "publishing"} <= {progress.phase for progress in seen}
    written = json.loads((folder.path / "summary.json").read_text())
    assert written["communities"][0]["reception"] == 1
    determined = json.loads((folder.path / "scenario.json").read_text())
    assert determined["scenario"]["communities"] == {".": 4, ".t1": 6, ".t1.t2": 10}
    assert summarise(read_traces(folder.traces()), _small()) == summary
    assert said_by_workers(folder.path) == []
    assert [system.partition(" ")[0] for system in systems] == ["run"]
    with pytest.raises(OutputError, match="not empty"):
        OutputFolder(folder.path)


def test_processes_in_several_communities_receive_in_each(tmp_path: Path) -> None:
    """With a topic below two others; the scenario is a file, as people write one."""
    left, right, both = map(Topic.parse, (".l", ".r", ".x"))
    several = Scenario(
        communities={Topic(()): 3, left: 3, right: 3, both: 4},
        processes=(
            Processes(topics=(left, both), count=2),
            Processes(topics=(right, left), count=2),
        ),
        topics={both: DeclaredTopic(below=(left, right))},
        workload=Workload(topic=both, events=40),
        parameters=CERTAIN,
    )
    folder = OutputFolder(tmp_path / "out")
    outcome = asyncio.run(run_experiment(several, folder, _ignore))
    found = {c.topic: (c.processes, c.reception, c.predicted) for c in outcome.summary.communities}
    assert found == {
        ".": (3, 1, None),
        ".l": (7, 1, None),
        ".r": (5, 1, None),
        ".x": (6, 1, None),
    }
    assert (outcome.parasites, outcome.summary.lost) == (0, 0)
    run = read_run_folder(folder.path)
    assert run.communities == {".": 3, ".l": 7, ".r": 5, ".x": 6}
    assert run.super_topics == several.super_topics


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), pytest.param(signal.SIGTERM, 0, marks=pytest.mark.slow)],
)
def test_a_dying_worker_is_noticed_and_takes_the_others_along(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    workers: list[int] = []

    def strangle(progress: Progress) -> None:
        if progress.published and not workers:
            workers.extend(_children(os.getpid()))
            os.kill(workers[0], number)

    scenario = Scenario(
        communities={Topic(()): 6}, workload=Workload(events=30_000, rate=100), workers=3
    )
    running = run_experiment(scenario, OutputFolder(tmp_path), strangle)
    with pytest.raises(ExperimentError, match=f"ended with code {code}$"):
        asyncio.run(asyncio.wait_for(running, PATIENCE_SECONDS))
    assert len(workers) == 3
    assert not [pid for pid in workers if _lives(pid)]


@pytest.mark.parametrize("end", ["SIGTERM", "the run is gone"])
def test_a_worker_that_is_ended_within_a_command_ends_without_a_complaint(end: str) -> None:
    """A workload of megabytes is one command, and may come in parts."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "camcast.research.experiment.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdin is not None
    worker.stdin.write(b'{"command": "publish", "publications": [')
    worker.stdin.flush()
    wait_until(lambda: not _unread(worker.stdin), worker)
    if end == "SIGTERM":
        wait_until(lambda: _catches(worker.pid, signal.SIGTERM), worker)
        worker.send_signal(signal.SIGTERM)
    else:
        worker.stdin.close()
        worker.stdin = None
    said, complaints = worker.communicate(timeout=PATIENCE_SECONDS)
    assert (worker.returncode, said, complaints) == (0, b"", b"")


def test_a_worker_s_last_words_are_in_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log may lie in a temporary folder, which is gone when somebody reads the message.

    What it had begun to report is no report.
    """
    failing = tmp_path / "python"
    failing.write_text(
        """#!/bin/sh\nprintf '{"report": "sta'\necho 'ImportError: no such thing' >&2\nexit 3\n"""
    )
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(ExperimentError, match=r"3: ImportError: no such thing$"):
        asyncio.run(run_experiment(_small(), OutputFolder(tmp_path / "out"), _ignore))


def test_a_worker_that_dies_at_start_is_named_and_its_processes_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """Its half of the processes is missing from no denominator, and the run is no success."""
    real, first, failing = sys.executable, tmp_path / "first", tmp_path / "python"
    failing.write_text(
        f"#!/bin/sh\nmkdir {first} 2>/dev/null && echo 'Killed' >&2 && exit 137\n"
        f'exec {real} "$@"\n'
    )
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    (tmp_path / "few.toml").write_text(
        'settle_seconds = 0.1\n[communities]\n"." = 6\n[workload]\nevents = 20\n'
    )
    given = ("--scenario", tmp_path / "few.toml", "--output", tmp_path / "out", "--json")
    assert camcast("run", *given) == 1
    printed = capfd.readouterr()
    summary = json.loads(printed.out)
    assert "ended with code 137: Killed before it was ready" in printed.err
    assert "3 of 6 processes never became members" in printed.err
    assert (summary["joined"], summary["never_joined"]) == (3, 3)
    (root,) = summary["communities"]
    assert (root["processes"], root["never_joined"]) == (3, 3)
    published = summary["events"]
    assert published + summary["unpublished"] == 20
    assert (summary["deliveries"], summary["reception_of_all"]) == (2 * published, 2 / 5)
    whole = whole_runs([tmp_path / "out"])
    assert (whole.problems, whole.judged) == ([], False)


def test_another_package_of_that_name_in_the_current_folder_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For instance what `camcast reproduce camcast --output camcast` makes there."""
    (tmp_path / "camcast").mkdir()
    (tmp_path / "camcast" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    scenario = Scenario(communities={Topic(()): 3}, workload=Workload(events=3), workers=1)
    outcome = asyncio.run(run_experiment(scenario, OutputFolder(tmp_path / "out"), _ignore))
    assert outcome.summary.deliveries == 3 * 2


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_a_signal_ends_it_politely(tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "out"
    with Running("run", *ENDLESS, "--json", "--output", output) as running:
        wait_until(lambda: b'"deliver"' in _text(output / "trace-0.jsonl"), running.process)
        workers = _children(running.process.pid)
        assert running.end(number) == (0, "")
        summary = running.read()
    assert summary["interrupted"]
    assert summary["deliveries"] > 0
    assert summary["parasites"] == 0
    assert len(workers) == 2
    assert not [pid for pid in workers if _lives(pid)]
    kinds = [
        msgspec.json.decode(line)["kind"]
        for trace in output.glob("trace-*.jsonl")
        for line in trace.read_bytes().splitlines()
    ]
    assert kinds.count("leave") == 10


@pytest.mark.slow  # 4 s; that the workers end with one of them is looked at in every run
def test_workers_end_when_the_run_that_started_them_is_killed(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with Running("run", *ENDLESS, "--output", output) as running:
        wait_until(lambda: b'"deliver"' in _text(output / "trace-0.jsonl"), running.process)
        workers = _children(running.process.pid)
    assert len(workers) == 2
    wait_until(lambda: not [pid for pid in workers if _lives(pid)])


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_demo_leaves_nothing_behind_and_names_nothing_that_is_gone(
    interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """But for the table or JSON, a demo is over when it is over, or its terminal closed, too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    traces: list[Path] = []

    async def watched(scenario: Scenario, folder: OutputFolder, *given: Any, **named: Any) -> Any:
        traces.append(folder.path)
        if interrupted:
            asyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), signal.SIGHUP)
        return await run_experiment(scenario, folder, *given, **named)

    few = Scenario(
        communities={Topic(()): 2},
        workload=Workload(events=1000 if interrupted else 2, rate=20),
        workers=1,
    )
    monkeypatch.setattr(demo, "departures", lambda: few)
    monkeypatch.setattr(experiment, "run_experiment", watched)
    found = answer(capfd, "demo")
    assert (found["interrupted"], found["output"]) == (interrupted, None)
    assert traces[0].parent == tmp_path
    assert not [*tmp_path.iterdir()]


def _text(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _children(pid: int) -> list[int]:
    """Return the direct children that run Python, from Linux's process table."""
    path = Path(f"/proc/{pid}/task")
    return [
        int(child)
        for task in path.iterdir()
        for child in (task / "children").read_text().split()
        if b"camcast.research.experiment.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def _unread(pipe: Any) -> int:
    """Return how many bytes of a pipe its reader has not taken yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _catches(pid: int, number: signal.Signals) -> bool:
    """Say whether a process has a handler for a signal, as Linux has it."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"  # an orphan that nobody has reaped yet
