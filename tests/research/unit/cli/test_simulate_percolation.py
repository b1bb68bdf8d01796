"""`camcast simulate percolation` as a user meets it, and `simulate` as a family of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.camcast_command import Capture, answer, camcast

SMALL = ["--degrees", "poisson:4,300", "--sigma", 0.2, "--gamma", 0.3]


def percolation(capfd: Capture, *arguments: object) -> Any:
    return answer(capfd, "simulate", "percolation", *arguments)


def test_it_prints_what_the_documentation_says(capfd: Capture) -> None:
    """(003, V-B2) 2,482 nodes. Of 120 events 7 % end at once: ±100 in the mean, twice that here."""
    given = ["--degrees", "powerlaw:6,1", "--sigma", 0.1, "--gamma", 0.6]
    printed = percolation(capfd, *given, "--networks", 3, "--events", 40, "--seed", 1)
    assert printed["nodes"] == 2482
    for measure in ("receivers", "subscribers", "messages", "missed", "duplicates", "parasites"):
        figure = printed[measure]
        assert list(figure) == ["mean", "low", "high"]
        assert figure["low"] <= figure["mean"] <= figure["high"]
    assert printed["receivers"]["mean"] == pytest.approx(2127, abs=200)
    assert printed["model"]["receivers"] == pytest.approx(2127, abs=1)
    assert printed["model"]["receivers_infinite"] is None
    assert printed["model"]["percolates"] == pytest.approx(0.927, abs=0.001)
    assert printed["setting"]["networks"] == 3


def test_below_the_threshold_the_model_is_equation_17(capfd: Capture) -> None:
    given = ["--degrees", "poisson:5,2000", "--sigma", 0.05, "--gamma", 0.05]
    printed = percolation(capfd, *given, "--networks", 20, "--events", 50)
    model = printed["model"]
    assert model["receivers"] == model["receivers_infinite"] == pytest.approx(1 + 0.4875 / 0.5125)
    assert model["subscribers_of_the_paper"] == pytest.approx(0.05 * model["receivers"])
    assert printed["receivers"]["low"] <= model["receivers"] <= printed["receivers"]["high"]


def test_an_overlay_from_a_file(tmp_path: Path, capfd: Capture) -> None:
    path = tmp_path / "ring.txt"
    path.write_text("# a ring\n" + "".join(f"{n} {(n + 1) % 30}\n" for n in range(30)))
    given = ["--degrees", f"file:{path}", "--sigma", 0, "--gamma", 1]
    printed = percolation(capfd, *given, "--networks", 2, "--events", 5)
    assert printed["nodes"] == 30
    assert printed["receivers"] == {"mean": 30, "low": 30, "high": 30}
    assert printed["hops"]["mean"] == 15
    near = percolation(capfd, *given, "--networks", 2, "--events", 5, "--ttl", 3)
    assert near["receivers"]["mean"] == 7


@pytest.mark.slow
def test_the_seed_determines_everything_however_it_is_split(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = [*SMALL, "--networks", 4, "--events", 10]
    once = percolation(capfd, *shape, "--seed", 3)
    monkeypatch.setattr("camcast.research.cli.simulate_percolation.CELL_NODES", 0)
    assert percolation(capfd, *shape, "--seed", 3, "--workers", 2) == once
    assert percolation(capfd, *shape, "--seed", 4, "--workers", 1) != once


def test_a_person_is_told_in_words(capfd: Capture) -> None:
    few = ["--networks", 2, "--events", 5]
    for sigma, said in ((0.01, "so that Equation 17 holds"), (0.5, "so that Equation 17 diverges")):
        given = ["--degrees", "poisson:4,300", "--sigma", sigma, "--gamma", 0]
        assert camcast("simulate", "percolation", *given, *few) == 0
        assert said in capfd.readouterr().out


@pytest.mark.parametrize("option", ["--networks", "--events"])
def test_a_wrong_number_is_a_usage_error(option: str, capfd: Capture) -> None:
    assert camcast("simulate", "percolation", *SMALL, option, 0) == 2
    assert option in capfd.readouterr().err


# -- the family ------------------------------------------------------------------------------------


def test_the_options_may_come_before_the_simulator(capfd: Capture) -> None:
    """As they could when there was one command with the simulator as its argument."""
    options = ["--sizes", "50,10", "--runs", 5]
    after = answer(capfd, "simulate", "chain", *options)
    assert answer(capfd, "simulate", *options, "chain") == after
