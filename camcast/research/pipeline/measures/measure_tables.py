"""The topic tables at the end of a run, and how soon they knew of deaths and of joins.

The end is the last moment before the first polite leave. Until then a table is what its node
learned since its last crash, without what it forgot.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from camcast.research.pipeline.measures.event_spread import with_whole
from camcast.research.pipeline.measures.members import NEVER, Members

_PLACE: Final = ("run", "community")
_NODE: Final = (*_PLACE, "node")


@frozen
class Tables:
    """The topic tables of some runs."""

    spans: DataFrame
    """run, community, node, peer, start, stop, end: from when until when which peer was in whose
    table. It stops when the peer is forgotten, when the owner crashes, and when the run ends."""
    sizes: DataFrame
    """run, community, sample, entries, n: how many living members (n) have so many entries in
    their tables (sample view), or are named in so many tables of the living (in_degree)."""


def tables_of(story: DataFrame, members: Members) -> Tables:
    """Follow what every node learned and forgot."""
    spans = _spans(story, members).localCheckpoint()
    alive = members.alive
    entries = spans.where(F.col("stop") == F.col("end")).join(alive, [*_NODE])
    view = alive.select("*", F.lit("view").alias("sample"), F.lit(0).alias("entries"))
    named = view.withColumn("sample", F.lit("in_degree"))
    kept = entries.select(*_NODE, F.lit("view").alias("sample"), F.lit(1).alias("entries"))
    naming = (
        entries.select(*_PLACE, F.col("peer").alias("node"))
        .join(alive, [*_NODE])
        .select(*_NODE, F.lit("in_degree").alias("sample"), F.lit(1).alias("entries"))
    )
    sizes = (
        view.unionAll(named)
        .unionAll(kept)
        .unionAll(naming)
        .groupBy(*_NODE, "sample")
        .agg(F.sum("entries").alias("entries"))
        .groupBy(*_PLACE, "sample", "entries")
        .agg(F.count("*").alias("n"))
    )
    return Tables(spans, with_whole(sizes).localCheckpoint())


def _spans(story: DataFrame, members: Members) -> DataFrame:
    order = ("when", "sequence", "kind")
    changes = story.where(F.col("kind").isin("learn", "forget", "crash")).select(
        *(*_NODE, "peer"), *order
    )
    following = (
        Window.partitionBy("run", "node")
        .orderBy(*order)
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    entry = Window.partitionBy(*_NODE, "peer").orderBy(*order)
    crash = F.min(F.when(F.col("kind") == "crash", F.col("when"))).over(following)
    return (
        changes.withColumn("crash", crash)
        .where(F.col("kind") != "crash")
        .withColumn("next", F.lead("when").over(entry))
        .where(F.col("kind") == "learn")
        .join(F.broadcast(members.ends), "run", "left")
        .fillna(NEVER, ["end"])
        .where(F.col("when") < F.col("end"))
        .select(
            *(*_NODE, "peer"),
            F.col("when").alias("start"),
            F.least("next", "crash", "end").alias("stop"),
            "end",
        )
    )


def views(tables: Tables) -> DataFrame:
    """Compute the mean size of the living members' tables, and how evenly these name them."""

    def total(sample: str, value: Column) -> Column:
        return F.coalesce(F.sum(F.when(F.col("sample") == sample, value)), F.lit(0))

    entries, n = F.col("entries"), F.col("n")
    nodes = total("view", n)
    named = total("in_degree", entries * n)
    spread = nodes * total("in_degree", entries * entries * n) - named * named
    return tables.sizes.groupBy(*_PLACE).agg(
        nodes.alias("processes"),
        F.try_divide(total("view", entries * n), nodes).alias("view_mean"),
        F.try_divide(named, nodes).alias("in_degree_mean"),
        F.try_divide(spread, nodes * nodes).alias("in_degree_variance"),
        F.when(F.col("community") != "", F.try_divide(spread, named)).alias("in_degree_chi_square"),
    )


def samples(tables: Tables) -> DataFrame:
    """Count the sizes of the tables."""
    view = tables.sizes.where(F.col("sample") == "view")
    return view.select(*_PLACE, "sample", F.col("entries").cast("double").alias("value"), "n")


def waits(tables: Tables, members: Members) -> DataFrame:
    """How long it took until the tables knew: run, community, sample, seconds.

    The samples are `heal_seconds`, from a crash until no living table names the dead (or it is
    back), and `join_visible_seconds`, from a join until another member's table names the newcomer;
    null seconds where that did not happen before the end.
    """
    return with_whole(_healing(tables, members).unionAll(_visibility(tables, members)))


def _healing(tables: Tables, members: Members) -> DataFrame:
    crash = ("run", "community", "dead", "when", "sequence", "end")
    crashes = (
        members.crashes.where(F.col("when") < F.col("end"))
        .withColumn("until", F.least("again", "end"))
        .withColumnRenamed("node", "dead")
    )
    named = tables.spans.select(
        F.col("run").alias("of"), F.col("community").alias("in"), "peer", "start", "stop"
    )
    # `least` passes over a null, which stands for a process in no table.
    stop = F.when(F.col("stop").isNotNull(), F.least("stop", "until"))
    last = F.max(stop)
    return (
        crashes.join(
            named,
            (F.col("run") == F.col("of"))
            & (F.col("dead") == F.col("peer"))
            & F.col("community").isin("", F.col("in"))
            & (stop > F.greatest("start", "when")),
            "left",
        )
        .groupBy(*crash)
        .agg(
            F.when(last.isNull(), F.lit(0.0))
            .when(last < F.col("end"), last - F.col("when"))
            .alias("seconds")
        )
        .select(*_PLACE, F.lit("heal_seconds").alias("sample"), "seconds")
    )


def _visibility(tables: Tables, members: Members) -> DataFrame:
    joins = members.stints.where(F.col("joined") < F.col("end")).select(
        *(*_NODE, "stint", "joined"), F.least("left", "crashed", "again", "end").alias("until")
    )
    named = tables.spans.where(F.col("node") != F.col("peer")).select(
        *_PLACE, F.col("peer").alias("node"), "start", "stop"
    )
    seen = F.greatest("start", "joined")
    named_then = F.col("stop").isNotNull() & (F.least("stop", "until") > seen)
    visible = F.when(named_then, seen)
    return (
        joins.join(named, [*_NODE], "left")
        .groupBy(*_NODE, "stint", "joined")
        .agg((F.min(visible) - F.col("joined")).alias("seconds"))
        .select(*_PLACE, F.lit("join_visible_seconds").alias("sample"), "seconds")
    )
