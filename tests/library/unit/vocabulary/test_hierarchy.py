"""The hierarchy against what the paper says of "includes", by plain walks over the steps."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from camcast.vocabulary.hierarchy import (
    ANCESTORS_MAX,
    LOOKUPS_REMEMBERED,
    SUPER_TOPICS_MAX,
    TOLD_SECONDS,
    Hierarchy,
    HierarchyError,
)
from camcast.vocabulary.topics import ROOT, Topic

L, R, Q, X, Y = (Topic.parse(name) for name in (".l", ".r", ".q", ".l.x", ".l.x.y"))


def test_names_alone_say_what_the_paper_says() -> None:
    hierarchy = Hierarchy()
    assert hierarchy.is_plain
    assert hierarchy.ancestors(Y) == (X, L, ROOT) == tuple(Y.ancestors())
    assert [way.topics for way in hierarchy.ways_up([X])] == [(X, L, ROOT)]
    assert hierarchy.includes(L, Y)
    assert not hierarchy.includes(R, Y)


def test_a_second_super_topic_of_one_between_is_a_way_of_its_own() -> None:
    hierarchy = Hierarchy()
    hierarchy.declare({X: (L, R)})
    assert hierarchy.ancestors(Y) == (X, L, R, ROOT)
    ways = hierarchy.ways_up(hierarchy.super_topics(Y))
    assert [(way.depth, way.topics) for way in ways] == [(0, (X, L, ROOT)), (1, (R,))]
    assert hierarchy.includes(R, Y)


def test_a_declared_super_topic_takes_the_place_of_the_one_in_the_name() -> None:
    hierarchy = Hierarchy()
    hierarchy.declare({X: (R,)})
    assert hierarchy.ancestors(Y) == (X, R, ROOT)
    assert [way.topics for way in hierarchy.ways_up([X])] == [(X,), (R, ROOT)]
    hierarchy.declare({X: (L,)})
    assert hierarchy.is_plain


@pytest.mark.parametrize("steps", [{L: (Y,)}, {L: (L,)}, {ROOT: (L,)}, {R: (Q,), Q: (R,)}])
def test_a_topic_that_would_include_itself_is_refused(
    steps: dict[Topic, tuple[Topic, ...]],
) -> None:
    hierarchy = Hierarchy()
    with pytest.raises(HierarchyError, match="its own super-topic"):
        hierarchy.declare(steps)
    assert hierarchy.is_plain


def test_topics_that_peers_name_fill_no_memory() -> None:
    hierarchy = Hierarchy()
    hierarchy.declare({X: [R]})
    for number in range(2 * LOOKUPS_REMEMBERED + 2):
        assert hierarchy.ancestors(Topic.parse(f".l.x.y{number}")) == (X, R, ROOT)
        assert len(hierarchy._ancestors) <= LOOKUPS_REMEMBERED


def test_what_members_tell_adds_up_until_they_are_silent_of_it() -> None:
    hierarchy = Hierarchy()
    hierarchy.tell(X, (L,), 0.0)
    assert hierarchy.is_plain
    hierarchy.tell(X, (L, R), 0.0)
    hierarchy.tell(X, (Q,), 1.0)
    assert hierarchy.super_topics(X) == (L, R, Q)
    assert hierarchy.served_by(X) == (L, R, Q)
    hierarchy.tell(X, (Q,), TOLD_SECONDS + 0.5)
    assert hierarchy.super_topics(X) == (Q,)
    hierarchy.tell(R, (X,), 0.0)
    hierarchy.tell(Q, (X,), 0.0)  # X would include itself
    assert hierarchy.super_topics(Q) == (ROOT,)


def test_what_is_told_gives_no_rights() -> None:
    hierarchy = Hierarchy()
    hierarchy.tell(X, (L, R), 0.0)
    assert hierarchy.includes(R, Y)
    assert not hierarchy.declares(R, Y)
    hierarchy.declare({X: (L, R)})
    assert hierarchy.declares(R, Y)


@pytest.mark.parametrize("seed", range(3))
def test_the_ways_up_pass_every_ancestor_once_and_steps_are_in_the_relation(seed: int) -> None:
    rng = Random(seed)
    topics = [
        Topic.parse("." + ".".join(rng.choice("ab") for _ in range(1 + n % 4))) for n in range(30)
    ]
    topics = sorted({topic.name: topic for topic in topics}.values())
    hierarchy, steps = Hierarchy(), dict[Topic, tuple[Topic, ...]]()
    for topic in topics:
        try:
            hierarchy.declare({topic: tuple(rng.sample(topics, rng.randint(1, 3)))})
        except HierarchyError:
            continue
        steps[topic] = hierarchy.super_topics(topic)
    for topic in topics:
        above: dict[Topic, None] = {}  # a depth-first walk
        stack = list(hierarchy.super_topics(topic))
        while stack:
            one = stack.pop()
            if one not in above:
                above[one] = None
                stack += hierarchy.super_topics(one)
        ways = hierarchy.ways_up(hierarchy.super_topics(topic))
        passed = [one for way in ways for one in way.topics]
        assert sorted(passed) == sorted(above) == sorted(hierarchy.ancestors(topic))
        assert all(
            after in hierarchy.super_topics(one)
            for way in ways
            for one, after in zip(way.topics, way.topics[1:], strict=False)
        )


def test_more_super_topics_or_ancestors_than_are_searched_for_are_refused_by_name() -> None:
    hierarchy = Hierarchy()
    many = [Topic.parse(f".s{number}") for number in range(SUPER_TOPICS_MAX + 1)]
    with pytest.raises(HierarchyError, match=r"\.x has 17 super-topics; give at most 16"):
        hierarchy.declare({X: many})
    long = [Topic.parse(f".a{number}") for number in range(ANCESTORS_MAX + 1)]
    steps = {below: (above,) for below, above in pairwise(long)}
    with pytest.raises(HierarchyError, match=f"ancestors, of which at most {ANCESTORS_MAX}"):
        hierarchy.declare(steps)
    assert hierarchy.is_plain
