"""`camcast simulate population --protocol` for all eight: figures beside the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast.doors.plugs import PROTOCOL_GROUP, shipped
from camcast.research.systems.registry import SYSTEMS
from tests.camcast_command import Capture, answer, camcast

COMPARED = tuple(name for name in SYSTEMS if name != "camcast")
BASELINES = ("broadcast", "multicast", "hierarchical")  # (a) to (c) of section 4.2
DEAR = ("percolation", "hpmcast")  # 14 s and more of CPU; their kernels have tests of their own
SETTING = ("--sizes", "84,27,7", "--success", 0.9, "--crash", 0.1)


def simulated(capfd: Capture, protocol: str, *given: object) -> Any:
    return answer(
        *(capfd, "simulate", "population", *SETTING, "--runs", 40, "--protocol", protocol), *given
    )


@pytest.mark.parametrize(
    "protocol",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in DEAR)) for one in COMPARED],
)
def test_what_is_measured_stands_beside_the_model(protocol: str, capfd: Capture) -> None:
    """The setting and the model are those of `camcast model`; copies are within 12 %."""
    given = ("--protocol-set", "published_in=1")
    found = simulated(capfd, protocol, *given)
    assert (found["simulator"], found["protocol"], found["runs"]) == ("population", protocol, 40)
    assert found["setting"]["interested"] == 34
    measures = ["reception", "reliability", "rounds", "messages", "parasite_copies"]
    if protocol in BASELINES:
        measures.append("between")
    for name in measures:
        assert found[name]["low"] <= found[name]["mean"] <= found[name]["high"]
    near = 0.02 if protocol in BASELINES else 0.12
    assert found["model"]["messages"] == pytest.approx(found["messages"]["mean"], rel=near)
    assert (found["parasite_copies"]["mean"] > 0) == (protocol not in ("multicast", "pmcast"))
    if "entries" in found["model"]:
        assert found["model"]["entries"] == pytest.approx(found["entries"]["mean"], rel=0.06)
    beside = answer(capfd, "model", *SETTING, "--protocol", protocol, *given)
    assert beside == {name: found[name] for name in ("protocol", "setting", "model")}


@pytest.mark.parametrize(
    "protocol",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in DEAR)) for one in COMPARED],
)
def test_runs_in_several_cells_are_those_in_one(
    protocol: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulated(capfd, protocol)
    system = SYSTEMS[protocol]
    smaller = attrs.evolve(system.simulators["population"], cell_processes=118 * 15)
    kept = tmp_path / "kept.jsonl"
    simulators = {"population": smaller}
    monkeypatch.setitem(SYSTEMS, protocol, attrs.evolve(system, simulators=simulators))
    here = ("--workers", 1, "--results", kept)
    assert simulated(capfd, protocol, *here) == whole
    lines = kept.read_text().splitlines()
    assert [json.loads(line)["cell"]["runs"] for line in lines] == [15, 15, 10]
    kept.write_text(lines[1] + "\n")  # killed after one cell
    assert simulated(capfd, protocol, *here) == whole
    assert kept.read_text().splitlines()[0] == lines[1]
    assert simulated(capfd, protocol, *here, "--seed", 2)["messages"] != whole["messages"]


@pytest.mark.slow
def test_other_processes_compute_the_same(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 runs are several cells for two workers."""
    options = ["--runs", 50_000, "--protocol-set", "published_in=2"]
    one = simulated(capfd, "hpmcast", *options, "--workers", 1)
    assert simulated(capfd, "hpmcast", *options, "--workers", 2) == one


@pytest.mark.parametrize(
    ("protocol", "told"),
    [
        ("broadcast", "table entries a process"),
        ("hierarchical", "118 processes take part in 11 clusters"),
        ("rfpbcast", "each chooses 2 in each of 9 rounds"),
        ("hpmcast", "10 groups, each with 3 delegates"),
        ("percolation", "Equation 17 diverges"),
    ],
)
def test_a_table_is_printed_for_people(protocol: str, told: str, capfd: Capture) -> None:
    assert camcast("simulate", "population", *SETTING, "--runs", 9, "--protocol", protocol) == 0
    printed = capfd.readouterr().out
    for word in (
        protocol,
        "measured",
        "model",
        "reception",
        "parasite_copies",
        "118 processes take part",
    ):
        assert word in printed
    assert told in printed
    assert "9 runs; mean [95 % interval]." in printed
    assert ("entries  " in printed) == (protocol in ("hpmcast", "percolation"))


@pytest.mark.parametrize(
    ("protocol", "sizes", "told"),
    [
        ("rfpbcast", "6000", "6,000 processes get copies; the chain takes 5,000 at most"),
        ("hpmcast", "30000", "3,000 interested processes in a group of level 1"),
    ],
)
def test_where_the_model_ends_the_simulation_goes_on(
    protocol: str, sizes: str, told: str, capfd: Capture
) -> None:
    options = ["--sizes", sizes, "--runs", 2, "--protocol", protocol]
    assert camcast("simulate", "population", *options) == 0
    assert f"No model: {told}" in capfd.readouterr().out
    found = answer(capfd, "simulate", "population", *options)
    assert found["model"] is None
    assert found["reception"]["mean"] > 0.99


@pytest.mark.parametrize("command", ["simulate population", "simulate chain", "model"])
def test_camcast_is_a_protocol_too(command: str, capfd: Capture) -> None:
    assert shipped(PROTOCOL_GROUP) == sorted(["camcast", *COMPARED])
    options = [
        *command.split(),
        "--sizes",
        "84,27",
        *([] if command == "model" else ["--runs", 20]),
    ]
    assert camcast(*options) == 0
    by_default = capfd.readouterr().out
    assert camcast(*options, "--protocol", "camcast") == 0
    assert capfd.readouterr().out == by_default
