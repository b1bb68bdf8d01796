"""The loss between two processes, by what a scenario says of the topics of their communities."""

from __future__ import annotations

from camcast.research.scenarios.virtual import VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.weak_links import Losses, Topics
from camcast.vocabulary.topic_parameters import TopicParameters
from camcast.vocabulary.topics import ROOT, Topic

A, AB, R = map(Topic.parse, (".a", ".a.b", ".r"))
PLACES: dict[int, Topics] = {1: (ROOT,), 2: (A,), 3: (AB,), 4: (AB,), 5: (R,)}
GATEWAY = 0


def losses(said: dict[Topic, dict[str, float]]) -> Losses:
    scenario = VirtualScenario(
        communities=dict.fromkeys((ROOT, A, AB, R), 2), workload=Workload(topic=A)
    ).with_parameters(TopicParameters(said))
    return Losses(scenario, 0.125, PLACES)


def test_each_pair_has_the_loss_of_the_community_that_its_copies_are_from() -> None:
    loss = losses({A: {"success": 0.75, "success_up": 0.5}, AB: {"success": 1.0}}).between
    assert loss(3, 4) == 0.0
    assert loss(3, 2) == loss(2, 3) == loss(2, 1) == loss(3, 1) == 0.5
    assert loss(5, 5) == loss(5, 1) == loss(5, 2) == 0.125  # of which nothing is said
    assert loss(GATEWAY, 3) == loss(3, GATEWAY) == 0.125


def test_upward_copies_have_the_success_of_their_community_where_nothing_else_is_said() -> None:
    loss = losses({AB: {"success": 0.25}}).between
    assert loss(3, 4) == loss(3, 2) == loss(4, 1) == 0.75
    assert loss(2, 1) == 0.125


def test_a_frame_meets_one_obstacle_at_most_that_with_its_loss() -> None:
    losses_of = losses({A: {"success": 0.75, "success_up": 0.5}, AB: {"success": 1.0}})
    obstacles = losses_of.obstacles()
    for source in range(6):
        for target in range(6):
            met = [one.loss for one in obstacles if one.severs(source, target)]
            assert met == [loss for loss in [losses_of.between(source, target)] if loss]
