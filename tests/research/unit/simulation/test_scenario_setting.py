"""The setting of a scenario file: which communities are above which, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from camcast.research.scenarios.base import Processes, ScenarioError
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.virtual import Crashes, Links, Pauses, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.scenario_setting import setting_of
from camcast.research.systems.camcast.setting import Overlap, Setting
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic

L, R, M, X, Y = map(Topic.parse, (".l", ".r", ".m", ".x", ".y"))


def scenario(**changes: Any) -> VirtualScenario:
    """Make a scenario in which `.x` is below `.l`, and below `.m`, where nobody is."""
    fields: dict[str, Any] = {
        "communities": {ROOT: 5, L: 6, R: 7, X: 8, Y: 9},
        "topics": {X: DeclaredTopic(below=(L, M)), M: DeclaredTopic(below=(R, L))},
        "workload": Workload(topic=X),
        "parameters": CommunitySettings(c=3.0, check_seconds=9.0),
        "links": Links(loss=0.25),
        "stillborn": 0.5,
    }
    return VirtualScenario(**(fields | changes))


def test_each_community_is_linked_to_the_nearest_on_all_ways_up() -> None:
    setting = setting_of(scenario())
    assert [(one.topic, one.size) for one in setting.communities] == [
        *((".x", 8), (".l", 6), (".r", 7), (".", 5)),  # nobody of .y is to get the event
    ]
    assert [one.supers for one in setting.communities] == [(1, 2), (3,), (3,), ()]
    assert {one.parameters.c for one in setting.communities} == {3.0}
    assert (setting.success, setting.crash, setting.processes) == (0.75, 0.5, 26)


def test_a_process_in_several_communities_counts_once() -> None:
    several = (Processes(topics=(Y, X), count=2), Processes(topics=(ROOT, X, L), count=3))
    setting = setting_of(scenario(processes=several))
    assert [one.size for one in setting.communities] == [8 + 2 + 3, 6 + 3, 7, 5 + 3]
    assert setting.overlaps == (Overlap(communities=(0, 1, 3), count=3),)  # .y does not take part
    assert setting.processes == 26 + 2 + 3
    plain = {
        "communities": [
            {"size": one.size, "supers": one.supers, "parameters": {}, "topic": one.topic}
            for one in setting.communities
        ],
        "overlaps": [{"communities": [0, 1, 3], "count": 3}],
    }
    assert Setting.of_json(plain).overlaps == setting.overlaps


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"crashes": (Crashes(at_seconds=1, share=0.1),)}, "crashes: a setting knows only loss"),
        ({"pauses": (Pauses(at_seconds=1, seconds=1, share=1),)}, "pauses: a setting knows only"),
        ({"workload": Workload(kind="departures")}, "departures has events of several topics"),
    ],
)
def test_what_happens_in_time_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ScenarioError, match=named):
        setting_of(scenario(**changes))
