"""The contents of a folder of results, as Arrow tables and pandas frames; docs/formats.md.

    results = camcast.research.pipeline.results.load("runs/paper-20260801-120000")
    results.names            # what there is: trace, measures
    results.arrow("trace")   # a pyarrow.Table
    results.pandas()         # the first of the names, as a pandas.DataFrame

It reads without Spark, and needs pyarrow; `Results.pandas` needs pandas. Both come with
``camcast[spark]``. For traces of gigabytes ask Spark (docs/formats.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from attrs import frozen

from camcast.research.pipeline.ingest.run_to_read import read_run_folder
from camcast.research.pipeline.ingest.trace_schema import DEFAULTS, arrow_schema
from camcast.research.runs.run_folder import SCENARIO_FILE, SUMMARY_FILE, read_json
from camcast.vocabulary.errors import CamcastError

if TYPE_CHECKING:
    import pandas

_MICROSECONDS = 1_000_000


class ResultsError(CamcastError, ValueError):
    """A folder has no results, or not the table that was asked for; the message says what is."""


@frozen
class Results:
    """The tables of a folder."""

    path: Path
    tables: Mapping[str, pa.Table]

    @property
    def names(self) -> list[str]:
        """The names of the tables, the main one first."""
        return list(self.tables)

    def arrow(self, name: str | None = None) -> pa.Table:
        """Return a table, the main one by default; raises `ResultsError`."""
        wanted = self.names[0] if name is None else name
        if wanted not in self.tables:
            raise ResultsError(f"{self.path} has no {wanted}, but {', '.join(self.names)}")
        return self.tables[wanted]

    def pandas(self, name: str | None = None) -> pandas.DataFrame:
        """Return a table as a data frame; raises `ResultsError`."""
        return self.arrow(name).to_pandas()


def load(folder: str | Path) -> Results:
    """Read what is in the folder of a run, a comparison or a sweep.

    * of a run: ``trace``, with the wall's `time` of each record beside the trace's clock, and, when
      it is over, ``measures``: community, metric, value;
    * of ``camcast compare``: ``measures``, ``comparison``, ``verdict``, ``pairs``, ``regressions``,
      those that are there;
    * of ``camcast sweep``: ``measures``, one row a value.

    Raises `ResultsError` for a folder that is none of these, and `RunFolderError` for a run's that
    cannot be read.
    """
    path = Path(folder)
    if (path / SCENARIO_FILE).exists():
        return Results(path, _run(path))
    if (path / "results").is_dir():
        return Results(path, {"measures": pq.read_table(path / "results")})
    names = ("measures", "comparison", "verdict", "pairs", "regressions")
    files = {name: path / f"{name}.parquet" for name in names}
    tables = {name: pq.read_table(file) for name, file in files.items() if file.exists()}
    if not tables:
        raise ResultsError(f"{path} is no folder of a run, a comparison or a sweep")
    return Results(path, tables)


def _run(path: Path) -> dict[str, pa.Table]:
    traces = read_run_folder(path).traces
    parts = [_json_lines(file) for file in traces["jsonl"]]
    parts += [pq.read_table(file).replace_schema_metadata() for file in traces["parquet"]]
    trace = pa.concat_tables([part.cast(arrow_schema()) for part in parts])
    tables = {"trace": _with_time(trace, read_json(path / SCENARIO_FILE, dict[str, Any]))}
    if (file := path / SUMMARY_FILE).exists():
        try:
            tables["measures"] = _measures(read_json(file, dict[str, Any]))
        except msgspec.MsgspecError as error:
            raise ResultsError(f"{file} does not say what was measured: {error}") from None
    return tables


def _json_lines(file: Path) -> pa.Table:
    """Read a trace to the end of its last whole line; what is left out of a line is filled in."""
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    schema = arrow_schema()
    if not whole:
        return schema.empty_table()
    nullable = pa.schema([pa.field(field.name, field.type) for field in schema])
    options = pa.json.ParseOptions(explicit_schema=nullable, unexpected_field_behavior="error")
    table = pa.json.read_json(pa.BufferReader(whole), parse_options=options)
    columns = [
        table[name].fill_null(DEFAULTS[name]) if name in DEFAULTS else table[name]
        for name in schema.names
    ]
    return pa.table(columns, names=schema.names)


def _with_time(trace: pa.Table, determined: Mapping[str, Any]) -> pa.Table:
    """Put the wall's time beside the trace's clock; null where the folder does not say it."""
    clock = determined.get("clock")
    kind = pa.timestamp("us", tz="UTC")
    if clock is None:
        return trace.add_column(1, "time", pa.nulls(len(trace), kind))
    shift = clock["unix"] - clock["trace"]
    whens = trace["when"].to_numpy()
    stamps = ((whens + shift) * _MICROSECONDS).round().astype("int64")
    return trace.add_column(1, "time", pa.array(stamps).cast(kind))


def _measures(summary: Mapping[str, Any]) -> pa.Table:
    """Return the summary of a run, one row a value."""
    found = summary.get("summary", summary)
    rows = [
        (of.get("topic", ""), metric, float(value))
        for of in (found, *found["communities"])
        for metric, value in of.items()
        if isinstance(value, int | float)
    ]
    names = ("community", "metric", "value")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
