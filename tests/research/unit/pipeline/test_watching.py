"""Watching a run: what grows is followed line by line, and the end is that of a comparison."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from camcast.vocabulary.trace import TraceRecord
from tests.camcast_command import Capture, refusal
from tests.python_process import python
from tests.research.unit.pipeline.run_folders import CALM, odd_records, simulate, write_run
from tests.research.unit.pipeline.twin import Twin

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from py4j.protocol import Py4JNetworkError
from pyspark.sql.streaming.query import StreamingQuery

from camcast.research.pipeline.ingest import trace_tail
from camcast.research.pipeline.ingest.trace_tail import TailReader
from camcast.research.pipeline.watching import Update, first_look, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SECONDS = 300  # chosen: 10 s are usual; on a machine ten times busier, 100 s


def _line(record: TraceRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _read(reader: TailReader, start: dict[str, int], end: dict[str, int]) -> Iterator[bytes]:
    """Yield the lines of a batch."""
    for piece in reader.partitions(start, end):
        for batch in reader.read(piece):
            yield from batch.column("line").to_pylist()


@pytest.mark.parametrize("piece_bytes", [1, 100, 10**6])
def test_every_line_is_read_once_however_the_file_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(trace_tail, "_PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(trace_tail, "_BLOCK_BYTES", 64)
    content = b"".join(map(_line, odd_records(1)))
    reader, offsets, seen = TailReader(tmp_path), TailReader(tmp_path).initialOffset(), []
    file = tmp_path / "trace-0.jsonl"
    for size in (0, 1, 150, 151, len(content) // 2, len(content) - 1, len(content)):
        file.write_bytes(content[:size])
        latest = reader.latestOffset(offsets, None)
        assert content[: latest["trace-0.jsonl"]].endswith(b"\n") or not latest["trace-0.jsonl"]
        seen += list(_read(reader, offsets, latest))
        offsets = latest
    assert seen == content.splitlines()


def test_a_torn_last_line_comes_when_the_run_is_over(tmp_path: Path) -> None:
    (tmp_path / "trace-0.jsonl").write_bytes(b"{}\n{tor")
    reader = TailReader(tmp_path)
    before = reader.latestOffset({}, None)
    assert list(_read(reader, {}, before)) == [b"{}"]
    (tmp_path / "summary.json").write_text("{}")
    after = reader.latestOffset(before, None)
    assert list(_read(reader, before, after)) == [b"{tor"]
    assert reader.latestOffset(after, None) == after
    assert list(reader.partitions(after, after)) == []


def test_the_first_look_is_that_of_the_twin_as_far_as_it_goes(tmp_path: Path) -> None:
    """Of a simulated run, without Spark. It knows a life by its node's name alone, so none returns
    as itself here; a torn line is counted, and not taken for a record."""
    folder = tmp_path / "run"
    simulate(folder, CALM)
    with (folder / "trace-0.jsonl").open("ab") as trace:
        trace.write(b'{"when":1')
    update = first_look(folder)
    assert update is not None
    (folder / "trace-0.jsonl").write_bytes((folder / "trace-0.jsonl").read_bytes()[:-9])
    twin = Twin(folder)
    assert (update.records, update.quarantined) == (len(twin.records), 1)
    assert set(update.communities) == {".", ".d"}
    told = 0
    for community, metrics in update.communities.items():
        known = {metric: value for metric, value in metrics.items() if value is not None}
        assert {"reception", "hops_mean", "latency_ms_p99", "view_mean", "events"} <= set(known)
        for metric, value in known.items():
            assert value == pytest.approx(twin.values[community, metric]), metric
            told += 1
    assert told >= 20


def test_what_is_no_record_or_too_much_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "run", odd_records(1))
    assert first_look(folder) is not None
    monkeypatch.setattr("camcast.research.pipeline.watching._LOOK_BYTES", 10)
    assert first_look(folder) is None
    monkeypatch.undo()
    (folder / "trace-9.jsonl").write_bytes(b"nonsense\n")
    assert first_look(folder) is None


def test_a_growing_run_is_followed_to_its_end(spark: SparkSession, tmp_path: Path) -> None:
    """The first half is there; the first update brings the second, the summary and the end."""
    records = odd_records(4)
    whole = write_run(tmp_path / "whole", records)
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    for file in run.glob("trace-*.jsonl"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    updates: list[Update] = []

    def show(update: Update) -> None:
        updates.append(update)
        if len(updates) == 1:
            for file in run.glob("trace-*.jsonl"):
                with file.open("ab") as growing:
                    growing.write((whole / file.name).read_bytes()[file.stat().st_size :])
                    growing.write(b"{torn")
            (run / "summary.json").write_text("{}")

    watch(spark, run, show)
    first, last = updates[0], updates[-1]
    assert 0 < first.records < len(records)
    assert (last.records, last.quarantined, last.finished) == (len(records), 2, True)
    assert [update.finished for update in updates[:-1]] == [False] * (len(updates) - 1)
    found = {
        (community, metric): value
        for community, metrics in last.communities.items()
        for metric, value in metrics.items()
    }
    assert found == Twin(whole).values


def test_once_takes_what_is_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what is measured is tested above
    monkeypatch.setattr("camcast.research.pipeline.watching.measures", lambda _runs: [])
    updates: list[Update] = []
    watch(spark, write_run(tmp_path / "run", odd_records(1)), updates.append, once=True)
    (update,) = updates
    assert (update.records, update.finished) == (len(odd_records(1)), False)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda path: path / "nonsuch", "no folder"),
        (lambda path: write_run(path / "run", [], form="parquet"), "use camcast compare"),
    ],
)
def test_what_cannot_be_watched_is_named(
    spark: SparkSession, tmp_path: Path, capfd: Capture, make: object, named: str
) -> None:
    assert callable(make)
    code, error = refusal(capfd, "watch", make(tmp_path))
    assert (code, named in error) == (2, True), error


def test_ctrl_c_is_no_error_of_java_although_it_cuts_its_answer(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def unanswered(*_: object) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    run = write_run(tmp_path / "run", odd_records(1))
    with monkeypatch.context() as cut:
        cut.setattr(StreamingQuery, "awaitTermination", interrupted)
        cut.setattr(StreamingQuery, "stop", unanswered)
        with pytest.raises(KeyboardInterrupt):
            watch(spark, run, lambda _update: None)
    for query in spark.streams.active:
        query.stop()


INTERRUPTED = """
import importlib, os, signal, sys
from camcast.cli.app import main

