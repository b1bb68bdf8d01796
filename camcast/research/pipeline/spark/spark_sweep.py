"""The engine of a sweep that computes on Spark's executors (`camcast.research.sweeps.sweep`).

All cells are one job. What a task has found comes back as soon as it is finished, in an
accumulator: so nothing has to be shared but the network, and a sweep that is killed continues,
with either engine. The executors need camcast, installed as it is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from pyspark import AccumulatorParam
from typing_extensions import override

from camcast.research.pipeline.spark.session import SparkFailedError, open_spark
from camcast.research.sweeps.sweep import JSON, Cell, Engine, Job, Outcome, Outcomes, compute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GROUP: Final = "camcast sweep"
_CANCEL_SECONDS: Final = 0.5  # chosen: a job that was just about to begin is cancelled then
_TASKS_MAX: Final = 10_000  # chosen: one cell is a task, until Spark's driver had to keep too many

_Found: TypeAlias = "tuple[int, Outcome]"  # the place among the jobs


def spark_engine(*, master: str | None, conf: Mapping[str, str]) -> Engine:
    """Return the engine; Spark is started when there is something to compute.

    Computing raises what `open_spark` raises.
    """

    def compute_on_spark(task: Callable[[Cell], JSON], jobs: Sequence[Job]) -> Outcomes:
        with open_spark("camcast sweep", master=master, conf=conf) as spark:
            yield from _compute(spark, task, jobs)

    return compute_on_spark


class _ToDriver(AccumulatorParam[list[_Found]]):
    """Lists that are put together on the executors; on the driver `hear` takes them at once."""

    def __init__(self, hear: Callable[[_Found], object] | None = None) -> None:
        self._hear = hear

    @override
    def zero(self, value: list[_Found]) -> list[_Found]:
        """Return an empty list."""
        return []

    @override
    def addInPlace(self, value1: list[_Found], value2: list[_Found]) -> list[_Found]:
        """Add the second to the first."""
        if self._hear is None:
            return value1 + value2
        for found in value2:
            self._hear(found)
        return value1

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (_ToDriver, ())  # to an executor


def _compute(spark: SparkSession, task: Callable[[Cell], JSON], jobs: Sequence[Job]) -> Outcomes:
    heard: SimpleQueue[_Found | BaseException | None] = SimpleQueue()
    found = spark.sparkContext.accumulator(list[_Found](), _ToDriver(heard.put))
    cells = spark.sparkContext.broadcast([job.cell for job in jobs])

    def compute_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the cells of a task; runs on an executor."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                found.add([(number, compute(task, cells.value[number]))])
        yield from ()

    numbers = spark.range(len(jobs), numPartitions=min(len(jobs), _TASKS_MAX))
    frame = numbers.mapInArrow(compute_batches, "number long")
    thread = threading.Thread(target=_run, args=(spark, frame, heard.put), daemon=True)
    thread.start()
    missing = dict(enumerate(jobs))
    try:
        while (item := heard.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            number, outcome = item
            if number in missing:  # a task that was lost and repeated may tell it twice
                yield missing.pop(number), outcome
    finally:
        thread.join(_CANCEL_SECONDS)
        while thread.is_alive():
            spark.sparkContext.cancelJobGroup(_GROUP)
            thread.join(_CANCEL_SECONDS)
    if missing:
        raise SparkFailedError(f"{len(missing)} cells did not come back from Spark; sweep again")


def _run(
    spark: SparkSession, frame: DataFrame, hear: Callable[[BaseException | None], object]
) -> None:
    """Run the job, in a thread of its own, and tell its end."""
    try:
        spark.sparkContext.setJobGroup(_GROUP, _GROUP, interruptOnCancel=True)
        frame.write.format("noop").mode("overwrite").save()
    except BaseException as error:
        hear(error)
    else:
        hear(None)
