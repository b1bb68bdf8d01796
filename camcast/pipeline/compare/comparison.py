"""Measures of runs, compared over repetitions: means with intervals, and pairwise differences.

Spark aggregates the measures of all runs into one row a group; what is computed here is computed
from these rows, of which there are as many as the main table has lines.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, TypeAlias

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from camcast.measures import measure_of
from camcast.pipeline.compare.differences import Difference, Sample, difference, holm

_VERSION: Final = "camcast"
_NEVER: Final = ("p_sel",)  # it has a column of its own
_GROUP: Final = ("backend", "protocol", "community", "p_sel", "setting", "metric")


@frozen(kw_only=True, order=True)
class Variant:
    """Who is compared."""

    backend: str
    protocol: str
    setting: str = ""
    """Parameters and versions that are not the same in all runs, as ``c=2, z=4``."""

    def __str__(self) -> str:
        named = " ".join(filter(None, (self.backend, self.protocol))) or "no backend"
        return f"{named} ({self.setting})" if self.setting else named


@frozen(kw_only=True)
class Row:
    """A line of the main table: a measure of a group of repetitions."""

    variant: Variant
    community: str
    """Empty: the run as a whole."""
    p_sel: float | None
    metric: str
    sample: Sample

    @property
    def place(self) -> Place:
        """What was measured of whom, and where."""
        return self.variant, self.metric, self.community, self.p_sel

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """Student's 95 % interval of the mean, cut to what is possible; None of a single run."""
        measure = measure_of(self.metric)
        return self.sample.interval(measure.least, measure.most)

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON takes it; ``setting`` is there if groups differ in it."""
        low, high = self.interval
        row = {
            "backend": self.variant.backend,
            "protocol": self.variant.protocol,
            "community": self.community,
            "p_sel": self.p_sel,
            "runs": self.sample.runs,
            "metric": self.metric,
            "mean": self.sample.mean,
            "low": low,
            "high": high,
        }
        return row | ({"setting": self.variant.setting} if self.variant.setting else {})


Place: TypeAlias = tuple[Variant, str, str, float | None]
"""Variant, metric, community and p_sel."""


@frozen
class Pair:
    """One measure of two variants, in the same community and at the same p_sel."""

    first: Row
    second: Row
    found: Difference
    """Of the first minus the second."""
    adjusted_p: float | None
    """By Holm, among all pairs of this metric."""


def rows_of(aggregated: DataFrame) -> list[tuple[Row, bool]]:
    """Collect what `aggregate` made, in reading order, with whether a row is the baseline's."""
    rows = []
    for line in aggregated.collect():
        # Runs that all measured the same shall not scatter by a rounding of their sum.
        same = line.smallest == line.largest
        sample = Sample(
            runs=line.runs,
            mean=line.smallest if same else line.mean,
            deviation=None if line.runs < 2 else 0.0 if same else line.deviation,
            smallest=line.smallest,
            largest=line.largest,
        )
        row = Row(
            variant=Variant(backend=line.backend, protocol=line.protocol, setting=line.setting),
            community=line.community,
            p_sel=line.p_sel,
            metric=line.metric,
            sample=sample,
        )
        rows.append((row, line.baseline))
    return sorted(rows, key=lambda pair: _reading_order(pair[0]))


def _reading_order(row: Row) -> tuple[Any, ...]:
    p_sel = (row.p_sel is not None, row.p_sel or 0.0)
    return measure_of(row.metric).order, _natural(row.metric), row.community, p_sel, row.variant


def _natural(text: str) -> tuple[tuple[str, int], ...]:
    """Return what puts nodes=50 before nodes=100."""
    parts = re.findall(r"(\D*)(\d*)", text)
    return tuple((words, int(digits or 0)) for words, digits in parts)


