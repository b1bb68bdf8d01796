"""A sink that writes a trace as a Parquet file, for runs too large for JSON lines.

The file can be read when it is closed, not before: of a process that is killed nothing is left.
Live workers, which experiments kill, therefore write JSON lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from camcast.observe.trace import SCHEMA_VERSION, TraceRecord
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
