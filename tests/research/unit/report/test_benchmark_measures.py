"""Every number of our benchmarks is declared, and of others' numbers nothing is guessed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from camcast.research.report.benchmark_measures import (
    BENCHMARK_MEASURES,
    CONDITIONS,
    find_measure,
)
from camcast.research.report.measures import MEASURES

ROOT = Path(__file__).parents[4]
WORDS = {"membership", "protocol", "seed", "transport", "profile", "subscriber", "publishers"}
WORDS |= {"discovery", "parameter_c"}
"""What benchmarks say beside numbers that they measured, or conditions with a number."""


def written() -> Iterator[str]:
    """Yield the names in every call that writes extra_info, and in what such a call is given."""
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called.endswith("extra_info.update") or called == "_note":
                    yield from (word.arg for word in node.keywords if word.arg)
            if isinstance(node, ast.FunctionDef) and node.name == "live_info":
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Dict):
                        yield from _texts(inner.value.keys)
                    if isinstance(inner, ast.DictComp):
                        yield from _looped(inner)


def _texts(nodes: Sequence[ast.expr | None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _looped(node: ast.DictComp) -> Iterator[str]:
    over = node.generators[0].iter
    if isinstance(over, ast.Tuple):
        yield from _texts(over.elts)


def test_every_number_of_our_benchmarks_is_declared() -> None:
    names = set(written())
    assert {"cpu_ratio_to_raw", "found_share", "records_dropped", "record_bytes"} <= names
    assert names - WORDS - set(CONDITIONS) <= set(BENCHMARK_MEASURES)


def test_every_declared_number_is_one_of_ours_or_of_pytest_benchmark() -> None:
    ours = set(written()) | {"seconds_min", "seconds_median", "seconds_mean"}
    assert set(BENCHMARK_MEASURES) <= ours


def test_every_number_that_the_page_of_benchmarks_names_is_declared() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    part = page.partition("## What is in `extra_info`")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))
    assert "cpu_ratio_to_asyncio_queue" in named
    assert named - WORDS - set(CONDITIONS) <= set(BENCHMARK_MEASURES)


@pytest.mark.parametrize("name", [name for name in BENCHMARK_MEASURES if "ratio" in name])
def test_what_costs_is_better_lower_and_what_is_done_higher(name: str) -> None:
    cost = name.startswith(("cpu_", "latency_"))
    assert BENCHMARK_MEASURES[name].better == ("less" if cost else "more")


def test_a_measure_of_both_tables_has_one_direction() -> None:
    for name in BENCHMARK_MEASURES.keys() & MEASURES.keys() - {"view"}:  # a condition there
        assert BENCHMARK_MEASURES[name].better == MEASURES[name].better, name


@pytest.mark.parametrize(
    "number", ["throughput_per_second", "ratio", "cache_ratio", "wall_seconds", "lost", "p99.9"]
)
def test_of_somebody_elses_number_nothing_is_guessed(number: str) -> None:
    name = f"api.get(n=1.5).{number}"
    measure = find_measure(name, "api.get(n=1.5)")
    assert (measure.better, measure.unit, measure.number) == ("unknown", "", number)
    assert not measure.directed
    assert find_measure(name, "api.get(n=1.5)", {number: "less"}).better == "less"
    assert find_measure(name, "api.get(n=1.5)", {name: "more"}).better == "more"
    assert find_measure(name, "api.get(n=1.5)", {"other": "more"}).better == "unknown"


def test_the_name_has_benchmark_and_number() -> None:
    measure = find_measure("live.fast.cpu_ratio_to_raw", "live.fast")
    assert (measure.better, measure.benchmark, measure.headline) == ("less", "live.fast", True)
