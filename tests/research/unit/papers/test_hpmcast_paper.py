"""`camcast reproduce hpmcast`: cells, figures, claims; the whole folder as a slow test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from camcast.research.papers.all_papers import HPMCAST
from camcast.research.papers.hpmcast_flat import FLAT_PROCESSES, infections
from camcast.research.papers.hpmcast_paper import (
    DEPTH_PROCESSES,
    DEPTHS,
    Found,
    HpmcastPlan,
    compute,
    deep,
    hierarchy,
    scaled,
)
from camcast.research.systems.hpmcast.pmcast_law import completion_rounds
from camcast.research.systems.hpmcast.tree_population import reception, simulate
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from tests.research.unit.papers.folder_contract import FolderContract, reproduce

FIGURES = [
    *("figure7", "figure8", "figure9", "figure10", "figure10_rounds", "figure11", "figure12"),
    *("figure13", "parasites", "depth", "rfpbcast", "pmcast"),
]


def computed(asked: Found) -> Any:
    """Return the result of the only cell that was asked for."""
    (cell,) = asked.asked.values()
    return compute(cell)


def test_every_cell_is_a_setting_that_can_be_simulated() -> None:
    listed = HPMCAST.cells(HpmcastPlan(runs=2))
    assert len(listed) > 100
    assert {cell["kind"] for cell in listed} == {"tree", "flat", "infection"}
    assert all(deep(depth)["arity"] ** depth == DEPTH_PROCESSES for depth in DEPTHS)
    figure11 = {"arity": 10, "depth": 3, "redundancy": 4, "fan_out": 3, "interested": 0.5}
    assert scaled(10, 0.5) == figure11


def test_a_cell_is_what_the_simulator_says() -> None:
    asked = HPMCAST.results(HpmcastPlan(runs=5, seed=3))
    hierarchy(asked, interested=0.01)
    found = computed(asked)
    spread = simulate(HpmcastSetting(interested=0.01), 5, 3)
    measures = spread.measures() | {"reception": reception(spread)}
    counted = ("reception", "rounds", "messages", "parasites", "parasite_copies")
    expected = {name: measures[name].as_json() for name in counted}
    assert {name: found[name] for name in expected} == expected
    assert found["model"]["rounds"] == found["rounds"]["mean"]


def test_a_flat_cell_has_the_exact_chain_beside_it() -> None:
    asked = HPMCAST.results(HpmcastPlan(runs=200))
    asked.of("flat", interested=20)
    found = computed(asked)
    assert found["model"] == completion_rounds(FLAT_PROCESSES - 1, 19, 2)
    assert found["completion"]["low"] < found["model"] < found["completion"]["high"]


@pytest.mark.parametrize("protocol", ["rfpbcast", "pmcast"])
def test_an_infection_cell_has_the_exact_chain_beside_it(protocol: str) -> None:
    """Whoever has the event after each round, within five standard errors of the chain's mean."""
    for curve in infections(protocol):
        asked, interested = HPMCAST.results(HpmcastPlan(runs=300)), curve["interested"]
        asked.of("infection", **curve)
        found = computed(asked)
        assert found["models"][0] == 1 / interested
        assert found["shares"][0]["mean"] == pytest.approx(1 / interested, abs=1e-12)
        assert found["models"][-1] > 0.95
        for share, model in zip(found["shares"][1:], found["models"][1:], strict=True):
            error = (share["high"] - share["mean"]) / 1.96
            assert abs(share["mean"] - model) <= max(5 * error, 1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished reproduction of few runs, made by the command."""
    path = tmp_path_factory.mktemp("hpmcast") / "out"
    printed = json.loads(reproduce("hpmcast", "--output", path, "--runs", 5, "--json").stdout)
    assert [figure["name"] for figure in printed["figures"]] == FIGURES
    assert len(printed["evidence"]) == 23
    return path


@pytest.mark.slow
class TestFolder(FolderContract):
    PAPER, PLAN, FIGURES = HPMCAST, HpmcastPlan(runs=5), FIGURES
