"""Exact quantiles: the value of rank ceil(share · n) among n sorted ones, never one in between.

As the summary of a live run has them (`camcast.research.runs.summary`); Spark's own `percentile`
interpolates, and holds a group in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def nearest_ranks(
    counted: DataFrame, keys: Sequence[str], shares: Mapping[str, float]
) -> DataFrame:
    """Return quantiles by `keys`, a column for each of `shares`; 1.0 is the maximum.

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
