"""Scenarios with processes in several communities, and topics with several super-topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from camcast.research.scenarios.base import BaseScenario, Processes, ScenarioError
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.schedule import Plan, due
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.toml_file import TomlError, TomlFile
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic

L, R, X = map(Topic.parse, (".l", ".r", ".x"))
GOOD = """\
[communities]
"." = 2
".l" = 3
[[processes]]
topics = [".l", ".x"]
count = 4
[[processes]]
topics = [".r", "."]
[topics.".x"]
below = [".l", ".r"]
[workload]
topic = ".x"
events = 8
"""


def _file(folder: Path, content: str = GOOD) -> Path:
    path = folder / "several.toml"
    path.write_text(content)
    return path


@pytest.mark.parametrize("world", [Scenario, VirtualScenario])
def test_a_file_says_who_is_where_and_what_is_below_what(
    tmp_path: Path, world: type[BaseScenario]
) -> None:
    scenario = world.read(_file(tmp_path))
    assert scenario.nodes == 2 + 3 + 4 + 1
    assert scenario.sizes == {ROOT: 3, L: 7, X: 4, R: 1}
    assert scenario.kinds == {(ROOT,): 2, (L,): 3, (L, X): 4, (R, ROOT): 1}
    assert scenario.super_topics.of(X) == (L, R)
    assert TomlFile.given(scenario.as_json(), tmp_path).read(world) == scenario


def test_a_process_in_several_communities_joins_and_publishes_in_each(tmp_path: Path) -> None:
    plan = Plan.of(Scenario.read(_file(tmp_path)))
    several = [node for node, topics in enumerate(plan.topics) if topics == (L, X)]
    assert plan.members()[X] == several
    places = [place for wave in plan.waves() for place in wave]
    assert len(places) == 3 + 7 + 4 + 1
    assert places.index((several[0], L)) < places.index((several[0], X))  # from the root down
    assert {(event.node in several, event.topic) for event in due(plan)} == {(True, X)}


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ('topics = [".r", "."]', "topics = []", ":8: processes.topics: topics is empty"),
        ('topics = [".r", "."]', "count = 2", ":7: processes: the key 'topics' is missing"),
        ('topics = [".r", "."]', 'topics = [".r", ".r"]', ":8: processes.topics: topics names .r"),
        ('topics = [".r", "."]', 'topics = ".r"', ":8: processes.topics: takes an array"),
        ('topics = [".r", "."]', 'topics = ["r"]', ":8: processes.topics: topic 'r' must start"),
        ("count = 4", "count = 0", ":6: processes.count: 'count' must be >= 1: 0"),
        ("count = 4", "size = 4", ":6: processes.size: unknown key; known are topics, count"),
        ('below = [".l", ".r"]', "below = []", ':10: topics.".x".below: below is empty'),
        ('below = [".l", ".r"]', 'below = ".l"', ':10: topics.".x".below: takes an array'),
        ('below = [".l", ".r"]', 'above = ".l"', ':10: topics.".x".above: unknown key; known are'),
        ('[".l", ".r"]', '[".l", ".l"]', ':10: topics.".x".below: below names .l twice'),
        (
            '[".l", ".r"]',
            '[".x.y"]',
            ':9: topics.".x": .x would be its own super-topic by way of .x.y',
        ),
        ('topic = ".x"', 'topic = ".y"', "the workload publishes on .y, which has no community"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_key(
    tmp_path: Path, before: str, after: str, named: str
) -> None:
    path = _file(tmp_path, GOOD.replace(before, after))
    with pytest.raises((TomlError, ScenarioError)) as caught:
        Scenario.read(path).publications()
    assert named in str(caught.value)


def test_a_protocol_that_goes_by_names_takes_no_declared_super_topics() -> None:
    for protocol in ("broadcast", "percolation", "hpmcast"):
        with pytest.raises(ScenarioError, match=f"{protocol} goes by the names of topics"):
            VirtualScenario(
                communities={L: 2, X: 2},
                topics={X: DeclaredTopic(below=(L,))},
                workload=Workload(topic=X),
                protocol=protocol,
            )


def test_there_must_be_somebody_and_not_too_many() -> None:
    with pytest.raises(ScenarioError, match="there are no communities"):
        Scenario()
    with pytest.raises(ScenarioError, match="3000 nodes in 2 communities are too many"):
        Scenario(processes=(Processes(topics=(L, R), count=3000),))


@pytest.mark.parametrize("world", [Scenario, VirtualScenario])
@pytest.mark.parametrize(
    ("given", "repaired"),
    [
        ({}, True),
        ({"protocol": "multicast"}, True),
        ({"protocol": "percolation"}, False),  # its events travel in no batches
        ({"parameters": CommunitySettings(retention_seconds=0.0)}, False),
        ({"repair": False}, False),
    ],
)
def test_both_worlds_repair_by_default_what_their_protocol_can(
    world: type[BaseScenario], given: dict[str, Any], repaired: bool
) -> None:
    assert world(communities={ROOT: 2}, workload=Workload(topic=ROOT), **given).repaired is repaired
