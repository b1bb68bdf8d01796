"""Benchmark files: what pytest-benchmark writes is read, and what others write is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from camcast.research.pipeline.ingest.bench_files import Benches, read_bench_files
from tests.python_process import output_of

SUITE = """
import pytest

@pytest.mark.parametrize("membership", ["scamp", "dht"])
@pytest.mark.parametrize("nodes", [10, 50])
def test_fast(benchmark, membership, nodes):
    benchmark.pedantic(sum, args=([1, 2],), rounds=3)
    benchmark.extra_info.update(
        protocol="camcast", seed=7, parameter_c=2.0, option_c=3, payload_bytes=256,
        deliveries_per_second=1000.5 * nodes, ratio=0.25, verdict="fine", nothing=None, yes=True,
    )

class TestCodec:
    def test_encode(self, benchmark):
        benchmark.pedantic(sum, args=([1],), rounds=1)
"""


def written(path: Path, **changed: Any) -> Path:
    """Write a file as pytest-benchmark does, with one benchmark."""
    bench = {
        "name": "test_a",
        "fullname": "benchmarks/test_x.py::test_a",
        "params": None,
        "extra_info": {},
        "stats": {"min": 1.0, "median": 2.0, "mean": 3.0},
    }
    content = {"commit_info": {"id": "0123456789abcdef", "dirty": True}, "benchmarks": [bench]}
    path.write_text(json.dumps(content | changed, indent=2))
    return path


def by_metric(benches: Benches) -> dict[tuple[str, str, str], Any]:
    rows = benches.measures
    found = {(row.run, row.backend, row.metric): row for row in rows}
    assert len(found) == len(rows)
    return found


def test_what_pytest_benchmark_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    file = tmp_path / "bench.json"
    # A pytest-xdist that runs this very test would have the suite measure nothing.
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--benchmark-json={file}")
    output_of("-m", "pytest", *options, "test_suite.py", cwd=tmp_path)
    benches = read_bench_files([file])
    assert benches.problems == []
    found = by_metric(benches)
    run = str(file)
    row = found[run, "scamp", "test_suite.py::test_fast(nodes=50).deliveries_per_second"]
    assert (row.value, row.protocol, row.seed, row.p_sel) == (50025.0, "camcast", 7, None)
    assert row.parameters == {"c": "2.0", "membership.c": "3", "payload_bytes": "256"}
    assert found[run, "dht", "test_suite.py::test_fast(nodes=10).ratio"].value == 0.25
    seconds = [
        found[run, "", f"test_suite.py::TestCodec::test_encode.seconds_{n}"].value
        for n in ("min", "mean")
    ]
    assert 0 < seconds[0] <= seconds[1]
    names = {metric.rpartition(".")[2] for _, _, metric in found}
    times = {"seconds_min", "seconds_median", "seconds_mean"}
    assert names == {*times, "deliveries_per_second", "ratio"}  # and no seed, no word, no bool
    assert [source["path"] for source in benches.sources] == [run]
    assert "cores" in benches.sources[0]["machine"]


def test_each_file_that_is_none_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = written(tmp_path / "good.json")
    whole = good.read_text()
    strange = {
        "truncated.json": (whole[: len(whole) // 2], "cut short"),
        "empty.json": ("", "an empty file"),
        "words.json": ("no JSON at all", "not JSON"),
        "list.json": ("[1, 2]", "another tool"),
        "hyperfine.json": ('{"results": [{"command": "x", "mean": 1}]}', "another tool"),
        "google.json": ('{"benchmarks": [{"name": "BM_x", "real_time": 1.0}]}', "BM_x"),
        "nothing.json": ('{"benchmarks": []}', "no benchmark in it"),
    }
    for name, (content, _) in strange.items():
        (tmp_path / name).write_text(content)
    files = [good, *(tmp_path / name for name in strange)]
    benches = read_bench_files(files)
    assert {row.run for row in benches.measures} == {str(good)}
    assert [path for path, _ in benches.problems] == [str(tmp_path / name) for name in strange]
    for (_, why), (_, reason) in zip(benches.problems, strange.values(), strict=True):
        assert reason in why
    assert [source["path"] for source in benches.sources] == [str(good)]


def test_a_benchmark_without_times_does_not_hide_the_others(tmp_path: Path) -> None:
    file = written(tmp_path / "half.json")
    content = json.loads(file.read_text())
    content["benchmarks"].append({"name": "odd", "fullname": "b.py::odd", "stats": {"min": "x"}})
    file.write_text(json.dumps(content))
    benches = read_bench_files([file])
    assert {row.metric for row in benches.measures} == {
        f"benchmarks/test_x.py::test_a.seconds_{name}" for name in ("min", "median", "mean")
    }
    ((_, why),) = benches.problems
    assert "odd" in why


def test_extra_info_wins_over_the_tests_own_parameters(tmp_path: Path) -> None:
    bench = {
        "fullname": "p/test_x.py::test_a[scamp-0.5]",
        "params": {"membership": "scamp", "p_sel": 0.5, "size": 256},
        "extra_info": {"backend": "hybrid", "community": ".d", "seconds_min": 99.0, "n": 1e400},
        "stats": {"min": 1.0, "median": 1.0, "mean": 1.0},
    }
    file = written(tmp_path / "a.json", benchmarks=[bench])
    found = by_metric(read_bench_files([file]))
    assert not any(metric.endswith(".n") for _, _, metric in found)  # what is infinite
    row = found[str(file), "hybrid", "p/test_x.py::test_a(size=256).seconds_min"]
    assert (row.value, row.community, row.p_sel) == (1.0, ".d", 0.5)
    assert row.version == "0123456789ab+changes"


def test_a_benchmark_in_two_files_was_measured_once(tmp_path: Path) -> None:
    """Whatever was done to the rest of the copy, and whatever else is in it."""
    first = written(tmp_path / "a.json")
    copy = written(tmp_path / "b.json", commit_info={"id": "b" * 40}, datetime="2026-01-01")
    merged = tmp_path / "c.json"
    benchmark = json.loads(first.read_bytes())["benchmarks"][0]
    other = benchmark | {"fullname": "benchmarks/test_x.py::test_b", "name": "test_b"}
    written(merged, benchmarks=[dict(reversed(benchmark.items())), other])
    benches = read_bench_files([first, copy, merged])
    assert [source["path"] for source in benches.sources] == [str(first), str(merged)]
    again = f"test_a: measured in {first} already, and counts once"
    assert benches.problems == [(str(copy), again), (str(merged), again)]
    assert len(benches.measures) == 6


@pytest.mark.parametrize(
    ("stats", "right"),
    [
        ({}, True),
        ({"max": 5.0, "q1": 1.5, "q3": 4.0, "ops": 1 / 3}, True),
        ({"max": 1.0, "median": 1.0, "mean": 1.004, "ops": 1.0}, True),  # rounded by a hook
        ({"max": "n/a", "ops": None, "q1": float("nan")}, True),
        ({"max": 10**400}, True),
        ({"min": 2.5}, False),
        ({"mean": 6.0, "max": 5.0}, False),
        ({"median": 4.0, "q3": 3.5}, False),
        ({"mean": 1.5, "ops": 1 / 3}, False),
    ],
)
def test_times_that_no_sample_has_are_named(
    stats: dict[str, Any], right: bool, tmp_path: Path
) -> None:
    file = written(tmp_path / "a.json")
    content = json.loads(file.read_bytes())
    content["benchmarks"][0]["stats"] |= stats
    file.write_text(json.dumps(content))
    benches = read_bench_files([file])
    assert bool(benches.measures) == right
    assert [("contradict" in why) for _, why in benches.problems] == [True] * (not right)


@pytest.mark.parametrize("time", ["min", "median", "mean"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_time_below_zero_or_without_end_is_named(time: str, value: float, tmp_path: Path) -> None:
    file = written(tmp_path / "a.json")
    content = json.loads(file.read_bytes())
    content["benchmarks"][0]["stats"] |= {"ops": 0.0, time: value}
    file.write_text(json.dumps(content))
    benches = read_bench_files([file])
    why = "benchmark test_a has a time below zero, or one that is no finite number"
    assert (benches.measures, benches.problems) == ([], [(str(file), why)])


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("missed", -3, "-3, below 0"),
        ("latency_ms_p50", -0.5, "-0.5, below 0"),
        ("missed", float("nan"), "no finite number"),
        ("theirs", float("-inf"), "no finite number"),
        pytest.param("theirs", 10**400, "no finite number", id="of 400 digits"),
        ("p_sel", float("nan"), "no finite number"),
        ("theirs", -3, ""),  # of which nobody knows that it is none
        ("theirs", "n/a", ""),
        ("missed", None, ""),
    ],
)
def test_a_number_that_nobody_measured_is_named_and_left_out(
    name: str, value: object, why: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "a.json")
    content = json.loads(file.read_bytes())
    content["benchmarks"][0]["extra_info"] = {name: value, "deliveries": 7}
    file.write_text(json.dumps(content))
    benches = read_bench_files([file])
    said = f"{name} of benchmark test_a is {why}; left out"
    assert benches.problems == ([(str(file), said)] if why else [])
    found = {one.metric.rpartition(".")[2]: one.value for one in benches.measures}
    assert found["deliveries"] == 7
    assert found.get(name) == (value if not why and isinstance(value, int) else None)
