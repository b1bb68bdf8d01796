"""Columns of Parquet files: numbers as numbers, and what the metadata say of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra spark is not installed")

from camcast.research.pipeline.parquet_columns import metadata_of, spread_out
from camcast.research.report.benchmark_measures import find_measure
from camcast.research.report.measures import measure_of


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        (["1", "2"], "int64", [1, 2]),
        (["1", "2.5"], "double", [1.0, 2.5]),
        ([1, 0.5], "double", [1.0, 0.5]),
        ([True, False], "bool", [True, False]),
        (["scamp", "1"], "string", ["scamp", "1"]),
        ([[1, 2], "x"], "string", ["[1, 2]", "x"]),
    ],
)
def test_a_column_has_the_narrowest_type_of_all_its_values(
    values: list[Any], kind: str, kept: list[Any]
) -> None:
    columns = spread_out("at", [{"key": value} for value in values] + [{}])
    assert list(columns) == ["at.key"]
    assert str(columns["at.key"].type) == kind
    assert columns["at.key"].to_pylist() == [*kept, None]


def test_the_metadata_say_units_and_the_version() -> None:
    metadata = metadata_of(
        "comparison",
        2,
        [measure_of("latency_ms_p50"), measure_of("reception"), find_measure("x.a.missed", "x.a")],
    )
    assert metadata["camcast.comparison"] == "2"
    told = json.loads(metadata["camcast.research.report.measures"])
    assert [told[name]["unit"] for name in sorted(told)] == ["ms", "share", "count"]
    assert told["reception"]["better"] == "more"
