"""A table of measures for people: a line for each community or system, a measure a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table

from camcast.measures import measure_of


def measures_table(
    heads: Sequence[str],
    measures: Sequence[str],
    lines: Iterable[tuple[Sequence[str], Mapping[str, Any]]],
) -> Table:
    """Return a table: what a line is about, under `heads`, then its measures by their names.

    Raises `KeyError` for a name that is no measure's, or that a line does not have.
    """
    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", min_width=len(head))
    columns = [measure_of(name) for name in measures]
    for measure in columns:
        table.add_column(measure.column, justify="right", no_wrap=True)
    for about, values in lines:
        table.add_row(*about, *(measure.text(values[measure.name]) for measure in columns))
    return table
