"""pytest-benchmark's files, as measures: each file is one repetition of the benchmarks in it.

A benchmark gives the seconds of its rounds (``seconds_min``, ``seconds_median``,
``seconds_mean``) and every number of its ``extra_info``. The measure's name says which benchmark it
is of, and with what: ``live_multicast.paced(nodes=50).latency_ms_p99``. Backend, protocol,
community, p_sel, seed and parameters are looked for in ``extra_info``, then in the parameters of
the test; a backend may also be called a membership. The version is the commit.

Rounds of one file share its machine, its minute and its process, so that they are not independent
of each other: what several files say is compared, not what several rounds say.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Final

from attrs import frozen
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from camcast.pipeline.ingest import quarantine
from camcast.pipeline.ingest.local_table import local_table

_SCHEMA: Final = """
    machine_info struct<
        node: string, system: string, machine: string, python_version: string,
        cpu: struct<brand_raw: string, count: int>>,
    commit_info struct<id: string, dirty: boolean>,
    datetime string,
    benchmarks array<struct<
        fullname: string, name: string,
        params: map<string, string>, extra_info: map<string, string>,
        stats: struct<min: double, median: double, mean: double>>>,
    _not_read string
"""
_COMMIT_DIGITS: Final = 12  # chosen: as git abbreviates in large projects
_COLUMNS: Final = ("backend", "membership", "protocol", "community", "p_sel", "seed")
"""What has a column of its own, and is neither a measure nor part of a benchmark's name."""
_CONDITIONS: Final = (
    *("nodes", "processes", "events", "rounds", "payload_bytes", "rate_per_second"),
)
"""Numbers of ``extra_info`` that were set, and not measured."""
_PREFIXES: Final = {"parameter_": "", "option_": "membership."}
"""Of parameters in ``extra_info``, and what runs call them (`pipeline.ingest.run_folder`)."""
_BAD_NAME: Final = "Spark reads no file with a colon in its name, or _ or . in front; rename it"
_GLOB: Final = str.maketrans({char: f"\\{char}" for char in "\\*?[]{},"})


@frozen
class Benches:
    """What benchmark files say."""

    measures: DataFrame
    """As `camcast.pipeline.measures.measures`: a row a file, benchmark and measure."""
    quarantine: DataFrame
    """What could not be read, as `camcast.pipeline.ingest.quarantine` has it of runs."""
    problems: tuple[str, ...]
    """A sentence for each file with anything in quarantine."""
    sources: tuple[dict[str, str], ...]
    """Of each file that was read: path, version, machine, python, started."""


def read_bench_files(spark: SparkSession, files: Sequence[Path]) -> Benches:
    """Read the files of ``pytest --benchmark-json``; `files` is not empty, and all exist.

    What is no such file is in quarantine, and does not keep the others from being read.
    """
    names = {str(path.resolve()): str(path) for path in files}
    bad = [(name, _BAD_NAME) for path, name in names.items() if not _has_good_name(Path(path))]
    good = [path for path in names if _has_good_name(Path(path))]
    read = _read(spark, good).cache()  # small, and read for two answers
    reason = _reason()
    strange = F.filter("benchmarks", lambda bench: ~_is_whole(bench))
    about = read.select(
        "file",
        reason.alias("reason"),
        F.transform(strange, lambda bench: F.coalesce(bench["name"], F.lit("?"))).alias("strange"),
        (F.size("benchmarks") > F.size(strange)).alias("useful"),
        _version().alias("version"),
        F.concat_ws(
            ", ",
            "machine_info.system",
            "machine_info.machine",
            "machine_info.cpu.brand_raw",
            F.concat(F.col("machine_info.cpu.count").cast("string"), F.lit(" cores")),
        ).alias("machine"),
        F.col("machine_info.python_version").alias("python"),
        F.col("datetime").alias("started"),
    ).collect()
    bad += [(names[row.file], row.reason) for row in about if row.reason]
    seen = {row.file for row in about}
    bad += [(names[file], "an empty file") for file in good if file not in seen]
    bad += [
        (names[row.file], f"benchmark {name} has no times as pytest-benchmark writes them")
        for row in about
        for name in row.strange or ()
    ]
    named = local_table(spark, names.items(), "file string, run string")
    entries = read.where(reason.isNull()).join(F.broadcast(named), "file")
    entries = entries.select(
        "run", _version().alias("version"), F.explode("benchmarks").alias("of")
    )
    return Benches(
        measures=_measures(entries.where(_is_whole(F.col("of")))),
        quarantine=local_table(
            spark, [(file, file, None, reason, None) for file, reason in bad], quarantine.SCHEMA
        ),
        problems=tuple(f"{file}: {reason}" for file, reason in bad),
        sources=tuple(
            {"path": names[row.file]}
            | {name: row[name] or "" for name in ("version", "machine", "python", "started")}
            for row in about
            if row.useful
        ),
    )


