"""Reads any number of run folders, their traces as JSON lines or Parquet, with Spark.

What can be read is read. `Runs.problems` names each folder that cannot, and `Runs.quarantine` has
each record that cannot, with its file and line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from attrs import frozen
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from camcast.research.pipeline.ingest.described_runs import ReadRun, described, problems_of
from camcast.research.pipeline.ingest.line_scan import objects_in
from camcast.research.pipeline.ingest.quarantine import numbered, wrong_line, wrong_record
from camcast.research.pipeline.ingest.run_to_read import RunFolder, RunFolderError
from camcast.research.pipeline.ingest.trace_parquet import rows_of_trace
from camcast.research.pipeline.ingest.trace_schema import (
    COLUMNS,
    DEFAULTS,
    QUARANTINE,
    SCHEMA,
    SENT,
    STORY,
    TEXT_CHARACTERS,
)

_JSON_OPTIONS: Final = {"columnNameOfCorruptRecord": "malformed", "allowNonNumericNumbers": "false"}
# Spark takes a path for a pattern.
_PATTERN: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\*?[]{}"})
_DETAILS: Final = ("when", "sequence", "node", "peer", "topic", "hops")
CONDENSED: Final = ("run", "kind", "community", "event", *_DETAILS, "n", "bytes", "by_event")
"""`n` records that were alike, and their `bytes`. In a row of `STORY` `n` is 1. Rows of other kinds
have the node, and null from `event` to `n` otherwise. The records of `SENT` are there once more
`by_event`: with the event, and without the node."""


@frozen
class Runs:
    """The records and settings read from some run folders."""

    records: DataFrame
    """The records that can be read, condensed (`CONDENSED`), and held by
    Spark."""
    runs: tuple[ReadRun, ...]
    """The settings of each run, with the numbers of its records and of those in quarantine."""
    quarantine: DataFrame
    """run, file, line, reason, text: see `camcast.research.pipeline.ingest.quarantine`."""
    problems: tuple[str, ...]
    """The inputs that could not be read, or only in part, in words; empty if all is well."""


def read_runs(spark: SparkSession, folders: Sequence[Path]) -> Runs:
    """Read run folders; raises `RunFolderError` when there is not one that can be read.

    The traces are gone through here and now: as bytes (JSON lines) or for their checksums
    (Parquet), and once more to condense them. Where something is wrong in JSON lines, they are
    gone through again, to say where.
    """
    runs, problems = described(folders)
    if not runs:
        raise RunFolderError("; ".join(problems) or "no run folder was given")
    counts = {run.run: ReadRun(run) for run in runs}
    parts = [*_json_lines(spark, runs, counts), *_parquet(spark, runs, counts)]
    records = parts[0][0] if parts else _nothing(spark)
    for part, _ in parts[1:]:
        records = records.unionByName(part)
    wrong = local_table(spark, [], QUARANTINE)
    for _, part in parts:
        wrong = wrong.unionByName(part)
    problems += problems_of(counts)
    return Runs(records, tuple(counts.values()), wrong, tuple(problems))


_Part = tuple[DataFrame, DataFrame]  # records and quarantine


def _json_lines(
    spark: SparkSession, runs: list[RunFolder], counts: dict[str, ReadRun]
) -> Iterator[_Part]:
    """Read traces as they come where each line is a record, and else line by line."""
    run_of = {path: run.run for run in runs for path in run.traces["jsonl"]}
    objects = {path: objects_in(path) for path in run_of}
    plain = {path: run for path, run in run_of.items() if objects[path] is not None}
    if plain:
        lines, found = Counter[str](), Counter[str]()
        for path, run in plain.items():
            lines[run] += objects[path] or 0
        known = _plain(spark, plain)
        sums = _sums(known)
        for row in sums:
            found[row["run"]] += row["n"]
        strange = {row["run"] for row in sums if row["reason"] is not None}
        # A run that is still written to may have other lines now than when they were counted.
        strange |= {run for run in lines if found[run] != lines[run]}
        for run in lines.keys() - strange:
            counts[run].records += lines[run]
        right = known.where(~F.col("run").isin(*strange)) if strange else known
        yield right.select(*CONDENSED), local_table(spark, [], QUARANTINE)
        plain = {path: run for path, run in plain.items() if run not in strange}
    if rest := {path: run for path, run in run_of.items() if path not in plain}:
        yield _line_by_line(spark, rest, counts)


def _plain(spark: SparkSession, run_of: dict[Path, str]) -> DataFrame:
    """Condense traces of one object a line; `reason` where that is no record."""
    frame = (
        spark.read.schema(f"{SCHEMA}, malformed string")
        .options(**_JSON_OPTIONS, lineSep="\n")
        .json(_paths(run_of))
    )
    names = _names(spark, frame, run_of)
    # Not `_metadata.file_path`, with which Spark copies each row once more.
    files = names.select(F.regexp_replace("uri", "^file:", "file://").alias("uri"), "of")
    wrong = F.when(F.col("malformed").isNotNull(), F.lit("malformed")).otherwise(
        wrong_record({name: F.col(name) for name in COLUMNS})
    )
    records = (
        frame.select(*COLUMNS, "malformed", F.input_file_name().alias("uri"))
        .join(F.broadcast(files), "uri")
        .select(
            *("of", wrong.alias("reason")),
            *(_whole(F.col(name), name).alias(name) for name in COLUMNS),
        )
    )
    return _condensed(records, names)


def _line_by_line(
    spark: SparkSession, run_of: dict[Path, str], counts: dict[str, ReadRun]
) -> _Part:
    """Read traces in which something is wrong, to say where, and what."""
    lines = spark.read.option("lineSep", "\n").text(_paths(run_of))
    names = _names(spark, lines, run_of)
    lines = lines.select(
        "value",
        F.monotonically_increasing_id().alias("number"),
        F.col("_metadata.file_path").alias("uri"),
        F.col("_metadata.file_block_start").alias("block"),
        F.col("_metadata.file_size").alias("file_size"),
    )
    known = (
        judged(lines)
        .join(F.broadcast(names), "uri")
        .select(
            *("run", "uri", "block", "file_size", "number", "reason", *COLUMNS),
            F.octet_length("value").alias("bytes"),
            F.when(F.col("reason").isNotNull(), _text(F.col("value"))).alias("text"),
        )
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    good = known.where(F.col("reason").isNull())
    right = condensed(good.select("run", *COLUMNS))
    wrong = numbered(known).join(F.broadcast(names), "uri")
    judged_lines = good.select("run", "reason").unionByName(wrong.select("run", "reason"))
    each = {"n": F.lit(1), "by_event": F.lit(False)}
    _count(_sums(judged_lines.withColumns(each)), counts)
    return right.localCheckpoint(), wrong.select("run", "file", "line", "reason", "text")


def judged(lines: DataFrame) -> DataFrame:
    """Add to lines of JSON (column `value`) a trace's columns, and the `reason` why one is none."""
    record = F.col("record")
    parsed = F.from_json("value", f"{SCHEMA}, malformed string", _JSON_OPTIONS)
    return (
        lines.withColumn("record", parsed)
        .withColumn("reason", wrong_line(F.col("value"), record, record["malformed"]))
        .withColumns({name: _whole(record[name], name) for name in COLUMNS})
        .drop("record")
    )


