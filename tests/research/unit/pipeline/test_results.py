"""Results read without Spark: traces, comparisons, sweeps, their types and the wall's time."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.camcast_command import camcast
from tests.research.unit.pipeline.run_folders import CALM, STORMY, odd_records, simulate, write_run

pytest.importorskip("pyarrow", reason="the extra spark is not installed")

import pyarrow.parquet as pq

from camcast.observe.trace import TraceRecord
from camcast.research.pipeline.compare.comparison_folder import ReportFolder
from camcast.research.pipeline.ingest.run_to_read import NoTraceError
from camcast.research.pipeline.ingest.trace_schema import arrow_schema
from camcast.research.pipeline.results import ResultsError, load
from tests.research.unit.pipeline.compare.rows import findings, measure, rows
from tests.research.unit.pipeline.twin import read_records

ROOT = Path(__file__).parents[4]
DATA = ROOT / "docs/formats.md"
NOTEBOOK = ROOT / "examples/scenario_to_figure.ipynb"
MEANS = {"scamp": 0.6, "dht": 0.95}
TOWN = """
duration_seconds = 4
settle_seconds = 4
[communities]
"." = 3
".d" = 6
[workload]
topic = ".d"
events = 3
rate = 2
"""
SETTING = """
simulator = "chain"
sizes = [20, 5]
"""


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_trace_is_the_same_from_either_form(tmp_path: Path, form: str) -> None:
    records = odd_records(3)
    folder = write_run(tmp_path / "run", records, form=form)
    results = load(folder)
    assert results.names == ["trace"]  # it is not over
    trace = results.arrow()
    assert trace.column_names == ["when", "time", *arrow_schema().names[1:]]
    assert trace["time"].null_count == len(trace)  # no clock in this folder
    rows = [TraceRecord(**row) for row in trace.drop_columns("time").to_pylist()]
    assert sorted(rows, key=repr) == sorted(records, key=repr)


def test_a_trace_that_grows_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", odd_records(3))
    with (folder / "trace-0.jsonl").open("ab") as trace:
        trace.write(b'{"when":17')
    (folder / "trace-7.jsonl").write_bytes(b"")
    assert len(load(folder).arrow()) == len(odd_records(3))


def test_the_wall_s_time_stands_beside_the_trace_s_clock(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", odd_records(3), said={"clock": {"unix": 1000.5, "trace": 10.0}}
    )
    for row in load(folder).arrow().to_pylist():
        since = timedelta(seconds=1000.5 + row["when"] - 10)
        assert abs(row["time"] - datetime(1970, 1, 1, tzinfo=UTC) - since) <= timedelta(
            microseconds=1
        )


def test_a_finished_run_has_its_measures(tmp_path: Path) -> None:
    summary = simulate(tmp_path / "run", STORMY)
    results = load(tmp_path / "run")
    measures = results.pandas("measures").set_index(["community", "metric"])["value"]
    for community in summary.communities:
        assert measures[community.topic, "deliveries"] == community.deliveries
    assert measures["", "events"] == summary.events
    started = json.loads((tmp_path / "run" / "scenario.json").read_text())["clock"]["unix"]
    first = results.pandas()["time"].min()
    assert abs(first.timestamp() - started - results.pandas()["when"].min()) < 0.001


def test_a_sweep_has_numbers_as_numbers_and_says_its_units(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(SETTING)
    asked = ["--grid", "parameters.c=1,5", "--grid", "success=0.5,1", "--repetitions", "3"]
    output = tmp_path / "sweep"
    assert camcast("sweep", file, *asked, "--output", output, "--workers", "1") == 0
    frame = load(output).pandas()
    assert set(frame["grid.parameters.c"]) == {1, 5}
    assert set(frame["grid.success"]) == {0.5, 1.0}
    assert set(frame["community"]) == {"0", "1"}
    (part, *_) = (output / "results").rglob("*.parquet")
    metadata = pq.read_schema(part).metadata
    assert metadata[b"camcast.sweep"] == b"3"
    told = json.loads(metadata[b"camcast.research.report.measures"])
    assert told["reception"]["unit"] == "share"
    assert set(told) >= {"reception", "rounds", "messages"}


@pytest.mark.parametrize("summary", [b'{"summary": {"commun', b"[" * 10_000, b'{"x":' * 10_000])
def test_a_summary_that_cannot_be_read_is_named(tmp_path: Path, summary: bytes) -> None:
    run = write_run(tmp_path / "run", odd_records(1))
    (run / "summary.json").write_bytes(summary)
    with pytest.raises(ResultsError, match=r"summary\.json does not say what was measured: "):
        load(run)


def test_what_is_no_folder_of_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no folder of a run, a comparison or a sweep"):
        load(tmp_path)
    (tmp_path / "scenario.json").write_text("{}")
    with pytest.raises(ValueError, match=r"scenario.json|no trace") as caught:
        load(tmp_path)
    assert not isinstance(caught.value, NoTraceError) or "no trace" in str(caught.value)
    folder = write_run(tmp_path / "run", odd_records(3))
    with pytest.raises(ResultsError, match="has no pairs, but trace"):
        load(folder).arrow("pairs")


def test_the_snippets_of_the_docs_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those whose package is installed: camcast and pandas always are, beside pyarrow."""
    simulate(tmp_path / "runs" / "one", CALM)
    write_report(tmp_path / "report")
    scenario = tmp_path / "town.toml"
    scenario.write_text(TOWN)
    asked = ["--grid", "links.loss=0,0.5", "--repetitions", "1", "--workers", "1"]
    assert camcast("sweep", scenario, *asked, "--output", tmp_path / "town-sweep") == 0
    monkeypatch.chdir(tmp_path)
    told = []
    part = DATA.read_text("utf-8").partition("\n## Reading results without Spark\n")[2]
    for snippet in re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL):
        package = snippet.split()[1].partition(".")[0]
        if find_spec(package) is not None:
            found: dict[str, Any] = {}
            exec(snippet, found)
            told.append(found)
    assert len(told) >= 3
    for found in told:
        assert found.get("means", MEANS) == pytest.approx(MEANS)
        assert set(found.get("by_loss", (0.0, 0.5))) == {0.0, 0.5}
        assert found.get("by_loss", told[2]["by_loss"]) == pytest.approx(told[2]["by_loss"])
    deliveries = read_records(tmp_path / "runs" / "one")
    assert told[1]["a_second"].sum() == sum(row["kind"] == "deliver" for row in deliveries)


def write_report(folder: Path) -> None:
    measures = [
        measure(f"{backend}-{run}", "reception", value, backend=backend, community="")
        for backend, values in {"scamp": (0.5, 0.7), "dht": (0.9, 1.0)}.items()
        for run, value in enumerate(values)
    ]
    report = ReportFolder(folder)
    report.write_measures([(one, False) for one in measures], {})
    report.write_tables(findings(rows(measures)))


@pytest.mark.slow  # 6 s; what its cells call is looked at in every run
def test_the_notebook_runs_from_its_scenario_to_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell in one name space, as a kernel would."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    space: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    assert (tmp_path / "reception.svg").read_text("utf-8").startswith("<svg")
    receptions = space["reception"]["value"]
    assert receptions.iloc[0] > receptions.iloc[-1]  # what is lost is not received