def _has_good_name(path: Path) -> bool:
    """Whether Spark reads a file of this name: it takes _ and . for hidden, a colon for a URL's."""
    return not path.name.startswith(("_", ".")) and ":" not in path.name


def _read(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    if not files:
        return local_table(spark, [], f"{_SCHEMA}, file string")
    return (
        spark.read.schema(_SCHEMA)
        .option("multiLine", True)
        .option("columnNameOfCorruptRecord", "_not_read")
        .json([f"file://{file.translate(_GLOB)}" for file in files])
        .withColumn("file", _file())
    )


def _file() -> Column:
    """Return the path that a row is from; Spark writes it as a URL does, but for its plus signs."""
    path = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/")
    return F.url_decode(F.replace(path, F.lit("+"), F.lit("%2B")))


def _reason() -> Column:
    """Say why a file cannot be read; null if it can."""
    no_list = F.col("benchmarks").isNull()
    return (
        F.when(
            no_list & F.try_parse_json("_not_read").isNull() & F.col("_not_read").isNotNull(),
            "not JSON, or cut short",
        )
        .when(no_list, "JSON of another tool: it has no benchmarks as pytest-benchmark writes them")
        .when(F.size("benchmarks") == 0, "no benchmark in it")
    )


def _is_whole(benchmark: Column) -> Column:
    return benchmark["fullname"].isNotNull() & benchmark["stats"]["min"].isNotNull()


def _version() -> Column:
    dirty = F.when(F.col("commit_info.dirty"), "+changes").otherwise("")
    commit = F.substring("commit_info.id", 1, _COMMIT_DIGITS)
    return F.coalesce(F.concat(commit, dirty), F.lit(""))


def _measures(entries: DataFrame) -> DataFrame:
    values = F.map_filter(
        F.transform_values("of.extra_info", lambda _, text: text.try_cast("double")),
        lambda name, value: value.isNotNull() & ~F.isnan(value) & ~_is_set(name),
    )
    seconds = F.create_map(
        *(
            column
            for name in ("min", "median", "mean")
            for column in (F.lit(f"seconds_{name}"), F.col(f"of.stats.{name}"))
        )
    )
    # a number of extra_info may be called like one of ours; theirs says the same, and is left out
    theirs = F.map_filter(values, lambda name, _: ~F.map_contains_key(seconds, name))
    every = F.map_concat(seconds, F.coalesce(theirs, F.create_map().cast("map<string,double>")))
    return entries.select("*", F.explode(every).alias("measure", "value")).select(
        "run",
        _said("backend", "membership").alias("backend"),
        _said("protocol").alias("protocol"),
        _said("community").alias("community"),
        _said("p_sel").try_cast("double").alias("p_sel"),
        _parameters().alias("parameters"),
        "version",
        _said("seed").try_cast("bigint").alias("seed"),
        F.concat(_benchmark(), F.lit("."), "measure").alias("metric"),
        "value",
    )


def _is_set(name: Column) -> Column:
    """Whether a number of ``extra_info`` was set, and not measured."""
    prefixed = (name.startswith(prefix) for prefix in _PREFIXES)
    return reduce(Column.__or__, prefixed, name.isin(*_COLUMNS, *_CONDITIONS))


def _parameters() -> Column:
    """Return what was set, under the names that runs have for it."""
    given = F.map_filter(
        "of.extra_info",
        lambda name, value: value.isNotNull() & _is_set(name) & ~name.isin(*_COLUMNS),
    )
    renamed = F.transform_keys(given, lambda name, _: _renamed(name))
    return F.coalesce(renamed, F.create_map().cast("map<string,string>"))


def _renamed(name: Column) -> Column:
    for prefix, instead in _PREFIXES.items():
        name = F.regexp_replace(name, f"^{prefix}", instead)
    return name


def _said(*names: str) -> Column:
    """Return what a benchmark says of one of the names; an empty text if nothing."""
    places = (F.col("of.extra_info"), F.col("of.params"))
    return F.coalesce(*(place[name] for place in places for name in names), F.lit(""))


def _benchmark() -> Column:
    """Return the benchmark's name: file and function without test_, and its other parameters."""
    full = F.col("of.fullname")
    file = F.regexp_extract(full, r"(?:test_)?([^/]+?)(?:\.py)?::", 1)
    function = F.regexp_replace(
        F.regexp_extract(full, r"::([^\[]+)", 1), r"(^|::)(?:test_|Test)", "$1"
    )
    entries = F.array_sort(F.map_entries("of.params"))
    others = F.filter(entries, lambda entry: ~entry["key"].isin(*_COLUMNS))
    given = F.array_join(
        F.transform(others, lambda e: F.concat(e["key"], F.lit("="), e["value"])), ", "
    )
    brackets = F.when(F.length(given) > 0, F.concat(F.lit("("), given, F.lit(")")))
    parts = (file, F.lit("."), F.replace(function, F.lit("::"), F.lit(".")))
    return reduce(F.concat, [*parts, F.coalesce(brackets, F.lit(""))])
