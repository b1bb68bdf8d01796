"""Trace records as columns: the schema of `observe.trace.TraceRecord` for Spark and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from camcast.observe.trace import TraceRecord
from camcast.vocabulary.happenings import TraceKind

if TYPE_CHECKING:
    import pyarrow as pa

KINDS: Final[tuple[str, ...]] = get_args(TraceKind)

_SPARK: Final[dict[Any, str]] = {float: "double", int: "bigint", str: "string", TraceKind: "string"}

COLUMNS: Final = {field.name: _SPARK[field.type] for field in msgspec.structs.fields(TraceRecord)}
"""The columns of a trace in order, with their Spark types."""

DEFAULTS: Final = {
    field.name: field.default
    for field in msgspec.structs.fields(TraceRecord)
    if field.default is not msgspec.NODEFAULT
}
"""The default of a column whose field is left out of a JSON line."""

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""The same in Spark's notation."""


UNITS: Final = {"when": "s", "sequence": "1", "hops": "1", "size": "bytes"}


def arrow_schema() -> pa.Schema:
    """Return the schema of a trace's Parquet file; no column is ever null."""
    import pyarrow as pa

    types = {"double": pa.float64(), "bigint": pa.int64(), "string": pa.string()}
    return pa.schema(
        [
            pa.field(name, types[kind], False, {"unit": UNITS[name]} if name in UNITS else None)
            for name, kind in COLUMNS.items()
        ]
    )


STORY: Final = (*("publish", "deliver", "parasite", "join", "leave", "crash", "learn", "forget"),)
"""Kinds of which each record matters, and when and where it happened."""

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
