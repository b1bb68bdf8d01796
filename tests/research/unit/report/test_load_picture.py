"""The picture of the load of a process: of every simulator, with the numbers of ``--json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from camcast.research.report.measures import MEASURES
from tests.camcast_command import Capture, answer, camcast, refusal

pytest.importorskip("numpy", reason="the extra sim is not installed")
pytest.importorskip("altair", reason="the extra report is not installed")

SIZES = ("--sizes", "30,9", "--runs", 4, "--workers", 1)
SIMULATORS: dict[str, tuple[Any, ...]] = {
    "communities": ("population", *SIZES),
    "chain": ("chain", *SIZES),
    "group": ("population", *SIZES, "--protocol", "rfpbcast"),
    "hpmcast": ("hpmcast", "--arity", 3, "--depth", 2, "--runs", 4, "--workers", 1),
    "graphs": (
        *("percolation", "--degrees", "poisson:4,60", "--sigma", 0.3, "--gamma", 0.5),
        *("--networks", 2, "--events", 5, "--workers", 1),
    ),
}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_picture_has_the_numbers_of_the_table(
    simulator: str, tmp_path: Path, capfd: Capture
) -> None:
    picture = tmp_path / "load.vl.json"
    printed = answer(capfd, "simulate", *SIMULATORS[simulator], "--figure", picture)
    communities = printed.get("communities", [printed])
    points = json.loads(picture.read_text())["data"]["values"]
    places = list(dict.fromkeys(point["place"] for point in points))
    assert len(places) == len(communities)
    drawn = {(point["place"], point["panel"]): point for point in points}
    expected = {}
    for place, measures in zip(places, communities, strict=True):
        for name, measure in MEASURES.items():
            found = measures.get(name) if name.startswith("load_") else None
            if found and found["mean"] is not None:
                load, _, last = name.rpartition("_")
                if last == "p50":
                    panel = f"{measure.title.removesuffix(', median')}, 5 % to 99 %"
                    ends = (measures[f"{load}_{at}"]["mean"] for at in ("p5", "p50", "p99"))
                    expected[place, panel] = tuple(ends)
                elif last not in ("p5", "p99"):
                    expected[place, measure.title] = found["low"], found["mean"], found["high"]
    assert {at: (p["low"], p["middle"], p["high"]) for at, p in drawn.items()} == expected
    assert len(expected) >= 3 * len(communities) - 1


def test_the_name_says_which_picture_it_is(tmp_path: Path, capfd: Capture) -> None:
    for name in ("load.svg", "load.png"):
        camcast("simulate", *SIMULATORS["group"], "--figure", tmp_path / name)
    root = ElementTree.fromstring((tmp_path / "load.svg").read_text())
    assert any("copies sent by a process" in (text.text or "") for text in root.iter())
    assert (tmp_path / "load.png").read_bytes().startswith(b"\x89PNG")
    assert capfd.readouterr().out
    code, sentence = refusal(
        capfd, "simulate", *SIMULATORS["group"], "--figure", tmp_path / "load.pdf"
    )
    assert (code, "give a name that ends with .svg, .png, .vl.json" in sentence) == (2, True)


def test_without_a_load_there_is_no_picture(tmp_path: Path, capfd: Capture) -> None:
    """A baseline above its bound: nothing is drawn, and no empty file is left."""
    large = ("population", "--protocol", "broadcast", "--sizes", 100_001, "--runs", 1)
    picture = tmp_path / "load.svg"
    code, sentence = refusal(capfd, "simulate", *large, "--figure", picture)
    assert (code, picture.exists()) == (2, False)
    assert "no load of a process to draw" in sentence
