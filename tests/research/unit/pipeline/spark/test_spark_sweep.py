"""`camcast sweep`: both engines find the same, a killed one continues, what is wrong is said."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.simulation.scenario_run import run_scenario
from camcast.research.sweeps import SweepError, sweep
from camcast.research.sweeps.grid import Axis, GridError, overridden, points, read_axis
from tests.camcast_command import Capture, camcast
from tests.printed_json import checked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SCENARIO = """
seed = 3
duration_seconds = 2
settle_seconds = 10
[communities]
"." = 3
".d" = 6
[links]
loss = 0.1
[workload]
topic = ".d"
events = 2
rate = 2
[[crashes]]
at_seconds = 1
share = 0.3
"""
SETTING = """
sizes = [40, 10]
crash = 0.2
seed = 5
"""
LOSSES = ["--grid", "links.loss=0,0.3", "--grid", "membership=scamp,dht", "--repetitions", 2]
CELLS = 8


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "town.toml"
    path.write_text(SCENARIO)
    return path


def dataset(output: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(output / "results")


def cells(output: Path) -> list[str]:
    return sorted((output / "cells.jsonl").read_text().splitlines())


def swept_by_both(tmp_path: Path, *asked: object) -> pa.Table:
    """Sweep with either engine, into ``here`` and ``there``; return what both have found."""
    here, there = tmp_path / "here", tmp_path / "there"
    assert camcast("sweep", *asked, "--output", here, "--workers", 1) == 0
    assert camcast("sweep", *asked, "--output", there, "--engine", "spark") == 0
    assert cells(here) == cells(there)
    found = dataset(here)
    assert found.equals(dataset(there), check_metadata=True)
    return found


def test_both_engines_find_the_same_scenarios_to_the_bit(
    scenario: Path, tmp_path: Path, spark: SparkSession
) -> None:
    swept_by_both(tmp_path, scenario, *LOSSES)
    assert len(cells(tmp_path / "here")) == CELLS
    read = spark.read.parquet(str(tmp_path / "there" / "results"))
    assert read.where("simulator = 'virtual' and membership = 'dht'").count() == read.count() / 2
    losses = read.where("metric = 'lost_copies'").groupBy("`grid.links.loss`", "membership")
    by_point = {tuple(row[:2]): row["avg(value)"] for row in losses.avg("value").collect()}
    assert by_point[0.0, "scamp"] == 0
    assert by_point[0.3, "scamp"] > 0


@pytest.mark.slow  # 3 s; scenarios are compared in every run
def test_both_engines_find_the_same_settings_to_the_bit(
    tmp_path: Path, spark: SparkSession
) -> None:
    setting = tmp_path / "chain.toml"
    setting.write_text(SETTING)
    asked = ["--grid", "simulator=chain,virtual", "--grid", "parameters.c=1,5", "--grid"]
    asked += ["sizes=[40,10],[30]", "--repetitions", "50"]
    found = swept_by_both(tmp_path, setting, *asked)
    assert set(found["simulator"].to_pylist()) == {"chain", "virtual"}
    assert set(found["protocol"].to_pylist()) == {"camcast"}
    assert set(found["membership"].to_pylist()) == {"static"}
    assert set(found["repetition"].to_pylist()) == set(range(50))


def test_protocols_are_told_apart(scenario: Path, tmp_path: Path, capfd: Capture) -> None:
    asked = ["--grid", "protocol=camcast,broadcast", "--repetitions", 1, "--workers", 1]
    assert camcast("sweep", scenario, *asked, "--output", tmp_path / "o", "--json") == 0
    swept = json.loads(capfd.readouterr().out)["points"]
    assert [point["protocol"] for point in swept] == ["camcast", "broadcast"]
    folders = (tmp_path / "o" / "results" / "simulator=virtual").iterdir()
    assert sorted(folder.name for folder in folders) == ["protocol=broadcast", "protocol=camcast"]
    for row in dataset(tmp_path / "o").to_pylist():
        assert (row["protocol"], row["membership"]) == (row["grid.protocol"], "scamp")


def test_a_row_is_what_the_scenario_gives_by_itself(scenario: Path, tmp_path: Path) -> None:
    asked = ["--grid", "links.loss=0.3", "--seed", 8, "--repetitions", 2, "--workers", 1]
    assert camcast("sweep", scenario, *asked, "--output", tmp_path / "o") == 0
    by_hand = tmp_path / "by_hand.toml"
    by_hand.write_text(SCENARIO.replace("seed = 3", "seed = 9").replace("0.1", "0.3"))
    outcome = run_scenario(VirtualScenario.read(by_hand))
    second = [row for row in dataset(tmp_path / "o").to_pylist() if row["repetition"] == 1]
    assert {row["seed"] for row in second} == {9}
    assert {row["grid.links.loss"] for row in second} == {0.3}
    found = {(row["community"], row["metric"]): row["value"] for row in second}
    assert found["", "records_sent"] == outcome.records_sent
    for community in outcome.summary.communities:
        assert found[community.topic, "reception"] == community.reception
        assert found[community.topic, "duplicates"] == community.duplicates
        assert (community.topic, "predicted") not in found  # it is not calm: nothing to tell


def test_a_row_of_a_setting_is_what_simulate_gives(tmp_path: Path, capfd: Capture) -> None:
    setting = tmp_path / "chain.toml"
    setting.write_text(SETTING + 'simulator = "chain"\n')
    asked = ["--grid", "crash=0.4", "--repetitions", "1500", "--workers", 1]  # two cells
    assert camcast("sweep", setting, *asked, "--output", tmp_path / "o") == 0
    capfd.readouterr()
    simulate = ["simulate", "chain", "--sizes", "40,10", "--crash", "0.4", "--seed", "5"]
    assert camcast(*simulate, "--runs", 1500, "--json") == 0
    simulated = json.loads(capfd.readouterr().out)["communities"]
    rows = dataset(tmp_path / "o").to_pylist()
    for number, community in enumerate(simulated):
        loads = ("load_sent_p99", "load_sent_peak")
        for metric in ("reception", "reliability", "messages", "rounds", *loads):
            values = [
                row["value"]
                for row in rows
                if row["community"] == str(number) and row["metric"] == metric
            ]
            assert fmean(values) == pytest.approx(community[metric]["mean"], rel=1e-12)


KILLED = """
import os, signal, sys
from camcast.cli.app import main
from camcast.research.sweeps import ProgressBar

