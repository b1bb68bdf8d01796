"""A streaming source for Spark that follows the JSON-lines traces of a running experiment.

Spark's own file source reads a file once, when it appears; traces appear at the beginning and
grow. This one remembers how far it has read each file, and reads whole lines only: what is half
written comes with a later batch, and at the end of the run as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from camcast.research.runs.run_folder import SUMMARY_FILE

NAME: Final = "camcast_trace"
SCHEMA: Final = "line binary"

_PIECE_BYTES: Final = 2**24  # chosen: 16 MB, which a core reads and parses in a second
_BLOCK_BYTES: Final = 2**16  # chosen: the end of a file's last whole line is mostly in one
_LINES: Final = 10_000  # chosen: some 2 MB of lines go to the JVM at once

_Offsets = dict[str, int]
"""How far each file is read, by its name."""


class TraceTail(DataSource):
    """The traces of the folder that the option `folder` names; columns: `SCHEMA`."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name for Spark."""
        return NAME

    def schema(self) -> str:
        """Return the only column: the lines."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # Spark's name
        """Return what Spark asks for batches."""
        return TailReader(Path(self.options["folder"]))


class TailReader(DataSourceStreamReader):
    """Plans and reads the batches of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def initialOffset(self) -> _Offsets:  # Spark's name
        """Begin at the beginning of whatever will be there."""
        return {}

    def latestOffset(self, start: _Offsets, limit: Any) -> _Offsets:  # Spark's name
        """Return how far the files can be read now: to their last whole line."""
        finished = (self._folder / SUMMARY_FILE).exists()  # before the sizes are looked at
        offsets = dict(start)
        for path in sorted(self._folder.glob("trace-*.jsonl")):
            read = start.get(path.name, 0)
            size = path.stat().st_size
            offsets[path.name] = size if finished else max(read, _whole_lines(path, read, size))
        return offsets

    def partitions(self, start: _Offsets, end: _Offsets) -> Sequence[InputPartition]:
        """Cut what is new into pieces of whole lines."""
        pieces: list[InputPartition] = []
        for name, stop in end.items():
            position = start.get(name, 0)
            while position < stop:
                cut = stop
                if position + _PIECE_BYTES < stop:
                    cut = min(stop, _next_line(self._folder / name, position + _PIECE_BYTES))
                pieces.append(InputPartition((name, position, cut)))
                position = cut
        return pieces

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the lines of a piece."""
        name, position, stop = partition.value
        with (self._folder / name).open("rb") as file:
            file.seek(position)
            lines = file.read(stop - position).split(b"\n")
        if not lines[-1]:
            lines.pop()
        for first in range(0, len(lines), _LINES):
            some = pa.array(lines[first : first + _LINES], pa.binary())
            yield pa.RecordBatch.from_arrays([some], ["line"])


def _whole_lines(path: Path, start: int, size: int) -> int:
    """Return where the last whole line between two places in a file ends."""
    with path.open("rb") as file:
        end = size
        while end > start:
            begin = max(start, end - _BLOCK_BYTES)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return start


def _next_line(path: Path, position: int) -> int:
    with path.open("rb") as file:
        file.seek(position)
        file.readline()
        return file.tell()
