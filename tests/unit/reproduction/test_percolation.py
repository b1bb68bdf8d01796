"""`camcast reproduce percolation` as a user meets it: the folder, the page, continuing."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from camcast.cli.app import app
from camcast.population import graphs
from camcast.reproduction.paper import FiguresAndClaims
from camcast.reproduction.papers import PERCOLATION
from camcast.reproduction.percolation import cells as percolation_cells
from camcast.reproduction.percolation import paper as percolation_paper
from camcast.reproduction.percolation.charts import draw
from camcast.reproduction.percolation.figures import Figure
from camcast.reproduction.percolation.plan import Plan
from camcast.reproduction.plan_folder import FolderError, PlanFolder
from tests.unit.reproduction.page import Page

Reproduction = FiguresAndClaims[Plan, Figure]
FIGURES = [f"figure{number}" for number in range(1, 19)]
PLAN = Plan(runs=2, events=2, seed=3)


@pytest.fixture(scope="module")
def smaller() -> Iterator[None]:
    """A tenth of the nodes of Figures 3 to 5, which make most of the time of so few events."""
    whole = graphs.Poisson
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(percolation_cells, "Poisson", lambda mean, nodes: whole(mean, nodes // 10))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, smaller: None) -> tuple[Path, Reproduction]:
    path = tmp_path_factory.mktemp("percolation") / "out"
    return path, PlanFolder(path, PERCOLATION, PLAN).reproduce(workers=1)


@pytest.fixture
def folder(made: tuple[Path, Reproduction]) -> Path:
    return made[0]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_folder_has_every_figure(folder: Path) -> None:
    ends = (".csv", ".json", ".svg", ".png", ".vl.json")
    expected = {"plan.json", "cells.jsonl", "index.html", "claims.csv", "claims.json"}
    expected |= {f"{name}{end}" for name in FIGURES for end in ends}
    assert {path.name for path in folder.iterdir()} == expected


@pytest.mark.parametrize("number", [3, 4, 5, *range(7, 19)])
def test_a_figure_has_networks_means_intervals_and_the_model(folder: Path, number: int) -> None:
    found = rows(folder / f"figure{number}.csv")
    alone = [row for row in found if row["network"]]
    means = [row for row in found if not row["network"]]
    assert len(alone) == PLAN.runs * len(means)
    for row in means:
        assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
        smaller_by = 10 if row["overlay"].startswith("poisson") else 1
        assert 0 <= float(row["model"]) <= smaller_by * float(row["nodes"])
        networks = [
            float(other["mean"])
            for other in alone
            if all(other[name] == row[name] for name in ("overlay", "sigma", "gamma", "measure"))
        ]
        assert float(row["mean"]) == pytest.approx(sum(networks) / len(networks))
        # below the transition the paper's equations have a value, above it none
        assert bool(row["paper"]) == (number == 3)
        if row["measure"] == "receivers" and number == 3:
            assert row["paper"] == row["model"]
    varied = {(row["sigma"], row["gamma"]) for row in means}
    assert len(varied) == (8 if number == 3 else 10 if number in (4, 5) else 12)


@pytest.mark.parametrize("number", [1, 2])
def test_the_model_s_figures_end_at_their_transitions(folder: Path, number: int) -> None:
    found = rows(folder / f"figure{number}.csv")
    assert {row["measure"] for row in found} == {"receivers", "subscribers"}
    assert all(not row["mean"] for row in found)
    ends = {}
    for row in found:
        ends[float(row["gamma"])] = float(row["sigma"])
    least = {1: 0.2, 2: 0.573}[number]
    assert list(ends) == sorted(ends)
    for gamma, end in ends.items():
        transition = (least - gamma) / (1 - gamma)
        assert 0.8 * transition < end < transition


def test_figure_6_has_all_degrees(folder: Path) -> None:
    found = rows(folder / "figure6.csv")
    first = [row for row in found if row["overlay"] == "powerlaw:6,1"]
    assert sum(int(row["nodes"]) for row in first) == 2482
    assert [int(row["wanted"]) for row in first[:3]] == [403, 201, 134]
    assert sum(int(row["wanted"]) != int(row["nodes"]) for row in found) <= 4  # two odd stubs


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_are_pictures(folder: Path, name: str) -> None:
    svg = ElementTree.parse(folder / f"{name}.svg").getroot()
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) > 10
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    as_json = json.loads((folder / f"{name}.json").read_text())
    assert as_json["title"]
    assert as_json["notes"]
    assert len(as_json["rows"]) == len(rows(folder / f"{name}.csv"))


def test_the_page_has_everything_and_needs_no_network(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    specs = re.search(r'id="specs">(.*?)</script>', text, re.DOTALL)
    assert specs is not None
    assert sorted(json.loads(specs[1])) == sorted(FIGURES)
    for name in FIGURES:
        assert f'<div id="{name}"><svg' in text
    assert Page(text).loads == []
    command = "camcast reproduce percolation --runs 2 --events 2 --seed 3"
    assert command in text
    assert "2,482 nodes" in text


def test_the_claims_name_their_sections(made: tuple[Path, Reproduction]) -> None:
    claims = made[1].claims
    assert len(claims) == 9
    assert all(claim.where and claim.quote and claim.holds and claim.found for claim in claims)
    by_place = {claim.where: claim.holds for claim in claims}
    assert by_place["V-B2"] == "yes"
    assert by_place["V-A, Figure 1"] == "yes"


def test_the_same_again_computes_nothing_and_draws_the_same(
    made: tuple[Path, Reproduction],
) -> None:
    path, before = made
    calls: list[tuple[int, int]] = []
    again = percolation_paper.reproduce(
        PLAN, path / "cells.jsonl", 1, lambda *call: calls.append(call)
    )
    cells = percolation_paper.reproduce.cells(PLAN)
    assert calls == [(len(cells), len(cells))]
    assert again == before
    for number in (1, 7):
        drawing = draw(again.figures[number - 1])
        assert drawing.svg_file.encode() == (path / f"figure{number}.svg").read_bytes()
        assert drawing.png == (path / f"figure{number}.png").read_bytes()
    with pytest.raises(FolderError, match="has a reproduction of"):
        PlanFolder(path, PERCOLATION, Plan(runs=2, events=2, seed=4))


def test_a_torn_run_continues(folder: Path, tmp_path: Path, smaller: None) -> None:
    lines = (folder / "cells.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cells.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    percolation_paper.reproduce(PLAN, tmp_path / "cells.jsonl", 1)
    continued = (tmp_path / "cells.jsonl").read_bytes().splitlines(keepends=True)
    assert continued == lines


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--runs", "1"], "runs is 1; give 2 or more"),
        (["--events", "0"], "events is 0; give 1 or more"),
        (["--engine", "chain"], "--engine is for camcast"),
    ],
)
def test_a_wrong_command_is_told_so(
    arguments: list[str], text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "percolation", *arguments, "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        app(command, prog_name="camcast")
    assert ended.value.code == 2
    assert text in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_command_and_what_the_paper_concludes(tmp_path: Path) -> None:
    """A corpus of the paper's networks and a quarter of its events, by the command."""
    command = [sys.executable, "-W", "error", "-m", "camcast", "reproduce", "percolation"]
    done = subprocess.run(
        [*command, "--events", "100", "--output", str(tmp_path / "out"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [figure["number"] for figure in found["figures"]] == list(range(1, 19))
    assert [claim["holds"] for claim in found["claims"]] == [
        *("no", "yes", "yes, in the mean over networks", "yes", "yes", "yes"),
        *("of events that spread", "of events that spread", "below the transition"),
    ]
