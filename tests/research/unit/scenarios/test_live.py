from itertools import pairwise
from pathlib import Path

import pytest

from camcast.research.experiment.demo_flights import departures
from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.live import Scenario, chain, find_scenario
from camcast.research.scenarios.schedule import Plan, due
from camcast.research.scenarios.toml_file import TomlError
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.topics import ROOT, Topic

GOOD = """
seed = 7
workers = 3
kill = 0.34
[communities]
"." = 4
".soccer" = 9
[workload]
topic = ".soccer"
events = 20
rate = 50
[parameters]
p_sel = 0.5
[options]
c = 1
"""


def _file(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    return path


def test_a_file_says_everything(tmp_path: Path) -> None:
    scenario = Scenario.read(_file(tmp_path, GOOD))
    assert scenario.name == "mine"
    assert scenario.communities == {ROOT: 4, Topic.parse(".soccer"): 9}
    assert (scenario.seed, scenario.workers, scenario.victims) == (7, 3, 1)
    assert scenario.parameters.p_sel == 0.5
    assert scenario.options == {"c": 1}
    assert len(scenario.publications()) == 20
    assert scenario.publications()[-1].at_seconds == pytest.approx(19 / 50)
    assert scenario.as_json()["communities"] == {".": 4, ".soccer": 9}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("seeds = 1\n" + GOOD, ":1: seeds: unknown key; known are name, communities,"),
        (GOOD.replace("p_sel = 0.5", "p_sel = 1.5"), ":13: parameters.p_sel: 'p_sel' must be <= 1"),
        (GOOD.replace("p_sel = 0.5", "c = 2").replace("c = 1", "c = -1"), ":15: options.c: "),
        (GOOD.replace("c = 1", "d = 1"), ":15: options.d: membership 'scamp' has no option 'd'"),
        (GOOD.replace("kill = 0.34", "kill = 1.2"), ":4: kill: 'kill' must be < 1"),
        (GOOD.replace("kill = 0.34", "kill = 0.01"), ":4: kill: kill=0.01 of 3 processes kills 0"),
        (GOOD.replace('".soccer" = 9', '".soccer" = 99999'), ":5: communities: 100003 nodes in 2"),
        (GOOD.replace('topic = ".soccer"', 'kind = "usenet"'), ":8: workload: the workload usenet"),
        ("seed = 1\n", ": there are no communities"),
        (
            "processes = 2\n",
            ":1: processes: takes an array of tables, written as [[processes]], not 2",
        ),
    ],
)
def test_a_wrong_file_is_named_with_line_and_key(tmp_path: Path, content: str, named: str) -> None:
    path = _file(tmp_path, content)
    with pytest.raises(TomlError) as caught:
        Scenario.read(path)
    assert str(caught.value).startswith(f"{path}{named}")


def test_a_file_may_name_its_scenario(tmp_path: Path) -> None:
    assert Scenario.read(_file(tmp_path, 'name = "yours"\n' + GOOD)).name == "yours"


def test_a_workload_s_file_is_beside_the_scenario_s(tmp_path: Path) -> None:
    content = GOOD.replace("rate = 50", 'kind = "usenet"\nfile = "posts.csv"')
    assert Scenario.read(_file(tmp_path, content)).workload.file == tmp_path / "posts.csv"


def test_unknown_scenarios_are_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="paper"):
        find_scenario("papers")
    with pytest.raises(TomlError, match=r"absent\.toml"):
        find_scenario(str(tmp_path / "absent.toml"))


def test_the_paper_s_chain() -> None:
    paper = find_scenario("paper")
    assert {t.name: n for t, n in paper.communities.items()} == {".": 7, ".d": 27, ".d.g": 84}
    assert (paper.parameters.a, paper.parameters.z, paper.parameters.c) == (2, 4, 0)
    assert {p.topics for p in paper.publications()} == {(Topic.parse(".d.g"),)}


def test_a_topic_without_a_community_is_named() -> None:
    scenario = Scenario(communities={ROOT: 3}, workload=Workload(topic=Topic.parse(".a")))
    with pytest.raises(ScenarioError, match=r"publishes on \.a,"):
        scenario.publications()


def test_the_day_of_departures() -> None:
    scenario = departures()
    assert scenario.nodes == 118
    assert len(scenario.communities) == 1 + 3 + 29
    assert min(scenario.communities.values()) == 2
    publications = scenario.publications()
    assert len(publications) == 842
    assert publications[-1].at_seconds == pytest.approx(12)
    carriers = {t: n for t, n in scenario.communities.items() if t.level == 3}
    assert carriers[Topic.parse(".departures.JFK.B6")] == max(carriers.values())
    assert carriers[Topic.parse(".departures.JFK.HA")] == 2


def test_pauses_are_cut() -> None:
    whole = Workload(kind="departures").load()
    cut = Workload(kind="departures", gap_seconds_max=600, speed=2).load()
    gaps = [b.at_seconds - a.at_seconds for a, b in pairwise(cut)]
    assert max(gaps) == pytest.approx(300)
    assert [p.payload for p in cut] == [p.payload for p in whole]


def test_waves_fill_each_level_from_the_root_down() -> None:
    plan = Plan.of(Scenario(communities=chain([5, 3, 2]), workload=Workload()))
    waves = [[topic.level for _, topic in wave] for wave in plan.waves()]
    assert waves == [[0], [0], [1], [1], [1], [2], [2], [2, 2], [2]]
    assert sorted(node for wave in plan.waves() for node, _ in wave) == list(range(10))


def test_after_the_middle_only_survivors_publish() -> None:
    scenario = Scenario(
        communities={ROOT: 20}, workload=Workload(events=200, rate=10), workers=4, kill=0.5
    )
    plan = Plan.of(scenario)
    assert len(plan.victims) == 2
    events = due(plan)
    late = [event for event in events if event.at >= events[-1].at / 2]
    assert len(late) == 100
    assert not {plan.worker(event.node) for event in late} & plan.victims
    assert {plan.worker(event.node) for event in events} == {0, 1, 2, 3}
    assert due(Plan.of(scenario)) == events  # the seed says it all
