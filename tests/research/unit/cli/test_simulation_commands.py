"""`camcast simulate`, `model` and `plan` as a user meets them: output, errors, exit codes."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import attrs
import pytest

from camcast.observe.trace import SCHEMA_VERSION
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.simulation.scenario_run import run_scenario
from camcast.vocabulary.topics import Topic
from tests.camcast_command import Capture, answer, camcast, camcast_alone, refusal

REACH = [
    "reach_p5",
    "reach_p50",
    *(f"reaches_{percent}" for percent in (10, 25, 50, 75, 90, 95, 99)),
]
MEASURES = [
    *("size", "reception", "reliability", *REACH, "rounds", "messages", "upward_messages"),
]
LOAD = ["p5", "p50", "p99", "peak"]
ROLES = ["load_sent_publishers", "load_sent_links"]
SENT = [*(f"load_sent_{name}" for name in LOAD), *ROLES]
RECEIVED = [f"load_received_{name}" for name in LOAD]

SCENARIO = """
seed = 3
duration_seconds = 6
settle_seconds = 5
[communities]
"." = 5
".d" = 20
[links]
loss = 0.02
[workload]
topic = ".d"
events = 5
rate = 1
"""


@pytest.mark.parametrize("simulator", ["population", "chain", "virtual"])
def test_simulate_prints_what_the_documentation_says(simulator: str, capfd: Capture) -> None:
    options = ["--c", 5, "--g", 5, "--a", 1, "--z", 3, "--success", 0.85, "--crash", 0.3]
    sizes = ["--sizes", "60,20,10", "--runs", 40, "--seed", 1]
    printed = answer(capfd, "simulate", simulator, *sizes, *options)
    assert [community["size"] for community in printed["communities"]] == [60, 20, 10]
    loads = SENT if simulator == "chain" else [*SENT, *RECEIVED]
    roles = [{*ROLES}, {"load_sent_links"}, set[str]()]  # one publishes, and the root has no links
    for community, acted in zip(printed["communities"], roles, strict=True):
        assert list(community) == [*MEASURES, *loads]
        for measure in [*MEASURES[1:], *loads]:
            figure = community[measure]
            assert list(figure) == ["mean", "low", "high"]
            if measure in ROLES and measure not in acted:
                assert figure["mean"] is None
            else:
                assert figure["low"] <= figure["mean"] <= figure["high"]
    assert printed["communities"][0]["reception"]["mean"] > 0.9
    assert printed["communities"][2]["upward_messages"]["mean"] == 0


def test_simulate_says_where_the_copies_that_a_process_receives_are_not_counted(
    capfd: Capture,
) -> None:
    camcast("simulate", "chain", "--sizes", 9, "--runs", 2)
    assert "does not tell processes apart" in capfd.readouterr().out
    camcast("simulate", "population", "--sizes", 100_001, "--runs", 1)
    assert "counted up to 100,000 processes" in capfd.readouterr().out


@pytest.mark.parametrize("protocol", ["broadcast", "rfpbcast"])
def test_a_load_that_is_not_counted_says_why(protocol: str, capfd: Capture) -> None:
    """Of a baseline above its bound neither part; of all others, and below it, all is counted."""
    counted = ["simulate", "population", "--protocol", protocol, "--runs", 1, "--json", "--sizes"]
    assert answer(capfd, *counted, 50)["not_counted"] is None
    if protocol == "broadcast":
        large = answer(capfd, *counted, 100_001)
        assert large["not_counted"] == "The load of a process is counted up to 100,000 processes."
        assert not [name for name in large if name.startswith("load_")]
    camcast("simulate", "population", "--sizes", 9, "--runs", 2)
    printed = capfd.readouterr().out
    assert "copies received by a process" in printed
    assert "counted up to" not in printed


@pytest.mark.slow
def test_weak_crashes_are_not_the_same(capfd: Capture) -> None:
    """Figures 16 and 18: "We achieve a much better reliability for a weakly connected system":
    at the root. The intervals of 1,000 runs do not meet."""
    sizes = ["chain", "--sizes", "200,20,10", "--crash", 0.5, "--runs", 1000]
    strong, weak = (
        answer(capfd, "simulate", *sizes, *option)["communities"][2]["reception"]
        for option in ([], ["--weak"])
    )
    assert strong["high"] < weak["low"]


# Of two, one of whom publishes, and a root of one (z = 3, a = 1, g = 5): each who has the event
# sends upward with p_a = 1/3, and 0.85 of what is sent arrives.
PRINTED_CLIMB = 0.85 / 3
PRINTED_ROOT = 1 - (1 - PRINTED_CLIMB) * (1 - 0.85 * PRINTED_CLIMB)


@pytest.mark.parametrize(
    ("simulator", "runs"),
    [("population", 4000), ("chain", 4000), pytest.param("virtual", 400, marks=pytest.mark.slow)],
)
def test_with_the_preset_paper_p_a_is_a_over_z(simulator: str, runs: int, capfd: Capture) -> None:
    """000, 3.5. By default p_a grows in communities of fewer than g, or supers of fewer than z."""
    sizes = ["simulate", simulator, "--sizes", "2,1", "--runs", runs]
    printed, ours = (
        answer(capfd, *sizes, *option)["communities"][1]["reception"]
        for option in (["--preset", "paper"], [])
    )
    error = (PRINTED_ROOT * (1 - PRINTED_ROOT) / runs) ** 0.5
    assert abs(printed["mean"] - PRINTED_ROOT) < 4 * error
    assert ours["low"] > 0.9


def test_the_model_has_the_preset_too(capfd: Capture) -> None:
    found = answer(capfd, "model", "--sizes", "2,1", "--preset", "paper")
    assert found["communities"][1]["reception"] == pytest.approx(PRINTED_ROOT, abs=0.001)


@pytest.mark.slow
def test_a_scenario_with_the_preset_paper_has_nothing_that_was_added(
    tmp_path: Path, capfd: Capture
) -> None:
    """The preset is no more than what a file can say in detail; --set of the file stays.

    In so many words it is without repair, which the retention alone would prevent, too.
    """
    plain, detailed = tmp_path / "plain.toml", tmp_path / "detailed.toml"
    plain.write_text(SCENARIO + "[options]\nindirection = true\n")
    detailed.write_text(
        "repair = false\n"
        + SCENARIO
        + "[options]\nindirection = true\nsponsors = false\ndrawn_share = 0.0\n"
        + "[parameters]\nas_printed = true\nbatch_events_max = 1\nretention_seconds = 0.0\n"
    )
    runs = [
        answer(capfd, "simulate", "virtual", file, *option)
        for file, option in ((plain, ["--preset", "paper"]), (detailed, []), (plain, []))
    ]
    assert runs[0]["digest"] == runs[1]["digest"] != runs[2]["digest"]
    assert [run["repair"] for run in runs] == [False, False, True]
    assert not runs[0]["scenario"]["repair"]


def test_a_seed_and_a_run_determine_the_counts(tmp_path: Path, capfd: Capture) -> None:
    """Whether done here, in two workers, or read back from the results of another run."""
    results = tmp_path / "cells.jsonl"
    command = ["simulate", "chain", "--sizes", "100000,100", "--runs", 12, "--seed", 5]
    here = answer(capfd, *command, "--workers", 1)
    assert answer(capfd, *command, "--workers", 2, "--results", results) == here
    assert answer(capfd, *command, "--results", results) == here
    assert len(results.read_bytes().splitlines()) == 2  # 9 runs of 100,100 are a cell
    assert answer(capfd, *command, "--workers", 1, "--seed", 6) != here


def test_a_scenario_runs_and_replays(tmp_path: Path, capfd: Capture) -> None:
    path, folder = tmp_path / "lossy.toml", tmp_path / "out"
    path.write_text(SCENARIO)
    first = answer(capfd, "simulate", "virtual", path)
    assert first["scenario"]["name"] == "lossy"
    assert [c["topic"] for c in first["summary"]["communities"]] == [".", ".d"]
    assert first["summary"]["events"] == 5
    assert first["summary"]["parasites"] == 0
    again = answer(capfd, "simulate", "virtual", path, "--output", folder)
    assert again["digest"] == first["digest"]
    records = [json.loads(line) for line in (folder / "trace-0.jsonl").read_text().splitlines()]
    kinds = {record["kind"] for record in records}
    assert {"publish", "send", "deliver", "join", "learn", "control"} <= kinds
    determined = json.loads((folder / "scenario.json").read_text())
    assert determined["world"] == "virtual"
    assert determined["scenario"]["communities"] == {".": 5, ".d": 20}
    assert determined["versions"]["trace"] == SCHEMA_VERSION
    assert json.loads((folder / "summary.json").read_text())["digest"] == first["digest"]
    assert answer(capfd, "simulate", "virtual", path, "--seed", 4)["digest"] != first["digest"]
    assert camcast("simulate", "virtual", path) == 0
    assert first["digest"] in capfd.readouterr().out


HIERARCHY = """
[communities]
"." = 4
".l" = 6
".r" = 8
".x" = 12
[topics.".x"]
below = [".l", ".r"]
[links]
loss = 0.1
[workload]
topic = ".x"
"""


def test_a_file_gives_a_hierarchy_to_models_and_simulators(tmp_path: Path, capfd: Capture) -> None:
    """The two super-communities get what the simulators say, within five standard errors."""
    path = tmp_path / "hierarchy.toml"
    path.write_text(HIERARCHY)
    predicted = answer(capfd, "model", "--scenario", path)
    assert [one["topic"] for one in predicted["setting"]["communities"]] == [".x", ".l", ".r", "."]
    assert predicted["setting"]["communities"][0]["supers"] == [1, 2]
    assert predicted["alternatives"] == []
    for simulator in ("population", "chain"):
        found = answer(capfd, "simulate", simulator, path, "--runs", 200, "--workers", 1)
        for one, other in zip(predicted["communities"], found["communities"], strict=True):
            error = sqrt(one["reception"] * (1 - one["reception"]) / 200) + 0.01
            assert abs(other["reception"]["mean"] - one["reception"]) < 5 * error
    planned = answer(capfd, "plan", "--scenario", path, "--reliability", "0.9")
    assert [one["topic"] for one in planned["communities"]] == [".x", ".l", ".r", "."]
    assert min(one["predicted"]["reliability"] for one in planned["communities"]) >= 0.9


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("model --scenario", "the closed form takes each process to be in one community"),
        ("simulate population", "the population simulator takes each process to be in one"),
        ("simulate chain", "the count chain takes each process to be in one community"),
        ("simulate population --protocol broadcast", "the setting of broadcast takes each process"),
        ("simulate population --success 0.9", "--success does not go with a scenario file"),
        ("simulate chain --sizes 5,4", "give one of --sizes and a scenario file"),
        ("plan --sizes 5,4 --scenario", "give one of --sizes and a scenario file"),
    ],
)
def test_what_a_file_cannot_be_for_is_said(
    command: str, named: str, tmp_path: Path, capfd: Capture
) -> None:
    path = tmp_path / "several.toml"
    path.write_text(HIERARCHY + '[[processes]]\ntopics = [".x", ".l"]\ncount = 4\n')
    assert named in refusal(capfd, *command.split(), path)[1]


def test_a_plan_for_processes_in_several_communities_is_checked_with_them(
    tmp_path: Path, capfd: Capture
) -> None:
    path = tmp_path / "several.toml"
    path.write_text(HIERARCHY + '[[processes]]\ntopics = [".x", ".l"]\ncount = 4\n')
    arguments = ("--reliability", "0.5", "--check", "--runs", 8, "--workers", 1)
    planned = answer(capfd, "plan", "--scenario", path, *arguments)
    assert [one["size"] for one in planned["communities"]] == [16, 10, 8, 4]
    assert [one["measured"]["size"] for one in planned["communities"]] == [16, 10, 8, 4]
    assert planned["communities"][1]["measured"]["reception"]["mean"] > 0.5


def test_the_example_of_several_communities_runs_in_both_worlds() -> None:
    example = Path(__file__).parents[4] / "examples" / "several_communities.toml"
    scenario = VirtualScenario.read(example)
    short = attrs.evolve(
        scenario,
        workload=attrs.evolve(scenario.workload, events=10),
        settle_seconds=6.0,
        duration_seconds=3.0,
    )
    found = run_scenario(short).summary
    members = {".": 3, ".news": 15, ".olympics": 5, ".sport": 10}
    assert {community.topic: community.processes for community in found.communities} == members
    assert (found.lost, found.parasites) == (0, 0)
    assert Scenario.read(example).sizes == {Topic.parse(name): n for name, n in members.items()}


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--c 0", "parameters.c"),
        ("--g 5", "parameters.g"),
        ("--a 1", "parameters.a"),
        ("--z 3", "parameters.z"),
        ("--p-sel 0.1", "parameters.p_sel"),
        ("--success 0.85", "links.loss"),
        ("--crash 0", "stillborn"),
        ("--weak", "links.loss"),
        ("--runs 3", "camcast sweep"),
        ("--workers 1", "camcast sweep"),
        ("--results x.jsonl", "camcast sweep"),
    ],
)
def test_a_scenario_file_refuses_the_options_of_a_setting(
    option: str, instead: str, tmp_path: Path, capfd: Capture
) -> None:
    path = tmp_path / "lossy.toml"
    path.write_text(SCENARIO)
    code, error = refusal(capfd, "simulate", "virtual", path, *option.split())
    assert code == 1
    assert error.startswith(f"camcast: {option.split()[0]} does not go with a scenario file; ")
    assert instead in error


def test_an_unknown_simulator_and_a_wrong_number_of_runs_are_usage_errors(capfd: Capture) -> None:
    assert camcast("simulate", "crowd", "--sizes", "10") == 2
    assert "crowd" in capfd.readouterr().err
    assert camcast("simulate", "chain", "--sizes", "10", "--runs", "0") == 2


def test_a_scenario_with_a_wrong_key_is_named_by_file_line_and_key(
    tmp_path: Path, capfd: Capture
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SCENARIO.replace("loss = 0.02", "loss = 1.02"))
    code, error = refusal(capfd, "simulate", "virtual", path)
    assert (code, f"{path}:9: links.loss:" in error) == (2, True)


@pytest.mark.slow
def test_another_protocol_does_not_take_the_options_of_the_file(
    tmp_path: Path, capfd: Capture
) -> None:
    """Neither those of its protocol, nor, if it brings one along, those of its membership."""
    path = tmp_path / "lossy.toml"
    path.write_text("protocol = 'hierarchical'\n" + SCENARIO)
    path.write_text(path.read_text() + "[protocol_options]\nclusters = 2\n[options]\nc = 0\n")
    for protocol, kept in (
        ([], ({"clusters": 2}, {"c": 0})),
        (["--protocol", "camcast"], ({}, {"c": 0})),
        (["--protocol", "pmcast"], ({}, {})),
    ):
        scenario = answer(capfd, "simulate", "virtual", path, *protocol)["scenario"]
        assert (scenario["protocol_options"], scenario["options"]) == kept


@pytest.mark.parametrize(
    "command",
    [
        "simulate population --sizes 10",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                "plan --sizes 10",
                "simulate chain --sizes 10",
                "simulate percolation --degrees poisson:4,300 --sigma 0.2 --gamma 0.3",
                "model --sizes 10",
            )
        ),
    ],
)
def test_a_missing_extra_is_named(command: str, tmp_path: Path) -> None:
    done = camcast_alone(tmp_path, *command.split())
    assert done.returncode == 1
    assert "pip install 'camcast[sim]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scenario_and_help_need_no_extra(tmp_path: Path) -> None:
    """The virtual network is the core's: it runs where numpy is not installed."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    for command in (("virtual", path), ("percolation", "--help")):
        done = camcast_alone(tmp_path, "simulate", *command)
        assert done.returncode == 0, done.stderr


