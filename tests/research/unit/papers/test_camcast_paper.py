"""`camcast reproduce camcast` as a user meets it: the folder, the page, stopping and continuing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from camcast.research.papers.all_papers import CAMCAST
from camcast.research.papers.camcast_paper import compute
from camcast.research.papers.camcast_setting import CRASHED, CamcastPlan, Engine, setting_of
from camcast.research.papers.camcast_tables import ROUNDS
from camcast.research.papers.plan_folder import FolderError, PlanFolder
from camcast.research.report import drawing
from camcast.research.report.page import in_script
from camcast.research.simulation import static_network
from camcast.research.systems.baselines import population as baselines
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast import count_chain, population
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.patience import wait_until
from tests.python_process import python
from tests.research.unit.papers.folder_contract import (
    FIGURE_ENDS,
    TIMEOUT_SECONDS,
    FolderContract,
    fits_a_terminal,
    rows,
)
from tests.research.unit.papers.page import Page

RUNS_HERE = 2
PLAN = CamcastPlan(runs=RUNS_HERE, seed=3)
OPTIONS = ("--runs", RUNS_HERE, "--seed", 3, "--workers", 1)
TABLES = ["table1", "table2"]
FIGURES = [*(f"figure{number}" for number in range(13, 19)), "involved"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_pictures: None) -> Path:
    """A finished reproduction of few runs, made by the command."""
    path = tmp_path_factory.mktemp("reproduction") / "out"
    with redirect_stdout(StringIO()) as printed:
        assert camcast("reproduce", "camcast", "--output", path, *OPTIONS) == 0
    assert fits_a_terminal(printed.getvalue())
    return path


# -- the folder -----------------------------------------------------------------------------------


@pytest.mark.slow  # as all that need the finished folder: 12 s
class TestFolder(FolderContract):
    PAPER, PLAN, FIGURES, TABLES = CAMCAST, PLAN, FIGURES, TABLES


@pytest.mark.slow  # as all that need the finished folder: 12 s
@pytest.mark.parametrize("name", FIGURES[:-1])
def test_a_figure_has_every_community_at_every_share_of_crashed(folder: Path, name: str) -> None:
    found = rows(folder / f"{name}.csv")
    communities = list(dict.fromkeys(row["series"] for row in found))
    assert communities == (["g", "d"] if name == "figure14" else ["g", "d", "a"])
    assert len(found) == len(communities) * len(CRASHED)
    assert sorted({float(row["x"]) for row in found}) == list(CRASHED)
    assert {row["runs"] for row in found} == {str(RUNS_HERE)}
    assert all(float(row["model"]) >= 0 for row in found)
    assert all(bool(row["formula"]) == (name in ("figure13", "figure14")) for row in found)
    assert bool(found[0]["panel"]) == (name == "figure13")


@pytest.mark.slow  # as all that need the finished folder: 12 s
def test_the_published_values_stand_beside_ours(folder: Path) -> None:
    found = rows(folder / "table1.csv")
    published = {
        (row["approach"], row["topology"]): float(row["published"])
        for row in found
        if row["published"]
    }
    assert {approach for approach, _ in published} == {*ROUNDS}
    assert published["(1) CAMCAST", "1000, 100, 10"] == 8.91
    assert published["(2) gossip broadcast", "100 (j = 4)"] == 4.31
    assert published["(3) PMcast", "100 (j = 2)"] == 5.44
    measured = [row for row in found if row["how"] == "measured" and row["published"]]
    assert len(measured) == 6
    for row in measured:
        assert float(row["mean"]) / float(row["published"]) - 1 == pytest.approx(
            float(row["deviation"])
        )
    parasites = rows(folder / "table2.csv")
    camcast = [row for row in parasites if row["approach"] == "(1) CAMCAST"]
    assert [row["mean"] for row in camcast] == ["0.0"] * 3
    for table, least in ((found, 5.0), (parasites, 30.0)):
        pmcast = [row for row in table if row["approach"] == "(3) PMcast"]
        assert {row["simulator"] for row in pmcast} == {"formula", "hpmcast"}
        assert all(float(row["mean"]) > least for row in pmcast)
        for row in pmcast:
            measured_here = row["how"].startswith("measured")
            assert row["runs"] == (str(RUNS_HERE) if measured_here else "")
            assert bool(row["low"]) == bool(row["high"])
            assert measured_here or not row["low"]
        assert any(row["low"] for row in pmcast)


# -- some protocols -------------------------------------------------------------------------------


@pytest.mark.slow  # as all that need the finished folder: 12 s
@pytest.mark.parametrize(
    ("protocols", "approaches"),
    [
        (("broadcast",), ["(2) gossip broadcast"]),
        (("pmcast", "hpmcast"), ["(3) PMcast"]),
        (("multicast",), ["4.2 (b) gossip multicast"]),
        (("hierarchical",), ["4.2 (c) hierarchical gossip broadcast"]),
        (("camcast", "hierarchical"), ["(1) CAMCAST", "4.2 (c) hierarchical gossip broadcast"]),
    ],
)
def test_what_is_chosen_is_as_in_the_whole(
    folder: Path, protocols: tuple[str, ...], approaches: list[str], tmp_path: Path
) -> None:
    """In a folder with the whole's cells nothing is computed."""
    for name in ("plan.json", "cells.jsonl"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    plan = CamcastPlan(runs=RUNS_HERE, seed=3, protocols=protocols)
    listed = CAMCAST.cells(plan)
    calls: list[tuple[int, int]] = []
    PlanFolder(tmp_path, CAMCAST, plan).reproduce(1, lambda *call: calls.append(call))
    assert calls == [(len(listed), len(listed))]
    for name in TABLES:
        whole, chosen = rows(folder / f"{name}.csv"), rows(tmp_path / f"{name}.csv")
        assert chosen == [row for row in whole if row["approach"] in approaches]
        assert list(dict.fromkeys(row["approach"] for row in chosen)) == approaches
    made = {path.name for path in tmp_path.iterdir()}
    drawn = FIGURES if "camcast" in protocols else []
    assert {name for name in made if name.startswith(("figure", "involved"))} == {
        f"{name}{end}" for name in drawn for end in FIGURE_ENDS
    }
    for name in made - {"cells.jsonl", "index.html"}:
        # pictures have numbers that a process gives them
        if not name.startswith(("table", "evidence")) and not name.endswith(".svg"):
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    page = (tmp_path / "index.html").read_text()
    assert [name for name in Page(page).ids if name in FIGURES] == drawn
    assert f"--protocol {','.join(protocols)} --runs {RUNS_HERE}" in page
    assert ("gossip broadcast was" in page.lower()) == ("broadcast" in protocols)
    both = {row["item"]: row for row in rows(folder / "evidence.csv")}
    few = rows(tmp_path / "evidence.csv") if (tmp_path / "evidence.csv").exists() else []
    assert all(both[row["item"]] == row for row in few)
    kept = [row["item"] for row in few if row["item"].startswith("Table")]
    assert {item.split(", ")[1] for item in kept} == {a for a in approaches if a[0] == "("}
    assert any(row["item"] == "Figure 15" for row in few) == bool(drawn)


@pytest.mark.slow  # as all that need the finished folder: 12 s
def test_the_command_computes_the_chosen_cells_alone(
    folder: Path, tmp_path: Path, capfd: Capture
) -> None:
    """By itself the choice comes to the same, row by row, and cell by cell."""
    options = ["--protocol", "hierarchical,multicast", "--runs", RUNS_HERE, "--seed", 3]
    assert camcast("reproduce", *options, "--output", tmp_path / "out", "--workers", 1) == 0
    printed = capfd.readouterr().out
    assert "hierarchical gossip broadcast" in printed
    assert "CAMCAST" not in printed
    found = (tmp_path / "out" / "cells.jsonl").read_text().splitlines()
    plan = CamcastPlan(runs=RUNS_HERE, seed=3, protocols=("multicast", "hierarchical"))
    assert len(found) == len(CAMCAST.cells(plan)) == 12
    assert set(found) <= set((folder / "cells.jsonl").read_text().splitlines())
    assert (tmp_path / "out" / "plan.json").read_bytes() == (folder / "plan.json").read_bytes()
    for name in TABLES:
        whole = rows(folder / f"{name}.csv")
        chosen = [row for row in whole if row["approach"].startswith("4.2")]
        assert rows(tmp_path / "out" / f"{name}.csv") == chosen
        assert all(row["published"] == row["deviation"] == "" for row in chosen)


@pytest.mark.slow  # as all that need the finished folder: 12 s
def test_a_baseline_s_row_is_what_its_simulator_says(folder: Path) -> None:
    setting = baseline("hierarchical", setting_of((100, 100, 100)), published_in=2)
    expected = baselines.simulate(setting, RUNS_HERE, 3).parasite_copies
    (row,) = (
        row
        for row in rows(folder / "table2.csv")
        if row["approach"].startswith("4.2 (c)")
        and row["topology"] == "100 (j = 2)"
        and row["how"] == "measured"
    )
    assert float(row["mean"]) == expected.mean()
    assert row["runs"] == str(RUNS_HERE)


# -- the page -------------------------------------------------------------------------------------


@pytest.mark.slow  # as all that need the finished folder: 12 s
def test_the_page_has_the_published_numbers_and_how_it_was_made(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    command = f"camcast reproduce camcast --runs {RUNS_HERE} --seed 3 --engine population"
    numbers = ("8.91", "11,216", "hpmcast R = 3, l = 3, F = 4", "Table 1", "Table 2")
    for part in (*numbers, "Seed 3", "altair", "numba", command):
        assert part in text, part


def test_what_is_in_a_script_does_not_end_it() -> None:
    ended = in_script('"</script>" "</SCRIPT>" "</p>"')
    assert ended == '"<\\/script>" "<\\/SCRIPT>" "</p>"'
    assert "</script" not in in_script(drawing.script()).lower()


# -- stopping and continuing ----------------------------------------------------------------------


@pytest.mark.slow  # as all that need the finished folder: 12 s
def test_the_same_again_computes_nothing_and_writes_the_same(folder: Path, capfd: Capture) -> None:
    def content() -> dict[str, bytes]:
        """Return the files' contents, but for the numbers that a process gives its pictures."""
        numbers = re.compile(rb"\bclip\d+")
        return {path.name: numbers.sub(b"clip", path.read_bytes()) for path in folder.iterdir()}

    before = content()
    assert len(before["cells.jsonl"].splitlines()) == len(CAMCAST.cells(PLAN))
    (folder / "figure15.svg").unlink()
    found = answer(capfd, "reproduce", "camcast", "--output", folder, *OPTIONS)
    assert content() == before
    assert [table["number"] for table in found["tables"]] == [1, 2]
    assert [figure["name"] for figure in found["figures"]] == FIGURES
    assert found["output"] == str(folder)


def test_an_interrupt_leaves_a_folder_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "out"
    command = [sys.executable, "-W", "error", "-m", "camcast", "reproduce", "camcast"]
    options = ["--output", str(path), "--runs", "1000", "--workers", "2"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    wait_until((path / "cells.jsonl").exists, process)
    time.sleep(1.0)  # until workers are at work; not needed for the outcome
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130
    assert "interrupted" in said
    assert "continues" in said
    assert "Traceback" not in said
    assert {file.name for file in path.iterdir()} == {"plan.json", "cells.jsonl"}


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.slow  # as all that need the finished folder: 12 s
@pytest.mark.parametrize("other", [["--runs", 3], ["--seed", 4], ["--engine", "chain"]])
def test_other_parameters_are_refused(folder: Path, other: list[Any], capfd: Capture) -> None:
    given = {"--runs": RUNS_HERE, "--seed": 3, **dict([other])}
    options = [part for pair in given.items() for part in pair]
    before = (folder / "cells.jsonl").read_bytes()
    code, error = refusal(capfd, "reproduce", "camcast", "--output", folder, *options)
    assert code == 2
    assert "has a reproduction of" in error
    assert (folder / "cells.jsonl").read_bytes() == before


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(FolderError, match="not empty"):
        PlanFolder(tmp_path, CAMCAST, CamcastPlan())
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(FolderError, match="nobody knows what"):
        PlanFolder(tmp_path, CAMCAST, CamcastPlan())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "thesis.tex"]


def test_a_plan_that_was_cut_short_is_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    PlanFolder(tmp_path, CAMCAST, CamcastPlan())
    whole = (tmp_path / "plan.json").read_bytes()
    (tmp_path / "cells.jsonl").touch()  # each cell names what it is of
    for length in (0, 1, len(whole) // 2):
        (tmp_path / "plan.json").write_bytes(whole[:length])
        PlanFolder(tmp_path, CAMCAST, CamcastPlan())
        assert (tmp_path / "plan.json").read_bytes() == whole
        assert "plan.json is cut short, and is written again" in caplog.text


@pytest.mark.parametrize(
    "package",
    [
        "numpy",
        *(pytest.param(p, marks=pytest.mark.slow) for p in ("numba", "altair", "vl_convert")),
    ],
)
def test_missing_extras_are_named(package: str, tmp_path: Path) -> None:
    without = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"  # as if it were not installed
        f"sys.argv = ['camcast', 'reproduce', 'camcast', '--output', {str(tmp_path / 'out')!r}]\n"
        "from camcast.cli.app import main\n"
        "main()\n"
    )
    done = python("-c", without, seconds=TIMEOUT_SECONDS)
    assert done.returncode == 1
    assert f"needs {package}" in done.stderr
    assert "pip install 'camcast[sim,report]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


# -- the engines ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "simulate"),
    [
        ("population", population.simulate),
        ("chain", count_chain.simulate),
        pytest.param("virtual", static_network.simulate, marks=pytest.mark.slow),
    ],
)
def test_a_cell_is_what_its_engine_s_simulator_gives(engine: Engine, simulate: Any) -> None:
    listed = CAMCAST.cells(CamcastPlan(runs=2, engine=engine))
    cell: Any = next(cell for cell in listed if cell.get("weak"))
    assert cell["engine"] == engine
    found: Any = compute(cell)
    expected = simulate(setting_of(crash=cell["crash"], weak=True), 2, 1)
    assert found["communities"] == [community.as_json() for community in expected.communities]


@pytest.mark.slow
def test_claims_on_camcast_have_their_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that tests/research/papers/test_camcast_simulation.py comes to. A quarter of the usual
    number of runs is enough, but for Figure 16."""
    # test_simulators_agree compares the simulators
    monkeypatch.setattr("camcast.research.papers.camcast_setting.RUNS_VIRTUAL_MAX", 5)
    monkeypatch.setattr("camcast.research.papers.camcast_tables.RUNS_PARASITES_MAX", 4)
    plan = CamcastPlan(runs=1000, protocols=("camcast", "broadcast"))
    found = PlanFolder(tmp_path, CAMCAST, plan).reproduce(None)
    verdicts = {row.item: row.verdict for row in found.evidence}
    expected = {
        **dict.fromkeys(("Figure 13", "Figure 14", "Figure 15", "6.1.2, Figure 16"), "consistent"),
        **dict.fromkeys(("6.1.2, Figure 14", "Table 1, (1) CAMCAST, jointly"), "differs"),
        **dict.fromkeys(("1.4, 5 %", "Figure 17", "Figure 18"), "in part"),
    }
    assert {item: verdicts[item] for item in expected} == expected