def _parquet(
    spark: SparkSession, runs: list[RunFolder], counts: dict[str, ReadRun]
) -> Iterator[_Part]:
    run_of = {path: run for run in runs for path in run.traces["parquet"]}
    rows: dict[Path, int] = {}
    wrong_files: list[tuple[str, str, None, str, None]] = []

    def refuse(path: Path, reason: str) -> None:
        run = run_of[path].run
        wrong_files.append((run, str(path), None, reason, None))
        counts[run].reasons[reason] += 1

    for path, run in run_of.items():
        try:
            rows[path] = rows_of_trace(path, run.trace_version)
        except RunFolderError as error:
            refuse(path, str(error))
    readable = _readable(spark, {path: run_of[path].run for path in rows}) if rows else {}
    whole: dict[Path, str] = {}
    for path, number in rows.items():
        if (read := readable.get(path, 0)) < number:
            refuse(
                path,
                f"a damaged Parquet file: of {number} records only {read} can be read, and none"
                " was",
            )
        else:
            whole[path] = run_of[path].run
    files = local_table(spark, wrong_files, QUARANTINE)
    if not whole:
        if wrong_files:
            yield _nothing(spark), files
        return
    judged_records, names = _judged_parquet(spark, whole)
    known = _condensed(judged_records, names)
    _count(_sums(known), counts)
    right = known.where(F.col("reason").isNull()).select(*CONDENSED)
    wrong = judged_records.where(F.col("reason").isNotNull()).select(
        *("run", "file", F.col("number").alias("line"), "reason"),
        _text(F.to_json(F.struct(*COLUMNS))).alias("text"),
    )
    yield right, wrong.unionByName(files)


def _readable(spark: SparkSession, run_of: dict[Path, str]) -> dict[Path, int]:
    """Return how many records of each file can be read, every column and checksum of them."""
    frame = (
        spark.read.schema(SCHEMA)
        .option("ignoreCorruptFiles", "true")  # it ends at the damage, and we count
        .option("parquet.page.verify-checksum.enabled", "true")
        .parquet(*_paths(run_of))
    )
    counted = (
        frame.groupBy(F.col("_metadata.file_path").alias("uri"))
        # The sum is of no use but that all columns are read for it.
        .agg(F.count("*").alias("rows"), F.bit_xor(F.xxhash64(*COLUMNS)).alias("all"))
        .collect()
    )
    path_of = _paths_by_uri(frame, run_of)
    return {path_of[row["uri"]]: row["rows"] for row in counted}


