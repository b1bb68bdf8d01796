"""Spark as the engine of a comparison: for any size, here or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from attrs import frozen
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from camcast.research.pipeline.compare.engine import EngineRuns, UnreadFile
from camcast.research.pipeline.compare.findings import Quarantined
from camcast.research.pipeline.ingest.runs import local_table, read_runs
from camcast.research.pipeline.ingest.trace_schema import QUARANTINE
from camcast.research.pipeline.measures.run_measures import measures


@frozen
class SparkEngine:
    """An `Engine` in a session of Spark; a quarantine is one of its tables."""

    spark: SparkSession

    def read(self, folders: Sequence[Path]) -> EngineRuns:
        """Read and measure here and now; the quarantine's lines are numbered when it is read."""
        runs = read_runs(self.spark, folders)
        return EngineRuns(runs.runs, measures(runs), runs.quarantine, runs.problems)

    def unread(self, files: Sequence[UnreadFile]) -> DataFrame:
        """Return a quarantine of files."""
        return local_table(self.spark, files, QUARANTINE)

    def united(self, quarantines: Sequence[DataFrame]) -> DataFrame:
        """Return one quarantine of several, kept for the two that need it: sums and the file."""
        one = reduce(DataFrame.unionByName, quarantines)
        return one.persist(StorageLevel.MEMORY_AND_DISK)

    def summed(self, quarantine: DataFrame, most: int) -> tuple[Quarantined, ...]:
        """Return how many records of which files are in it, and why; the most first."""
        groups = quarantine.groupBy("file", "reason").agg(
            F.count("*").alias("records"), F.min("line").alias("first_line")
        )
        first = groups.orderBy(F.desc("records"), "file", "reason").limit(most)
        return tuple(
            Quarantined(row.file, row.reason, row.records, row.first_line)
            for row in first.collect()
        )

    def write(self, quarantine: DataFrame, path: Path) -> None:
        """Write what Spark holds, and only Spark can hold."""
        quarantine.write.mode("overwrite").parquet(str(path.resolve()))
