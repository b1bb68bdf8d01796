"""Watching a run: what grows is followed line by line, and the end is that of a comparison."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from camcast.vocabulary.trace import TraceRecord
from tests.camcast_command import refusal
from tests.unit.pipeline.run_folders import odd_records, write_run
from tests.unit.pipeline.twin import Twin

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from camcast.pipeline.ingest import trace_tail
from camcast.pipeline.ingest.trace_tail import TailReader
from camcast.pipeline.watch import Update, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    monkeypatch.setattr("camcast.pipeline.watch.measures", lambda _runs: [])
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
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    make: object,
    named: str,
) -> None:
    assert callable(make)
    code, error = refusal(capfd, "watch", make(tmp_path))
    assert (code, named in error) == (2, True), error
