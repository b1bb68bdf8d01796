"""Every metric of both engines equals what the twin computes from the traces, to the last bit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from camcast.observe.trace import TraceRecord
from tests.research.unit.pipeline.measures.ten_records import TEN_RECORDS
from tests.research.unit.pipeline.random_scenarios import random_scenario
from tests.research.unit.pipeline.run_folders import (
    SEVERAL,
    TOPICS,
    Tale,
    odd_records,
    simulate,
    simulate_two,
    write_run,
)
from tests.research.unit.pipeline.twin import Twin

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from camcast.research.pipeline.compare.local_engine import LocalEngine
from camcast.research.pipeline.compare.spark_engine import SparkEngine
from camcast.research.pipeline.ingest.runs import Runs, read_runs
from camcast.research.pipeline.measured import Measured as MeasuredValue
from camcast.research.pipeline.measures.metrics import COUNTS, METRICS
from camcast.research.pipeline.measures.run_measures import measures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = 5  # chosen: the rest of the 200 is slow
ODD = 24  # chosen: runs of some 100 records; each of ten mutations of a definition shows in some
JOBS_MAX, SHUFFLES_MAX = 25, 34  # counted, of both forms of traces and of declared super-topics
Values = dict[tuple[str, str, str], float | None]


class Measured:
    """All runs of this module, measured at once: Spark's overhead is the cost here."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        simulate_two(path)
        simulate(path / "several", SEVERAL)
        for seed in range(ODD):
            form = "parquet" if seed % 3 == 0 else "jsonl"
            write_run(path / f"odd{seed}", odd_records(seed), form=form)
        for seed in range(QUICK):
            simulate(path / f"random{seed}", random_scenario(seed, path.parent))
        for name, (records, _) in TEN_RECORDS.items():
            write_run(path / name, records)
        write_run(path / "quiet", quiet())
        write_run(path / "instant", at_one_instant())
        old = {"versions": {"camcast": "0.0.9", "trace": 1}}
        write_run(path / "old", quiet(), said=old)
        self.folders = {folder.name: folder for folder in sorted(path.iterdir())}
        self.runs: Runs = read_runs(spark, list(self.folders.values()))
        before = planned(spark)
        self.rows = measures(self.runs)
        jobs, shuffles = (now - then for now, then in zip(planned(spark), before, strict=True))
        self.jobs, self.shuffles = jobs, shuffles - 1  # one to ask
        self.values = by_place(self.rows)


def planned(spark: SparkSession) -> tuple[int, int]:
    """Return how many jobs there were, and the next shuffle's number."""
    context = spark._jsparkSession.sparkContext()
    return context.dagScheduler().numTotalJobs(), context.newShuffleId()


def by_place(rows: Iterable[MeasuredValue]) -> Values:
    return {(Path(row.run).name, row.community, row.metric): row.value for row in rows}


def differences(values: Values, folders: Iterable[Path]) -> list[tuple[object, ...]]:
    """Return run, community, metric, ours and the twin's, where they are not the same."""
    wrong: list[tuple[object, ...]] = []
    for folder in folders:
        twin = Twin(folder).values
        ours = {(c, m): value for (run, c, m), value in values.items() if run == folder.name}
        assert set(ours) == set(twin)
        wrong += [
            (folder.name, *key, value, twin[key])
            for key, value in ours.items()
            if value != twin[key]
        ]
    return wrong


def quiet() -> list[TraceRecord]:
    """Two members that learn of each other, and no event."""
    tale = Tale()
    for node in (1, 2):
        tale.add(node, "join", node, ".a")
        tale.add(node + 2.5, "learn", node, ".a", peer=3 - node)
    return tale.records


def at_one_instant() -> list[TraceRecord]:
    """Node 1 publishes at 10 s, when 2 joins and 3 leaves; 4 is there all the time."""
    tale = Tale()
    for node in (1, 3, 4):
        tale.add(1, "join", node, ".a")
    tale.add(10, "join", 2, ".a")
    tale.add(10, "leave", 3, ".a")
    tale.add(10, "publish", 1, ".a", topic=".a", event="e-1-1")
    tale.add(10, "deliver", 1, ".a", topic=".a", event="e-1-1")
    tale.add(10.25, "deliver", 3, ".a", topic=".a", event="e-1-1", hops=1)
    tale.add(10.5, "deliver", 2, ".a", topic=".a", event="e-1-1", hops=2)
    return tale.records


@pytest.fixture(scope="module")
def measured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return Measured(spark, tmp_path_factory.mktemp("measured"))


def test_every_metric_of_spark_equals_the_twins(measured: Measured) -> None:
    assert differences(measured.values, measured.folders.values()) == []


def test_every_metric_of_the_local_engine_equals_the_twins(measured: Measured) -> None:
    local = LocalEngine().read(list(measured.folders.values()))
    assert local.problems == measured.runs.problems
    assert differences(by_place(local.measures), measured.folders.values()) == []
    assert local.measures == measured.rows


