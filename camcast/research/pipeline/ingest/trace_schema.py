"""Trace records as columns: the schema of `observe.trace.TraceRecord` for Spark and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from camcast.observe.trace import TraceRecord
from camcast.vocabulary.happenings import TraceKind

if TYPE_CHECKING:
    import pyarrow as pa

KINDS: Final[tuple[str, ...]] = get_args(TraceKind)

_SPARK: Final[dict[Any, str]] = {float: "double", int: "bigint", str: "string", TraceKind: "string"}

COLUMNS: Final = {field.name: _SPARK[field.type] for field in msgspec.structs.fields(TraceRecord)}
"""The columns of a trace in order, with their Spark types."""

DEFAULTS: Final = {
    field.name: field.default
    for field in msgspec.structs.fields(TraceRecord)
    if field.default is not msgspec.NODEFAULT
}
"""The default of a column whose field is left out of a JSON line."""

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""The same in Spark's notation."""


UNITS: Final = {"when": "s", "sequence": "1", "hops": "1", "size": "bytes"}


def arrow_schema() -> pa.Schema:
    """Return the schema of a trace's Parquet file; no column is ever null."""
    import pyarrow as pa

    types = {"double": pa.float64(), "bigint": pa.int64(), "string": pa.string()}
    return pa.schema(
        [
            pa.field(name, types[kind], False, {"unit": UNITS[name]} if name in UNITS else None)
            for name, kind in COLUMNS.items()
        ]
    )
