"""The local engine of a comparison, in this process: for runs that it can hold, fast for few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pyarrow.parquet as pq

from camcast.research.pipeline.compare.engine import EngineRuns, UnreadFile
from camcast.research.pipeline.compare.findings import Quarantined
from camcast.research.pipeline.ingest.trace_schema import quarantine_schema
from camcast.research.pipeline.local import read_traces
from camcast.research.pipeline.local.local_measures import local_measures
from camcast.research.pipeline.measures.metrics import measured_of

_Rows = Sequence[read_traces.Quarantined]


class LocalEngine:
    """An `Engine` without another process; a quarantine is a list of its rows."""

    def read(self, folders: Sequence[Path]) -> EngineRuns:
        """Read and measure."""
        read = read_traces.read_local(folders)
        values = {
            (run.folder.run, *place): value
            for run, trace in read.runs
            for place, value in local_measures(trace, run.folder.super_topics).items()
        }
        runs = tuple(run for run, _ in read.runs)
        measures = measured_of([run.folder for run in runs], values)
        return EngineRuns(runs, measures, read.quarantine, tuple(read.problems))

    def unread(self, files: Sequence[UnreadFile]) -> _Rows:
        """Return a quarantine of files."""
        return [read_traces.Quarantined(*file) for file in files]

    def united(self, quarantines: Sequence[_Rows]) -> _Rows:
        """Return one quarantine of several."""
        return list(chain.from_iterable(quarantines))

    def summed(self, quarantine: _Rows, most: int) -> tuple[Quarantined, ...]:
        """Return how many records of which files are in it, and why; the most first."""
        groups: defaultdict[tuple[str, str], list[int | None]] = defaultdict(list)
        for row in quarantine:
            groups[row.file, row.reason].append(row.line)
        found = [
            Quarantined(file, reason, len(lines), min((n for n in lines if n), default=None))
            for (file, reason), lines in groups.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.records, one.file, one.reason))[:most])

    def write(self, quarantine: _Rows, path: Path) -> None:
        """Write a folder with one file."""
        rmtree(path, ignore_errors=True)
        path.mkdir()
        rows = [row._asdict() for row in quarantine]
        pq.write_table(pa.Table.from_pylist(rows, quarantine_schema()), path / "part-0.parquet")
