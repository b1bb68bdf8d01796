"""`camcast reproduce --protocol`: which paper, which cells, which rows; what is refused.

That CAMCAST's tables keep their numbers is in test_camcast.py, which has the whole at hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import attrs
import pytest

from camcast.cli.app import app
from camcast.doors.plugs import PROTOCOL_GROUP, shipped
from camcast.research.papers import hpmcast_paper
from camcast.research.papers.all_papers import CAMCAST, DAMULTICAST, HPMCAST, PAPERS
from camcast.research.papers.camcast_setting import CamcastPlan
from camcast.research.papers.hpmcast_paper import HpmcastPlan
from camcast.research.papers.paper import Given, Kind, Results, choose, key_of, protocols_of
from camcast.research.papers.plan_folder import PlanFolder
from camcast.research.report.evidence import statement
from camcast.research.sweeps import SweepError
from camcast.research.systems.registry import SYSTEMS
from tests.camcast_command import Capture, refusal
from tests.research.unit.papers.page import Page

PAPER_OF_PROTOCOL = {
    **dict.fromkeys(("camcast", "broadcast", "multicast", "hierarchical"), "camcast"),
    **dict.fromkeys(("rfpbcast", "pmcast", "hpmcast"), "hpmcast"),
    "percolation": "percolation",
}


def said(arguments: Sequence[object], capfd: Capture) -> tuple[int, str]:
    """Run `camcast reproduce`; return the exit code and what it says on stderr."""
    with pytest.raises(SystemExit) as ended:
        app(["reproduce", *map(str, arguments)], prog_name="camcast")
    assert isinstance(ended.value.code, int)
    return ended.value.code, capfd.readouterr().err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of computing anything, a folder fails with the command that it is made by."""

    def fail(folder: PlanFolder[Any, Any], *_: object) -> None:
        raise SweepError(folder.command)

    monkeypatch.setattr(PlanFolder, "reproduce", fail)


# -- which paper ----------------------------------------------------------------------------------


def test_every_protocol_has_a_paper_and_every_paper_protocols() -> None:
    assert {name: system.papers[0] for name, system in SYSTEMS.items()} == PAPER_OF_PROTOCOL
    assert sorted(SYSTEMS) == shipped(PROTOCOL_GROUP)
    assert {paper for system in SYSTEMS.values() for paper in system.papers} == set(PAPERS)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("protocol", SYSTEMS)