module, _, name = sys.argv[1].rpartition(".")
try:
    place = importlib.import_module(module)
except ModuleNotFoundError:
    module, _, owner = module.rpartition(".")
    place = getattr(importlib.import_module(module), owner)
then = getattr(place, name)

def interrupt(*given, **named):
    os.kill(os.getpid(), signal.SIGINT)
    return then(*given, **named)

setattr(place, name, interrupt)
sys.argv = ["camcast", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize(
    ("command", "moment"),
    [
        ("watch", "camcast.research.pipeline.watching.first_look"),
        ("watch", "camcast.research.pipeline.spark.jvm.Jvm.gateway"),  # Java is starting
        # In a thread that Spark calls back; half a minute.
        pytest.param(
            "watch", "camcast.research.pipeline.watching.measures", marks=pytest.mark.slow
        ),
        # A JVM; what Spark leaves behind when it is broken off: test_session.
        pytest.param(
            "compare", "camcast.research.pipeline.compare.inputs.read_runs", marks=pytest.mark.slow
        ),
    ],
)
def test_ctrl_c_ends_it_without_a_traceback(command: str, moment: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", odd_records(4))
    done = python("-c", INTERRUPTED, moment, command, run, cwd=tmp_path, seconds=SECONDS)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert done.returncode == (0 if command == "watch" else 130), done.stderr


@pytest.mark.slow  # it starts Spark for itself: most of a minute
def test_it_ends_when_nobody_reads_what_spark_has_it_print(tmp_path: Path) -> None:
    """py4j takes a broken pipe for that of its own connection, and Java waited for an answer."""
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