def kill(bar, done, total):
    if done == 3:
        os.kill(os.getpid(), signal.SIGKILL)

ProgressBar.update = kill
main()
"""


@pytest.mark.parametrize("engine", [pytest.param("local", marks=pytest.mark.slow), "spark"])
def test_a_killed_sweep_continues(
    engine: str, scenario: Path, tmp_path: Path, spark: SparkSession, capfd: Capture
) -> None:
    output, asked = tmp_path / "o", [scenario, *LOSSES, "--output"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "sweep", *map(str, asked), output, "--workers", "1"],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    done = (output / "cells.jsonl").read_text()
    assert len(done.splitlines()) == 3
    assert list((output / "results").iterdir()) == []
    assert camcast("sweep", *asked, output, "--engine", engine) == 0
    assert f"3 of {CELLS} cells are done already, in {output}" in capfd.readouterr().err
    assert (output / "cells.jsonl").read_text().startswith(done)
    assert len(cells(output)) == CELLS
    assert camcast("sweep", *asked, tmp_path / "whole", "--workers", 1) == 0
    assert dataset(output).equals(dataset(tmp_path / "whole"), check_metadata=True)


def test_more_of_the_grid_computes_only_that(
    scenario: Path, tmp_path: Path, capfd: Capture
) -> None:
    asked = ["--output", tmp_path / "o", "--workers", 1, "--repetitions", 2, "--json"]
    assert camcast("sweep", scenario, *asked, "--grid", "links.loss=0.1") == 0
    first = dataset(tmp_path / "o")
    capfd.readouterr()
    assert camcast("sweep", scenario, *asked, "--grid", "links.loss=0.1,0.2") == 0
    printed = capfd.readouterr()
    assert "2 of 4 cells are done already" in printed.err
    summary = checked(json.loads(printed.out))
    assert summary["rows"] == len(dataset(tmp_path / "o"))
    assert [point["grid"] for point in summary["points"]] == [
        {"links.loss": 0.1},
        {"links.loss": 0.2},
    ]
    rows = [r for r in dataset(tmp_path / "o").to_pylist() if r["grid.links.loss"] == 0.1]
    assert rows == first.to_pylist()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--grid", "links.los=1"], "links.los: unknown key"),
        (["--grid", "links.loss=0,2"], "--grid links.loss=2: links.loss: "),
        (["--grid", "membership=scamp,nope"], "--grid membership=nope: membership: unknown"),
        (["--grid", "links.loss=high"], "links.loss: takes a number, not 'high'"),
        (["--grid", "links=3"], "links: is a table"),
        (["--grid", "links.loss"], "--grid takes KEY=VALUE"),
        (["--grid", "links.loss="], "--grid takes KEY=VALUE"),
        (["--grid", "communities..d=3"], "'communities..d' is no key"),
        (["--grid", "crashes.1.share=0"], "1 is no number of a table; there are 1"),
        (["--grid", "crashes.share=0"], "give the key of the table"),
        (["--grid", "links.loss.more=0"], "loss is 0.1 in the file, not a table"),
        (["--grid", "links.loss=0,0.0,0"], "0 is there twice"),
        (["--grid", "links.loss=0", "--grid", "links.loss=1"], "one key twice"),
        (["--grid", "links.loss=0", "--grid", "links={loss=1}"], "one key twice"),
        (["--grid", "seed=1", "--seed", "2"], "--seed and --grid"),
        (["--grid", "workload.events=2,9"], "events=9: the workload goes on for 4 s"),
        (["--grid", "seed=1,2"], "run seed 2 twice: "),
        (["--seed", "99999999999999999999"], "seed: 99999999999999999999 is out of bounds"),
        (["--repetitions", "99999999999999"], "more than 1,000,000 cells"),
        (["--grid", "simulator=chain"], "'chain' simulates a setting"),
        (["--grid", "sizes=[3]"], "--grid sizes=[3]: duration_seconds: unknown key"),
        (["--grid", 'links={latency="matrix",file="no.txt"}'], "no.txt"),
        (["--workers", "2", "--engine", "spark"], "--workers goes with --engine local"),
        (["--master", "local[2]"], "--master and --conf go with --engine spark"),
        (["--conf", "a=1", "--engine", "spark"], "--conf takes KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    arguments: Sequence[str], says: str, scenario: Path, tmp_path: Path, capfd: Capture
) -> None:
    assert camcast("sweep", scenario, *arguments, "--output", tmp_path / "o") in (1, 2)
    said = capfd.readouterr()
    assert said.out == ""
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_what_is_wrong_in_the_file_is_said_with_its_line(
    scenario: Path, tmp_path: Path, capfd: Capture
) -> None:
    scenario.write_text(SCENARIO.replace("rate = 2", "rate = 0"))
    for grid in ([], ["--grid", "links.loss=0,0.1"]):
        assert camcast("sweep", scenario, *grid, "--output", tmp_path / "o") == 2
        assert f"{scenario}:13: workload.rate: " in capfd.readouterr().err


def test_an_output_that_cannot_be_written_is_named(
    scenario: Path, tmp_path: Path, capfd: Capture
) -> None:
    assert camcast("sweep", scenario, "--output", scenario / "o") == 1
    assert f"--output {scenario / 'o'}: " in capfd.readouterr().err
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "results").write_text("something else")
    assert camcast("sweep", scenario, "--output", tmp_path / "taken") == 1
    assert (tmp_path / "taken" / "results").read_text() == "something else"


def test_a_cell_that_fails_on_an_executor_is_named(spark: SparkSession, tmp_path: Path) -> None:
    from camcast.research.pipeline.spark.spark_sweep import spark_engine

    engine = spark_engine(master=None, conf={})
    with pytest.raises(SweepError, match=r'cell 0, {"x":1}: TypeError: .*dict') as caught:
        sweep(abs, [{"x": 1}], engine=engine, results=tmp_path / "kept")  # type: ignore[arg-type] # it is to fail
    assert "Traceback" in caught.value.__notes__[0]
    assert sweep(len, [{}, {"x": 1}, {}], engine=engine) == [0, 1, 0]


PLAIN = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.from_regex(r"[a-z.,'\[\] #]{0,8}", fullmatch=True),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(PLAIN, min_size=1, max_size=5, unique_by=lambda value: json.dumps(value)))
def test_values_are_read_as_they_are_written(values: list[Any]) -> None:
    axis = read_axis("a.b=" + ",".join(json.dumps(value) for value in values))
    assert axis.path == ("a", "b")
    assert json.dumps(axis.values) == json.dumps(values)


@given(st.text(max_size=30))
def test_any_text_is_an_axis_or_a_clear_error(text: str) -> None:
    found: Axis | str
    try:
        found = read_axis(text)
    except GridError as error:
        found = str(error)
    assert "--grid" in found if isinstance(found, str) else found.path and found.values


def test_every_combination_is_a_point_and_changes_nothing_else() -> None:
    content = {"links": {"loss": 0.1, "delay": 1}, "crashes": [{"share": 0.1}], "seed": 1}
    before = json.dumps(content)
    axes = [read_axis("links.loss=0,0.5"), read_axis("crashes.0.share=1"), read_axis("new.x=a,b")]
    grid = points(axes)
    assert len(grid) == 4
    last = overridden(content, axes, grid[-1])
    assert last == {
        "links": {"loss": 0.5, "delay": 1},
        "crashes": [{"share": 1}],
        "seed": 1,
        "new": {"x": "b"},
    }
    assert json.dumps(content) == before
    assert points([]) == [{}]
    with pytest.raises(GridError, match="1,000,000 points"):
        points([read_axis(f"k{n}=" + ",".join(map(str, range(100)))) for n in range(3)])
