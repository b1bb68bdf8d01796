"""The results of a sweep, as one Parquet dataset.

Its files are ``simulator=…/protocol=…/membership=…/part-0.parquet``. One row has one value: of a
metric, a community, a repetition and a point of the grid, whose keys have a column each, beside
``repair``, whether missed events were asked for. The schema has a version, in the files' metadata.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from camcast.research.pipeline.parquet_columns import metadata_of, spread_out
from camcast.research.report.measures import measure_of
from camcast.research.sweeps.simulation_sweep import GridPoint, Row
from camcast.research.sweeps.sweep import JSON

SCHEMA_VERSION: Final = 3
"""Version 1 had the grid as text, in one column, and null for the whole run; 2 had no repair."""
PARTITIONS: Final = ("simulator", "protocol", "membership")
"""The fields of a `GridPoint` that are levels of folders."""
COLUMNS: Final = {
    "repetition": pa.int32(),
    "seed": pa.int64(),
    "community": pa.string(),
    "metric": pa.string(),
    "value": pa.float64(),
}
"""The columns beside those of the grid."""
_ROWS_A_GROUP: Final = 100_000  # chosen: some MB in memory, 0.5 MB in the file


def write_sweep(folder: Path, grid: Sequence[GridPoint], results: Sequence[Sequence[JSON]]) -> int:
    """Write the dataset in place of an older one, and return the number of rows.

    `results` has for each point those of its cells. Raises `OSError`.
    """
    unfinished = folder.with_name(f".{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    partitions: dict[Path, list[int]] = {}
    for number, point in enumerate(grid):
        folders = [f"{name}={quote(getattr(point, name), '')}" for name in PARTITIONS]
        partitions.setdefault(unfinished.joinpath(*folders), []).append(number)
    grid_columns = spread_out("grid", [point.values for point in grid])
    found = zip(grid, results, strict=True)
    measures = (measure_of(row.metric) for point, of_cells in found for row in point.rows(of_cells))
    # one type in all files: what a key is at one point may be a number, at another a word
    schema = pa.schema(
        [pa.field(name, column.type) for name, column in grid_columns.items()]
        + [pa.field("repair", pa.bool_())]
        + [pa.field(name, type_, nullable=False) for name, type_ in COLUMNS.items()],
        metadata=metadata_of("sweep", SCHEMA_VERSION, measures),
    )
    total = 0
    for place, numbers in partitions.items():
        place.mkdir(parents=True)
        of_points = (
            _batch(
                [
                    *(column.slice(number, 1) for column in grid_columns.values()),
                    pa.array([grid[number].repair], pa.bool_()),
                ],
                list(grid[number].rows(results[number])),
                schema,
            )
            for number in numbers
        )
        with pq.ParquetWriter(place / "part-0.parquet", schema) as writer:
            for table in _tables(of_points, schema):
                writer.write_table(table)
                total += len(table)
    if folder.exists():
        shutil.rmtree(folder)
    unfinished.rename(folder)
    return total


def _tables(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterable[pa.Table]:
    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        if rows >= _ROWS_A_GROUP:
            yield pa.Table.from_batches(held, schema)
            held, rows = [], 0
    yield pa.Table.from_batches(held, schema)


def _batch(point: Sequence[pa.Array], rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    same = [pa.repeat(value[0], len(rows)) for value in point]
    own = [pa.array([getattr(row, name) for row in rows], type_) for name, type_ in COLUMNS.items()]
    return pa.RecordBatch.from_arrays([*same, *own], schema=schema)
