"""Reads the traces of run folders in this process, condensed; what is no record is set aside.

The rules, the reasons and their order are those of `camcast.research.pipeline.ingest.quarantine`.
"""

from __future__ import annotations

import codecs
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field
from msgspec.structs import asdict

from camcast.observe.trace import NUMBER_MAX, TraceRecord
from camcast.research.pipeline.ingest.described_runs import ReadRun, described, problems_of
from camcast.research.pipeline.ingest.run_to_read import RunFolderError
from camcast.research.pipeline.ingest.trace_parquet import rows_of_trace
from camcast.research.pipeline.ingest.trace_schema import (
    COLUMNS,
    DEFAULTS,
    IDENTITY,
    KINDS,
    NUMBERS,
    OF_EVENTS,
    SENT,
    STORY,
    TEXT_CHARACTERS,
    out_of_range,
)
from camcast.vocabulary.messages import UNDECODABLE

_BATCH_ROWS: Final = 50_000  # chosen: some 20 MB as Python's values


class Quarantined(NamedTuple):
    """A record that is none: a row of the quarantine."""

    run: str
    file: str
    line: int | None
    reason: str
    text: str | None


@define
class Trace:
    """All that is computed of a run is computed from this: a tenth of its records."""

    story: list[TraceRecord] = field(factory=list)
    """The records of `STORY`, in the order of their files."""
    tallies: defaultdict[tuple[str, str, str], list[int]] = field(
        factory=lambda: defaultdict(lambda: [0, 0])
    )
    """The number and the bytes of all other records, by kind, community and node."""
    sent: Counter[tuple[str, str, str]] = field(factory=Counter)
    """The copies of events that were sent, by kind, community and event."""

    def add(self, record: TraceRecord) -> None:
        """Add a record."""
        kind = record.kind
        if kind in _STORY:
            self.story.append(record)
            return
        tally = self.tallies[kind, record.community, record.node]
        tally[0] += 1
        tally[1] += record.size
        if kind in _SENT:
            self.sent[kind, record.community, record.event] += 1


@define
class LocalRuns:
    """The records read from some run folders."""

    runs: list[tuple[ReadRun, Trace]] = field(factory=list)
    quarantine: list[Quarantined] = field(factory=list)
    problems: list[str] = field(factory=list)


_STORY: Final = frozenset(STORY)
_SENT: Final = frozenset(SENT)
_NAMING: Final = frozenset(OF_EVENTS)
_Wrong = tuple[int | None, str, str | None]  # line, reason, text


def read_local(folders: Sequence[Path]) -> LocalRuns:
    """Read run folders; raises `RunFolderError` when there is not one that can be read."""
    found, problems = described(folders)
    if not found:
        raise RunFolderError("; ".join(problems) or "no run folder was given")
    read = LocalRuns(problems=problems)
    for folder in found:
        run, trace = ReadRun(folder), Trace()
        for form, files in folder.traces.items():
            for file in files:
                records = _json_lines(file) if form == "jsonl" else _parquet(file, folder)
                for one in records:
                    if isinstance(one, TraceRecord):
                        run.records += 1
                        trace.add(one)
                    else:
                        run.reasons[one[1]] += 1
                        read.quarantine.append(Quarantined(folder.run, str(file), *one))
        read.runs.append((run, trace))
    read.problems += problems_of({run.folder.run: run for run, _ in read.runs})
    return read


def _json_lines(path: Path) -> Iterator[TraceRecord | _Wrong]:
    decode = msgspec.json.Decoder(TraceRecord).decode
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:  # as an editor may put first
            file.seek(0)
        for number, line in enumerate(file, 1):
            try:
                record = decode(line)
            except UNDECODABLE:
                yield _second_look(number, line)
            else:
                wrong = _wrong_record(record)
                yield record if wrong is None else (number, wrong, _text(line))


