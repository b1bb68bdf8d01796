"""Weaker filters cover the precise ones (002, 6.1.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.coverage import Accuracy, accuracy_of, weakened
from camcast.vocabulary.topics import Topic

TOPICS = (".", ".a", ".a.b", ".a.b.c", ".a.d", ".x")
comparisons = st.sampled_from(["mag > 3", "mag > 5", "mag <= 5", "depth < 30", 'place == "P"'])
terms = st.tuples(st.sampled_from(TOPICS), st.lists(comparisons, max_size=2)).map(
    lambda term: " and ".join((term[0], *term[1]))
)


def can_be(text: str) -> bool:
    return not ("mag > 5" in text and "mag <= 5" in text)


interests = st.lists(terms.filter(can_be), min_size=1, max_size=4).map(
    lambda texts: Interest.parse(" or ".join(texts))
)


@given(interest=interests, other=interests)
def test_a_weaker_filter_covers_the_precise_one(interest: Interest, other: Interest) -> None:
    weak = [weakened(interest, accuracy) for accuracy in Accuracy]
    precise, selective, by_topic = weak
    assert precise == interest
    assert selective.covers(interest)
    assert by_topic.covers(selective)
    assert len(by_topic.terms) <= len(selective.terms) <= len(interest.terms)
    for accuracy in Accuracy:  # a line is condensed from weakened ones, or weakened at the end
        both = weakened(interest.union(other), accuracy)
        assert weakened(both, accuracy) == both
        one, two = weakened(interest, accuracy), weakened(other, accuracy)
        for line in (both, one.union(two), weakened(one.union(two), accuracy)):
            assert line.covers(interest)
            assert line.covers(other)


@given(
    interest=interests,
    topic=st.sampled_from(TOPICS),
    attributes=st.fixed_dictionaries(
        {}, optional={"mag": st.integers(0, 9), "depth": st.integers(0, 60), "place": st.just("P")}
    ),
)
def test_no_event_is_lost_on_its_way_down(
    interest: Interest, topic: str, attributes: dict[str, object]
) -> None:
    event = (Topic.parse(topic), attributes)
    if interest.matches(*event):
        assert all(weakened(interest, accuracy).matches(*event) for accuracy in Accuracy)


def test_attributes_on_which_all_agree_are_still_compared() -> None:
    """6.1.1: "attributes for which a subsystem gives different ranges of values of interest are not
    filtered anymore. Also, filters for related types [...] are replaced by a compound filter"."""
    lines = ".a and mag > 5 and depth < 30 or .a.b and mag > 3 and depth < 30 or .x and mag > 5"
    weak = weakened(Interest.parse(lines), Accuracy.SELECTIVE)
    assert weak == Interest.parse(".a and depth < 30 or .x and mag > 5")
    assert weakened(weak, Accuracy.TOPIC) == Interest.parse(".a or .x")


def test_the_higher_the_weaker() -> None:
    def levels(count: int) -> list[Accuracy]:
        return [accuracy_of(level, count) for level in range(1, count + 1)]

    precise, selective, by_topic = Accuracy
    assert levels(1) == [precise]
    assert levels(2) == [precise, selective]
    assert levels(4) == [precise, selective, selective, by_topic]
    with pytest.raises(ValueError, match="level 0 of 3"):
        accuracy_of(0, 3)
