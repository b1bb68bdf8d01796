"""What a sweep found, as one Parquet dataset.

Its files are ``simulator=…/protocol=…/membership=…/part-0.parquet``. One row has one value: of a
metric, a community, a repetition and a point of the grid. The schema has a version, in the files'
metadata.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from camcast.sweeps.simulation_sweep import GridPoint, Row, shown
from camcast.sweeps.sweep import JSON

SCHEMA_VERSION: Final = "1"
PARTITIONS: Final = ("simulator", "protocol", "membership")
"""What of a `GridPoint` is a level of folders."""
SCHEMA: Final = pa.schema(
    [
        pa.field("grid", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field("repetition", pa.int32(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("community", pa.string()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ],
    metadata={"camcast.sweep": SCHEMA_VERSION, "camcast": version("camcast")},
)
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
    total = 0
    for place, numbers in partitions.items():
        place.mkdir(parents=True)
        with pq.ParquetWriter(place / "part-0.parquet", SCHEMA) as writer:
            for table in _tables((grid[number], results[number]) for number in numbers):
                writer.write_table(table)
                total += len(table)
    if folder.exists():
        shutil.rmtree(folder)
    unfinished.rename(folder)
    return total


def _tables(found: Iterable[tuple[GridPoint, Sequence[JSON]]]) -> Iterable[pa.Table]:
    batches, rows = [], 0
    for point, results in found:
        grid = [(key, shown(value)) for key, value in point.values.items()]
        batches.append(_batch(grid, list(point.rows(results))))
        rows += len(batches[-1])
        if rows >= _ROWS_A_GROUP:
            yield pa.Table.from_batches(batches, SCHEMA)
            batches, rows = [], 0
    yield pa.Table.from_batches(batches, SCHEMA)


def _batch(grid: list[tuple[str, str]], rows: list[Row]) -> pa.RecordBatch:
    names = [name for name in SCHEMA.names if name != "grid"]
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    columns["value"] = [float(value) for value in columns["value"]]
    arrays = [
        pa.array([grid] * len(rows) if name == "grid" else columns[name], SCHEMA.field(name).type)
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