def test_without_a_paper_it_is_the_protocol_s_own(
    protocol: str, tmp_path: Path, capfd: Capture
) -> None:
    code, text = said(["--protocol", protocol, "--output", tmp_path / "out"], capfd)
    assert code == 1
    # percolation is all that its paper has, so that nothing is left to choose
    chosen = "" if protocol == "percolation" else f" --protocol {protocol}"
    assert f"camcast reproduce {PAPER_OF_PROTOCOL[protocol]}{chosen} --runs" in text


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["camcast", "--protocol", "hpmcast,pmcast"], "camcast --protocol pmcast,hpmcast --runs"),
        (["--protocol", "broadcast, camcast"], "camcast --protocol camcast,broadcast --runs"),
        (["--protocol", "camcast,hpmcast"], "camcast --protocol camcast,hpmcast --runs"),
        (["--protocol", "hpmcast,rfpbcast,pmcast,pmcast"], "hpmcast --runs"),
        (["memberships", "--protocol", "camcast"], "memberships --runs"),
        (["--protocol", "percolation", "--events", "7"], "percolation --runs 20 --events 7"),
    ],
)
def test_the_command_is_in_the_paper_s_order_and_without_what_is_all(
    arguments: list[str], command: str, tmp_path: Path, capfd: Capture
) -> None:
    assert (
        f"camcast reproduce {command}" in said([*arguments, "--output", tmp_path / "o"], capfd)[1]
    )


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--protocol", "carrier-pigeon"], ["unknown protocol 'carrier-pigeon'; installed: "]),
        (["--protocol", ""], ["unknown protocol ''"]),
        (["camcast", "--protocol", "camcast,"], ["unknown protocol ''"]),
        (
            ["hpmcast", "--protocol", "camcast"],
            ["hpmcast is about camcast, but of camcast and damul", "rfpbcast, pmcast, hpmcast"],
        ),
        (["--protocol", "hpmcast,broadcast"], ["no table or figure of hpmcast is about broadcast"]),
        (["memberships", "--protocol", "hierarchical"], ["those of memberships are about camcast"]),
        (["camcast", "--protocol", "rfpbcast"], ["about rfpbcast, but of hpmcast; those of camc"]),
        (["percolation", "--protocol", "pmcast"], ["about pmcast, but of camcast and damulticast"]),
        (["sonnets", "--protocol", "camcast"], ["unknown paper 'sonnets'; known: camcast"]),
        (
            ["--protocol", "hpmcast", "--engine", "chain"],
            ["--engine is for camcast and damulticast, not for hpmcast"],
        ),
        (["sonnets"], ["unknown paper 'sonnets'; known: camcast, damulticast, memberships"]),
        (["all", "--runs", 2], ["--runs is for one paper, not for all"]),
        (["all", "--protocol", "camcast"], ["--protocol is for one paper, not for all"]),
        (["damulticast", "--events", 3], ["--events is for percolation and memberships, not for"]),
        (["damulticast", "--protocol", "multicast"], ["those of damulticast are about"]),
        (["camcast", "--runs", 1], ["runs is 1; give 2 or more"]),
        (["camcast", "--engine", "steam"], ["unknown engine 'steam'; known: population, chain"]),
        (["camcast", "--preset", "paper"], ["--preset is for memberships, not for camcast"]),
        (["memberships", "--preset", "lecture"], ["unknown preset 'lecture'; there is: paper"]),
        (["memberships", "--runs", 0], ["runs is 0; give 1 or more"]),
        (["hpmcast", "--membership", "dht"], ["--membership is for memberships, not for hpmcast"]),
        (["percolation", "--runs", 1], ["runs is 1; give 2 or more"]),
        (["percolation", "--events", 0], ["events is 0; give 1 or more"]),
        (["hpmcast", "--runs", 1], ["runs is 1; give 2 or more"]),
    ],
)
def test_what_does_not_fit_is_told_so(
    arguments: list[object], parts: list[str], tmp_path: Path, capfd: Capture
) -> None:
    code, text = said([*arguments, "--output", tmp_path / "out"], capfd)
    assert code == 2
    assert len(text.splitlines()) == 1
    assert all(part in text for part in parts), text
    assert not (tmp_path / "out").exists()


def test_without_a_paper_and_a_protocol_both_are_named(capfd: Capture) -> None:
    code, text = said([], capfd)
    assert code == 2
    assert "Usage: camcast reproduce" in text
    assert "Missing argument 'PAPER', or option '--protocol'." in text


def test_a_plan_is_of_its_paper_s_protocols() -> None:
    with pytest.raises(ValueError, match="no protocol is chosen; hpmcast has rfpbcast"):
        HpmcastPlan(protocols=())
    assert choose("camcast", protocols_of("camcast")) is None


def test_all_has_a_folder_a_paper_and_one_file_of_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def found(folder: PlanFolder[Any, Any], *_: object) -> Any:
        return SimpleNamespace(evidence=[statement("000", folder.paper.name, "?", [True], "!")])

    monkeypatch.setattr(PlanFolder, "reproduce", found)
    with pytest.raises(SystemExit) as ended:
        app(["reproduce", "all", "--seed", "7", "--output", str(tmp_path)], prog_name="camcast")
    assert not ended.value.code
    assert capfd.readouterr().out.startswith("5 statements: agrees 0, consistent 5")
    listed = json.loads((tmp_path / "evidence.json").read_text())
    assert [row["item"] for row in listed] == list(PAPERS)
    for row in listed:
        assert row["command"].startswith(f"camcast reproduce {row['item']} ")
        assert "--seed 7" in row["command"]
        assert (tmp_path / row["item"] / "plan.json").exists()


def test_all_refuses_a_folder_of_something_else_before_any_paper_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.setattr(PlanFolder, "reproduce", lambda *_: pytest.fail("a paper was computed"))
    last = tmp_path / list(PAPERS)[-1]
    last.mkdir()
    (last / "notes.txt").touch()
    code, error = refusal(capfd, "reproduce", "all", "--output", tmp_path)
    assert (code, f"{last} is not empty" in error) == (2, True), error


# -- which cells ----------------------------------------------------------------------------------


