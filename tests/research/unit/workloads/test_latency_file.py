"""A latency matrix loads as its file says, and a file that has holes is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.research.workloads.latency_file import load_latencies
from tests.research.unit.workloads.given_file import assert_refused, written

MATRIX = """0.0,10.5,2e3
12.5,0.5,1
3000,1, 0
"""


@pytest.mark.parametrize(
    "content", [MATRIX, MATRIX.rstrip(), MATRIX.replace("\n", "\r\n"), "\ufeff" + MATRIX]
)
def test_one_way_is_half_of_what_the_row_has_measured(tmp_path: Path, content: str) -> None:
    matrix = load_latencies(written(tmp_path, content))
    expected = [[0, 0.00525, 1], [0.00625, 0.00025, 0.0005], [1.5, 0.0005, 0]]
    for row, wanted in zip(matrix.rows, expected, strict=True):
        assert list(row) == pytest.approx(wanted, rel=1e-7)  # single precision: 24 bits


def test_one_host_is_a_matrix(tmp_path: Path) -> None:
    assert [list(row) for row in load_latencies(written(tmp_path, "0\n")).rows] == [[0]]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("12.5", "0.0", 2, ["column 1:", "0 ms between two hosts", "leave out a host"]),
        ("12.5", "-0", 2, ["column 1:", "0 ms between two hosts"]),
        ("2e3", "0", 1, ["column 3:", "0 ms between two hosts"]),
        ("12.5", "-1", 2, ["column '1'", "'-1' is negative", "leave out the host"]),
        (",0.5", ",-0.5", 2, ["column '2'", "'-0.5' is negative"]),
        ("12.5", "", 2, ["column '1'", "is empty", "like 19.3"]),
        ("12.5", "nan", 2, ["column '1'", "'nan' is not a number"]),
        ("12.5", "1e999", 2, ["column '1'", "'1e999' is not a number"]),
        ("3000,1", "3000,*", 3, ["column '2'", "'*' is not a number"]),
        (",1\n", "\n", 2, ["2 columns in a matrix of 3 rows"]),
        (",1\n", ",1,4\n", 2, ["4 columns in a matrix of 3 rows"]),
        ("0.0,", "a,b,c\n0.0,", 1, ["3 columns in a matrix of 4 rows", "no header"]),
        ("0.0,10.5,2e3", "a,b,c", 1, ["column '1'", "'a' is not a number"]),
        ("12.5,0.5,1", "", 2, ["1 columns in a matrix of 3 rows"]),
    ],
)
def test_a_bad_file_is_refused_with_its_name_its_line_and_what_is_wrong(
    tmp_path: Path, old: str, new: str, line: int, says: list[str]
) -> None:
    assert_refused(load_latencies, written(tmp_path, MATRIX.replace(old, new, 1)), line, says)


def test_names_of_hosts_are_no_round_trips(tmp_path: Path) -> None:
    named = "0,1,2,3\n1,0,20,30\n2,20,0,40\n3,30,40,0\n"
    assert_refused(load_latencies, written(tmp_path, named), 1, ["numbers of the hosts"])


def test_a_large_matrix_loads_completely(tmp_path: Path) -> None:
    """Hosts on a line, a millisecond from each to the next and one more to leave one's own."""
    hosts = range(200)
    text = "".join(
        ",".join(str(abs(row - column) + (row != column)) for column in hosts) + "\n"
        for row in hosts
    )
    rows = [list(row) for row in load_latencies(written(tmp_path, text)).rows]
    between = sorted(rows[i][j] for i in hosts for j in hosts if i != j)
    quantiles = [between[int(len(between) * share)] for share in (0.05, 0.5, 0.95)]
    # of 39,800 pairs of hosts 2 (200 - d) are d apart
    assert [round(2000 * value) for value in quantiles] == [7, 60, 156]
    assert all(rows[i][i] == 0 for i in hosts)
    assert [list(column) for column in zip(*rows, strict=True)] == rows
