"""How events spread: who should have received them, who did, over how many hops, at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from camcast.research.models.distributions import REACH_QUANTILES, REACHES
from camcast.research.pipeline.ingest.runs import local_table
from camcast.research.pipeline.measures.members import Members
from camcast.research.scenarios.super_topics import SuperTopics

_EVENT: Final = ("run", "event", "community")
_PLACE: Final = ("run", "community")


@frozen
class Spread:
    """The events of some runs."""

    published: DataFrame
    """run, event, publisher, published, topic."""
    deliveries: DataFrame
    """run, event, community, node, delivered, hops: the first of a node in a community."""
    received: DataFrame
    """Those of the expected receivers: run, event, community, hops, latency_ms."""
    tallies: DataFrame
    """run, event, community (or "" for all), expected, received, hops, last_hop. Expected are 0 in
    the whole run where nobody was there."""


def spread_of(
    story: DataFrame, members: Members, declared: Mapping[str, SuperTopics] | None = None
) -> Spread:
    """Match what was published with who was there and who delivered it.

    `declared` has the super-topics of those runs that declare some.
    """
    published = (
        story.where(F.col("kind") == "publish")
        .groupBy("run", "event")
        .agg(F.min(F.struct("when", "sequence", "node", "topic")).alias("first"))
        .select(
            *("run", "event"),
            F.col("first.when").alias("published"),
            F.col("first.node").alias("publisher"),
            F.col("first.topic").alias("topic"),
        )
        .localCheckpoint()
    )
    levels = with_levels(published, declared or {})
    levels = levels.withColumn("community", F.explode("levels")).drop("topic", "levels")
    deliveries = _first_deliveries(story).localCheckpoint()
    # Events and members are few, beside the deliveries: those need not be sorted to meet them.
    levels = F.broadcast(levels)
    surviving = F.broadcast(
        members.stints.where(F.col("crashed").isNull()).select(*_PLACE, "node", "joined", "left")
    )
    here = (
        (F.col("joined") <= F.col("published"))
        & (F.col("left").isNull() | (F.col("left") > F.col("published")))
        & (F.col("node") != F.col("publisher"))
    )
    expected = levels.join(surviving, [*_PLACE]).where(here)
    received = (
        deliveries.join(levels, [*_EVENT])
        .join(surviving, [*_PLACE, "node"])
        .where(here)
        .select(
            *(*_EVENT, "hops"),
            (1000 * (F.col("delivered") - F.col("published"))).alias("latency_ms"),
        )
        .localCheckpoint()
    )
    tallies = (
        expected.groupBy(*_EVENT)
        .agg(F.count("*").alias("expected"))
        .join(
            received.groupBy(*_EVENT).agg(
                F.count("*").alias("received"),
                F.sum("hops").alias("hops"),
                F.max("hops").alias("last_hop"),
            ),
            [*_EVENT],
            "left",
        )
        .fillna(0, ["received", "hops"])
    )
    names = ["expected", "received", "hops"]
    sums = [F.sum(name).alias(name) for name in names]
    each = published.select("run", "event", F.lit("").alias("community"))
    tallies = with_whole(tallies).unionByName(each, allowMissingColumns=True).fillna(0, names)
    tallies = tallies.groupBy(*_EVENT).agg(*sums, F.max("last_hop").alias("last_hop"))
    return Spread(published, deliveries, received, tallies)


def _first_deliveries(story: DataFrame) -> DataFrame:
    """Return run, event, community, node, delivered, hops."""
    key = (*_EVENT, "node")
    delivered = story.where(F.col("kind") == "deliver").select(*key, "when", "sequence", "hops")
    # Nearly all are delivered once. A minimum of structs is found by sorting, which takes several
    # times as long as sums of numbers; so the few others are counted apart first.
    counted = (
        delivered.groupBy(*key)
        .agg(F.count("*").alias("n"), F.min("when").alias("delivered"), F.min("hops").alias("hops"))
        .localCheckpoint()
    )
    again = delivered.join(counted.where(F.col("n") > 1).select(*key), [*key], "left_semi")
    first = again.groupBy(*key).agg(F.min(F.struct("when", "sequence", "hops")).alias("first"))
    return (
        counted.where(F.col("n") == 1)
        .drop("n")
        .unionByName(
            first.select(
                *key, F.col("first.when").alias("delivered"), F.col("first.hops").alias("hops")
            )
        )
    )


def levels_of(topic: Column) -> Column:
    """Return a topic and its super-topics, the root last."""
    parts = F.split(topic, r"\.")  # of ".a.b": "", "a", "b"
    below_root = F.transform(
        F.sequence(F.size(parts), F.lit(2), F.lit(-1)),
        lambda length: F.array_join(F.slice(parts, 1, length), "."),
    )
    root = F.array(F.lit("."))
    return F.when(topic == ".", root).otherwise(F.concat(below_root, root))


def with_levels(frame: DataFrame, declared: Mapping[str, SuperTopics]) -> DataFrame:
    """Add the column `levels` to rows with a run and a topic: the communities that want it."""
    by_name = levels_of(F.col("topic"))
    if not declared:
        return frame.withColumn("levels", by_name)
    named = frame.where(F.col("run").isin(*declared) & (F.col("topic") != ""))
    rows = [
        (row["run"], row["topic"], list(declared[row["run"]].names_above(row["topic"])))
        for row in named.select("run", "topic").distinct().collect()
    ]
    known = local_table(frame.sparkSession, rows, "run string, topic string, above array<string>")
    return (
        frame.join(F.broadcast(known), ["run", "topic"], "left")
        .withColumn("levels", F.coalesce("above", by_name))
        .drop("above")
    )


def with_whole(frame: DataFrame) -> DataFrame:
    """Repeat each row for the whole run, which is the community ""."""
    both = F.array_distinct(F.array("community", F.lit("")))
    return frame.withColumn("community", F.explode(both))


def reception(spread: Spread) -> DataFrame:
    """Count events; reception, reliability, reach, hops and last delivery hop of the expected.

    Events of the whole run count, too, for which nobody was there.
    """
    judged = F.col("expected") > 0
    expected, received = (F.when(judged, F.col(name)) for name in ("expected", "received"))
    reach = F.try_divide(received, expected)
    reached = F.when(received > 0, F.col("last_hop"))
    n = F.count_if(judged)
    return spread.tallies.groupBy(*_PLACE).agg(
        F.count("*").alias("events"),
        F.sum(received).alias("deliveries"),
        F.sum(expected - received).alias("lost"),
        F.try_divide(F.sum(received), F.sum(expected)).alias("reception"),
        F.try_divide(F.count_if(received == expected), n).alias("reliability"),
        *(nearest_rank(reach, share).alias(name) for name, share in REACH_QUANTILES.items()),
        *(
            F.try_divide(F.count_if(reach >= least), n).alias(name)
            for name, least in REACHES.items()
        ),
        F.try_divide(F.sum("hops"), F.sum(received)).alias("hops_mean"),
        F.try_divide(F.sum(reached), F.count(reached)).alias("last_delivery_hop"),
    )


def nearest_rank(value: Column, share: float) -> Column:
    """Return a quantile of a group that memory can hold, such as its processes or its events."""
    rank = F.greatest(F.lit(1), F.ceil(F.lit(share) * F.count(value)))
    return F.get(F.sort_array(F.collect_list(value)), rank.cast("int") - 1)


def samples(spread: Spread) -> DataFrame:
    """Count the hops and the milliseconds of the deliveries."""
    both = F.explode(
        F.create_map(
            F.lit("hops"), F.col("hops").cast("double"), F.lit("latency_ms"), F.col("latency_ms")
        )
    ).alias("sample", "value")
    counted = spread.received.select(*_PLACE, both).groupBy(*_PLACE, "sample", "value")
    return with_whole(counted.agg(F.count("*").alias("n")))


def redundancy(spread: Spread, by_event: DataFrame) -> DataFrame:
    """Relative message redundancy m/(n-1) - 1, of the sums over the events that n > 1 got.

    `by_event` has the copies that were sent: run, community, kind, event and n.
    """
    sent = with_whole(by_event).where((F.col("kind") == "send") | (F.col("community") == ""))
    sent = sent.select(*_EVENT, F.col("n").alias("sent"), F.lit(0).alias("got"))
    got = with_whole(spread.deliveries.select(*_EVENT))
    got = got.select(*_EVENT, F.lit(0).alias("sent"), F.lit(1).alias("got"))
    others = F.sum("others")
    return (
        sent.unionByName(got)
        .groupBy(*_EVENT)
        .agg(F.sum("sent").alias("sent"), (F.sum("got") - 1).alias("others"))
        .where(F.col("others") > 0)
        .groupBy(*_PLACE)
        .agg(F.try_divide(F.sum("sent") - others, others).alias("redundancy"))
    )


def parasites(
    story: DataFrame, members: Members, declared: Mapping[str, SuperTopics] | None = None
) -> DataFrame:
    """Count copies that arrived, and deliveries, for another community, by who got them."""
    community, topic = F.col("community"), F.col("topic")
    if declared:
        story = with_levels(story.where(F.col("kind").isin("parasite", "deliver")), declared)
        included = F.array_contains("levels", community)
    else:
        included = (
            (community == ".")
            | (topic == community)
            | topic.startswith(F.concat(community, F.lit(".")))
        )
    strange = (F.col("kind") == "parasite") | ((F.col("kind") == "deliver") & ~included)
    home = members.stints.groupBy("run", "node").agg(
        F.max_by("community", F.struct("joined", "community")).alias("home")
    )
    arrived = story.where(strange).groupBy("run", "node").agg(F.count("*").alias("n"))
    at_home = arrived.join(home, ["run", "node"], "left").select(
        "run", F.coalesce("home", F.lit("")).alias("community"), "n"
    )
    return with_whole(at_home).groupBy(*_PLACE).agg(F.sum("n").alias("parasites"))