def _judged_parquet(spark: SparkSession, run_of: dict[Path, str]) -> tuple[DataFrame, DataFrame]:
    """Return the records with the `reason` why one is none, and the names of their files."""
    frame = spark.read.schema(SCHEMA).parquet(*_paths(run_of))
    names = _names(spark, frame, run_of)
    records = (
        frame.select(
            *COLUMNS,
            F.col("_metadata.file_path").alias("uri"),
            (F.col("_metadata.row_index") + 1).alias("number"),
        )
        .withColumn("reason", wrong_record(F.struct(*COLUMNS)))
        .join(F.broadcast(names), "uri")
    )
    return records, names


def _condensed(records: DataFrame, names: DataFrame) -> DataFrame:
    """Condense records and their `reason`; Spark does it here and now.

    What they are `of` stands for the run, whose name is much longer, and would be copied and
    compared for each record.
    """
    runs = names.select(F.col("of").alias("run"), F.col("run").alias("name")).distinct()
    known = condensed(records.drop("run").withColumnRenamed("of", "run"), "reason")
    named = known.join(F.broadcast(runs), "run").withColumn("run", F.col("name"))
    return named.drop("name").localCheckpoint()


def _sums(known: DataFrame) -> list[Row]:
    """Return run, reason and the number n of such records."""
    once = known.where(~F.col("by_event"))
    return once.groupBy("run", "reason").agg(F.sum("n").alias("n")).collect()


def _count(sums: Sequence[Row], counts: dict[str, ReadRun]) -> None:
    for row in sums:
        count = counts[row["run"]]
        if row["reason"] is None:
            count.records += row["n"]
        else:
            count.reasons[row["reason"]] += row["n"]


def _nothing(spark: SparkSession) -> DataFrame:
    return condensed(local_table(spark, [], f"run string, {SCHEMA}"))


def _whole(column: Column, name: str) -> Column:
    return F.coalesce(column, F.lit(DEFAULTS[name])) if name in DEFAULTS else column


def _text(column: Column) -> Column:
    return F.substring(F.make_valid_utf8(column), 1, TEXT_CHARACTERS)


def _paths(paths: dict[Path, str]) -> list[str]:
    return [str(path.resolve()).translate(_PATTERN) for path in paths]


def _paths_by_uri(frame: DataFrame, paths: dict[Path, str]) -> dict[str, Path]:
    """Return the files by the name that Spark's metadata have for them."""
    resolved = {str(path.resolve()): path for path in paths}
    raw = [urlsplit(uri).path for uri in frame.inputFiles()]
    return {f"file:{part}": resolved[unquote(part)] for part in raw}


def _names(spark: SparkSession, frame: DataFrame, run_of: dict[Path, str]) -> DataFrame:
    """Return uri, run, file, and the number that it is `of`, which stands for the run."""
    of = {run: number for number, run in enumerate(sorted(set(run_of.values())))}
    rows = [
        (uri, run_of[path], str(path), of[run_of[path]])
        for uri, path in _paths_by_uri(frame, run_of).items()
    ]
    return local_table(spark, rows, "uri string, run string, file string, of int")


def local_table(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """Return rows of the driver as a table of Spark's, by way of Arrow.

    `schema` is in Spark's notation, a map is a dictionary. `SparkSession.createDataFrame` of tuples
    would start Python processes to read them again, which takes seconds.
    """
    fields = to_arrow_schema(cast(StructType, StructType.fromDDL(schema)))
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array([list(v.items()) if isinstance(v, dict) else v for v in column], type_)
        for column, type_ in zip(columns, fields.types, strict=False)  # no rows, no columns
    ]
    return spark.createDataFrame(pa.table(arrays, fields) if arrays else fields.empty_table())


def condensed(records: DataFrame, *more: str) -> DataFrame:
    """Condense records, which have the `run` they are of; what has other `more` stays apart.

    Nine records in ten are copies of events, of which only the number matters. All that is computed
    of a run is computed from this table, a tenth of its trace: the records themselves are gone
    through once, and never kept. Copies that were sent are counted by node and by event apart, each
    record in two groups: by both together, the table would have as many rows of them as of all
    deliveries.
    """
    is_story, by_event = F.col("kind").isin(*STORY), F.col("by_event")
    node = F.when(~by_event, F.col("node")).alias("node")
    event = F.when(is_story | by_event, F.col("event")).alias("event")
    details = [F.when(is_story, F.col(name)).alias(name) for name in _DETAILS if name != "node"]
    once, twice = F.array(F.lit(False)), F.array(F.lit(False), F.lit(True))
    counted = F.when(F.col("kind").isin(*SENT), twice).otherwise(once)
    keys = ("run", "kind", "community", *more)
    return (
        records.withColumn("by_event", F.explode(counted))
        .select(*keys, event, node, *details, "by_event", "size")
        .groupBy(*keys, "event", *_DETAILS, "by_event")
        .agg(F.count("*").alias("n"), F.sum("size").alias("bytes"))
        .withColumn("n", F.explode(_numbers(is_story)))
    )


def _numbers(is_story: Column) -> Column:
    """Return the `n` of the rows that a group becomes: a file may be there twice, word for word."""
    n = F.col("n")
    ones = F.array_repeat(F.lit(1).cast("bigint"), n.cast("int"))
    return F.when(is_story, ones).otherwise(F.array(n))