@pytest.mark.slow  # three minutes of CPU, most of it to simulate
def test_both_engines_equal_the_twin_on_two_hundred_random_scenarios(
    spark: SparkSession, tmp_path: Path
) -> None:
    folders, summaries = [], {}
    for seed in range(QUICK, 200):
        folder, form = tmp_path / "runs" / f"random{seed}", "parquet" if seed % 3 else "jsonl"
        folders.append(folder)
        summaries[folder.name] = simulate(folder, random_scenario(seed, tmp_path), form)
    local, remote = LocalEngine().read(folders), SparkEngine(spark).read(folders)
    assert differences(by_place(remote.measures), folders) == []
    assert local.measures == remote.measures
    values = by_place(local.measures)
    for name, summary in summaries.items():
        for community in summary.communities:  # as `camcast run` and `watch` have them
            said = {m: v for m, v in attrs.asdict(community).items() if m in METRICS}
            assert {m for m in METRICS if m.startswith("load_")} <= said.keys()
            assert said == {m: values[name, community.topic, m] for m in said}, name
    lossy = [row for row in local.measures if (row.community, row.metric) == ("", "lost")]
    assert sum(bool(row.value) for row in lossy) > len(folders) / 4


@pytest.mark.parametrize("name", TEN_RECORDS)
def test_ten_records_have_the_values_that_are_reckoned_by_hand(
    name: str, measured: Measured
) -> None:
    records, right = TEN_RECORDS[name]
    assert len(records) == 10
    communities = {"", *TOPICS, *(community for community, _ in right)}
    everything = {(c, m): 0.0 if m in COUNTS else None for c in communities for m in METRICS}
    expected = everything | dict(right)
    found = {(c, m): value for (run, c, m), value in measured.values.items() if run == name}
    assert found == {place: expected[place] for place in found}
    assert right.keys() <= found.keys()


def test_spark_shuffles_no_more_than_it_has_to(measured: Measured) -> None:
    """A measure that is grouped by itself costs every comparison a shuffle or two, and a table that
    is broadcast a job."""
    assert measured.jobs <= JOBS_MAX
    assert measured.shuffles <= SHUFFLES_MAX


def test_the_odd_runs_have_something_to_measure(measured: Measured) -> None:
    """Every metric is there and differs; else the test above would compare nulls and noughts.

    But for those of a summary, which these have not.
    """
    for metric in {*METRICS} - {"never_joined", "reception_of_all"}:
        values = {
            value
            for (run, _, which), value in measured.values.items()
            if which == metric and run.startswith("odd")
        }
        assert len(values - {None}) > 1, metric


def test_the_weather_shows(measured: Measured) -> None:
    """The simulated runs are not so calm that every definition gives the same."""
    values = measured.values
    for run in ("stormy", "columns"):
        assert 0.3 < (values[run, "", "reception"] or 0) < 1
        assert (values[run, ".d.e", "heal_seconds_p50"] or 0) > 0
        assert (values[run, "", "control_bytes"] or 0) > 10_000


def test_a_run_without_events_has_tables_but_no_spread(measured: Measured) -> None:
    def of(metric: str) -> float | None:
        return measured.values["quiet", ".a", metric]

    assert of("reception") is of("hops_p50") is of("efficiency") is of("redundancy") is None
    assert (of("events"), of("duplicates"), of("processes"), of("view_mean")) == (0, 0, 2, 1)
    # 1 joins at 1 s and is learned of at 4.5 s, 2 joins at 2 s and is learned of at 3.5 s.
    assert (of("join_visible_seconds_p50"), of("join_visible_seconds_p99")) == (1.5, 3.5)


def test_who_joins_at_the_instant_is_expected_and_who_leaves_is_not(measured: Measured) -> None:
    def of(metric: str) -> float | None:
        return measured.values["instant", ".a", metric]

    assert (of("deliveries"), of("lost"), of("reception"), of("reliability")) == (1, 1, 0.5, 0)
    assert (of("hops_mean"), of("latency_ms_p50")) == (2, 500)


def test_an_old_trace_says_nothing_of_control_traffic(measured: Measured) -> None:
    assert measured.values["old", "", "control_bytes"] is None
    assert measured.values["quiet", "", "control_bytes"] == 0


def test_a_measure_says_of_which_run_it_is(measured: Measured) -> None:
    communities = {row.community for row in measured.rows if row.run.endswith("odd1")}
    assert communities == {"", *TOPICS}
    row = next(row for row in measured.rows if row.run.endswith("stormy"))
    assert (row.backend, row.protocol, row.p_sel, row.seed) == ("scamp", "camcast", 0.5, 3)
    given = (row.parameters["c"], row.parameters["p_sel"], row.parameters["membership.c"])
    assert given == ("1", "0.5", "1")
