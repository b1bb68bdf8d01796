"""A table of measures for people: a line for each community or system, a measure a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from camcast.research.cli.wide_table import WideTable
from camcast.research.report.measures import measure_of


def measures_table(
    heads: Sequence[str],
    measures: Sequence[str],
    lines: Iterable[tuple[Sequence[str], Mapping[str, Any]]],
) -> WideTable:
    """Return a table; a line has what it is about, under `heads`, then its measures.

    Raises `KeyError` for a name that is no measure's, or that a line does not have.
    """
    columns = [measure_of(name) for name in measures]
    return WideTable(
        heads,
        [measure.column for measure in columns],
        [
            (*about, *(measure.text(values[measure.name]) for measure in columns))
            for about, values in lines
        ],
    )
