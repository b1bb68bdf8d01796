"""The output folder of a comparison.

* ``verdict``: what to choose, question by question; ``comparison``: the main table; ``pairs``: two
  by two; ``regressions``: all changes since the baseline. Each as CSV, JSON and Parquet;
* ``measures.parquet``: the measures of each run, which all of it is computed from;
  ``quarantine.parquet``: the records that could not be read, a folder, as Spark writes;
* figures as ``.svg``, ``.png``, ``.vl.json``, and what they show as ``.csv`` and ``.json``;
* ``index.html``: all of it, in one file that needs no network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from camcast.research.pipeline.compare.comparison import Pair
from camcast.research.pipeline.compare.comparison_figures import figures_of
from camcast.research.pipeline.compare.comparison_page import html
from camcast.research.pipeline.compare.engine import Engine
from camcast.research.pipeline.compare.findings import Findings
from camcast.research.pipeline.compare.verdict_words import choice, sentence
from camcast.research.pipeline.ingest.trace_schema import quarantine_schema
from camcast.research.pipeline.measured import Measured
from camcast.research.pipeline.parquet_columns import metadata_of, spread_out
from camcast.research.report.benchmark_measures import find_measure
from camcast.research.report.measures import Better, Measure
from camcast.research.report.results_folder import ResultsFolder
from camcast.vocabulary.errors import CamcastError

_MAIN: Final = "comparison"
_SCHEMA_VERSION: Final = 2  # 1 had the parameters as text, in one column
_MEASURED: Final = {
    **dict.fromkeys(("run", "backend", "protocol", "community", "version", "metric"), pa.string()),
    "p_sel": pa.float64(),
    "seed": pa.int64(),
    "value": pa.float64(),
}
_TEXT: Final = (
    *("backend", "protocol", "community", "metric", "setting", "verdict"),
    *("first", "second", "first_protocol", "second_protocol"),
    *("question", "where", "winner", "best", "sentence"),
)
_TRUTH: Final = ("repair", "first_repair", "second_repair")
_WHOLE: Final = ("runs", "runs_before", "runs_now", "first_runs", "second_runs")


class ReportFolderError(CamcastError, ValueError):
    """The folder holds something else; the message says what to do."""


class ReportFolder(ResultsFolder):
    """A folder for one comparison: new, empty, or with an earlier one, which is overwritten.

    Raises `ReportFolderError`, and `OutputError` when it cannot be used.
    """

    def __init__(self, path: Path, *, made: bool = False) -> None:
        """Use a folder; `made`: it was made for this comparison."""
        self._is_new = made or not path.exists()
        super().__init__(path)
        if not (path / f"{_MAIN}.json").exists() and any(path.iterdir()):
            raise ReportFolderError(
                f"{path} is not empty and has no {_MAIN}.json; give --output a new folder"
            )

    def discard(self) -> None:
        """Remove the folder if this comparison made it and wrote nothing into it."""
        if self._is_new:
            with suppress(OSError):  # it is not empty
                self.path.rmdir()

    def write_quarantine(self, engine: Engine, quarantine: Any) -> None:
        """Write what could not be read: what the engine holds; None: there is nothing."""
        path = self.path / "quarantine.parquet"
        if quarantine is None:
            rmtree(path, ignore_errors=True)
            path.mkdir()
            pq.write_table(quarantine_schema().empty_table(), path / "part-0.parquet")
            return
        engine.write(quarantine, path)

    def write_measures(
        self, measures: Sequence[tuple[Measured, bool]], better: Mapping[str, Better]
    ) -> None:
        """Write the measures of each run; parameters have a column each."""
        parameters = spread_out("parameters", [one.parameters for one, _ in measures])
        columns = {
            name: pa.array([getattr(one, name) for one, _ in measures], _MEASURED[name])
            for name in Measured._fields
            if name not in ("parameters", "benchmark")
        }
        of = [find_measure(one.metric, one.benchmark, better) for one, _ in measures]
        baseline = pa.array([baseline for _, baseline in measures], pa.bool_())
        table = pa.table({**columns, "baseline": baseline, **parameters})
        self._write_parquet("measures", table, of)

    def _write_parquet(self, name: str, table: pa.Table, measures: Iterable[Measure]) -> None:
        metadata = metadata_of("comparison", _SCHEMA_VERSION, measures)
        path = self.path / f"{name}.parquet"
        if path.is_dir():
            rmtree(path)  # an earlier version's
        pq.write_table(table.replace_schema_metadata(metadata), path)

    def write_tables(self, findings: Findings) -> None:
        """Write the tables."""
        of = [row.measure for row in findings.rows]
        rows = [{"setting": "", **row.as_json()} for row in findings.rows]
        self._write_table(_MAIN, {"command": findings.command}, rows, of)
        self._write_table("pairs", {}, [_flat(pair) for pair in findings.pairs], of)
        about = {"baseline": findings.baseline, "threshold": findings.threshold}
        in_full = findings.verdicts_in_full
        verdicts = [
            {**each.as_json(), "sentence": sentence(each), "repair": findings.repair}
            for each in in_full
        ]
        chosen = choice(in_full, findings.repair_in_words)
        self._write_table("verdict", {"choice": chosen}, verdicts, of)
        changes = [change.as_json() for change in findings.changes or ()]
        of = [change.now.measure for change in findings.changes or ()]
        self._write_table("regressions", about, changes, of)

    def write_report(self, findings: Findings) -> None:
        """Draw the figures, and write the page."""
        figures, drawings = figures_of(findings), {}
        for figure in figures:
            rows = [row.as_json() for row in figure.rows]
            about = {"title": figure.title}
            drawings[figure.name] = self.write_figure(figure.name, about, rows, figure.spec)
        self.write("index.html", html(findings, figures, drawings).encode())

    def _write_table(
        self,
        name: str,
        about: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]],
        measures: Iterable[Measure],
    ) -> None:
        if not rows:
            for suffix in ("csv", "json", "parquet"):  # of an earlier comparison
                (self.path / f"{name}.{suffix}").unlink(missing_ok=True)
            return
        self.write_rows(name, about, rows)
        columns = {column: [row[column] for row in rows] for column in rows[0]}
        kinds = dict.fromkeys(_TEXT, pa.string()) | dict.fromkeys(_WHOLE, pa.int64())
        kinds |= dict.fromkeys(_TRUTH, pa.bool_())
        table = pa.table(
            {name: pa.array(of, kinds.get(name, pa.float64())) for name, of in columns.items()}
        )
        self._write_parquet(name, table, measures)


def _flat(pair: Pair) -> dict[str, Any]:
    return {
        "first": pair.first.variant.backend,
        "first_protocol": pair.first.variant.protocol,
        "first_repair": pair.first.repair,
        "second": pair.second.variant.backend,
        "second_protocol": pair.second.variant.protocol,
        "second_repair": pair.second.repair,
        "setting": pair.first.variant.setting,
        "community": pair.first.community,
        "p_sel": pair.first.p_sel,
        "metric": pair.first.metric,
        "first_runs": pair.first.sample.runs,
        "second_runs": pair.second.sample.runs,
        "first_mean": pair.first.sample.mean,
        "second_mean": pair.second.sample.mean,
        **attrs.asdict(pair.found),
        "adjusted_p": pair.adjusted_p,
    }
