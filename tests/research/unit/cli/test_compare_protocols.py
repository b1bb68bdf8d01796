"""`camcast compare-protocols` as a user meets it: output, errors, exit codes, continuing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast.doors.plugs import PROTOCOL_GROUP, find_protocol, shipped
from camcast.research.papers.protocol_comparison import Cost
from camcast.research.systems.registry import SYSTEMS
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.library.example_packages import install

NAMES = ("broadcast", "multicast", "percolation")
SMALL = ["--events", 3, "--members-max", 2, "--workers", 1]


def compare(*arguments: object) -> int:
    return camcast("compare-protocols", *SMALL, *arguments)


def row(cost: dict[str, Any]) -> dict[str, str]:
    """Return a cost as a CSV file has it."""
    return {name: "" if value is None else str(value) for name, value in cost.items()}


def test_a_small_comparison(tmp_path: Path, capfd: Capture) -> None:
    """Once as JSON, with a CSV file and results to continue from; then as a table from these."""
    results, table = tmp_path / "done.jsonl", tmp_path / "table.csv"
    given = ["--protocols", ",".join(NAMES), "--results", results]
    costs = answer(capfd, "compare-protocols", *SMALL, *given, "--output", table)
    assert [cost["protocol"] for cost in costs] == list(NAMES)
    for cost in costs:
        assert list(cost) == [field.name for field in attrs.fields(Cost)]
        assert cost["reached"]
        assert cost["reception"] >= 0.99
        assert (cost["events"], cost["processes"]) == (3, costs[0]["processes"])
        expected = cost["deliveries"] / cost["reception"]
        assert expected == pytest.approx(costs[0]["deliveries"] / costs[0]["reception"])
        assert cost["redundancy"] == pytest.approx(cost["event_copies"] / cost["deliveries"] - 1)
        assert cost["event_copies"] >= cost["deliveries"] + cost["parasites"] - cost["events"]
        assert cost["control_copies"] > 0 < cost["table_entries"]
        assert cost["latency_ms_p50"] <= cost["latency_ms_p99"]
        assert cost["filtered"] == 0
    parasites = {cost["protocol"]: cost["parasites"] for cost in costs}
    assert parasites["broadcast"] > 0 == parasites["multicast"]
    with table.open(newline="") as file:
        assert list(csv.DictReader(file)) == [row(cost) for cost in costs]
    done = results.read_bytes()
    assert len(done.splitlines()) == len(NAMES)
    assert compare(*given) == 0
    printed = capfd.readouterr().out.splitlines()
    assert results.read_bytes() == done
    assert [line.split()[0] for line in printed[-5:-1]] == ["protocol", *NAMES]
    assert printed[-1] == "all without repair"


@pytest.mark.parametrize("place", ["absent/table.csv", "."])
def test_a_table_that_cannot_be_written_is_refused_before_anything_is_computed(
    place: str, tmp_path: Path, capfd: Capture
) -> None:
    results, table = tmp_path / "done.jsonl", tmp_path / place
    given = ["--protocols", "multicast", "--results", results, "--output", table]
    code, error = refusal(capfd, "compare-protocols", *SMALL, *given)
    assert (code, f"--output {table}: " in error) == (1, True), error
    assert not results.exists()


@pytest.mark.slow
def test_half_of_what_they_want_is_filtered_and_the_rest_still_reached(capfd: Capture) -> None:
    """Every other process wants nothing that there is: it counts as filtered, not as missed."""
    given = ["--protocols", "broadcast", "--where", "", "--where", "delay > 100000"]
    [cost] = answer(capfd, "compare-protocols", *SMALL, *given)
    assert cost["filtered"] > 0
    assert cost["reached"]


@pytest.mark.slow
def test_a_target_out_of_reach_is_exit_code_1(capfd: Capture) -> None:
    """Six of ten copies get lost; gamma = 1 is the most there is."""
    given = ["--protocols", "percolation", "--reliability", 1.0, "--loss", 0.6, "--events", 12]
    assert compare(*given, "--json") == 1
    [cost] = json.loads(capfd.readouterr().out)
    assert (cost["reached"], cost["effort"]) == (False, "gamma = 1")
    assert 0 < cost["reception"] < 1


def test_where_nobody_joined_no_target_was_reached(capfd: Capture) -> None:
    """Of nothing that was expected nothing was missed, and that is no reception of 100 %."""
    given = ["--protocols", "broadcast", "--loss", 0.97, "--events", 2]
    assert compare(*given, "--json") == 1
    [cost] = json.loads(capfd.readouterr().out)
    assert (cost["processes"], cost["reception"], cost["reached"]) == (0, None, False)


def test_every_protocol_has_efforts_that_rise() -> None:
    """And each is one that the protocol, or a community, takes."""
    assert sorted(SYSTEMS) == shipped(PROTOCOL_GROUP)
    for name in SYSTEMS:
        efforts = find_protocol(name).efforts
        assert len(efforts) > 1
        raised = [tuple(effort.values()) for effort in efforts]
        assert raised == sorted(set(raised))
        options: Any = type(find_protocol(name))  # an attrs class, each of them
        known = {field.name for field in attrs.fields(options)} | {"c", "a"}
        assert {option for effort in efforts for option in effort} <= known


def test_a_third_partys_protocol_is_compared_by_its_own_efforts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    install(tmp_path, "push_pull")
    monkeypatch.syspath_prepend(tmp_path)
    [cost] = answer(capfd, "compare-protocols", *SMALL, "--protocols", "push-pull")
    assert (cost["protocol"], cost["reached"]) == ("push-pull", True)
    assert cost["effort"].startswith("keep_seconds = ")


@pytest.mark.slow  # three seconds of CPU
def test_a_third_partys_discovery_finds_the_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    install(tmp_path, "shared_directory")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "members"
    folder.mkdir()
    chosen = ["--protocols", "camcast", "--discovery", "shared-directory"]
    [cost] = answer(
        capfd, "compare-protocols", *SMALL, *chosen, "--discovery-set", f"directory={folder}"
    )
    assert cost["reached"]
    assert any(folder.iterdir())


def test_the_discoverys_options_are_checked_before_anything_is_computed(capfd: Capture) -> None:
    assert compare("--discovery", "gateways", "--discovery-set", "drectory=/tmp") == 2
    assert "discovery 'gateways' has no option 'drectory'" in capfd.readouterr().err