def aggregate(measures: DataFrame, setting: Sequence[str]) -> DataFrame:
    """Aggregate the measures of repetitions in Spark: a row a group, the baseline's apart.

    `setting` has the names of `varying` parameters; a run in which a measure had nothing to
    measure does not count for it.
    """
    value = F.col("value")
    return (
        measures.where(value.isNotNull() & ~F.isnan(value))
        .withColumn("setting", _setting(setting))
        .groupBy(*_GROUP, "baseline")
        .agg(
            F.count("run").alias("runs"),
            F.mean(value).alias("mean"),
            F.stddev_samp(value).alias("deviation"),
            F.min(value).alias("smallest"),
            F.max(value).alias("largest"),
        )
    )


def _setting(names: Sequence[str]) -> Column:
    """Return the values of the named parameters, as text."""
    given = [
        F.concat(F.lit(f"{name}="), F.col("version") if name == _VERSION else _parameter(name))
        for name in names
    ]
    return F.array_join(F.array_compact(F.array(*given)), ", ") if given else F.lit("")


def _parameter(name: str) -> Column:
    return F.col("parameters").getItem(name)


def varying(measures: DataFrame, *, versions: bool) -> list[str]:
    """Return the parameters that differ between repetitions of the same measure and backend.

    To average over them would be to average over unlike things. With `versions`, so is the
    version of camcast. What differs only between backends is not among them, nor is a parameter
    that a baseline of another version does not have at all.
    """
    known = F.map_concat(
        F.map_filter("parameters", lambda name, _: ~name.isin(*_NEVER)),
        F.create_map(F.lit(_VERSION), "version" if versions else F.lit("")),
    )
    settings = F.collect_set(F.to_json(F.array_sort(F.map_entries(known))))
    sides = (
        measures.groupBy("backend", "protocol", "metric", "baseline")
        .agg(F.array_sort(settings).alias("settings"))
        .groupBy("backend", "protocol", "metric")
        .agg(F.collect_list("settings").alias("sides"))
        .select("sides")
        .distinct()
    )
    names: dict[str, None] = {}
    for row in sides.collect():
        names |= dict.fromkeys(_differing([[_decoded(s) for s in side] for side in row.sides]))
    return sorted(names)


def _decoded(entries: str) -> dict[str, str]:
    """Read what Spark wrote of a map's entries."""
    return {entry["key"]: entry.get("value", "") for entry in json.loads(entries)}


def _differing(sides: Sequence[Sequence[Mapping[str, str]]]) -> Iterator[str]:
    """Yield the names that differ within a side, or between sides that all have them.

    Not what one world alone has, live or virtual, if it is the same in all of its runs: that
    tells no more runs apart than the world does.
    """
    everything = [setting for side in sides for setting in side]
    for name in dict.fromkeys(name for setting in everything for name in setting):
        having = {setting.get("world") for setting in everything if name in setting}
        without = {setting.get("world") for setting in everything if name not in setting}
        within = any(len({setting.get(name) for setting in side}) > 1 for side in sides)
        known = {setting[name] for setting in everything if name in setting}
        of_a_world = len(known) == 1 and having.isdisjoint(without)
        if (within and not of_a_world) or len(known) > 1:
            yield name


def pairs_of(rows: Iterable[Row]) -> list[Pair]:
    """Compare all variants that differ in the backend alone, or in the protocol alone.

    p-values are adjusted within a metric: "does anything differ in it?" is one question.
    """
    places: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        places[row.metric, row.community, row.p_sel, row.variant.setting].append(row)
    by_metric: defaultdict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for here in places.values():
        for one, other in combinations(here, 2):
            if (one.variant.backend == other.variant.backend) or (
                one.variant.protocol == other.variant.protocol
            ):
                by_metric[one.metric].append((one, other))
    pairs = []
    for of_metric in by_metric.values():
        found = [difference(one.sample, other.sample) for one, other in of_metric]
        adjusted = holm([each.p for each in found])
        for (one, other), each, p in zip(of_metric, found, adjusted, strict=True):
            pairs.append(Pair(one, other, each, p))
    return pairs
