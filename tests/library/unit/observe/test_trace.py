"""Traces: numbering, sinks, the schema of version 2."""

from __future__ import annotations

import gc
import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from camcast.observe.trace import (
    SCHEMA_VERSION,
    DigestSink,
    JsonLinesSink,
    ListSink,
    Sink,
    Trace,
    TraceRecord,
    flush_sink,
)
from tests.python_process import python

NODE = bytes(15) + b"\x0a"


def write_some(sink: Sink, count: int = 3) -> None:
    trace = Trace(NODE, sink)
    for number in range(count):
        trace.record(
            *(number / 2, "receive"),
            community=".a",
            peers=(b"\xff" * 16,),
            topic=".a.b",
            event="e-1-1",
            hops=number,
            size=7,
        )


def test_the_schema_of_version_3() -> None:
    """The pipeline reads these names; a change raises SCHEMA_VERSION."""
    assert SCHEMA_VERSION == 3
    assert TraceRecord.__struct_fields__ == (
        *("when", "sequence", "kind", "node", "community", "peer", "topic", "event", "hops"),
        "size",
    )


def test_a_node_numbers_its_records_from_one() -> None:
    sink = ListSink()
    one, other = Trace(NODE, sink), Trace(b"\x01" * 16, sink)
    one.record(1.0, "join", community=".a")
    other.record(1.5, "join")
    one.record(2.0, "leave", peers=(b"\xab\xcd",))
    assert sink.records == [
        TraceRecord(1.0, 1, "join", "00" * 15 + "0a", ".a"),
        TraceRecord(1.5, 1, "join", "01" * 16),
        TraceRecord(2.0, 2, "leave", "00" * 15 + "0a", "", "abcd"),
    ]


def test_the_digest_is_sha256_of_the_encoded_records_in_order() -> None:
    kept, digest = ListSink(), DigestSink()
    write_some(kept)
    write_some(digest)
    encoded = b"".join(map(msgspec.msgpack.encode, kept.records))
    assert digest.hexdigest == hashlib.sha256(encoded).hexdigest()


@pytest.mark.parametrize("change", ["when", "order", "missing"])
def test_the_digest_notices_any_difference(change: str) -> None:
    kept = ListSink()
    write_some(kept)
    records = list(kept.records)
    if change == "when":
        records[1] = msgspec.structs.replace(records[1], when=0.50001)
    elif change == "order":
        records.reverse()
    else:
        records.pop()
    one, other = DigestSink(), DigestSink()
    for record in kept.records:
        one.write(record)
    for record in records:
        other.write(record)
    assert one.hexdigest != other.hexdigest


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_json_lines_read_back_in_order(tmp_path: Path, count: int) -> None:
    kept, path = ListSink(), tmp_path / "trace.jsonl"
    write_some(kept, count)
    with JsonLinesSink(path) as sink:
        write_some(sink, count)
    content = path.read_bytes()
    assert content.count(b"\n") == count
    decoder = msgspec.json.Decoder(TraceRecord)
    assert [decoder.decode(line) for line in content.splitlines()] == kept.records


def test_a_line_is_plain_json_without_defaults(tmp_path: Path) -> None:
    with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
        Trace(NODE, sink).record(1.0, "join", community=".a")
    assert json.loads((tmp_path / "trace.jsonl").read_text()) == {
        "when": 1.0,
        "sequence": 1,
        "kind": "join",
        "node": "00" * 15 + "0a",
        "community": ".a",
    }


def test_a_long_run_is_written_as_it_goes(tmp_path: Path) -> None:
    """A killed process loses no more than its last 1,000 lines."""
    with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
        write_some(sink, 2_500)
        assert (tmp_path / "trace.jsonl").read_bytes().count(b"\n") == 2_000


def test_what_was_flushed_is_there_before_the_file_is_closed(tmp_path: Path) -> None:
    with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
        write_some(sink, 2)
        sink.flush()
        assert len((tmp_path / "trace.jsonl").read_bytes().splitlines()) == 2
    assert len((tmp_path / "trace.jsonl").read_bytes().splitlines()) == 2


def test_a_file_is_flushed_and_closed_when_the_run_fails(tmp_path: Path) -> None:
    def failing_run() -> None:
        with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
            write_some(sink, 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing_run()
    assert len((tmp_path / "trace.jsonl").read_bytes().splitlines()) == 1


def test_who_forgets_to_close_the_sink_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sink = JsonLinesSink(path)
    write_some(sink, 2)
    del sink
    gc.collect()
    assert len(path.read_bytes().splitlines()) == 2


ENDS_WITHOUT_CLOSING = """
import os, sys
from pathlib import Path
from camcast import JsonLinesSink
from tests.library.unit.observe.test_trace import write_some
sink = JsonLinesSink(Path(sys.argv[1]))
write_some(sink, 2)
if not os.fork():
    sys.exit()
os.wait()
{end}
"""


@pytest.mark.parametrize("end", ["", "raise RuntimeError", "sys.exit(1)"])
def test_when_the_process_ends_all_is_written_once(tmp_path: Path, end: str) -> None:
    """By the process that the sink belongs to, and not by its forks, too."""
    path = tmp_path / "trace.jsonl"
    python("-c", ENDS_WITHOUT_CLOSING.format(end=end), path)
    assert len(path.read_bytes().splitlines()) == 2


def test_records_that_nobody_could_write_are_counted_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with JsonLinesSink(tmp_path / "closed.jsonl") as sink:
        pass
    write_some(sink, 3)
    del sink
    full = JsonLinesSink(Path("/dev/full"))
    write_some(full, 4)
    del full
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/closed.jsonl: the last 3 records of a trace were lost:"
        " the file of the trace has been closed",
        "/dev/full: the last 4 records of a trace were lost: No space left on device",
    ]


@pytest.mark.parametrize("error", [OSError("no disk"), KeyError("a defect"), SystemExit(3)])
def test_a_sink_that_holds_records_is_flushed_and_its_failure_is_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class Holding(ListSink):
        def flush(self) -> None:
            raise error

    flush_sink(ListSink())  # holds nothing back
    flush_sink(Holding())
    [said] = caplog.records
    assert "the last records of a trace were lost" in said.getMessage()


def test_a_closed_file_is_an_os_error_as_a_full_disk_is(tmp_path: Path) -> None:
    """Which the node counts, while it goes on."""
    with JsonLinesSink(tmp_path / "trace.jsonl") as sink:
        pass
    with pytest.raises(OSError, match="the file of the trace has been closed"):
        write_some(sink, 1000)
