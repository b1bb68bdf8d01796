"""`camcast plugs`: what is installed, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.camcast_command import Capture, answer, camcast
from tests.library.example_packages import install

BROKEN = """
import sys
from math import inf
from attrs import evolve
from newscast import BACKEND as GOOD
OTHER = evolve(GOOD, name="other")
LAW = evolve(GOOD, name="law", expected_view=lambda options, size: size)
NAN = evolve(GOOD, name="nan", expected_view=lambda _, size: float("nan") if size > 10 else 0.0)
ENDLESS = evolve(GOOD, name="endless", expected_view=lambda _, size: inf if size > 10 else 0.0)
ENDS = evolve(GOOD, name="ends", expected_view=lambda options, size: sys.exit(3))
ELSEWHERE = evolve(GOOD, name="elsewhere", discovery="nonesuch")
NOTHING = 7
"""
NAMES = {
    "misnamed": ("OTHER", "it calls itself 'other'"),
    "law": ("LAW", "it expects views of"),
    "nan": ("NAN", "it expects views of"),
    "endless": ("ENDLESS", "it expects views of"),
    "ends": ("ENDS", "3"),
    "elsewhere": ("ELSEWHERE", "unknown discovery 'nonesuch'"),
    "nothing": ("NOTHING", "is not a Backend"),
    "scamp": ("OTHER", "'scamp' is offered by camcast and by broken 1"),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("site")
def test_all_that_are_installed_are_listed_with_nothing_wrong(capfd: Capture) -> None:
    rows = answer(capfd, "plugs")
    named = {(row["kind"], row["name"]) for row in rows}
    assert {
        ("membership", "scamp"),
        ("membership", "newscast"),
        ("discovery", "kademlia"),
        ("discovery", "shared-directory"),
        ("protocol", "push-pull"),
    } <= named
    assert [row for row in rows if row["wrong"] or not row["module"]] == []


def test_what_is_wrong_is_said_of_each(site: Path, capfd: Capture) -> None:
    (site / "broken.py").write_text(BROKEN)
    information = site / "broken-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    lines = [f"{name} = broken:{place}" for name, (place, _) in NAMES.items()]
    (information / "entry_points.txt").write_text("\n".join(["[camcast.membership]", *lines]))
    assert camcast("plugs") == 1
    printed = capfd.readouterr().out.splitlines()
    for name, (_, wrong) in NAMES.items():
        (line,) = [line for line in printed if line.split()[1] == name]
        assert f"WRONG: {wrong}" in line or (wrong in line and "WRONG" in line), line
    assert sum("WRONG" in line for line in printed) == len(NAMES)
