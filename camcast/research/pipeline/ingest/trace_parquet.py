"""Traces as Parquet files, for runs too large for JSON lines: the sink, and a first look at one.

The file can be read when it is closed, not before: of a process that is killed nothing is left.
Live workers, which experiments kill, therefore write JSON lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from camcast.observe.trace import SCHEMA_VERSION, TraceRecord
from camcast.research.pipeline.ingest.run_to_read import RunFolderError
from camcast.research.pipeline.ingest.trace_schema import COLUMNS, arrow_schema

VERSION_KEY: Final = b"camcast.trace"
"""The file's metadata have the schema's version under this key."""

_ROWS_IN_A_GROUP: Final = 250_000  # chosen: some 60 MB of records held, and 3 MB in the file


class ParquetSink:
    """Writes records into a Parquet file; a context manager that completes the file."""

    def __init__(self, path: Path, rows_in_a_group: int = _ROWS_IN_A_GROUP) -> None:
        self._schema = arrow_schema().with_metadata({VERSION_KEY: str(SCHEMA_VERSION)})
        path.touch(0o600)
        self._writer = pq.ParquetWriter(
            path, self._schema, compression="zstd", write_page_checksum=True
        )
        self._rows_in_a_group = rows_in_a_group
        self._held: list[TraceRecord] = []

    def write(self, record: TraceRecord) -> None:
        """Add the record to the row group."""
        self._held.append(record)
        if len(self._held) >= self._rows_in_a_group:
            self._write_group()

    def _write_group(self) -> None:
        columns = [[getattr(record, name) for record in self._held] for name in COLUMNS]
        self._writer.write_table(pa.table(columns, schema=self._schema))
        self._held.clear()

    def __enter__(self) -> ParquetSink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._write_group()
        self._writer.close()


def rows_of_trace(path: Path, version: int) -> int:
    """Return how many records a Parquet trace says it has; raises `RunFolderError`."""
    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise RunFolderError(f"a damaged Parquet file: {error}") from None
    for column in arrow_schema():
        index = schema.get_field_index(column.name)
        if index < 0:
            raise RunFolderError(f"a Parquet file without the column {column.name}")
        if (found := schema.field(index).type) != column.type:
            raise RunFolderError(f"the column {column.name} is {found}, not {column.type}")
    written = (schema.metadata or {}).get(VERSION_KEY)
    if written is not None and written != str(version).encode():
        raise RunFolderError(
            f"a trace of schema version {written.decode(errors='replace')} in a run of {version}"
        )
    return int(rows)
