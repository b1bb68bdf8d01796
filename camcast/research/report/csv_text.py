"""Rows as CSV that a spreadsheet shows and does not compute.

A spreadsheet takes a cell that begins like a formula for one: it may fetch an address, with other
cells in it. An apostrophe before it makes it text, which is also what is then read back. Numbers
stay numbers, negative ones, too.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Final

_BEGINS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\n")  # [OWASP, CSV Injection]


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with the columns of the first in the first line."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\n")  # which csv puts in quotes, so that it ends no line
    return f"'{text}" if text.startswith(_BEGINS_FORMULA) else text