def test_the_cells_of_camcast_s_protocols_are_those_of_all() -> None:
    def of(*protocols: str) -> set[str]:
        plan = CamcastPlan(runs=2, protocols=protocols or None)
        return {json.dumps(cell, sort_keys=True) for cell in CAMCAST.cells(plan)}

    whole = of()
    alone = [of(protocol) for protocol in protocols_of("camcast") if protocol != "pmcast"]
    assert all(one < whole for one in alone)
    assert all(not one & other for one, other in combinations(alone, 2))
    # beside each other they have the comparison of 1.4
    beside = of("camcast", "broadcast") - of("camcast") - of("broadcast")
    assert len(beside) == 1
    assert set().union(*alone, beside) == whole
    assert of("pmcast") == of("hpmcast") == of("pmcast", "hpmcast")


def test_the_cells_of_damulticast_are_some_of_camcast_s() -> None:
    """Its two figures are of the four of reception and reliability; 1.4 and 2.2 are not its."""
    ours, theirs = (
        {key_of(cell) for cell in paper.cells(paper.plan(runs=2))}
        for paper in (DAMULTICAST, CAMCAST)
    )
    assert len(ours) > 50
    assert ours < theirs


@pytest.mark.parametrize(
    "protocols",
    [chosen for size in (1, 2) for chosen in combinations(protocols_of("hpmcast"), size)],
)
def test_what_is_chosen_of_hpmcast_is_that_of_the_whole(
    protocols: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures and evidence are those of the whole. What the cells say is made up: it is the same
    for the same cell."""

    def made_up(kind: Kind, cell: Given) -> Any:
        mean = 0.5 + crc32(key_of(cell).encode()) % 1000 / 2000
        return json.loads(json.dumps(kind.example(cell)).replace("1.0", str(mean)))

    kinds = {
        name: attrs.evolve(kind, example=partial(made_up, kind))
        for name, kind in HPMCAST.kinds.items()
    }
    monkeypatch.setattr(hpmcast_paper, "needed_rounds", lambda *_, **__: 1.0)  # seconds, of no cell
    whole = HPMCAST.together(Results(HpmcastPlan(), kinds))
    chosen = HPMCAST.together(Results(HpmcastPlan(protocols=protocols), kinds))
    of = {"rfpbcast": ("rfpbcast",), "pmcast": ("figure9", "pmcast")}
    others = [name for names in of.values() for name in names]
    names = {name for protocol in protocols for name in of.get(protocol, ())}
    assert chosen.figures == tuple(
        figure
        for figure in whole.figures
        if figure.name in names or ("hpmcast" in protocols and figure.name not in others)
    )
    assert set(chosen.evidence) <= set(whole.evidence)
    assert chosen.evidence


@pytest.mark.slow  # 6 s; each paper's folder goes on in its own test
def test_a_folder_goes_on_with_another_choice(tmp_path: Path, small_pictures: None) -> None:
    """pmcast; both; pmcast again: each computes what is missing, and shows what is chosen."""
    calls: list[tuple[int, int]] = []

    def reproduce(*protocols: str) -> tuple[int, int]:
        """Return how many cells were there before, and how many there are to be."""
        plan = HpmcastPlan(runs=2, protocols=protocols)
        PlanFolder(tmp_path, HPMCAST, plan).reproduce(1, lambda *call: calls.append(call))
        first, *_, last = calls if len(calls) > 1 else calls * 2
        calls.clear()
        assert first[1] == last[0] == len(HPMCAST.cells(plan))
        return first

    def drawn() -> list[str]:
        page = Page((tmp_path / "index.html").read_text())
        return [name for name in page.ids if (tmp_path / f"{name}.csv").exists()]

    _, all_of_one = reproduce("rfpbcast")
    assert drawn() == ["rfpbcast"]
    assert {path.name for path in tmp_path.iterdir()} == {
        *("plan.json", "cells.jsonl", "index.html", "evidence.csv", "evidence.json"),
        *(f"rfpbcast{end}" for end in (".csv", ".json", ".svg", ".png", ".vl.json")),
    }
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    there, all_of_both = reproduce("rfpbcast", "pmcast")
    assert 0 < there == all_of_one < all_of_both
    assert drawn() == ["figure9", "rfpbcast", "pmcast"]
    lines = (tmp_path / "cells.jsonl").read_bytes()
    assert lines.startswith(before["cells.jsonl"])
    assert reproduce("rfpbcast") == (all_of_one, all_of_one)
    assert (tmp_path / "cells.jsonl").read_bytes() == lines
    assert drawn() == ["rfpbcast"]
    for name in before:  # but for numbers that a process gives its pictures
        if name.endswith((".csv", ".json", ".png")):
            assert (tmp_path / name).read_bytes() == before[name], name