def _wrong_record(record: TraceRecord) -> str | None:
    """Say what is wrong with a record's content; None if nothing is."""
    if record.kind not in KINDS:
        return f"unknown kind {record.kind}"
    if len(record.node) != IDENTITY:
        return f"node is no identity of {IDENTITY} hexadecimal digits"
    if record.peer and len(record.peer) != IDENTITY:
        return f"peer is no identity of {IDENTITY} hexadecimal digits"
    if record.kind in _NAMING and not ("-" in record.event and record.topic.startswith(".")):
        return "it names no event, or no topic"
    return None


def _second_look(number: int, line: bytes) -> TraceRecord | _Wrong:
    """Return the record of a line in which a field is null, or what is wrong with the line."""
    if not line.endswith(b"\n"):
        return number, "a truncated last line", _text(line)
    try:
        content = line.decode().strip(" \t\r\n")
    except UnicodeDecodeError:
        return number, "not UTF-8", _text(line)
    reason = "an empty line"
    if content:
        try:
            reason = _no_record(msgspec.json.decode(content))
        except (msgspec.MsgspecError, RecursionError):
            reason = "not JSON"
            if content.startswith("{") and 0 <= content.find("}") < len(content) - 1:
                reason = "more than one JSON object"
    if reason:
        return number, reason, _text(line)
    record = msgspec.convert(_fields(msgspec.json.decode(content)), TraceRecord)
    wrong = _wrong_record(record)
    return record if wrong is None else (number, wrong, _text(line))


def _no_record(value: Any) -> str:
    """Say why a value of JSON is no record; empty if it is one."""
    if not isinstance(value, dict):
        return "no JSON object"
    given = _fields(value)
    for name in NUMBERS:
        try:
            msgspec.convert(given.get(name, 0), _TYPES[COLUMNS[name]])
        except msgspec.ValidationError:
            return f"{name} is no {COLUMNS[name]}"
    for name in COLUMNS:
        if name not in given and name not in DEFAULTS:
            return f"{name} is missing"
    for name in NUMBERS:
        if not _in_range(given.get(name, 0)):
            return out_of_range(name)
    return "" if given["kind"] in KINDS else f"unknown kind {given['kind']}"


def _fields(said: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are there; any value is taken for a text, as Spark does."""
    return {
        name: value if name in NUMBERS or isinstance(value, str) else _as_text(value)
        for name, value in said.items()
        if value is not None and name in COLUMNS
    }


def _as_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _in_range(number: float) -> bool:
    return 0 <= number <= NUMBER_MAX  # no comparison with a NaN is true


_TYPES: Final[dict[str, Any]] = {
    "double": float,
    "bigint": Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
}


def _text(line: bytes) -> str:
    return line.rstrip(b"\n").decode(errors="replace")[:TEXT_CHARACTERS]


def _parquet(path: Path, folder: Any) -> Iterator[TraceRecord | _Wrong]:
    try:
        rows_of_trace(path, folder.trace_version)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read([*COLUMNS])
    except RunFolderError as error:
        yield None, str(error), None
        return
    except (pa.ArrowException, OSError) as error:
        yield None, f"a damaged Parquet file: {error}", None
        return
    rows = chain.from_iterable(
        zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True)
        for batch in table.to_batches(_BATCH_ROWS)
    )
    for number, record in enumerate(starmap(TraceRecord, rows), 1):
        wrong = _wrong_row(record)
        yield record if wrong is None else (number, wrong, _row(record))


def _wrong_row(record: TraceRecord) -> str | None:
    """Say what is wrong with a row of Parquet, of which nothing was looked at yet."""
    for name in COLUMNS:
        if getattr(record, name) is None:
            return f"{name} is missing"
    for name in NUMBERS:
        if not _in_range(getattr(record, name)):
            return out_of_range(name)
    return _wrong_record(record)


def _row(record: TraceRecord) -> str:
    """Write a row as JSON with all of its columns, as Spark does, which has words for infinity."""
    row = {name: value for name, value in asdict(record).items() if value is not None}
    when = _NOT_FINITE.get(str(record.when), record.when)
    return msgspec.json.encode(row | {"when": when}).decode()[:TEXT_CHARACTERS]


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
