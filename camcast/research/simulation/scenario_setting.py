"""The setting of a scenario file: its communities, without what happens to them in time.

The closed forms and the simulators of settings (`camcast.research.systems.camcast.setting`) know
communities, which are above which, how often copies are lost, and who is dead from the beginning.
So the same file describes a setting, and a run in the virtual network.
"""

from __future__ import annotations

import attrs

from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.systems.camcast.setting import Community, Overlap, Setting
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

_IN_TIME = ("crashes", "pauses", "cuts", "liars", "churn")


def setting_of(scenario: VirtualScenario) -> Setting:
    """Return the communities that an event of the workload's topic is for, its own first.

    A community is linked to the nearest ones with members on all its ways up. Raises
    `ScenarioError` for a workload of several topics, and for what happens in time.
    """
    for name in _IN_TIME:
        if getattr(scenario, name):
            raise ScenarioError(
                f"{name}: a setting knows only loss and stillborn processes; leave them out, or"
                " give the file to `camcast simulate virtual`"
            )
    if scenario.workload.kind != "synthetic":
        raise ScenarioError(
            f"the workload {scenario.workload.kind} has events of several topics, and a setting one"
            " event; give workload.topic"
        )
    above, sizes = scenario.super_topics, scenario.sizes
    reached = [topic for topic in above.levels(scenario.workload.topic) if topic in sizes]
    topics = sorted(reached, key=above.depth, reverse=True)
    said = scenario.topic_parameters
    index = {topic: number for number, topic in enumerate(topics)}

    def linked(topic: Topic) -> list[Topic]:
        ways = above.of(topic)
        return [one for way in ways for one in ([way] if way in index else linked(way))]

    communities = tuple(
        Community(
            size=sizes[topic],
            supers=tuple(index[one] for one in dict.fromkeys(linked(topic))),
            parameters=_of_paper(scenario.settings_of(topic)),
            success=said.share(topic, "success"),
            success_up=said.share(topic, "success_up"),
            topic=topic.name,
        )
        for topic in topics
    )
    shared: dict[tuple[int, ...], int] = {}
    for kind, count in scenario.kinds.items():
        homes = tuple(sorted(index[topic] for topic in kind if topic in index))
        if len(homes) > 1:
            shared[homes] = shared.get(homes, 0) + count
    return Setting(
        communities=communities,
        overlaps=tuple(Overlap(communities=homes, count=count) for homes, count in shared.items()),
        success=1 - scenario.links.loss,
        crash=scenario.stillborn,
    )


def _of_paper(settings: Parameters) -> Parameters:
    """Return the paper's parameters alone."""
    names = [one.name for one in attrs.fields(Parameters)]
    return Parameters(**{name: getattr(settings, name) for name in names})
