"""A table keeps every column and every line's first words, however narrow the terminal is."""

from io import StringIO

import pytest
from rich.console import Console

from camcast.research.cli.measures_table import measures_table

MEASURES = ("processes", "reception", "latency_ms_p50", "upward_messages", "parasites")
TOPICS = (".", ".departures.JFK.B6")
VALUES = {
    "processes": 1234,
    "reception": 0.98765,
    "latency_ms_p50": 12.5,
    "upward_messages": 77,
    "parasites": 0,
}


@pytest.mark.parametrize("width", [35, 50, 80, 200])
def test_no_column_is_cut(width: int) -> None:
    text = StringIO()
    table = measures_table(["community"], MEASURES, (([topic], VALUES) for topic in TOPICS))
    Console(file=text, width=width).print(table)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = [line.split() for line in lines]
    for topic in TOPICS:
        values = [value for line in words if line[0] == topic for value in line[1:]]
        assert values == ["1,234", "98.765%", "12.5", "77", "0"]
