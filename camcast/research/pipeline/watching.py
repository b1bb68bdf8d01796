"""Follows a running experiment: the measures of what its traces say so far, again and again.

Spark's Structured Streaming brings what is new in the traces; it is kept as Parquet, and after each
batch all metrics are computed from everything so far, by the same code as for a run that is over.
So the last table is that of ``camcast compare``, and an early one says what is known by then: an
event that is still under way counts as lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs
from attrs import define, frozen
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from camcast.observe.trace_reading import read_traces
from camcast.research.pipeline.ingest.condense import condensed
from camcast.research.pipeline.ingest.local_table import local_table
from camcast.research.pipeline.ingest.run_to_read import NoTraceError, RunFolder, read_run_folder
from camcast.research.pipeline.ingest.runs import ReadRun, Runs, judged
from camcast.research.pipeline.ingest.trace_schema import COLUMNS, SCHEMA
from camcast.research.pipeline.ingest.trace_tail import NAME, TraceTail
from camcast.research.pipeline.measures.run_measures import METRICS, measures
from camcast.research.runs.run_folder import SUMMARY_FILE
from camcast.research.runs.summary import levels, measured

_LOOK_BYTES: Final = 20_000_000  # measured: 80,000 records, which take a second
_LOOK_SECONDS: Final = 1  # chosen: how late the end of a run is noticed


@frozen
class Update:
    """What is known of a run by now."""

    run: str
    records: int
    quarantined: int
    finished: bool
    """Whether the run is over, and this is the last word."""
    communities: dict[str, dict[str, float | None]]
    """Metrics by community; "" is the whole run."""

    def as_json(self) -> dict[str, Any]:
        """Return the update as JSON takes it."""
        communities = [{"community": name, **found} for name, found in self.communities.items()]
        return attrs.asdict(self) | {"communities": communities}


def watch(
    spark: SparkSession, path: Path, show: Callable[[Update], None], *, once: bool = False
) -> None:
    """Follow a run until it is over; `once` takes what is there, and ends.

    Raises `RunFolderError` for a folder that is none, or whose trace grows in no JSON lines.
    """
    run = read_run_folder(path)
    if not run.traces["jsonl"]:
        raise NoTraceError(
            f"the trace of {path} is Parquet, which can be read when it is complete, and not"
            " followed; use camcast compare"
        )
    spark.dataSource.register(TraceTail)
    with TemporaryDirectory(prefix="camcast-watch-", ignore_cleanup_errors=True) as place:
        _Watcher(spark, run, show, Path(place)).follow(once=once)


def first_look(path: Path) -> Update | None:
    """Measure what is there by now without Spark, which takes seconds to start.

    It has those metrics that the summary of a run has, by its code, and no whole run. None: there
    is too much to read in a second, no JSON line, or a line that is no record; Spark will name it.

    Raises `RunFolderError` for a folder that is none.
    """
    run = read_run_folder(path)
    if not run.traces["jsonl"]:
        return None
    if sum(trace.stat().st_size for trace in run.traces["jsonl"]) > _LOOK_BYTES:
        return None
    try:
        reading = read_traces(run.traces["jsonl"])
    except ValueError:
        return None
    events = Counter(name for sent in reading.published.values() for name in levels(sent.topic))
    communities = {
        name: dict.fromkeys(METRICS) | {"events": events[name], **found}
        for name, found in measured(reading, sorted(run.communities)).items()
    }
    return Update(run.run, reading.records, reading.lines_torn, False, communities)


@define
class _Watcher:
    spark: SparkSession
    run: RunFolder
    show: Callable[[Update], None]
    place: Path
    records: int = 0
    quarantined: int = 0
    last: Update | None = None

    def follow(self, *, once: bool) -> None:
        query = (
            self.spark.readStream.format(NAME)
            .option("folder", str(self.run.path.resolve()))
            .load()
            .writeStream.option("checkpointLocation", str(self.place / "offsets"))
            .foreachBatch(self._take)
            .start()
        )
        try:
            while not (finished := (self.run.path / SUMMARY_FILE).exists()) and not once:
                query.awaitTermination(_LOOK_SECONDS)
            query.processAllAvailable()  # what was written before the summary was
        except BaseException:
            # Ctrl-C may have come in the middle of an answer: the connection to Java is of no more
            # use then, and the query ends with the session.
            with suppress(Py4JError, OSError):
                query.stop()
            raise
        query.stop()
        if self.last is None:
            self._tell()
        assert self.last is not None
        if finished:
            self.show(attrs.evolve(self.last, finished=True))

    def _take(self, batch: DataFrame, number: int) -> None:
        """Keep a batch, and tell what is known with it."""
        lines = judged(batch.select(F.col("line").cast("string").alias("value")))
        lines = lines.withColumn("wrong", F.col("reason").isNotNull()).persist()
        for row in lines.groupBy("wrong").count().collect():
            if row["wrong"]:
                self.quarantined += row["count"]
            else:
                self.records += row["count"]
        # A batch that Spark repeats after a failure writes over what it wrote.
        where = str(self.place / "records" / f"batch={number}")
        lines.where(~F.col("wrong")).select(*COLUMNS).write.mode("overwrite").parquet(where)
        lines.unpersist()
        self._tell()

    def _tell(self) -> None:
        records = local_table(self.spark, [], SCHEMA)
        if (self.place / "records").exists():
            records = self.spark.read.schema(SCHEMA).parquet(str(self.place / "records"))
        runs = Runs(
            records=condensed(records.withColumn("run", F.lit(self.run.run))).localCheckpoint(),
            runs=(ReadRun(self.run, self.records),),
            quarantine=local_table(self.spark, [], "run string"),
            problems=(),
        )
        communities: dict[str, dict[str, float | None]] = {}
        for one in measures(runs):
            communities.setdefault(one.community, {})[one.metric] = one.value
        self.last = Update(self.run.run, self.records, self.quarantined, False, communities)
        self.show(self.last)
