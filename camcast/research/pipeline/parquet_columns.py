"""The common form of Parquet files of results: numbers as numbers, units, and a schema version.

A file's metadata have the version of its schema under ``camcast.<kind>``, that of camcast under
``camcast``, and under ``camcast.research.report.measures``, for each measure in it, title, unit,
what it is divided by, meaning, and which way is better, as JSON. A column's
metadata have its unit under ``unit``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from camcast import __version__
from camcast.research.report.measures import Measure


def metadata_of(kind: str, schema_version: int, measures: Iterable[Measure]) -> dict[str, str]:
    """Return the metadata of a file with these measures."""
    described = {
        measure.name: {
            "title": measure.title,
            "unit": measure.unit_name,
            "per": measure.per,
            "meaning": measure.meaning,
            "better": measure.better,
        }
        for measure in sorted(set(measures), key=lambda measure: measure.name)
    }
    return {
        f"camcast.{kind}": str(schema_version),
        "camcast": __version__,
        "camcast.research.report.measures": json.dumps(described),
    }


def spread_out(prefix: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return a column for each key in the rows, called ``prefix.key``; null where it is not.

    A column is of whole numbers, of numbers or of booleans where all of its values are, also where
    they are written as text, and otherwise of text.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    return {f"{prefix}.{key}": _typed([row.get(key) for row in rows]) for key in keys}


def _typed(values: Sequence[Any]) -> pa.Array:
    if all(value is None or isinstance(value, bool) for value in values):
        return pa.array(values, pa.bool_())
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
    column = pa.array(texts, pa.string())
    for type_ in (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            return column.cast(type_)
    return column
