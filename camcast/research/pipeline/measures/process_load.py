"""The traffic of processes: in all, and how evenly it is spread over them, which is their load."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from camcast.research.models.distributions import HUB, LOAD_QUANTILES
from camcast.research.pipeline.measures.event_spread import nearest_rank, with_whole
from camcast.research.pipeline.measures.measure_tables import Tables
from camcast.research.pipeline.measures.members import Members

_NODE: Final = ("run", "community", "node")
_LOADS: Final = ("load_sent", "load_received", "load_bytes")
_ROLES: Final = {"publishers": "publish", "links": "upward"}


def traffic(by_node: DataFrame, story: DataFrame, members: Members, tables: Tables) -> DataFrame:
    """Sum up what was sent and arrived, and the loads of the members that did not crash.

    `by_node` has run, community, node, kind, n and bytes of what is not in the story.
    """

    def of(what: str, *kinds: str) -> Column:
        return F.sum(F.when(F.col("kind").isin(*kinds), F.col(what)).otherwise(0))

    columns = (*_NODE, "kind", "peer", "n", "bytes")
    of_story = story.where(F.col("kind").isin("parasite", "publish"))
    # A row of nothing for each member: those that sent and received nothing count, too.
    nothing = {"n": F.lit(0), "bytes": F.lit(0)}
    # And two for each entry of a table at the end: either process is the other's neighbour.
    entries = tables.spans.where(F.col("stop") == F.col("end"))
    swapped = {"node": F.col("peer"), "peer": F.col("node")}
    parts = [
        of_story.withColumn("peer", F.lit(None)),
        members.alive.withColumns({"kind": F.lit("member"), "peer": F.lit(None), **nothing}),
        *(
            one.withColumns({"kind": F.lit("neighbour"), **nothing})
            for one in (entries, entries.withColumns(swapped))
        ),
    ]
    records = by_node.select(*columns, F.lit(1).alias("copies"))
    for part in parts:
        records = records.unionByName(part.select(*columns, F.lit(0).alias("copies")))
    # Only a role is asked for by node alone. Shuffled so, the rows are where all groups want them.
    by_peer = with_whole(records.repartition("run", "node")).groupBy(*_NODE, "kind", "peer")
    # A neighbour is one, however many communities both are in, and whichever names the other.
    sums = [F.sum(name).alias(name) for name in ("n", "bytes", "copies")]
    by_process = by_peer.agg(*sums).groupBy(*_NODE)
    roles = Window.partitionBy("run", "node")
    each = by_process.agg(
        of("n", "send", "upward").alias("load_sent"),
        of("n", "receive", "duplicate", "parasite").alias("load_received"),
        of("bytes", "send", "upward", "control").alias("load_bytes"),
        *(of("n", kind).alias(kind) for kind in ("receive", "duplicate", "upward")),
        of("bytes", "control").alias("control"),
        F.sum("copies").alias("copies"),
        F.count_if(F.col("kind") == "neighbour").alias("neighbours"),
        F.max(F.col("kind") == "member").alias("member"),
        *(F.max(F.col("kind") == kind).alias(role) for role, kind in _ROLES.items()),
    ).withColumns({role: F.max(role).over(roles) for role in _ROLES})
    known = each.groupBy("run", "community").agg(*_in_all(), *_loads(), *_for_hubs())
    hubs = F.filter("processes", lambda one: one["neighbours"] >= F.col("most"))
    copies, number, total = _sum_of(hubs), F.size(hubs), _sum_of(F.col("processes"))
    share = F.try_divide(copies * F.size("processes"), number * total)
    of_hubs = F.when(F.col("most") > 0, share).alias("load_sent_hubs")
    return known.select("*", of_hubs).drop("processes", "most")


def _for_hubs() -> list[Column]:
    """Return how many neighbours and copies each member has, and how many neighbours a hub."""
    neighbours = F.when(F.col("member"), F.col("neighbours"))
    one = F.when(F.col("member"), F.struct("neighbours", "load_sent"))
    return [
        F.collect_list(one).alias("processes"),
        nearest_rank(neighbours, HUB).alias("most"),
    ]


def _sum_of(processes: Column) -> Column:
    """Add up the copies that processes sent."""
    zero = F.lit(0).cast("bigint")
    return F.aggregate(processes, zero, lambda total, one: total + one["load_sent"])


def _in_all() -> list[Column]:
    """Return the sums over all processes; null where nothing was sent and nothing arrived."""
    some = F.sum("copies") > 0
    useful, duplicates = F.sum("receive"), F.sum("duplicate")
    return [
        F.when(some, duplicates).alias("duplicates"),
        F.try_divide(useful, useful + duplicates).alias("efficiency"),
        F.when(some, F.sum("upward")).alias("upward_messages"),
        F.when(some, F.sum("control")).alias("control_bytes"),
    ]


def _loads() -> list[Column]:
    """Return how the loads are distributed over the members."""
    loads = {name: F.when(F.col("member"), F.col(name)) for name in _LOADS}
    n, sent = F.count_if("member"), loads["load_sent"]
    quantiles = [
        nearest_rank(load, share).alias(f"{name}_{quantile}")
        for name, load in loads.items()
        for quantile, share in LOAD_QUANTILES.items()
    ]
    peaks = [
        F.try_divide(F.max(load) * n, F.sum(load)).alias(f"{name}_peak")
        for name, load in loads.items()
    ]
    roles = [
        F.try_divide(
            F.sum(F.when(F.col(role), sent)) * n,
            F.count_if(F.col(role) & F.col("member")) * F.sum(sent),
        ).alias(f"load_sent_{role}")
        for role in _ROLES
    ]
    return [*quantiles, *peaks, *roles]
