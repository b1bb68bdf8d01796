"""What the memberships cost and how soon they notice, which section 6.2 of the paper leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen

from camcast.measures import measure_of
from camcast.population.outcome import Interval, mean_interval
from camcast.reproduction.memberships.plan import Contender

UPKEEP: Final = (
    *("copies_each", "bootstrap_seconds", "chi_square", "control_kilobytes", "newcomer_seconds"),
    *("listed_seconds", "dropped_seconds", "reception_alone", "joined_alone", "reception_storm"),
)
"""What is measured (`camcast.measures`)."""


@frozen(kw_only=True)
class UpkeepRow:
    """What was measured of one contender, over its runs; the measures of `UPKEEP`."""

    name: str
    runs: int
    measures: Mapping[str, Interval]


def upkeep_rows(
    contenders: Iterable[Contender], runs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> tuple[UpkeepRow, ...]:
    """Put the cells and their results together, one row a contender."""
    rows = []
    for contender in contenders:
        results = [result for cell, result in runs if Contender.of(cell) == contender]
        measures = {
            name: mean_interval(np.array(values_of(results, name)), 0.0, measure_of(name).most)
            for name in UPKEEP
        }
        rows.append(UpkeepRow(name=contender.name, runs=len(results), measures=measures))
    return tuple(rows)


def values_of(results: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    """Return a measure, run by run, without the runs that it could not be measured in."""
    return [result[name] for result in results if result.get(name) is not None]
