"""Rows of a CSV file with their line numbers, which every error names.

A converter is a function that returns the value of one field's text, or raises `ValueError` saying
what is wrong and what to write instead; `Row.read` adds the file, the line and the column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Final, TypeVar

import msgspec
from attrs import frozen

from camcast.research.workloads.publication import WorkloadError
from camcast.research.workloads.text_lines import read_text

T = TypeVar("T")

QUOTE_WIDTH: Final = 200  # chosen: characters quoted of a wrong header; about two terminal lines


@frozen
class Row:
    """One row: its file, the line in which it begins, and the text of its fields by column."""

    path: Path
    line: int
    fields: dict[str, str]

    def read(self, column: str, convert: Callable[[str], T]) -> T:
        """Convert the field in `column`; raises `WorkloadError` if `convert` raises."""
        try:
            return convert(self.fields[column])
        except ValueError as error:
            raise WorkloadError(self.path, self.line, f"column {column!r}: {error}") from None


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read every row below the header, which must name exactly `columns`, in this order.

    Fields may be quoted (RFC 4180). Raises `WorkloadError` when the file cannot be read, is not
    UTF-8, has another header, has no rows, or has a row with more or fewer fields than columns.
    """
    header = f"the columns {', '.join(columns)}"
    (_, found), *rows = _lines(path, header)
    if found != list(columns):
        missing = ", ".join(column for column in columns if column not in found)
        remedy = f"add {missing}" if missing else "name each once, in this order, and no others"
        names = shorten(", ".join(found), QUOTE_WIDTH, placeholder=" …")
        raise WorkloadError(path, 1, f"expected {header}; found {names or 'none'}; {remedy}")
    if not rows:
        raise WorkloadError(path, 1, "there are no rows below the header; add at least one")
    for line, fields in rows:
        if (got := len(fields)) != (wanted := len(columns)):
            wrong = (
                f"column {columns[got]!r} is missing"
                if got < wanted
                else f"{fields[wanted]!r} is too much after column {columns[-1]!r}"
            )
            remedy = f"write {wanted} fields with ',' between them"
            raise WorkloadError(path, line, f"{got} fields, {wrong}; {remedy}")
    return [Row(path, line, dict(zip(columns, fields, strict=True))) for line, fields in rows]


def _lines(path: Path, header: str) -> list[tuple[int, list[str]]]:
    text = read_text(path, header)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines, line = [], 1
    try:
        for fields in reader:
            lines.append((line, fields))
            line = reader.line_num + 1  # a quoted field may span several lines
    except csv.Error as error:
        remedy = "close every quotation mark, and double those inside a quoted field"
        raise WorkloadError(path, line, f"{error}; {remedy}") from None
    if not lines:
        raise WorkloadError(path, 1, f"the file is empty; begin it with {header}")
    return lines


def text(field: str) -> str:
    """Return the field as it is; raises `ValueError` when it is empty."""
    if not field.strip():
        raise ValueError("is empty; every row needs a value here")
    return field


def number(field: str) -> float:
    """Read a finite number written as in JSON; raises `ValueError` for anything else."""
    return _json(field, float, "a number, like 4.3")


def whole(field: str) -> int:
    """Read a whole number; raises `ValueError` for anything else."""
    return _json(field, int, "a whole number, like 42")


def count(field: str) -> int:
    """Read a whole number that is not negative; raises `ValueError` for anything else."""
    if (value := whole(field)) < 0:
        raise ValueError(f"{field!r} is negative; write 0 or more")
    return value


def moment(field: str) -> datetime:
    """Read an ISO 8601 time with its offset; raises `ValueError` for anything else."""
    try:
        if (time := datetime.fromisoformat(field)).tzinfo:
            return time
    except ValueError:
        pass
    raise ValueError(f"{field!r} is not a time; write it like 1993-02-22T14:22:51Z")


def or_none(convert: Callable[[str], T]) -> Callable[[str], T | None]:
    """Return a converter that returns None for an empty field, else what `convert` returns."""
    return lambda field: convert(field) if field else None


def _json(field: str, kind: type[T], what: str) -> T:
    # JSON's grammar, because float() and int() also take 'nan', '1_000' and non-ASCII digits
    try:
        return msgspec.json.decode(field, type=kind)
    except msgspec.MsgspecError:
        raise ValueError(f"{field!r} is not {what}") from None
