"""What encryption and signatures cost is a ratio of runs of one round, each to what it adds to."""

from __future__ import annotations

import time
from pathlib import Path

from fleet import Run
from identity import write_identity
from profiles import JOBS, PROFILES, table
from rich.console import Console

from camcast.live.profiles.identity_files import IdentityFiles
from camcast.vocabulary.topics import ROOT


def run(microseconds: float, lost: int = 0) -> Run:
    delivered = 1_000_000
    return Run(1, delivered, delivered + lost, 1.0, [], microseconds, {})


def test_the_rate_left_is_of_the_same_round_and_signatures_are_beside_encryption() -> None:
    costs = {
        "plain, a link each": (10.0, 20.0, 30.0),
        "plain, shared links": (5.0, 10.0, 15.0),
        "encrypted": (20.0, 40.0, 120.0),
        "signed": (25.0, 40.0, 240.0),
    }
    runs = {
        (job, profile.name): [run(each, lost=2) for each in costs[profile.name]]
        for job in JOBS[:2]
        for profile in PROFILES
    }
    console = Console(width=150, record=True)
    console.print(table("a title", PROFILES, runs))
    rows = [line.split("│")[2:-1] for line in console.export_text().splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows[:4]] == [
        ["plain, a link each", "20.0 (10.0-30.0)", "", "", "6"],
        ["plain, shared links", "10.0 (5.0-15.0)", "2.00 (2.00-2.00)", "plain, a link each", "6"],
        ["encrypted", "40.0 (20.0-120.0)", "0.50 (0.25-0.50)", "plain, a link each", "6"],
        ["signed", "40.0 (25.0-240.0)", "0.80 (0.50-1.00)", "encrypted", "6"],
    ]


def test_nodes_of_all_processes_have_keys_of_one_authority(tmp_path: Path) -> None:
    for number in (0, 25):
        files = write_identity(tmp_path / str(number), number, ".")
        found = IdentityFiles(files["identity"], files["certificates"], files["trust"])
        now = time.time()
        assert found.read(now).may_publish(ROOT, now)