def test_model_predicts_and_compares(capfd: Capture) -> None:
    printed = answer(capfd, "model", "--sizes", "1000,100,10", "--crash", 0.1)
    assert [c["size"] for c in printed["communities"]] == [1000, 100, 10]
    receptions = [c["reception"] for c in printed["communities"]]
    assert receptions == sorted(receptions, reverse=True)
    names = [row["protocol"] for row in printed["alternatives"]]
    assert names[0] == "CAMCAST"
    assert [name[:3] for name in names[1:]] == ["(a)", "(b)", "(c)"]
    # 4.3.2: n (ln n + c) of the broadcast, by hand
    assert printed["alternatives"][1]["messages"] == pytest.approx(1110 * (7.012115 + 5), rel=1e-6)
    assert camcast("model", "--sizes", "1000,100,10") == 0
    assert "by the paper's formulas" in capfd.readouterr().out


def test_a_plan_holds_when_it_is_checked(capfd: Capture) -> None:
    command = ["plan", "--sizes", "200,20", "--crash", 0.1, "--reliability", "0.9,0.95"]
    printed = answer(capfd, *command, "--check", "--runs", 2000)
    assert printed["holds"]
    for community, target in zip(printed["communities"], (0.9, 0.95), strict=True):
        assert community["target"] == target
        assert community["predicted"]["reliability"] >= target
        assert community["measured"]["reliability"]["high"] >= target
    assert camcast(*command, "--check", "--runs", 200) == 0
    text = capfd.readouterr().out
    assert "predicted" in text
    assert "measured" in text
