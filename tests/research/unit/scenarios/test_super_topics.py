"""The relation of topics to their super-topics, against one that is searched through."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from camcast.research.scenarios.super_topics import SuperTopics
from camcast.vocabulary.hierarchy import HierarchyError
from camcast.vocabulary.topics import ROOT, Topic

TOPICS = [Topic.parse(f".t{number}") for number in range(8)]


def _reachable(above: dict[Topic, list[Topic]], topic: Topic) -> set[Topic]:
    ways = above.get(topic, [ROOT] if topic != ROOT else [])
    return {topic}.union(*(_reachable(above, way) for way in ways))


@pytest.mark.parametrize("seed", range(20))
def test_a_topic_is_included_by_all_that_are_above_it_on_any_way(seed: int) -> None:
    draw = Random(seed)
    above = {
        topic: draw.sample(TOPICS[:number], draw.randint(1, min(3, number)))
        for number, topic in enumerate(TOPICS)
        if number and draw.random() < 0.8
    }
    relation = SuperTopics(above)
    for topic, other in product([*TOPICS, ROOT], repeat=2):
        reachable = _reachable(above, topic)
        assert relation.includes(other.name, topic.name) == (other in reachable)
        assert set(relation.levels(topic)) == reachable
        assert relation.levels(topic)[0] == topic
        if other in relation.of(topic):
            assert relation.depth(topic) > relation.depth(other)


def test_without_a_declaration_the_name_says_it() -> None:
    topic = Topic.parse(".a.b")
    assert SuperTopics().names_above(".a.b") == (".a.b", ".a", ".")
    assert SuperTopics().of(ROOT) == ()
    assert SuperTopics({Topic.parse(".a"): [TOPICS[0]]}).names_above(".a.b")[:3] == (
        *(".a.b", ".a", ".t0"),
    )
    assert SuperTopics().nearest(topic, [ROOT]) == ROOT
    assert SuperTopics().nearest(topic, []) is None


def test_nothing_is_below_itself() -> None:
    one, two, three = TOPICS[:3]
    with pytest.raises(HierarchyError, match="would be its own super-topic"):
        SuperTopics({one: [two], two: [three], three: [one]})
