"""Rows of the main table, made of values by hand."""

from __future__ import annotations

from collections.abc import Sequence

from camcast.pipeline.compare.comparison import Row, Variant
from camcast.pipeline.compare.differences import Sample


def row(
    metric: str,
    values: Sequence[float],
    backend: str = "scamp",
    community: str = ".",
    p_sel: float | None = None,
    protocol: str = "camcast",
) -> Row:
    return Row(
        variant=Variant(backend=backend, protocol=protocol),
        community=community,
        p_sel=p_sel,
        metric=metric,
        sample=Sample.of(values),
    )
