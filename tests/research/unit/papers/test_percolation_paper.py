"""`camcast reproduce percolation` as a user meets it: the folder, the page, continuing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from camcast.research.cli.reproduce import PRINTERS
from camcast.research.papers import percolation_paper
from camcast.research.papers.all_papers import PERCOLATION
from camcast.research.papers.paper import Reproduction
from camcast.research.papers.percolation_paper import PercolationPlan
from camcast.research.papers.plan_folder import PlanFolder
from camcast.research.report.evidence import NO_DATA
from camcast.research.systems.percolation import graphs
from tests.printed_json import checked
from tests.research.unit.papers.folder_contract import (
    FolderContract,
    fits_a_terminal,
    reproduce,
    rows,
)

Found = Reproduction[PercolationPlan]
FIGURES = [f"figure{number}" for number in range(1, 19)]
PLAN = PercolationPlan(runs=2, events=2, seed=3)


@pytest.fixture(scope="module")
def smaller() -> Iterator[None]:
    """A tenth of the nodes of Figures 3 to 5, which make most of the time of so few events."""
    whole = graphs.Poisson
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(percolation_paper, "Poisson", lambda mean, nodes: whole(mean, nodes // 10))
        yield


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, smaller: None, small_pictures: None
) -> tuple[Path, Found]:
    path = tmp_path_factory.mktemp("percolation") / "out"
    return path, PlanFolder(path, PERCOLATION, PLAN).reproduce(workers=1)


@pytest.fixture
def folder(made: tuple[Path, Found]) -> Path:
    return made[0]


@pytest.mark.slow
class TestFolder(FolderContract):
    PAPER, PLAN, FIGURES = PERCOLATION, PLAN, FIGURES


def test_what_the_paper_says_fits_a_terminal(
    made: tuple[Path, Found], capsys: pytest.CaptureFixture[str]
) -> None:
    PRINTERS["percolation"](made[1])
    printed = capsys.readouterr().out
    assert fits_a_terminal(printed)
    with_data = [row for row in made[1].evidence if not row.found.startswith(NO_DATA)]
    assert printed.count("found:") == len(with_data) > 20


@pytest.mark.parametrize("number", [3, 4, 5, *range(7, 19)])
def test_a_figure_has_networks_means_intervals_and_the_model(folder: Path, number: int) -> None:
    found = rows(folder / f"figure{number}.csv")
    alone = [row for row in found if row["sample"]]
    means = [row for row in found if not row["sample"]]
    assert len(alone) == PLAN.runs * len(means)
    for row in means:
        assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
        networks = [
            float(other["mean"])
            for other in alone
            if all(other[name] == row[name] for name in ("series", "x"))
        ]
        assert float(row["mean"]) == pytest.approx(sum(networks) / len(networks))
        # below the transition the paper's equations have a value, above it none
        assert bool(row["formula"]) == (number == 3)
        if number == 3:
            assert row["formula"] == row["model"]
    assert len({row["x"] for row in means}) == (8 if number == 3 else 10 if number < 6 else 12)


@pytest.mark.parametrize("number", [1, 2])
def test_the_model_s_figures_end_at_their_transitions(folder: Path, number: int) -> None:
    found = rows(folder / f"figure{number}.csv")
    assert {row["panel"] for row in found} == {"receivers", "subscribers among them"}
    assert all(not row["mean"] for row in found)
    ends = {float(row["series"].split("= ")[1]): float(row["x"]) for row in found}
    least = {1: 0.2, 2: 0.573}[number]
    assert list(ends) == sorted(ends)
    for gamma, end in ends.items():
        transition = (least - gamma) / (1 - gamma)
        assert 0.7 * transition < end < transition


def test_figure_6_has_all_degrees(folder: Path) -> None:
    found = rows(folder / "figure6.csv")
    first = [row for row in found if row["series"] == "powerlaw:6,1"]
    assert sum(int(row["mean"] or 0) for row in first) == 2482
    assert [int(row["formula"]) for row in first[:3]] == [403, 201, 134]
    assert sum(row["formula"] != row["mean"] for row in found) <= 4  # two odd stubs


def test_the_page_has_the_size_of_the_paper(folder: Path) -> None:
    assert "2,482 nodes" in (folder / "index.html").read_text()


def test_what_needs_no_chance_has_its_verdict(made: tuple[Path, Found]) -> None:
    by_item = {row.item: row.verdict for row in made[1].evidence}
    assert by_item["V-B2"] == "agrees"
    assert by_item["Figure 1"] == by_item["Figure 6"] == "consistent"
    assert by_item["Table I"] == "cannot be judged"


@pytest.mark.slow
def test_the_command_and_what_the_paper_concludes(tmp_path: Path) -> None:
    """A corpus of the paper's networks and a tenth of its events, by the command."""
    done = reproduce("percolation", "--events", 40, "--output", tmp_path / "out", "--json")
    found = checked(json.loads(done.stdout))
    assert [figure["name"] for figure in found["figures"]] == FIGURES
    verdicts = {row["item"]: row["verdict"] for row in found["evidence"]}
    expected = {
        **dict.fromkeys(("IV-C", "Figure 7", "Figure 8"), "differs"),
        **dict.fromkeys(("Figure 1", "Figure 2", "Figure 3", "Figure 6"), "consistent"),
        "V-B2": "agrees",
        "VI": "in part",
        "VI, links": "differs",
    }
    assert {item: verdicts[item] for item in expected} == expected
