"""Latencies: the times that a message takes between any two hosts of a real network.

The file of 490 PlanetLab hosts is MIT, (c) 2016 uofa-rzhu3; cite Zhu et al., IEEE/ACM ToN.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

import msgspec

from camcast.research.workloads.csv_rows import Row, number
from camcast.research.workloads.publication import WorkloadError
from camcast.research.workloads.text_lines import read_lines
from camcast.virtual.climate import Matrix

# by definition: a round trip is two ways, and a second has 1000 ms
ROUND_TRIP_MS_PER_ONE_WAY_SECOND: Final = 2 * 1000


def load_latencies(path: Path) -> Matrix:
    """Read a square matrix of round-trip times in ms, as latencies one way: CSV without a header.

    One way is taken as half of the round trip, as pings measure round trips only. Row i has the
    times measured by host i; a matrix need not be symmetric, and each direction keeps its own half.
    (The matrix of the 490 PlanetLab hosts is symmetric, with 0.1 to 2984.1 ms, no missing value and
    no 0 but on the diagonal.) The diagonal is the round trip between two nodes on one host, 0 or
    more.

    Raises `WorkloadError` for another format, and for a missing value: leave out the host, row and
    column. So does a 0 between two hosts, which some matrices write for a failed measurement.
    """
    lines = read_lines(path, "a square matrix of round-trip times in ms")
    size = len(lines)
    one_way, numbered = [], []
    for row, content in enumerate(lines):
        values = _values(path, row + 1, content, size)
        numbered.append(values[1:] == [*range(1, size)] if row == 0 else values[0] == row)
        if values.count(0) > (values[row] == 0):
            column = next(j for j, value in enumerate(values) if not value and j != row)
            raise WorkloadError(
                path,
                row + 1,
                f"column {column + 1}: 0 ms between two hosts is not measured; write their"
                " round trip, like 0.1, or leave out a host, row and column",
            )
        # Single precision, 4 bytes a pair: seven digits, and a ping has four.
        one_way.append(array("f", (value / ROUND_TRIP_MS_PER_ONE_WAY_SECOND for value in values)))
    if size > 2 and all(numbered):
        raise WorkloadError(
            path,
            1,
            "the first row and the first column are the numbers of the hosts, 1, 2, …, and no"
            " round trips; leave both out",
        )
    return Matrix(one_way)


def _values(path: Path, line: int, content: str, size: int) -> list[float]:
    try:
        # the fast way: a row of numbers in brackets is a JSON array
        values = msgspec.json.decode(f"[{content}]", type=list[float])
    except msgspec.MsgspecError:
        values = []
    if len(values) == size and min(values) >= 0:
        return values
    fields = content.split(",")
    if len(fields) != size:
        raise WorkloadError(
            path,
            line,
            f"{len(fields)} columns in a matrix of {size} rows; write one column for each row,"
            " with ',' between them, and no header",
        )
    row = Row(path, line, {str(column): text for column, text in enumerate(fields, start=1)})
    return [row.read(column, _milliseconds) for column in row.fields]


def _milliseconds(field: str) -> float:
    remedy = "write the round trip in ms, like 19.3, or leave out the host, row and column"
    if not field.strip():
        raise ValueError(f"is empty; {remedy}")
    try:
        value = number(field.strip())
    except ValueError as error:
        raise ValueError(f"{error}; {remedy}") from None
    if value < 0:
        raise ValueError(f"{field!r} is negative; {remedy}")
    return value
