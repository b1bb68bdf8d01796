"""Latencies: how long a message takes between any two hosts of a real network.

The file of 490 PlanetLab hosts is MIT, (c) 2016 uofa-rzhu3; cite Zhu et al., IEEE/ACM ToN.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

import msgspec
from attrs import field, frozen

from camcast.workloads.csv_rows import Row, number
from camcast.workloads.publication import WorkloadError
from camcast.workloads.text_lines import read_lines

# by definition: a round trip is two ways, and a second has 1000 ms
ROUND_TRIP_MS_PER_ONE_WAY_SECOND: Final = 2 * 1000


def _check_square(instance: LatencyMatrix, _attribute: object, one_way: array[float]) -> None:
    if len(one_way) != instance.size**2:
        raise ValueError(f"{len(one_way)} latencies; a matrix of {instance.size} hosts is square")


@frozen(eq=False)
class LatencyMatrix:
    """The one-way latency in seconds from any host to any other; hosts are counted from 0."""

    size: int
    """The number of hosts."""
    # Single precision, 4 bytes a pair: seven digits, and a ping has four.
    _one_way: array[float] = field(validator=_check_square, repr=False)

    def seconds(self, i: int, j: int) -> float:
        """Return how long a message takes from host `i` to host `j`.

        Raises `IndexError` when there is no such host, because a negative or too large index
        would read the latency of another pair.
        """
        if 0 <= i < self.size and 0 <= j < self.size:
            return self._one_way[i * self.size + j]
        raise IndexError(f"no hosts {i} and {j} in {self.size}; give 0 to {self.size - 1}")


def load_latencies(path: Path) -> LatencyMatrix:
    """Read a square matrix of round-trip times in ms: CSV without a header.

    One way is taken to be half of the round trip, which is all that pings can tell. Row i
    has the times measured by host i; a matrix need not be symmetric, and each direction
    keeps its own half. (The 490 PlanetLab hosts: symmetric, 0.1 to 2984.1 ms, nothing missing
    and nothing 0 but the diagonal.) The diagonal is the round trip between two nodes on one
    host, 0 or more.

    A missing value is refused, because nothing that could take its place was measured: leave out
    the host, row and column. A 0 between two hosts is refused as well: no round trip takes no
    time, and other matrices write 0 for a measurement that failed.

    Raises `WorkloadError` when the file, a row or a value is not like that.
    """
    lines = read_lines(path, "a square matrix of round-trip times in ms")
    size = len(lines)
    one_way = array("f")
    for row, content in enumerate(lines):
        values = _values(path, row + 1, content, size)
        if values.count(0) > (values[row] == 0):
            column = next(j for j, value in enumerate(values) if not value and j != row)
            raise WorkloadError(
                path,
                row + 1,
                f"column {column + 1}: 0 ms between two hosts is not measured; write their"
                " round trip, like 0.1, or leave out a host, row and column",
            )
        one_way.extend(value / ROUND_TRIP_MS_PER_ONE_WAY_SECOND for value in values)
    return LatencyMatrix(size, one_way)


def _values(path: Path, line: int, content: str, size: int) -> list[float]:
    try:
        # a row of JSON numbers is a JSON array but for the brackets, and this is the fast way
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
