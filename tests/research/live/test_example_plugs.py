"""The plugs of examples/ run in every command that takes them, with no line changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.library.example_packages import install
from tests.python_process import output_of

MEMBERS: Final = 8
SECONDS: Final = 900.0  # of a machine that other tests keep busy: `compare` takes 30 s of CPU
SCENARIO: Final = f"""
duration_seconds = 20

[communities]
".a" = {MEMBERS}

[workload]
topic = ".a"
events = 10
rate = 2
"""
EACH: Final = pytest.mark.parametrize(
    "chosen",
    [
        ("--membership", "newscast"),
        ("--discovery", "shared-directory", "--discovery-set", "directory=members"),
        ("--protocol", "push-pull"),
    ],
    ids=lambda chosen: chosen[1],
)
pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    return site


def camcast(site: Path, *arguments: object) -> Any:
    command = ("-m", "camcast", *arguments, "--json")
    printed = output_of(*command, cwd=site.parent, seconds=SECONDS, PYTHONPATH=str(site))
    return json.loads(printed)


@EACH
def test_it_runs_live(chosen: tuple[str, ...], site: Path) -> None:
    community = ("--community", f".a={MEMBERS}", "--events", 20, "--processes", 2)
    summary = camcast(site, "run", *community, *chosen)
    assert (summary["events"], summary["lost"], summary["parasites"]) == (20, 0, 0)
    assert summary["deliveries"] == 20 * (MEMBERS - 1)


@EACH
def test_it_runs_in_the_demo(chosen: tuple[str, ...], site: Path) -> None:
    summary = camcast(site, "demo", *chosen)
    assert summary["events"] > 0
    assert summary["parasites"] == 0
    assert summary["lost"] <= 0.01 * summary["deliveries"]


@EACH
def test_it_runs_in_the_virtual_network_and_is_compared(
    chosen: tuple[str, ...], site: Path
) -> None:
    scenario = site.parent / "scenario.toml"
    scenario.write_text(SCENARIO)
    folders: list[str] = []
    for options in ((), chosen):
        if "--membership" in options:  # which a scenario says
            scenario.write_text(f'membership = "{options[1]}"\n{SCENARIO}')
            options = ()
        for seed in (1, 2):
            folders.append(f"runs/{len(folders)}")
            command = ("simulate", "virtual", "scenario.toml", "--seed", seed)
            outcome = camcast(site, *command, "--output", folders[-1], *options)
            assert outcome["summary"]["events"] == 10
            assert outcome["summary"]["lost"] == 0
    compared = camcast(site, "compare", *folders, "--output", "report")
    assert compared
    if "--discovery" not in chosen:  # which is no factor of a comparison
        assert chosen[1] in json.dumps(compared)


def test_a_membership_is_in_the_tables_of_the_paper(site: Path) -> None:
    size = ("--runs", 1, "--events", 5, "--output", "paper")
    printed = camcast(site, "reproduce", "memberships", "--membership", "newscast", *size)
    assert "newscast" in json.dumps(printed)
