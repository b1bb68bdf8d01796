"""`camcast compare` as a user meets it: tables, page, regressions, bad input, exit codes."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import attrs
import pyarrow.parquet as pq
import pytest

from tests.camcast_command import Capture, camcast
from tests.printed_json import checked
from tests.python_process import python
from tests.research.unit.papers.page import specs_in
from tests.research.unit.pipeline.interrupted import INTERRUPTED
from tests.research.unit.pipeline.run_folders import (
    CALM,
    finished,
    odd_records,
    simulate,
    write_run,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 300  # chosen: 10 s are usual; on a machine ten times busier, 100 s
SCENARIO = """
seed = {seed}
duration_seconds = 6
settle_seconds = 5
membership = "{membership}"
discovery = "census"
[communities]
"." = 5
".d" = 15
[parameters]
p_sel = 0.5
[workload]
topic = ".d"
events = 5
rate = 2
"""
KEYS = [
    *("backend", "protocol", "repair", "community", "p_sel", "runs"),
    *("metric", "mean", "low", "high"),
]


def bench(folder: Path, name: str, rates: dict[str, float], commit: str = "a" * 40) -> Path:
    """Write what `pytest benchmarks --membership=… --benchmark-json=…` writes."""
    benchmarks = [
        {
            "name": f"test_fast[{backend}]",
            "fullname": f"benchmarks/test_live_multicast.py::test_fast[{backend}]",
            "params": {"membership": backend},
            "extra_info": {"protocol": "camcast", "deliveries_per_second": rate},
            "stats": {"min": 1.0, "median": 1.0, "mean": 1.0},
        }
        for backend, rate in rates.items()
    ]
    folder.mkdir(exist_ok=True)
    content = {"commit_info": {"id": commit, "dirty": False}, "benchmarks": benchmarks}
    (folder / name).write_text(json.dumps(content))
    return folder / name


def session(folder: Path, scale: float, commit: str = "a" * 40, seed: int = 1) -> list[Path]:
    """Five repetitions of two backends, one of them twice as fast."""
    rng = Random(seed)
    return [
        bench(
            folder,
            f"{number}.json",
            {"scamp": scale * rng.gauss(2000, 20), "dht": scale * rng.gauss(1000, 20)},
            commit,
        )
        for number in range(5)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place, folders = tmp_path_factory.mktemp("runs"), []
    for membership in ("scamp", "dht"):
        for seed in (1, 2):
            file = place / f"{membership}{seed}.toml"
            file.write_text(SCENARIO.format(seed=seed, membership=membership))
            folders.append(place / f"{membership}-{seed}")
            assert camcast("simulate", "virtual", file, "--output", folders[-1], "--json") == 0
    return folders


@pytest.mark.slow  # 30 s, nearly all of them of the JVM
def test_runs_and_benchmarks_become_tables_figures_and_a_page(
    spark: SparkSession, runs: list[Path], tmp_path: Path, capfd: Capture, small_pictures: None
) -> None:
    """With a folder without a trace, and a half-written file, of which the rest is compared."""
    torn = runs[0].parent / "torn"
    torn.mkdir()
    for file in runs[0].iterdir():
        content = file.read_bytes()
        (torn / file.name).write_bytes(content[:-40] if file.suffix == ".jsonl" else content)
    (tmp_path / "empty").mkdir()
    benches = session(tmp_path / "bench", 1.0)
    capfd.readouterr()
    output = tmp_path / "report"
    given = [torn, *runs[1:], tmp_path / "empty", tmp_path / "absent", *benches]
    assert camcast("compare", *given, "--output", output, "--json") == 2
    printed = capfd.readouterr()
    rows = checked(json.loads(printed.out))
    for said in (str(tmp_path / "empty"), "absent", f"{torn}"):
        assert said in printed.err
    assert "Traceback" not in printed.err

    assert all(list(row) == KEYS for row in rows)
    place = {(r["backend"], r["community"], r["metric"]): r for r in rows}
    for community in ("", ".", ".d"):
        efficiency = place["scamp", community, "efficiency"]
        assert (efficiency["runs"], efficiency["p_sel"]) == (2, 0.5)
        assert 0 < efficiency["low"] < efficiency["mean"] < efficiency["high"] < 1
        parasites = place["scamp", community, "parasites"]  # 0 in both runs
        assert (parasites["mean"], parasites["low"], parasites["high"]) == (0, None, None)
    fast = place["dht", "", "live_multicast.fast.deliveries_per_second"]
    assert fast["runs"] == 5
    assert fast["mean"] == pytest.approx(1000, rel=0.05)

    with (output / "comparison.csv").open() as file_:
        kept = list(csv.DictReader(file_))
    assert len(kept) == len(rows) == pq.read_table(output / "comparison.parquet").num_rows
    assert spark.read.parquet(str(output / "measures.parquet")).count() > len(rows)
    wrong = spark.read.parquet(str(output / "quarantine.parquet")).collect()
    assert [(Path(row.file).parent.name, row.reason) for row in wrong] == [
        ("torn", "a truncated last line")
    ]
    verdicts = json.loads((output / "verdict.json").read_text())["rows"]
    assert {v["winner"] for v in verdicts if "deliveries_per_second" in v["metric"]} == {"scamp"}
    pairs = json.loads((output / "pairs.json").read_text())["rows"]
    sure = next(p for p in pairs if p["metric"] == "live_multicast.fast.deliveries_per_second")
    assert (sure["first"], sure["second"]) == ("dht", "scamp")
    assert sure["high"] < -900
    assert sure["adjusted_p"] < 0.001
    for kind in ("svg", "png", "csv"):
        assert (output / f"reception.{kind}").stat().st_size > 100
    assert (output / "reception.png").read_bytes().startswith(b"\x89PNG")
    assert_offline_page(output / "index.html", ["a truncated last line", str(tmp_path / "empty")])

    page = " ".join((output / "index.html").read_text().split())
    assert re.search(r"measured by the local engine \(\d+ MB of traces, no more than 1,000\)", page)
    assert camcast("compare", *given, "--engine", "spark", "--json") == 2
    of_spark = capfd.readouterr()
    assert checked(json.loads(of_spark.out)) == rows  # to the last digit
    assert sorted(of_spark.err.splitlines()) == sorted(printed.err.splitlines())

    (output / "comparison.json").unlink()  # it is no comparison's any more
    assert camcast("compare", *benches, "--output", output) == 2
    assert "give --output a new folder" in capfd.readouterr().err


def assert_offline_page(page: Path, named: list[str]) -> None:
    text = page.read_text()
    for what in named:
        assert what in text
    assert text.count("<svg") >= 10
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<(link|img|script|iframe)[^>]*(src|href)=", text[: text.find("<svg")])
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", markup)
    assert "@import" not in markup
    assert "reception" in specs_in(text)


def test_tables_for_people(tmp_path: Path, capfd: Capture) -> None:
    output = tmp_path / "report"
    assert camcast("compare", *session(tmp_path / "b", 1.0), "--output", output) == 0
    printed = capfd.readouterr()
    lines = printed.out.splitlines()
    # A path is not broken, that it can be copied.
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    assert lines[0].startswith("Choose scamp for deliveries per second of live_multicast.fast.")
    said = " ".join(printed.out.split())
    assert re.search(r"scamp is best, [12],\d{3}: \d+ to 1,0\d\d above dht", said)
    assert re.search(r"\[9\d\d.*\] +\[1,9\d\d, 2,0\d\d\]", printed.out)
    assert str(output / "index.html") in printed.out
    assert printed.err == ""


@pytest.mark.parametrize("outside", [0, 5], ids=["all joined", "many outside"])
def test_a_terminal_says_what_cannot_be_judged_and_whether_there_is_repair(
    outside: int, tmp_path: Path, capfd: Capture
) -> None:
    runs = {who: tmp_path / who for who in ("scamp", "dht")}
    for who, run in runs.items():
        simulate(run, attrs.evolve(CALM, membership=who, repair=False))
    summary = json.loads((runs["dht"] / "summary.json").read_text())
    said = summary | {"never_joined": outside, "checksums": {}}
    (runs["dht"] / "summary.json").write_text(json.dumps(said))
    capfd.readouterr()
    for given in (runs.values(), [runs["dht"]]):
        assert camcast("compare", *given, "--output", tmp_path / "report") == 0
        printed = capfd.readouterr()
        known = " ".join(printed.out.split())
        several = len(given) > 1
        assert ("Which is better cannot be judged" in known) == (several and bool(outside))
        assert "ll runs are without repair" in known
        assert ("never became members" in printed.err) == bool(outside)


@pytest.mark.parametrize(("scale", "threshold", "code"), [(0.8, 0.05, 3), (1.25, 0.05, 0)])
def test_a_regression_has_an_exit_code_of_its_own(
    scale: float, threshold: float, code: int, tmp_path: Path, capfd: Capture
) -> None:
    before = session(tmp_path / "before", 1.0, seed=2)
    now = session(tmp_path / "now", scale)
    against = [part for file in before for part in ("--against", file)]
    given = [*now, *against, "--threshold", threshold]
    assert camcast("compare", *given, "--output", tmp_path / "r", "--json") == code
    printed = capfd.readouterr()
    assert {row["runs"] for row in json.loads(printed.out)} == {5}
    assert ("2 regressed" in printed.err) == (code == 3)
    changes = json.loads((tmp_path / "r" / "regressions.json").read_text())["rows"]
    rates = [c for c in changes if c["metric"].endswith("deliveries_per_second")]
    assert [c["relative"] for c in rates] == pytest.approx([scale - 1] * 2, abs=0.05)
    assert {c["verdict"] for c in rates} == {"regressed" if code == 3 else "improved"}
    assert ("<strong>2 measures regressed</strong>" in (tmp_path / "r/index.html").read_text()) == (
        code == 3
    )


def test_a_version_can_be_the_baseline(tmp_path: Path, capfd: Capture) -> None:
    old, new = "0123456789ab", "ba9876543210"
    files = session(tmp_path / "old", 1.0, old + "0" * 28, seed=3)
    files += session(tmp_path / "new", 0.7, new + "0" * 28)
    assert camcast("compare", *files, "--against", old, "--json") == 3
    assert len(json.loads(capfd.readouterr().out)) == 8  # of the new one: 2 backends, 4 measures
    assert camcast("compare", *files, "--against", "1.0", "--json") == 2
    assert f"{old}, {new}" in capfd.readouterr().err
    assert camcast("compare", *files, "--json") == 0  # side by side, and not averaged
    settings = {row["setting"] for row in json.loads(capfd.readouterr().out)}
    assert settings == {f"camcast={old}", f"camcast={new}"}


def test_nothing_that_can_be_read(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.json").write_text("{}")
    given = [tmp_path / "empty", tmp_path / "no.json", tmp_path / "absent"]
    assert camcast("compare", *given, "--output", tmp_path / "report") == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    for path in given:
        assert str(path) in printed.err
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["--master", "spark://127.0.0.1:1"], 1, "spark://127.0.0.1:1"),
        (["--conf", "nonsense"], 2, "nonsense"),
        (["--threshold", "-1"], 2, "threshold"),
    ],
)
def test_options_that_cannot_be(
    arguments: list[str], code: int, named: str, tmp_path: Path
) -> None:
    """In a process of its own, as this one has a session already."""
    file = bench(tmp_path, "b.json", {"scamp": 1.0})
    command = [sys.executable, "-m", "camcast", "compare", str(file), "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == code, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("engine", "moment"),
    [
        *(
            pytest.param("spark", moment, marks=pytest.mark.slow)  # each starts a JVM
            for moment in (
                "camcast.research.pipeline.spark.jvm.Jvm.gateway",  # Java is starting
                "camcast.research.pipeline.compare.spark_engine.read_runs",
            )
        ),
        ("local", "camcast.research.pipeline.compare.local_engine.read_traces.read_local"),
    ],
)
def test_ctrl_c_ends_it_without_a_traceback(engine: str, moment: str, tmp_path: Path) -> None:
    run = finished(write_run(tmp_path / "run", odd_records(4)))
    done = python(
        *("-c", INTERRUPTED, moment, "compare", run, "--engine", engine),
        cwd=tmp_path,
        seconds=SECONDS,
    )
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert done.returncode == 130, done.stderr
