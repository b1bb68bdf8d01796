"""Measures of runs, compared over repetitions: means with intervals, and pairwise differences.

Spark computes the measures of each run from its trace; from there on, numbers are few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import isfinite
from typing import Any, Final, TypeAlias

from attrs import frozen
from typing_extensions import override

from camcast.research.pipeline.compare.differences import Difference, Sample, difference, holm
from camcast.research.pipeline.measured import Measured
from camcast.research.report.benchmark_measures import find_measure
from camcast.research.report.measures import OF_ALL, Better, Measure, repair_in_words
from camcast.vocabulary.errors import CamcastError

_VERSION: Final = "camcast"
_REPAIR: Final = {repair_in_words(repair): repair for repair in (True, False)}
_REPAIRS: Final = {str(repair).lower(): words for words, repair in _REPAIR.items()}
_Setting: TypeAlias = frozenset[tuple[str, str]]  # parameters and their values


@frozen(kw_only=True, order=True)
class Variant:
    """One of the alternatives compared: a backend with its protocol and parameters."""

    backend: str
    protocol: str
    values: tuple[tuple[str, str], ...] = ()
    """Parameters and versions that are not the same in all runs, by their names."""
    repair: str = ""
    """``with repair`` or ``without repair``, if it is known; no factor: a protocol decides it."""

    @property
    def setting(self) -> str:
        """The values, as ``c=2, z=4``."""
        return ", ".join(f"{name}={value}" for name, value in self.values)

    @property
    def factors(self) -> dict[str, str]:
        """All in which variants may differ, by name."""
        return {"backend": self.backend, "protocol": self.protocol, **dict(self.values)}

    @override
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
    measure: Measure
    sample: Sample

    @property
    def metric(self) -> str:
        """The measure's name."""
        return self.measure.name

    @property
    def repair(self) -> bool | None:
        """Whether missed events were asked for; None of a benchmark."""
        return _REPAIR.get(self.variant.repair)

    @property
    def of_members(self) -> bool:
        """Whether it is of a run's members alone, and not of the processes that never joined."""
        return not self.measure.benchmark and self.metric not in OF_ALL

    @property
    def place(self) -> Place:
        """The place of the measure: its variant, metric, community and p_sel."""
        return self.variant, self.metric, self.community, self.p_sel

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The 95 % interval of the mean, within what is possible (`Sample.interval`)."""
        return self.sample.interval(self.measure.least, self.measure.most)

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON takes it; ``setting`` is there if groups differ in it."""
        low, high = self.interval
        row = {
            "backend": self.variant.backend,
            "protocol": self.variant.protocol,
            "repair": self.repair,
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


class TwoValuesError(CamcastError, ValueError):
    """A run has two values of one measure in one place; the message names all three."""


def rows_of(
    measures: Iterable[Measured],
    setting: Mapping[str, Sequence[str]],
    better: Mapping[str, Better] | None = None,
) -> list[Row]:
    """Put repetitions together: a row for each variant, place and measure, in reading order.

    `setting` has the names of `varying` parameters; a run in which a measure had nothing to
    measure does not count for it. Who does not say the protocol, where all others say the same,
    has that one. `better` says which way is better of benchmarks' numbers (`find_measure`).

    Raises `TwoValuesError`: two values of one run are no repetitions of each other.
    """
    groups: defaultdict[tuple[Measure, Place], dict[str, float]] = defaultdict(dict)
    measures = list(measures)
    protocols = {one.protocol for one in measures if one.protocol}
    only = protocols.pop() if len(protocols) == 1 else ""
    for one in measures:
        if one.value is not None and isfinite(one.value):
            variant = Variant(
                backend=one.backend,
                protocol=one.protocol or (only if one.backend else ""),
                values=_values(one, setting[one.benchmark]),
                repair="" if one.benchmark else _REPAIRS.get(one.parameters.get("repair", ""), ""),
            )
            measure = find_measure(one.metric, one.benchmark, better)
            place = variant, measure.name, one.community, one.p_sel
            of_runs = groups[measure, place]
            if one.run in of_runs:
                raise TwoValuesError(
                    f"{one.run} has two values of {measure.name} of {variant}: whatever it is that"
                    " tells them apart, neither the test's id nor a parameter says it"
                )
            of_runs[one.run] = one.value
    rows = (
        Row(
            variant=variant,
            community=community,
            p_sel=p_sel,
            measure=measure,
            sample=Sample.of(list(of_runs.values())),
        )
        for (measure, (variant, _, community, p_sel)), of_runs in groups.items()
    )
    return sorted(rows, key=_reading_order)


def _values(one: Measured, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the values of the named parameters."""
    given = {**one.parameters, _VERSION: one.version}
    return tuple((name, given[name]) for name in names if name in given)


def _reading_order(row: Row) -> tuple[Any, ...]:
    p_sel = (row.p_sel is not None, row.p_sel or 0.0)
    return row.measure.order, natural(row.metric), row.community, p_sel, row.variant


def natural(text: str) -> tuple[tuple[str, int], ...]:
    """Return what puts nodes=50 before nodes=100."""
    parts = re.findall(r"(\D*)(\d*)", text)
    return tuple((words, int(digits or 0)) for words, digits in parts)


def varying(*sides: Iterable[Measured], versions: bool) -> dict[str, list[str]]:
    """Return the parameters that differ between repetitions of the same measure and backend.

    They are by benchmark, and "" for runs: what varies in one benchmark tells nothing apart in
    another. To average over them would be to average over unlike things. With `versions`, so is
    the version of camcast. A side is what is compared, or the baseline. What differs only between
    backends is not among the parameters returned, nor is one that a baseline of another version
    does not have at all.
    """
    groups: defaultdict[tuple[str, ...], tuple[set[_Setting], ...]] = defaultdict(
        lambda: tuple(set() for _ in sides)
    )
    for number, side in enumerate(sides):
        for one in side:
            known = {**one.parameters, **({_VERSION: one.version} if versions else {})}
            group = groups[one.backend, one.protocol, one.benchmark, one.metric]
            group[number].add(frozenset(known.items()))
    names: defaultdict[str, set[str]] = defaultdict(set)
    for (_, _, benchmark, _), of_group in groups.items():
        names[benchmark].update(_differing(of_group))
    # p_sel has a column of its own
    return {benchmark: sorted(found - {"p_sel"}) for benchmark, found in names.items()}


def _differing(group: Iterable[Iterable[_Setting]]) -> Iterator[str]:
    """Yield the names that differ within a side, or between sides that all have them.

    Not what one world alone has, live or virtual, if it is the same in all of its runs: that
    tells no more runs apart than the world does.
    """
    sides = [[dict(setting) for setting in side] for side in group]
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
    """Compare all variants that differ in one thing: backend, protocol, or one parameter.

    p-values are adjusted within a metric: "does anything differ in it?" is one question.
    """
    places: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        places[row.metric, row.community, row.p_sel].append(row)
    by_metric: defaultdict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for here in places.values():
        for one, other in combinations(here, 2):
            if len(differing(one.variant, other.variant)) == 1:
                by_metric[one.metric].append((one, other))
    pairs = []
    for of_metric in by_metric.values():
        found = [difference(one.sample, other.sample) for one, other in of_metric]
        adjusted = holm([each.p for each in found])
        for (one, other), each, p in zip(of_metric, found, adjusted, strict=True):
            pairs.append(Pair(one, other, each, p))
    return pairs


def differing(*variants: Variant) -> list[str]:
    """Return in what some variants differ, in the order of `Variant.factors`."""
    factors = [variant.factors for variant in variants]
    names = dict.fromkeys(name for each in factors for name in each)
    return [name for name in names if len({each.get(name) for each in factors}) > 1]
