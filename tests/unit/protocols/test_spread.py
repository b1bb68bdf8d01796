"""How events spread inside a community is a parameter, and a tree needs repair."""

from __future__ import annotations

import attrs
import pytest

from camcast import CommunityManager, Parameters
from camcast.doors.options import OptionError
from camcast.engine.participation import Participation
from camcast.protocols.gossip import Gossip
from camcast.protocols.spread import make_spread
from camcast.protocols.tree import Tree
from camcast.scenarios.base import ScenarioError
from camcast.scenarios.virtual import VirtualScenario
from camcast.scenarios.workload import Workload
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic

A = Topic.parse(".a")
INFECT, TREE = Parameters(), Parameters(spread="tree")


def participation(parameters: Parameters, protocol: str, *, repair: bool) -> Participation:
    world = World(parameters=parameters, protocol=protocol, topics=(A,), repair=repair)
    made = world.join(A).participation(A)
    assert made is not None
    return made


@pytest.mark.parametrize("protocol", ["camcast", "multicast"])
def test_a_tree_is_chosen_and_needs_repair(protocol: str) -> None:
    for parameters, repair, kind in (
        (INFECT, True, Gossip),
        (TREE, True, Tree),
        (TREE, False, Gossip),
        (Parameters(spread="tree", retention_seconds=0), True, Gossip),
    ):
        made = participation(parameters, protocol, repair=repair)
        assert isinstance(make_spread(made.context), kind)
        assert made.dissemination.flags_busy is (kind is Tree)


def test_a_tree_without_repair_is_refused_where_a_user_asks_for_it() -> None:
    with pytest.raises(OptionError, match="goes with repair"):
        CommunityManager(parameters=TREE, repair=False)
    scenario = VirtualScenario(communities={A: 3}, workload=Workload(topic=A), repair=True)
    repaired = attrs.evolve(scenario, parameters=TREE)
    with pytest.raises(ScenarioError, match="goes with repair"):
        attrs.evolve(repaired, repair=False)
