"""The Parquet sink: the records of a JSON-lines trace, in the same order, with their version."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from camcast.observe.trace import SCHEMA_VERSION, TraceRecord
from tests.research.unit.pipeline.run_folders import odd_records

pytest.importorskip("pyarrow", reason="the extra spark is not installed")

import pyarrow.parquet as pq

from camcast.research.pipeline.ingest.trace_parquet import VERSION_KEY, ParquetSink
from camcast.research.pipeline.ingest.trace_schema import COLUMNS, DEFAULTS, arrow_schema


@pytest.mark.parametrize("records", [0, 1, 9, 10, 11, 100])
def test_records_read_back_in_order(tmp_path: Path, records: int) -> None:
    some = (odd_records(1) + odd_records(2))[:records]
    with ParquetSink(tmp_path / "trace-0.parquet", rows_in_a_group=10) as sink:
        for record in some:
            sink.write(record)
    table = pq.read_table(tmp_path / "trace-0.parquet")
    assert [TraceRecord(**row) for row in table.to_pylist()] == some
    groups = pq.ParquetFile(tmp_path / "trace-0.parquet").metadata.num_row_groups
    assert groups == -(-len(some) // 10)


def test_the_file_says_its_version_and_has_the_records_columns(tmp_path: Path) -> None:
    with ParquetSink(tmp_path / "trace-0.parquet"):
        pass
    schema = pq.read_schema(tmp_path / "trace-0.parquet")
    assert schema.remove_metadata() == arrow_schema()
    assert schema.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()
    assert tuple(schema.names) == TraceRecord.__struct_fields__ == tuple(COLUMNS)


def test_a_failing_run_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    def failing_run() -> None:
        with ParquetSink(tmp_path / "trace-0.parquet") as sink:
            for record in odd_records(3):
                sink.write(record)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing_run()
    assert pq.read_table(tmp_path / "trace-0.parquet").num_rows == len(odd_records(3))


def test_what_json_leaves_out_is_what_the_columns_are_filled_with() -> None:
    record = TraceRecord(1.0, 1, "join", "00" * 16)
    shortest = msgspec.json.decode(msgspec.json.encode(record))
    assert {**shortest, **DEFAULTS} == msgspec.structs.asdict(record)
