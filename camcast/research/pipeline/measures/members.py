"""Stints: the times for which each node was a member of its community.

A *stint* begins with the first `join` of a node in a community, or the first one after it left or
crashed, and lasts until the next stint begins; the node is a member from its last `join` in it. A
node that comes back as itself after a crash has a second stint. A crash without a community is one
in all communities that the node ever joined.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

_NODE: Final = ("run", "node", "community")
_ORDER: Final = ("when", "sequence", "kind")
NEVER: Final = float("inf")


@frozen
class Members:
    """The members of some runs."""

    stints: DataFrame
    """run, node, community, stint (from 1), joined, left, crashed, again (when the next stint
    begins), end (of the run)."""
    crashes: DataFrame
    """run, node, community, when, sequence, again (when the next stint there begins), end."""
    ends: DataFrame
    """run, end: when the first member left politely for good, which ends the run proper."""
    alive: DataFrame
    """run, community, node: whose last stint did not end in a crash."""


def members_of(story: DataFrame) -> Members:
    """Find the stints in a trace's records of joining, leaving and crashing."""
    changes = _placed(
        story.where(F.col("kind").isin("join", "leave", "crash")).select(*_NODE, *_ORDER)
    )
    order = Window.partitionBy(*_NODE).orderBy(*_ORDER)
    later = order.rowsBetween(1, Window.unboundedFollowing)
    before = F.lag("kind", default="").over(order)
    changes = (
        changes.withColumn("begins", F.when(before != "join", _when("join")))
        .withColumns({"stint": F.count("begins").over(order), "again": F.min("begins").over(later)})
        .localCheckpoint()
    )
    stints = changes.groupBy(*_NODE, "stint").agg(
        F.min("begins").alias("begins"),
        F.max(_when("join")).alias("joined"),
        F.max(_when("leave")).alias("left"),
        F.min(_when("crash")).alias("crashed"),
    )
    stints = stints.withColumn(
        "again", F.lead("begins").over(Window.partitionBy(*_NODE).orderBy("stint"))
    ).localCheckpoint()
    last_left = F.min(F.when(F.col("again").isNull(), F.col("left")))
    ends = stints.groupBy("run").agg(F.coalesce(last_left, F.lit(NEVER)).alias("end"))
    ends = ends.localCheckpoint()
    crashes = changes.where(F.col("kind") == "crash").drop("kind", "stint", "begins")
    joined = stints.where(F.col("stint") > 0)
    alive = joined.where(F.col("again").isNull() & F.col("crashed").isNull())
    return Members(
        joined.join(F.broadcast(ends), "run"),
        crashes.join(F.broadcast(ends), "run"),
        ends,
        alive.select("run", "community", "node"),
    )


def _placed(changes: DataFrame) -> DataFrame:
    """Give crashes without a community those of their node."""
    nowhere = (F.col("kind") == "crash") & (F.col("community") == "")
    joins = F.when(F.col("kind") == "join", F.col("community"))
    joined = F.collect_set(joins).over(Window.partitionBy("run", "node"))
    places = F.when(nowhere & (F.size(joined) > 0), joined).otherwise(F.array("community"))
    return (
        changes.withColumn("places", places)
        .withColumn("community", F.explode("places"))
        .drop("places")
    )


def _when(kind: str) -> Column:
    return F.when(F.col("kind") == kind, F.col("when"))
