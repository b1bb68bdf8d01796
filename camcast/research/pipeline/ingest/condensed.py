"""Records condensed with Spark: those of which only the number matters are counted."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from camcast.research.pipeline.ingest.trace_schema import STORY

_DETAILS: Final = ("when", "sequence", "node", "peer", "topic", "hops")
CONDENSED: Final = ("run", "kind", "community", "event", *_DETAILS, "n", "bytes")
"""`n` records that were alike, and their `bytes`. In a row of `STORY` `n` is 1; in one of another
kind all is null that comes between the event and `n`."""


def condensed(records: DataFrame, *more: str) -> DataFrame:
    """Condense records, which have the `run` they are of; what has other `more` stays apart.

    Nine records in ten are copies of events, of which only the number matters. All that is computed
    of a run is computed from this table, a tenth of its trace: the records themselves are gone
    through once, and never kept.
    """
    is_story = F.col("kind").isin(*STORY)
    details = [F.when(is_story, F.col(name)).alias(name) for name in _DETAILS]
    keys = ("run", "kind", "community", "event", *more)
    alike = records.select(*keys, *details, "size").groupBy(*keys, *_DETAILS)
    summed = alike.agg(F.count("*").alias("n"), F.sum("size").alias("bytes"))
    return summed.withColumn("n", F.explode(_numbers(is_story)))


def _numbers(is_story: Column) -> Column:
    """Return the `n` of the rows that a group becomes: a file may be there twice, word for word."""
    n = F.col("n")
    ones = F.array_repeat(F.lit(1).cast("bigint"), n.cast("int"))
    return F.when(is_story, ones).otherwise(F.array(n))
