"""The measures of runs: one number for each run, community and metric.

docs/formats.md defines each metric. Those that the summary of a run has as well are computed by its
rules (`camcast.research.runs.summary`): who is an expected receiver, what is useful. A metric
without anything to measure is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from camcast.research.pipeline.ingest.runs import Runs
from camcast.research.pipeline.ingest.trace_schema import STORY
from camcast.research.pipeline.measured import Measured
from camcast.research.pipeline.measures import event_spread as measures_spread
from camcast.research.pipeline.measures import measure_tables as measures_tables
from camcast.research.pipeline.measures.members import members_of
from camcast.research.pipeline.measures.metrics import IN_VAIN, SEEN, SHARES, measured_of
from camcast.research.pipeline.measures.process_load import traffic
from camcast.research.pipeline.spark.few import planned_for
from camcast.research.scenarios.super_topics import SuperTopics

_PLACE: Final = ("run", "community")
_SAMPLE: Final = (*_PLACE, "sample")


def measures(runs: Runs) -> list[Measured]:
    """Compute every metric of every run, for each community and, as "", for the whole run.

    There is one for each of `METRICS`. Spark computes them here and now.
    """
    kind = F.col("kind")
    story = runs.records.where(kind.isin(*STORY))
    by_event = runs.records.where("by_event")
    by_node = runs.records.where(~kind.isin(*STORY) & ~F.col("by_event"))
    folders = [run.folder for run in runs.runs]
    declared = {run.run: run.super_topics for run in folders if run.super_topics.declared}
    with planned_for(runs.records.sparkSession, sum(run.records for run in runs.runs)):
        found = (
            _measured(story, by_event, by_node, declared)
            .where(F.col("value").isNotNull())
            .collect()
        )
    values = {(row["run"], row["community"], row["metric"]): row["value"] for row in found}
    return measured_of(folders, values)


def _measured(
    story: DataFrame,
    by_event: DataFrame,
    by_node: DataFrame,
    declared: Mapping[str, SuperTopics],
) -> DataFrame:
    """Return run, community, metric, value; null or no row without anything to measure."""
    members = members_of(story)
    spread = measures_spread.spread_of(story, members, declared)
    tables = measures_tables.tables_of(story, members)
    waits = measures_tables.waits(tables, members).localCheckpoint()
    tallied = [
        measures_spread.reception(spread),
        measures_spread.redundancy(spread, by_event),
        traffic(by_node, story, members, tables),
        measures_spread.parasites(story, members, declared),
        measures_tables.views(tables),
    ]
    in_vain = F.element_at(_literal_map(IN_VAIN), F.col("sample"))
    seen = F.element_at(_literal_map(SEEN), F.col("sample"))
    counted = (
        waits.groupBy(*_PLACE, F.when(F.col("seconds").isNull(), in_vain).otherwise(seen))
        .agg(F.count("*").cast("double").alias("value"))
        .toDF(*_PLACE, "metric", "value")
        .where(F.col("metric").isNotNull())
    )
    waited = waits.where(F.col("seconds").isNotNull()).select(
        *_PLACE, "sample", F.col("seconds").alias("value"), F.lit(1).alias("n")
    )
    samples = [measures_spread.samples(spread), measures_tables.samples(tables), waited]
    ranked = nearest_ranks(reduce(DataFrame.unionByName, samples), _SAMPLE, SHARES)
    quantiles = ranked.unpivot([*_SAMPLE], [*SHARES], "share", "value").select(
        *_PLACE, F.concat_ws("_", "sample", "share").alias("metric"), "value"
    )
    return reduce(DataFrame.unionByName, [*map(_long, tallied), counted, quantiles])


def _long(table: DataFrame) -> DataFrame:
    names = [name for name in table.columns if name not in _PLACE]
    values = [F.col(name).cast("double").alias(name) for name in names]
    return table.select(*_PLACE, *values).unpivot([*_PLACE], [*names], "metric", "value")


def _literal_map(of: Mapping[str, str]) -> Column:
    return F.create_map(*(F.lit(part) for item in of.items() for part in item))


def nearest_ranks(
    counted: DataFrame, keys: Sequence[str], shares: Mapping[str, float]
) -> DataFrame:
    """Return exact quantiles by `keys`, a column for each of `shares`; 1.0 is the maximum.

    The value of rank ceil(share · n) among n sorted ones, never one in between, as the summary of a
    live run has it (`camcast.research.runs.summary`); Spark's own `percentile` interpolates, and
    holds a group in memory.

    A row of `counted` stands for `n` equal `value`s, and a value may have several rows.
    """
    summed = counted.groupBy(*keys, "value").agg(F.sum("n").alias("n"))
    group = Window.partitionBy(*keys)
    upward = group.orderBy("value").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = summed.withColumns({"rank": F.sum("n").over(upward), "total": F.sum("n").over(group)})
    reached = {
        name: F.col("rank") >= F.greatest(F.lit(1), F.ceil(F.lit(share) * F.col("total")))
        for name, share in shares.items()
    }
    return ranked.groupBy(*keys).agg(
        *(F.min(F.when(here, F.col("value"))).alias(name) for name, here in reached.items())
    )
