"""The command of the chaos suite: what it refuses, and what it writes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
import typer
from attrs import evolve
from rich.console import Console
from typer.testing import CliRunner, Result

from tests.library.chaos import results
from tests.library.chaos.__main__ import SKIPPED, main
from tests.library.chaos.checker import Fault, check
from tests.library.chaos.memory_picture import curve
from tests.library.chaos.records import AnyRecord, Delivered, Joined, Published, Sample
from tests.library.chaos.scenario import LEVELS, Outcome, over_levels
from tests.library.chaos.scenarios import SCENARIOS, soak

PROCESSES = (("one", 0), ("other", 2))  # and by how many MB it is larger


def call(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, arguments)


def test_without_root_it_says_so_and_stops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = call("--folder", str(tmp_path))
    assert done.exit_code == SKIPPED
    assert "only root can make network namespaces" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_iproute2_it_says_so_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = call()
    assert done.exit_code == SKIPPED
    assert "iproute2" in done.stderr


def test_without_nft_no_host_is_closed_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.library.chaos.__main__.obstacles", list)
    monkeypatch.setenv("PATH", "")
    done = call("--only", "firewall-carry,firewall-cut")
    assert done.exit_code == SKIPPED
    assert "firewall-carry, firewall-cut: the command `nft` is not installed" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [(option, "nosuch") for option in ("--only", "--membership", "--transport", "--spread")],
)
def test_what_does_not_exist_is_refused(arguments: tuple[str, str]) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert "nosuch" in done.stderr


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in [*SCENARIOS, soak(10)]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("nodes", [15, 20, 31, 35, 50])
def test_every_topic_has_several_nodes_as_far_as_there_are_enough(nodes: int) -> None:
    topics = over_levels(nodes)
    assert len(topics) == nodes
    assert set(topics) == set(LEVELS)
    for topic, count in LEVELS.items():
        assert abs(topics.count(topic) - count * nodes / 50) < 1


def outcome(*, lost: bool) -> Outcome:
    history: list[AnyRecord] = [Joined(0, node, ".") for node in ("a", "b")]
    history.append(Published(1, "a", ".", "ab", 1, 1, 0))
    history += [Delivered(1.5, node, ".", "ab", 1, 1) for node in ("a", "b")[: 2 - lost]]
    return Outcome(
        scenario="baseline",
        title="no fault",
        membership="scamp",
        seconds=3.0,
        findings=check(history, Fault()),
        broken=["1 lost"] if lost else [],
    )


def report(*outcomes: Outcome) -> results.Report:
    return results.Report(
        commit="abc1234",
        date="2026-11-22",
        transport="zmtp",
        spread="tree",
        profile="signed",
        seed=1,
        outcomes=list(outcomes),
    )


def test_the_markdown_says_what_was_run_and_what_came_of_it() -> None:
    other = evolve(outcome(lost=False), membership="dht")
    lines = results.markdown(report(outcome(lost=True), other)).splitlines()
    assert lines[0].startswith(
        "Commit abc1234, 2026-11-22, transport zmtp, spread tree, profile signed, seed 1:"
        " 1 of 2 runs passed"
    )
    assert lines[2:] == [
        "| scenario | what happens | scamp | dht |",
        "| --- | --- | --- | --- |",
        "| baseline | no fault | 1 of 2 (0.5 s) **1 lost** | 0 of 2 (0.5 s) |",
    ]


def test_what_was_not_run_has_an_empty_cell() -> None:
    other = evolve(outcome(lost=False), membership="dht", scenario="soak")
    lines = results.markdown(report(outcome(lost=False), other)).splitlines()
    assert lines[4].endswith("| 0 of 2 (0.5 s) | - |")
    assert lines[5].endswith("| - | 0 of 2 (0.5 s) |")


def test_a_broken_limit_is_told_with_the_events_that_broke_it() -> None:
    sound, failed = outcome(lost=False), outcome(lost=True)
    assert list(results.details([sound])) == []
    told = list(results.details([failed]))
    assert told[0] == "baseline, scamp, 3 s: 1 lost"
    assert "ab-1 of a in ." in told[1]


def test_a_run_without_findings_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    broken = Outcome(
        scenario="baseline",
        title="no fault",
        membership="dht",
        seconds=1.0,
        findings=None,
        broken=["WorkerError: p1 ended"],
    )
    assert "WorkerError: p1 ended" in results.markdown(report(broken))
    Console(width=200).print(results.table([broken]))
    assert "FAILED" in capsys.readouterr().out


def test_the_report_is_json() -> None:
    written = msgspec.json.decode(msgspec.json.encode(report(outcome(lost=True))))
    assert written["outcomes"][0]["findings"]["lost"] == 1
    assert written["commit"] == "abc1234"


def test_the_picture_of_memory_is_of_those_that_ran_all_the_time(tmp_path: Path) -> None:
    def sample(process: str, second: int, megabytes: int) -> Sample:
        resident = megabytes * 10**6
        return Sample(float(second), process, resident, 0, 0, 0, {})

    stay = [sample(one, s, 40 + s // 60 + more) for one, more in PROCESSES for s in range(120)]
    visit = [sample("visitor", second, 90) for second in range(100)]
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in [*stay, *visit])
    (tmp_path / "all.jsonl").write_bytes(lines)
    assert curve(tmp_path) == [41.0, 42.0]
