"""Ingest: what can be read is read, and what cannot is named with its file, line and reason."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec import structs

from camcast.observe.trace import SCHEMA_VERSION, TraceRecord
from tests.research.unit.pipeline.run_folders import odd_records, write_run

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from camcast.research.pipeline.ingest.run_to_read import (
    NoTraceError,
    RunFolderError,
    ScenarioFileError,
    SchemaVersionError,
    read_run_folder,
)
from camcast.research.pipeline.ingest.runs import Runs, read_runs
from camcast.research.pipeline.ingest.trace_schema import STORY, TEXT_CHARACTERS
from camcast.research.pipeline.local.read_traces import read_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODE = "0a" * 16
GOOD = '{"when":1.5,"sequence":1,"kind":"join","node":"%s","community":".a"}' % NODE  # noqa: UP031  # braces


def _with(**changes: object) -> str:
    return json.dumps(json.loads(GOOD) | changes)


WRONG = {  # by what is said of it
    "not JSON": '{"when":1.5,"seq',
    "an empty line": "   ",
    "no JSON object": "[1]",
    "when is no double": _with(when="soon"),
    "sequence is no bigint": _with(sequence=1.5),
    "hops is no bigint": _with(hops="far"),
    "size is no bigint": _with(size=10**30),
    "when is no number from 0 to 2^40": _with(when=-0.5),
    "sequence is no number from 0 to 2^40": _with(sequence=-1),
    "hops is no number from 0 to 2^40": _with(hops=2**40 + 1),
    "size is no number from 0 to 2^40": _with(size=-100),
    "node is missing": '{"when":1.5,"sequence":1,"kind":"join"}',
    "unknown kind jump": _with(kind="jump"),
    "node is no identity of 32 hexadecimal digits": _with(node=5),
    "peer is no identity of 32 hexadecimal digits": _with(peer="anna"),
    "it names no event, or no topic": _with(kind="deliver", topic=".a"),
    "more than one JSON object": GOOD + GOOD,
}
DEEP = '{"when":1.5,"deep":' + "[" * 10_000 + "]" * 10_000 + "}"
"""Nested more deeply than parsers of JSON go."""
# A line of 200 characters on average, and a file of several blocks.
BLOCK_BYTES = 4096


LOOKS_RIGHT = (
    *("when is no double", "size is no number from 0 to 2^40", "size is no bigint"),
    *("unknown kind jump", "it names no event, or no topic"),
)
"""What the bytes of a file do not show."""
_JOIN = TraceRecord(when=1.5, sequence=1, kind="join", node=NODE)
IMPOSSIBLE = [
    *(structs.replace(_JOIN, when=when) for when in (math.nan, math.inf, -1.0)),
    structs.replace(_JOIN, sequence=-1),
    structs.replace(_JOIN, hops=-1),
    structs.replace(_JOIN, size=2**62),
]
"""Numbers that Parquet can hold, and no record has."""


def _length(file: Path) -> int:
    return len(file.read_bytes().splitlines())


def _lines(records: list[TraceRecord]) -> list[bytes]:
    return [msgspec.json.encode(record) for record in records]


class Read:
    """Everything of this module, read at once."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.wrong = write_run(path / "wrong", [])
        self.expected: list[tuple[str, int, str, str]] = []
        self.strange_expected: list[tuple[str, int, str, str]] = []
        good = _lines(odd_records(5)) * 3
        for number in range(2):  # the second without an end of its last line
            lines: list[bytes] = []
            file = self.wrong / f"trace-{number}.jsonl"
            for reason, line in WRONG.items():
                lines += good[: 7 * (len(lines) % 5)]
                lines.append(line.encode())
                self.expected.append((str(file), len(lines), reason, line))
            lines += good
            lines.append(b'{"node":"\xff"}')
            self.expected.append((str(file), len(lines), "not UTF-8", '{"node":"\ufffd"}'))
            lines.append(DEEP.encode())
            self.expected.append((str(file), len(lines), "not JSON", DEEP[:TEXT_CHARACTERS]))
            if number:
                lines.append(b'{"when":2,"sequ')
                text = lines[-1].decode()
                self.expected.append((str(file), len(lines), "a truncated last line", text))
            file.write_bytes(b"\n".join(lines) + (b"" if number else b"\n"))
        self.strange = write_run(path / "strange", odd_records(4))
        with (self.strange / "trace-0.jsonl").open("ab") as file_:
            for number, reason in enumerate(LOOKS_RIGHT, _length(self.strange / "trace-0.jsonl")):
                file_.write(WRONG[reason].encode() + b"\n")
                place = (str(self.strange / "trace-0.jsonl"), number + 1)
                self.strange_expected.append((*place, reason, WRONG[reason]))
        self.good = sum(map(_length, self.wrong.glob("*.jsonl"))) - len(self.expected)
        odd = "odd [1] {a,b} 50%+é ?*"
        self.odd_name = write_run(path / odd, odd_records(6))
        from_windows = codecs.BOM_UTF8 + b"\r\n".join(_lines(odd_records(6)))
        (self.odd_name / "trace-0.jsonl").write_bytes(from_windows)
        (self.odd_name / "trace-1.jsonl").write_bytes(b"")
        self.twice = write_run(path / "twice", odd_records(3))
        (self.twice / "trace-2.jsonl").write_bytes((self.twice / "trace-0.jsonl").read_bytes())
        self.columns = write_run(path / "columns", odd_records(7), form="parquet")
        self.impossible = write_run(
            path / "impossible",
            [_JOIN, *IMPOSSIBLE],
            form="parquet",
        )
        self.damaged = self._damaged(path)
        self.old = write_run(
            path / "old", odd_records(8), said={"versions": {"camcast": "0", "trace": 1}}
        )
        self.without = path / "without"
        self.without.mkdir()
        self.folders = [self.wrong, self.strange, self.twice, self.odd_name, self.columns]
        self.folders += [self.damaged, self.old, self.without, self.columns]  # one of them twice
        self.folders.append(self.impossible)
        conf = "spark.sql.files.maxPartitionBytes"
        before = spark.conf.get(conf)
        spark.conf.set(conf, str(BLOCK_BYTES))
        try:
            self.runs: Runs = read_runs(spark, self.folders)
            self.quarantine = [tuple(row) for row in self.runs.quarantine.collect()]
            self.records = {
                row["run"]: row["sum(n)"]
                for row in self.runs.records.where("not by_event").groupBy("run").sum("n").collect()
            }
        finally:
            spark.conf.set(conf, before or "128MB")
        self.counted = {run.folder.run: run for run in self.runs.runs}

    @staticmethod
    def _damaged(path: Path) -> Path:
        """One file cut short, one with a byte changed within its pages, one that is whole."""
        import pyarrow.parquet as pq

        folder = write_run(path / "damaged", odd_records(9), form="parquet")
        content = (folder / "trace-0.parquet").read_bytes()
        (folder / "trace-2.parquet").write_bytes(content[:-100])
        place = pq.ParquetFile(folder / "trace-0.parquet").metadata.row_group(0).column(0)
        changed = bytearray(content)
        changed[place.data_page_offset + place.total_compressed_size // 2] ^= 0xFF
        (folder / "trace-3.parquet").write_bytes(changed)
        return folder


@pytest.fixture(scope="module")
def read(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Read:
    return Read(spark, tmp_path_factory.mktemp("ingest"))


def test_every_wrong_line_is_in_quarantine_with_its_number_and_reason(read: Read) -> None:
    found = sorted(row[1:] for row in read.quarantine if row[0] == str(read.wrong))
    assert found == sorted(read.expected)


def test_nothing_is_lost(read: Read) -> None:
    wrong = read.counted[str(read.wrong)]
    assert (wrong.records, wrong.quarantined) == (read.good, len(read.expected))
    for run, counted in read.counted.items():
        assert read.records.get(run, 0) == counted.records, run


def test_what_only_looks_right_is_found_as_well(read: Read) -> None:
    found = sorted(row[1:] for row in read.quarantine if row[0] == str(read.strange))
    assert found == sorted(read.strange_expected)
    assert read.records[str(read.strange)] == len(odd_records(4))


def test_what_happened_twice_word_for_word_is_two_records(read: Read) -> None:
    records = read.runs.records.where("not by_event")
    of_run = records.where(records["run"] == str(read.twice))
    rows = [row for row in of_run.collect() if row["kind"] in STORY]
    assert {row["n"] for row in rows} == {1}
    lines = b"".join(file.read_bytes() for file in read.twice.glob("*.jsonl")).splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert len(rows) == sum(kind in STORY for kind in kinds)


def test_a_folder_may_have_any_name_lines_ends_of_windows_and_the_last_none(read: Read) -> None:
    assert read.records[str(read.odd_name)] == len(odd_records(6))


def test_a_damaged_file_is_set_aside_as_a_whole(read: Read) -> None:
    found = {Path(row[1]).name: row for row in read.quarantine if row[0] == str(read.damaged)}
    assert set(found) == {"trace-2.parquet", "trace-3.parquet"}
    for _, _, line, reason, _ in found.values():
        assert line is None
        assert reason.startswith("a damaged Parquet file")
    assert read.records[str(read.damaged)] == len(odd_records(9))


def test_a_number_that_no_record_has_is_no_record(read: Read) -> None:
    found = sorted((row[2], row[3]) for row in read.quarantine if row[0] == str(read.impossible))
    names = ["when", "when", "when", "sequence", "hops", "size"]
    assert found == [(n, f"{name} is no number from 0 to 2^40") for n, name in enumerate(names, 2)]
    assert read.records[str(read.impossible)] == 1


def test_the_problems_are_told_in_words(read: Read) -> None:
    told = "\n".join(read.runs.problems)
    assert f"{read.without} has no trace" in told
    assert f"{read.columns} was given twice" in told
    assert f"schema versions 1 and {SCHEMA_VERSION}" in told
    assert f"{len(read.expected)} records of {read.wrong} are in quarantine" in told
    assert f"2 records of {read.damaged} are in quarantine" in told
    assert len(read.runs.problems) == 7


def test_nothing_to_read_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="nonsuch is no folder"):
        read_runs(spark, [tmp_path / "nonsuch"])
    with pytest.raises(RunFolderError, match="no run folder was given"):
        read_runs(spark, [])


HUGE_SEED = (
    '{"scenario": {"name": "x", "communities": {}, "membership": "dht", "parameters": {}, "seed": 1'
    + "0" * 30
    + "}}"
)
TOO_FEW = HUGE_SEED.replace('"communities": {}', '"communities": {".": -3}')
IMPROBABLE = (
    HUGE_SEED.replace("0" * 30, "")
    .replace('"parameters": {}', '"parameters": {"p_sel": 7}')
    .replace("}}", '}, "versions": {"camcast": "0", "trace": 3}}')
)


@pytest.mark.parametrize(
    ("content", "error", "named"),
    [
        ("{", ScenarioFileError, "scenario.json does not say"),
        (DEEP, ScenarioFileError, "nested too deeply"),
        ('{"scenario": {}}', ScenarioFileError, "missing required field"),
        (HUGE_SEED, ScenarioFileError, r"<= 9223372036854775807.*seed"),
        (TOO_FEW, ScenarioFileError, r">= 0.*communities"),
        (IMPROBABLE, ScenarioFileError, "p_sel: .* <= 1"),
        (None, ScenarioFileError, "cannot read"),
        (SCHEMA_VERSION + 1, SchemaVersionError, "schema version 4; .* 1 and 2 and 3"),
    ],
)
def test_a_folder_that_cannot_be_read_says_why(
    tmp_path: Path, content: object, error: type[RunFolderError], named: str
) -> None:
    said = {"versions": {"camcast": "0", "trace": content}} if isinstance(content, int) else None
    folder = write_run(tmp_path / "run", [], said=said)
    if isinstance(content, str):
        (folder / "scenario.json").write_text(content)
    elif content is None:
        (folder / "scenario.json").unlink()
    with pytest.raises(error, match=named) as raised:
        read_run_folder(folder)
    assert str(folder) in str(raised.value)


def test_a_folder_without_a_trace_says_so(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [])
    for trace in folder.glob("trace-*"):
        trace.unlink()
    with pytest.raises(NoTraceError, match="has no trace"):
        read_run_folder(folder)


def test_parameters_are_text_and_options_workload_and_weather_are_among_them(
    tmp_path: Path,
) -> None:
    scenario = {
        "name": "all",
        "communities": {".": 3},
        "membership": "dht",
        "protocol": "gossip",
        "options": {"k": 20},
        "protocol_options": {"rounds": 5},
        "parameters": {"c": 5.0, "g": 2.5, "z": 3, "p_sel": None},
        "upward_probabilities": [0.1, 1.0],
        "seed": 7,
        "workload": {"kind": "synthetic", "events": 5, "rate": None, "speed": 2.0},
        "links": {"loss": 0.1},
        "kill": 0.25,
        "crashes": [{"at_seconds": 2.0, "share": 0.3}],
        "settle_seconds": 5,
    }
    run = read_run_folder(write_run(tmp_path / "run", [], said={"scenario": scenario}))
    assert run.parameters == {
        "c": "5",
        "g": "2.5",
        "z": "3",
        "p_sel": "0.1,1",
        "membership.k": "20",
        "protocol.rounds": "5",
        "workload.kind": "synthetic",
        "workload.events": "5",
        "workload.rate": "none",
        "workload.speed": "2",
        "links.loss": "0.1",
        "kill": "0.25",
        "crashes": '[{"at_seconds":2.0,"share":0.3}]',
        "repair": "false",
    }
    assert (run.backend, run.protocol, run.p_sel, run.world) == ("dht", "gossip", None, "live")


def test_the_local_engine_sets_the_same_records_aside_for_the_same_reasons(read: Read) -> None:
    """But of a damaged Parquet file, in the words of what found the damage."""
    local = read_local(read.folders)
    assert {run.folder.run: run.records for run, _ in local.runs} == {
        run.folder.run: run.records for run in read.runs.runs
    }

    def known(rows: Iterable[Sequence[object]]) -> list[tuple[object, ...]]:
        damaged = "a damaged Parquet file"
        return sorted(
            (
                tuple(damaged if str(value).startswith(damaged) else value for value in row)
                for row in rows
            ),
            key=repr,
        )

    assert known(local.quarantine) == known(read.quarantine)
    for run, spark in zip(local.runs, read.runs.runs, strict=True):
        if spark.folder.path != read.damaged:
            assert run[0].reasons == spark.reasons
