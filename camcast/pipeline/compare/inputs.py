"""What a comparison reads: run folders, folders of them, and benchmark files, as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from camcast.pipeline.compare.findings import Source
from camcast.pipeline.ingest.bench_files import read_bench_files
from camcast.pipeline.ingest.run_folder import RunFolderError
from camcast.pipeline.ingest.runs import Runs, read_runs
from camcast.pipeline.measures.measures import measures
from camcast.runs.folder import SCENARIO_FILE


class NothingReadError(ValueError):
    """Not one run or benchmark could be read; the message says why, of each."""


@frozen
class Inputs:
    """What was read."""

    measures: DataFrame
    """A row a run, place and measure; see `camcast.pipeline.measures.measures`."""
    quarantine: DataFrame
    problems: tuple[str, ...]
    sources: tuple[Source, ...]


def read_inputs(spark: SparkSession, paths: Sequence[Path], *, baseline: bool = False) -> Inputs:
    """Read whatever can be read; raises `NothingReadError` if that is nothing at all.

    A folder is a run's, or has runs' folders in it; a file is one of pytest-benchmark.
    """
    problems = [f"{path} does not exist" for path in paths if not path.exists()]
    files = [path for path in paths if path.is_file()]
    folders = [run for path in paths if path.is_dir() for run in _runs_in(path)]
    tables: list[DataFrame] = []
    wrong: list[DataFrame] = []
    sources: list[Source] = []
    if folders:
        try:
            runs = read_runs(spark, folders)
        except RunFolderError as error:
            problems.append(str(error))
        else:
            tables.append(_with_surroundings(measures(runs), runs))
            wrong.append(_quarantine(runs))
            problems += runs.problems
            sources += _run_sources(runs, baseline)
    if files:
        benches = read_bench_files(spark, files)
        tables.append(benches.measures)
        wrong.append(benches.quarantine)
        problems += benches.problems
        sources += (
            Source(kind="benchmarks", baseline=baseline, **said) for said in benches.sources
        )
    if not sources:
        raise NothingReadError("; ".join(problems))
    return Inputs(
        measures=reduce(DataFrame.unionByName, tables),
        quarantine=reduce(DataFrame.unionByName, wrong),
        problems=tuple(problems),
        sources=tuple(sources),
    )


def _runs_in(folder: Path) -> list[Path]:
    """Return the folder, or the runs' folders in it if it is no run's itself."""
    if (folder / SCENARIO_FILE).exists() or any(folder.glob("trace-*")):
        return [folder]
    inner = sorted(path.parent for path in folder.glob(f"*/{SCENARIO_FILE}"))
    return inner or [folder]


def _quarantine(runs: Runs) -> DataFrame:
    """Return the quarantine; its lines are only numbered, through all traces, if there are any."""
    any_wrong = runs.runs.where(F.col("quarantined") > 0).limit(1).count()
    return runs.quarantine if any_wrong else runs.quarantine.limit(0)


def _with_surroundings(table: DataFrame, runs: Runs) -> DataFrame:
    """Add to the parameters what else runs may differ in: the world, and the communities' sizes.

    A live run and a virtual one are not repetitions of each other.
    """
    sizes = F.array_join(
        F.transform(
            F.array_sort(F.map_entries("communities")),
            lambda entry: F.concat(entry["key"], F.lit(":"), entry["value"].cast("string")),
        ),
        " ",
    )
    around = runs.runs.select(
        "run",
        F.create_map(F.lit("world"), "world", F.lit("communities"), sizes).alias("around"),
    )
    joined = table.join(F.broadcast(around), "run")
    return joined.withColumn("parameters", F.map_concat("parameters", "around")).drop("around")


def _run_sources(runs: Runs, baseline: bool) -> Iterator[Source]:
    for run in runs.runs.collect():
        machine, python = _made_on(Path(run.run))
        yield Source(
            path=run.run,
            kind="run",
            baseline=baseline,
            backend=run.backend,
            protocol=run.protocol,
            version=run.version,
            seed=str(run.seed),
            machine=machine,
            python=python,
            started=run.started,
        )


class _Made(msgspec.Struct, frozen=True):
    machine: dict[str, Any] = {}
    versions: dict[str, Any] = {}


def _made_on(folder: Path) -> tuple[str, str]:
    """Return what a run's scenario says of its machine, and its Python."""
    made = msgspec.json.decode((folder / SCENARIO_FILE).read_bytes(), type=_Made)
    named = {"cores": "{} cores"}
    machine = (named.get(name, "{}").format(value) for name, value in made.machine.items())
    return ", ".join(machine), str(made.versions.get("python", ""))
