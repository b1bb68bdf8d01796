"""Scenario files of the virtual network: what they say, and how their mistakes are named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.toml_file import TomlError
from camcast.research.scenarios.virtual import (
    EVENTS_MAX,
    Churn,
    Crashes,
    Liars,
    Links,
    Partition,
    Pauses,
    VirtualScenario,
)
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.scenario_run import run_scenario
from camcast.research.workloads.publication import WorkloadError
from camcast.virtual.climate import Constant, LogNormal, Matrix, Uniform
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic

D = Topic.parse(".d")

GOOD = """\
seed = 7
duration_seconds = 120
symmetry_seconds = 20
settle_seconds = 5
join_gap_seconds = 0.1
stillborn = 0.1
membership = "scamp"
discovery = "gateways"
[communities]
"." = 10
".d" = 100
[options]
c = 1
[parameters]
p_sel = 0.5
[links]
latency = "lognormal"
median_seconds = 0.05
p95_seconds = 0.1
loss = 0.01
duplication = 0.02
reordering = 0.03
hold_seconds_max = 0.04
[workload]
topic = ".d"
events = 100
rate = 2
[churn]
file = "up.csv"
from_seconds = 60
identity = "same"
jitter_seconds = 3
[[crashes]]
at_seconds = 30
share = 0.3
restart_seconds = 20
[[crashes]]
at_seconds = 31
share = 1
community = ".d"
identity = "same"
[[cuts]]
from_seconds = 60
until_seconds = 80
share = 0.5
[[cuts]]
from_seconds = 70
until_seconds = 71
communities = [".d", "."]
one_way = true
loss = 0.5
[[pauses]]
at_seconds = 33
seconds = 20
share = 0.1
community = "."
[[liars]]
sends = "goodbyes"
members = 2
at_seconds = 5
community = "."
"""


def read(tmp_path: Path, content: str) -> VirtualScenario:
    path = tmp_path / "storm.toml"
    path.write_text(content, "utf-8")
    return VirtualScenario.read(path)


def test_a_file_says_everything(tmp_path: Path) -> None:
    scenario = read(tmp_path, GOOD)
    assert scenario == VirtualScenario(
        name="storm",
        seed=7,
        duration_seconds=120,
        symmetry_seconds=20,
        settle_seconds=5,
        join_gap_seconds=0.1,
        stillborn=0.1,
        membership="scamp",
        discovery="gateways",
        communities={ROOT: 10, D: 100},
        options={"c": 1},
        parameters=Parameters(p_sel=0.5),
        links=Links(
            latency="lognormal",
            median_seconds=0.05,
            p95_seconds=0.1,
            loss=0.01,
            duplication=0.02,
            reordering=0.03,
            hold_seconds_max=0.04,
        ),
        workload=Workload(topic=D, events=100, rate=2),
        churn=Churn(file=tmp_path / "up.csv", from_seconds=60, identity="same", jitter_seconds=3),
        crashes=(
            Crashes(at_seconds=30, share=0.3, restart_seconds=20),
            Crashes(at_seconds=31, share=1, community=D, identity="same"),
        ),
        pauses=(Pauses(at_seconds=33, seconds=20, share=0.1, community=ROOT),),
        liars=(Liars(sends="goodbyes", members=2, at_seconds=5, community=ROOT),),
        cuts=(
            Partition(from_seconds=60, until_seconds=80, share=0.5),
            Partition(
                from_seconds=70, until_seconds=71, communities=(D, ROOT), one_way=True, loss=0.5
            ),
        ),
    )
    assert scenario.nodes == 110
    assert not scenario.calm
    climate = scenario.links.climate()
    assert climate.latency == LogNormal(0.05, 0.1)
    assert (climate.loss, climate.duplication, climate.reordering) == (0.01, 0.02, 0.03)
    assert climate.hold_seconds_max == 0.04


def test_a_file_may_give_a_name_and_little_else(tmp_path: Path) -> None:
    scenario = read(tmp_path, 'name = "calm"\n[communities]\n"." = 3\n')
    assert scenario == VirtualScenario(name="calm", communities={ROOT: 3})
    assert scenario.calm


def test_a_file_whose_name_is_not_utf_8_names_its_scenario_printably(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"storm\xff.toml")
    path.write_text('[communities]\n"." = 3\n', "utf-8")
    assert VirtualScenario.read(path).name == r"storm\udcff"


@pytest.mark.parametrize(
    ("links", "latency"),
    [
        ("", Constant(0.05)),
        ("seconds = 0.2", Constant(0.2)),
        ('latency = "uniform"', Uniform(0.005, 0.15)),
        ('latency = "uniform"\nlow_seconds = 0.1\nhigh_seconds = 0.1', Uniform(0.1, 0.1)),
        ('latency = "lognormal"', LogNormal()),
    ],
)
def test_latencies(tmp_path: Path, links: str, latency: object) -> None:
    scenario = read(tmp_path, f'[communities]\n"." = 3\n[links]\n{links}\n')
    assert scenario.links.climate().latency == latency


def test_a_matrix_is_beside_the_file_and_says_round_trips_in_ms(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0,20\n30,0\n", "utf-8")
    content = '[communities]\n"." = 3\n[links]\nlatency = "matrix"\nfile = "m.csv"\n'
    latency = read(tmp_path, content).links.climate().latency
    assert isinstance(latency, Matrix)
    assert [list(row) for row in latency.rows] == [
        pytest.approx([0, 0.01]),
        pytest.approx([0.015, 0]),
    ]


def test_as_json_has_the_file_s_names(tmp_path: Path) -> None:
    said = json.loads(json.dumps(read(tmp_path, GOOD).as_json()))
    assert said["communities"] == {".": 10, ".d": 100}
    assert said["links"]["latency"] == "lognormal"
    assert said["workload"]["topic"] == ".d"
    assert said["churn"]["file"] == str(tmp_path / "up.csv")
    assert [crash["community"] for crash in said["crashes"]] == [None, ".d"]
    assert [cut["communities"] for cut in said["cuts"]] == [[], [".d", "."]]
    assert said["options"] == {"c": 1}
    assert said["parameters"]["p_sel"] == 0.5


def wrong(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


LATE = ":2: duration_seconds: "
BAD: list[tuple[str, str]] = [
    # sizes; of any file: test_toml_file, of live scenarios as well: test_live
    (wrong('".d" = 100', '".d" = 0'), ':11: communities.".d": community .d has 0 processes'),
    (wrong('".d" = 100', '".d" = 1.5'), ':11: communities.".d": community .d has 1.5 processes'),
    (wrong('".d" = 100', '".d" = true'), ':11: communities.".d": community .d has True'),
    (wrong('".d" = 100', '".d" = "x"'), ':11: communities.".d": community .d has x processes'),
    (
        wrong('".d" = 100', f'".d" = {VirtualScenario.NODES_MAX}'),
        ":9: communities: 100,010 processes in the communities are too many",
    ),
    ("[communities]\n", ":1: communities: there are no communities"),
    # probabilities
    (wrong("stillborn = 0.1", "stillborn = 1.1"), ":6: stillborn: 'stillborn' must be <= 1.0"),
    (wrong("stillborn = 0.1", "stillborn = -0.1"), ":6: stillborn: 'stillborn' must be >= 0.0"),
    (wrong("loss = 0.01", "loss = 1.01"), ":20: links.loss: 'loss' must be <= 1.0: 1.01"),
    (wrong("duplication = 0.02", "duplication = 2"), ":21: links.duplication: 'duplication'"),
    (wrong("reordering = 0.03", "reordering = -1"), ":22: links.reordering: 'reordering'"),
    (wrong("share = 0.3", "share = 1.3"), ":35: crashes.share: 'share' must be <= 1.0: 1.3"),
    (wrong("share = 1\n", "share = -1\n"), ":39: crashes.share: 'share' must be >= 0.0: -1"),
    (wrong("share = 0.5", "share = 5"), ":45: cuts.share: 'share' must be <= 1.0: 5"),
    (wrong("loss = 0.5", "loss = 5"), ":51: cuts.loss: 'loss' must be <= 1.0: 5"),
    # times and other numbers
    (wrong("= 120", "= 0"), ":2: duration_seconds: 'duration_seconds' must be > 0: 0"),
    (wrong("symmetry_seconds = 20", "symmetry_seconds = 0"), ":3: symmetry_seconds: "),
    (wrong("settle_seconds = 5", "settle_seconds = -5"), ":4: settle_seconds: "),
    (wrong("join_gap_seconds = 0.1", "join_gap_seconds = -1"), ":5: join_gap_seconds: "),
    (wrong("hold_seconds_max = 0.04", "hold_seconds_max = -1"), ":23: links.hold_seconds_max: "),
    (wrong("median_seconds = 0.05", "median_seconds = 0"), ":18: links.median_seconds: "),
    (wrong("median_seconds = 0.05", "median_seconds = 0.5"), ":19: links.p95_seconds: p95_sec"),
    (wrong("at_seconds = 30", "at_seconds = -30"), ":34: crashes.at_seconds: "),
    (wrong("restart_seconds = 20", "restart_seconds = -2"), ":36: crashes.restart_seconds: "),
    (wrong("from_seconds = 60\nuntil", "from_seconds = -1\nuntil"), ":42: cuts: cuts cannot begin"),
    (wrong("seconds = 20\nshare", "seconds = 0\nshare"), ":54: pauses.seconds: "),
    (wrong('"goodbyes"', '"praise"'), ":58: liars.sends: is one of events, goodbyes, haves,"),
    (wrong("members = 2", "members = 0"), ":59: liars.members: 'members' must be >= 1: 0"),
    (wrong("seed = 7", 'profile = "closed"'), ":1: profile: is one of open, signed, not 'closed'"),
    (wrong("from_seconds = 60\nid", "from_seconds = -60\nid"), ":30: churn.from_seconds: "),
    (wrong("jitter_seconds = 3", "jitter_seconds = -3"), ":32: churn.jitter_seconds: "),
    (
        wrong("until_seconds = 80", "until_seconds = 50"),
        ":44: cuts.until_seconds: until_seconds=50.0 is not after from_seconds=60.0",
    ),
    (wrong("until_seconds = 71", "until_seconds = 70"), ":48: cuts.until_seconds: "),
    (wrong("events = 100", "events = 0"), ":26: workload.events: 'events' must be >= 1: 0"),
    (wrong("events = 100", f"events = {EVENTS_MAX + 1}"), ":24: workload: the workload has 10,"),
    (wrong("rate = 2", "rate = 0"), ":27: workload.rate: 'rate' must be > 0: 0"),
    # what would begin after the end
    (wrong("at_seconds = 30", "at_seconds = 121"), f"{LATE}crashes.at_seconds = 121 is after the"),
    (wrong("at_seconds = 33", "at_seconds = 121"), f"{LATE}pauses.at_seconds = 121 is after the"),
    (wrong("at_seconds = 5\n", "at_seconds = 121\n"), f"{LATE}liars.at_seconds = 121 is after"),
    (wrong("= 120", "= 69"), f"{LATE}cuts.from_seconds = 70 is after the end of the run"),
    # options
    (wrong("c = 1", 'c = "two"'), ":13: options.c: option 'c' of membership 'scamp' takes a"),
    # names
    (wrong('"scamp"', '"scampi"'), ":7: membership: unknown membership 'scampi'; installed: "),
    (wrong('"gateways"', '"oracle"'), ":8: discovery: unknown discovery 'oracle'; installed: "),
    (wrong('"lognormal"', '"pareto"'), ":17: links.latency: is one of constant, uniform,"),
    (wrong('identity = "same"\njitter', 'identity = "old"\njitter'), ":31: churn.identity: "),
    (wrong('community = ".d"\nidentity = "same"', 'identity = "x"'), ":40: crashes.identity: "),
    (wrong('topic = ".d"', 'kind = "gossip"'), ":25: workload.kind: 'kind' must be in ("),
    # what does not belong together, or is missing
    (wrong('"lognormal"', '"matrix"'), ":17: links.latency: latency 'matrix' needs a file"),
    (wrong("loss = 0.01", 'file = "m.csv"'), ":17: links.latency: latency 'matrix' needs a file"),
    (wrong('community = ".d"', 'community = ".x"'), ":33: crashes: crashes are to hit .x, which"),
    (wrong('[".d", "."]', '[".x"]'), ":42: cuts: cuts are to set .x apart, which is no community"),
    (wrong('topic = ".d"', 'topic = ".x"'), ":24: workload: the workload publishes on .x, which"),
    (wrong("share = 0.5", ""), ":42: cuts: a cut takes either a share or communities"),
    (wrong("share = 0.5", 'share = 1\ncommunities = ["."]'), ":45: cuts.share: a cut takes either"),
    (wrong("share = 0.3", ""), ":33: crashes: the key 'share' is missing"),
    (wrong("at_seconds = 31", ""), ":37: crashes: the key 'at_seconds' is missing"),
    (wrong('file = "up.csv"', ""), ":28: churn: the key 'file' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "named"), BAD)
def test_what_is_wrong_is_named_with_line_and_key(tmp_path: Path, content: str, named: str) -> None:
    with pytest.raises(TomlError) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'storm.toml'}{named}")


# -- files that a scenario names are read when it is run ---------------------------------------

CHURN = '[communities]\n"." = 3\n[churn]\nfile = "up.csv"\n'
MATRIX = '[communities]\n"." = 3\n[links]\nlatency = "matrix"\nfile = "m.csv"\n'
USENET = '[communities]\n"." = 3\n[workload]\nkind = "usenet"\nfile = "posts.csv"\n'


@pytest.mark.parametrize(
    ("scenario", "file", "content", "named"),
    [
        (CHURN, "up.csv", None, ": cannot be read"),
        (CHURN, "up.csv", "node,up_minute,down_minute\na,0,9\nb,x,9\n", ":3: column 'up_minute'"),
        (MATRIX, "m.csv", None, ": cannot be read"),
        (MATRIX, "m.csv", "0,20\n30,x\n", ":2: column '2': 'x' is not a number"),
        (USENET, "posts.csv", None, ": cannot be read"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(
    tmp_path: Path, scenario: str, file: str, content: str | None, named: str
) -> None:
    if content is not None:
        (tmp_path / file).write_text(content, "utf-8")
    with pytest.raises(WorkloadError) as caught:
        run_scenario(read(tmp_path, scenario))
    assert str(caught.value).startswith(f"{tmp_path / file}{named}")


def test_a_topic_of_a_workload_s_file_without_a_community_is_named(tmp_path: Path) -> None:
    scenario = read(tmp_path, '[communities]\n"." = 3\n[workload]\nkind = "departures"\n')
    with pytest.raises(ScenarioError, match=r"publishes on \.departures\.\S+, which has no comm"):
        run_scenario(scenario)


def test_a_window_outside_of_the_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / "up.csv").write_text("node,up_minute,down_minute\na,0,9\n", "utf-8")
    with pytest.raises(ValueError, match=r"window from 0.0 s for 60.0 s|from 500"):
        run_scenario(read(tmp_path, CHURN + "from_seconds = 500\n"))
