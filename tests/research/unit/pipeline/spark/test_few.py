"""Few records are planned for otherwise, and measured alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.research.unit.pipeline.run_folders import odd_records, write_run
from tests.research.unit.pipeline.twin import Twin

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from camcast.research.pipeline.ingest.runs import read_runs
from camcast.research.pipeline.measures.run_measures import measures
from camcast.research.pipeline.spark import few
from camcast.research.pipeline.spark.few import planned_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"


def test_plans_are_for_few_records_only_and_only_in_the_context(spark: SparkSession) -> None:
    before = spark.conf.get(PARTITIONS)
    with planned_for(spark, 10**9):
        assert spark.conf.get(PARTITIONS) == before
    with planned_for(spark, 1000):
        assert spark.conf.get(PARTITIONS) == "1"
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "false"
    assert spark.conf.get(PARTITIONS) == before
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"


def test_measures_do_not_depend_on_how_they_are_planned(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin tests are of few records; with Spark's own plans the twin is the same."""
    monkeypatch.setattr(few, "_RECORDS_MAX", -1)
    folder = write_run(tmp_path / "run", odd_records(2))
    found = {(one.community, one.metric): one.value for one in measures(read_runs(spark, [folder]))}
    assert found == Twin(folder).values
