"""Watching a run: what grows is followed line by line, and the end is that of the whole run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from math import inf
from pathlib import Path

import msgspec
import pytest

from camcast.observe.trace import TraceRecord
from camcast.observe.trace_reading import read_traces
from camcast.research.pipeline import watching
from camcast.research.pipeline.watching import LOOK_SECONDS, GrowingTraces, Update, watch
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.python_process import python
from tests.research.unit.pipeline.interrupted import INTERRUPTED
from tests.research.unit.pipeline.run_folders import CALM, odd_records, simulate, write_run
from tests.research.unit.pipeline.twin import Twin

SECONDS = 60  # chosen: a second is usual; on a machine ten times busier, 10


def no_pause(_seconds: float) -> None:
    pytest.fail("it waited for more")


@pytest.mark.parametrize("step", [40, 1000, 10**6])
def test_every_line_is_taken_once_however_the_file_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    taken: list[TraceRecord] = []
    monkeypatch.setattr(watching, "take", lambda record, _reading: taken.append(record))
    whole = write_run(tmp_path / "whole", odd_records(1))
    content = (whole / "trace-0.jsonl").read_bytes()
    growing = GrowingTraces(tmp_path)
    for size in (*range(0, len(content), step), len(content)):
        (tmp_path / "trace-0.jsonl").write_bytes(content[:size])
        before = len(taken)
        lines = content[:size].count(b"\n")
        assert growing.read_on(over=False, until=inf) == (lines > before, True)
        assert len(taken) == lines
    assert taken == [msgspec.json.decode(line, type=TraceRecord) for line in content.splitlines()]
    assert growing.quarantined == 0


def test_traces_are_read_as_those_of_a_run_that_is_over(tmp_path: Path) -> None:
    """In steps, although a look ends when its time does, and whichever file is ahead."""
    run = tmp_path / "run"
    simulate(run, CALM)
    growing = GrowingTraces(run)
    looks = 0
    while not growing.read_on(over=False, until=-inf)[1]:
        looks += 1
    expected = read_traces(run.glob("trace-*.jsonl"))
    growing.reading.table_changes.sort(key=lambda change: change[0])
    assert looks == growing.reading.records == expected.records > 100
    assert growing.reading == expected


def test_a_torn_last_line_is_counted_when_the_run_is_over(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", odd_records(1))
    with (run / "trace-0.jsonl").open("ab") as trace:
        trace.write(b"nonsense\n" + b"[" * 10_000 + b"\n{tor")
    (going,) = watch(run, no_pause, once=True)
    assert (going.records, going.quarantined, going.finished) == (len(odd_records(1)), 2, False)
    (run / "summary.json").write_text("{}")
    (over,) = watch(run, no_pause)
    assert (over.records, over.quarantined, over.finished) == (len(odd_records(1)), 3, True)


def test_what_it_says_is_what_the_twin_says(tmp_path: Path) -> None:
    """Of a simulated run. It knows a life by its node's name alone, so none returns as itself
    here."""
    folder = tmp_path / "run"
    simulate(folder, CALM)
    (update,) = watch(folder, no_pause)
    twin = Twin(folder)
    assert (update.records, update.quarantined) == (len(twin.records), 0)
    assert set(update.communities) == {".", ".d"}
    known = {"reception", "reliability", "efficiency", "hops_mean", "latency_ms_p99", "view_mean"}
    known |= {"load_sent_p50", "load_received_p50", "load_bytes_p50", "load_sent_hubs"}
    for community, metrics in update.communities.items():
        assert known | {"events", "duplicates", "parasites", "upward_messages"} <= set(metrics)
        for metric, value in metrics.items():
            assert value == pytest.approx(twin.values[community, metric]), metric


def test_of_an_old_trace_it_does_not_say_what_was_not_recorded(tmp_path: Path) -> None:
    """Version 1 has no control traffic, which is in the bytes that a process sends."""
    folder = tmp_path / "run"
    simulate(folder, CALM)
    (now,) = watch(folder, no_pause)
    described = json.loads((folder / "scenario.json").read_text())
    described["versions"]["trace"] = 1
    (folder / "scenario.json").write_text(json.dumps(described))
    (then,) = watch(folder, no_pause)
    for community, metrics in now.communities.items():
        in_bytes = {metric for metric in metrics if metric.startswith("load_bytes")}
        assert len(in_bytes) == 4
        assert then.communities[community] == metrics | dict.fromkeys(in_bytes)


def test_a_growing_run_is_followed_to_its_end(tmp_path: Path) -> None:
    """The first half is there; the pause after the first look brings nothing, the second brings the
    rest, and the third the summary and the end."""
    whole, run = tmp_path / "whole", tmp_path / "run"
    simulate(whole, CALM)
    shutil.copytree(whole, run)
    (run / "summary.json").unlink()
    content = (run / "trace-0.jsonl").read_bytes()
    (run / "trace-0.jsonl").write_bytes(content[: len(content) // 2])
    pauses: list[float] = []
    updates: list[Update] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        assert len(updates) == max(1, len(pauses) - 1)
        if len(pauses) == 2:
            (run / "trace-0.jsonl").write_bytes(content)
        if len(pauses) == 3:
            (run / "summary.json").write_text("{}")

    for update in watch(run, pause):
        updates.append(update)  # noqa: PERF402  # `pause` looks at how many there are
    assert len(pauses) == 3
    assert min(pauses) >= LOOK_SECONDS
    half, rest, end = updates
    assert 0 < half.records < rest.records == end.records == len(content.splitlines())
    assert [update.finished for update in updates] == [False, False, True]
    (at_once,) = watch(whole, no_pause)
    assert end.communities == rest.communities == at_once.communities != half.communities


def test_of_much_to_read_what_is_known_is_said_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_READ_SECONDS", 0.0)
    records = odd_records(1)
    updates = list(watch(write_run(tmp_path / "run", records), no_pause, once=True))
    assert [update.records for update in updates] == [*range(1, len(records) + 1)]


def test_once_as_json_is_one_line(tmp_path: Path, capfd: Capture) -> None:
    found = answer(capfd, "watch", write_run(tmp_path / "run", odd_records(1)), "--once")
    assert (found["records"], found["finished"]) == (len(odd_records(1)), False)
    assert [of["community"] for of in found["communities"]] == [".", ".a", ".a.b", ".c"]


def test_of_a_run_that_is_over_it_says_how_many_never_became_members(
    tmp_path: Path, capfd: Capture
) -> None:
    simulate(tmp_path, CALM)
    summary = json.loads((tmp_path / "summary.json").read_text())
    of_some = "camcast: 4 of 16 processes never became members: the measures are of the others\n"
    for outside, said in ((0, ""), (4, of_some)):
        (tmp_path / "summary.json").write_text(json.dumps(summary | {"never_joined": outside}))
        for form in ((), ("--json",)):
            capfd.readouterr()
            assert camcast("watch", tmp_path, *form) == 0
            assert capfd.readouterr().err == said


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda path: path / "nonsuch", "no folder"),
        (lambda path: write_run(path / "run", [], form="parquet"), "use camcast compare"),
    ],
)
def test_what_cannot_be_watched_is_named(
    tmp_path: Path, capfd: Capture, make: object, named: str
) -> None:
    assert callable(make)
    if "compare" in named:
        pytest.importorskip("pyarrow", reason="the extra spark is not installed")
    code, error = refusal(capfd, "watch", make(tmp_path))
    assert (code, named in error) == (2, True), error


@pytest.mark.parametrize(
    "moment",
    ["camcast.research.pipeline.watching.GrowingTraces.update", "camcast.research.cli.watch.sleep"],
)
def test_ctrl_c_ends_it_without_a_traceback(moment: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", odd_records(4))
    done = python("-c", INTERRUPTED, moment, "watch", run, cwd=tmp_path, seconds=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_ends_when_nobody_reads_what_it_prints(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", odd_records(4))
    reading, abandoned = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "camcast", "watch", run, "--once", "--json"],
        stdout=abandoned,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
    )
    os.close(abandoned)
    assert (done.returncode, done.stderr) == (1, "")
