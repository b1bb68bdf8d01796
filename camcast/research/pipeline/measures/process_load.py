"""The load of each process: the copies of events and the bytes that it sends and receives."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from camcast.research.models.distributions import LOAD_QUANTILES
from camcast.research.pipeline.measures.event_spread import nearest_rank, with_whole
from camcast.research.pipeline.measures.members import Members

_NODE: Final = ("run", "community", "node")
_LOADS: Final = ("load_sent", "load_received", "load_bytes")
_ROLES: Final = ("publishers", "links")


def loads(by_node: DataFrame, story: DataFrame, members: Members) -> DataFrame:
    """Compute how the load is distributed over the members that did not crash.

    `by_node` has the records of `LOADS`: run, community, node, kind, n and bytes.
    """

    def of(what: str, *kinds: str) -> Column:
        return F.sum(F.when(F.col("kind").isin(*kinds), F.col(what)).otherwise(0))

    columns = (*_NODE, "kind", "n", "bytes")
    told = story.where(F.col("kind").isin("parasite", "publish"))
    counted = (
        with_whole(by_node.select(*columns).unionByName(told.select(*columns)))
        .groupBy(*_NODE)
        .agg(
            of("n", "send", "upward").alias("load_sent"),
            of("n", "receive", "duplicate", "parasite").alias("load_received"),
            of("bytes", "send", "upward", "control").alias("load_bytes"),
            F.max(F.col("kind") == "publish").alias("publishers"),
            F.max(F.col("kind") == "upward").alias("links"),
        )
    )
    of_run = counted.where(F.col("community") == "").select("run", "node", *_ROLES)
    alive = with_whole(members.alive).distinct()
    here = alive.join(counted.drop(*_ROLES), [*_NODE], "left").join(of_run, ["run", "node"], "left")
    here = here.fillna(0, [*_LOADS]).fillna(value=False, subset=[*_ROLES])
    quantiles = [
        nearest_rank(F.col(load), share).alias(f"{load}_{name}")
        for load in _LOADS
        for name, share in LOAD_QUANTILES.items()
    ]
    n = F.count("*")
    peaks = [F.try_divide(F.max(load) * n, F.sum(load)).alias(f"{load}_peak") for load in _LOADS]
    sent = F.col("load_sent")
    roles = [
        F.try_divide(
            F.sum(F.when(F.col(role), sent)) * n, F.count_if(F.col(role)) * F.sum(sent)
        ).alias(f"load_sent_{role}")
        for role in _ROLES
    ]
    return here.groupBy("run", "community").agg(*quantiles, *peaks, *roles)
