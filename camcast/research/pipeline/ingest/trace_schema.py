"""Trace records as columns: the schema of `observe.trace.TraceRecord` for Spark and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

import msgspec

from camcast.observe.trace import NUMBER_MAX, TraceRecord
from camcast.vocabulary.happenings import TraceKind
from camcast.vocabulary.identity import PEER_ID_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

KINDS: Final[tuple[str, ...]] = get_args(TraceKind)

_SPARK: Final[dict[Any, str]] = {float: "double", int: "bigint", str: "string", TraceKind: "string"}

COLUMNS: Final = {name: _SPARK[kind] for name, kind in get_type_hints(TraceRecord).items()}
"""The columns of a trace in order, with their Spark types."""

DEFAULTS: Final = {
    field.name: field.default
    for field in msgspec.structs.fields(TraceRecord)
    if field.default is not msgspec.NODEFAULT
}
"""The default of a column whose field is left out of a JSON line."""

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""The same in Spark's notation."""


NUMBERS: Final = tuple(name for name, kind in COLUMNS.items() if kind != "string")
"""The columns of numbers from 0 to `NUMBER_MAX`."""


def out_of_range(name: str) -> str:
    """Say that a column's number is none that a record can have."""
    return f"{name} is no number from 0 to 2^{NUMBER_MAX.bit_length() - 1}"


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


STORY: Final = (*("publish", "deliver", "parasite", "join", "leave", "crash", "learn", "forget"),)
"""Kinds of which each record matters, and when and where it happened."""
SENT: Final = ("send", "upward")
"""Further kinds of which the number matters by event, beside number and bytes by node."""

QUARANTINE: Final = "run string, file string, line bigint, reason string, text string"
"""The columns of `camcast.research.pipeline.ingest.quarantine`, in Spark's notation."""
TEXT_CHARACTERS: Final = 500  # chosen: of what is wrong; a binary file may be one line
IDENTITY: Final = 2 * PEER_ID_BYTES  # in hexadecimal
OF_EVENTS: Final = ("publish", "send", "receive", "duplicate", "deliver", "upward")
"""Kinds of records that name an event and its topic."""


def quarantine_schema() -> pa.Schema:
    """Return the schema of a quarantine's Parquet files."""
    import pyarrow as pa

    columns = (column.split() for column in QUARANTINE.split(", "))
    types = {"bigint": pa.int64(), "string": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in columns])
