"""The quarantine: records that are none, with the file, the line and what is wrong with them.

A *line* is a line of a JSON-lines file, or the number of a record in a Parquet file, from 1; it
is null when the file is wrong as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from camcast.observe.trace import NUMBER_MAX
from camcast.research.pipeline.ingest.trace_schema import (
    COLUMNS,
    DEFAULTS,
    IDENTITY,
    KINDS,
    NUMBERS,
    OF_EVENTS,
    out_of_range,
)

_BLANK: Final = " \t\r"  # white space of JSON; Windows ends a line with two characters


def wrong_line(line: Column, record: Column, malformed: Column) -> Column:
    """Say what is wrong with a line of JSON; null for a trace record.

    `record` is the line as Spark parsed it, `malformed` not null where a field did not parse.
    Spark takes any JSON value for a text, and the first of several: `wrong_record` and the last
    look here find both.
    """
    blank = F.lit(_BLANK)
    wrong_type = [
        F.when(
            record[name].isNull() & F.get_json_object(line, f"$.{name}").isNotNull(),
            F.lit(f"{name} is no {'text' if kind == 'string' else kind}"),
        )
        for name, kind in COLUMNS.items()
    ]
    return (
        F.when(~F.is_valid_utf8(line), F.lit("not UTF-8"))
        .when(F.trim(line, blank) == "", F.lit("an empty line"))
        .when(
            record.isNull() | malformed.isNotNull(),
            F.when(F.try_parse_json(line).isNull(), F.lit("not JSON"))
            .when(~F.trim(line, blank).startswith("{"), F.lit("no JSON object"))
            .otherwise(F.coalesce(*wrong_type, F.lit("no trace record"))),
        )
        # No name in a record has a brace.
        .when(
            F.instr(line, "}") != F.length(F.rtrim(line, blank)), F.lit("more than one JSON object")
        )
        .otherwise(wrong_record(record))
    )


def wrong_record(record: Column | Mapping[str, Column]) -> Column:
    """Say what is wrong with a record's content, a struct or its columns; null if nothing is."""
    identity = f"no identity of {IDENTITY} hexadecimal digits"
    wrong = F.lit(None).cast("string")
    for condition, reason in reversed(
        [
            *(
                (record[name].isNull(), F.lit(f"{name} is missing"))
                for name in COLUMNS
                if name not in DEFAULTS
            ),
            *(
                # A NaN is beyond every number; a null is a default.
                (~record[name].between(0, NUMBER_MAX), F.lit(out_of_range(name)))
                for name in NUMBERS
            ),
            (~record["kind"].isin(*KINDS), F.concat(F.lit("unknown kind "), record["kind"])),
            (F.octet_length(record["node"]) != IDENTITY, F.lit(f"node is {identity}")),
            (
                ~F.coalesce(F.octet_length(record["peer"]), F.lit(0)).isin(0, IDENTITY),
                F.lit(f"peer is {identity}"),
            ),
            (
                record["kind"].isin(*OF_EVENTS)
                & ~F.coalesce(
                    record["event"].contains("-") & record["topic"].startswith("."), F.lit(False)
                ),
                F.lit("it names no event, or no topic"),
            ),
        ]
    ):
        wrong = F.when(condition, reason).otherwise(wrong)
    return wrong


def numbered(lines: DataFrame) -> DataFrame:
    """Return the wrong ones among `lines`, numbered within their files.

    `lines` has, beside `reason` and `text`: the uri and the size of the file, the `block` of the
    file that the line was read in, a `number` that rises by one from line to line within a block,
    and its `bytes`. Blocks follow each other in the file, so a line's number is that of the lines
    in earlier blocks and of those before it in its own.
    """
    blocks = lines.groupBy("uri", "block").agg(
        F.min("number").alias("first"),
        F.count("*").alias("lines"),
        F.sum(F.col("bytes") + 1).alias("bytes_with_ends"),
        F.max("file_size").alias("file_size"),
    )
    earlier = Window.partitionBy("uri").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    whole = Window.partitionBy("uri")
    blocks = blocks.select(
        "uri",
        "block",
        "first",
        F.coalesce(F.sum("lines").over(earlier), F.lit(0)).alias("before"),
        F.sum("lines").over(whole).alias("lines"),
        # One end of a line more than the file has: its last line has none.
        (F.sum("bytes_with_ends").over(whole) > F.col("file_size")).alias("torn"),
    )
    line = F.col("before") + F.col("number") - F.col("first") + 1
    return (
        lines.where(F.col("reason").isNotNull())
        .select("uri", "block", "number", "reason", "text")
        .join(F.broadcast(blocks), ["uri", "block"])
        .withColumn("line", line)
        .withColumn(
            "reason",
            F.when(
                F.col("torn") & (F.col("line") == F.col("lines")), F.lit("a truncated last line")
            ).otherwise(F.col("reason")),
        )
        .select("uri", "line", "reason", "text")
    )
