"""Interests that travel: bounded, weakened where they are too large, and covering always."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.interests import term as interest_term
from camcast.interests.bounded import (
    BYTES_MAX,
    COMPARING_MAX,
    TERMS_MAX,
    UNITED_MAX,
    read_interest,
    union_of,
)
from camcast.interests.interest import TOGETHER_MAX, Interest, InterestError
from camcast.interests.term import Term
from camcast.interests.wanted import ProcessInterest
from camcast.research.systems.hpmcast.coverage import Accuracy, accuracy_of, condensed
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.vocabulary.topics import Topic

TOPICS = (".", ".a", ".a.b", ".a.b.c", ".a.d", ".x")
COMPARISONS = ("", " and mag > 3", " and mag > 5", " and depth < 30", ' and place == "P"')
simple = st.tuples(st.sampled_from(TOPICS), st.sampled_from(COMPARISONS)).map("".join)
terms = st.tuples(simple, st.sampled_from(COMPARISONS[:4])).map("".join)
interests = st.lists(terms, min_size=1, max_size=4).map(
    lambda texts: Interest.parse(" or ".join(texts))
)
many = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 9)), min_size=UNITED_MAX + 1, max_size=200
).map(lambda pairs: [Interest.parse(f".t{one}.x and mag > {two}") for one, two in pairs])


@given(st.lists(interests, min_size=1, max_size=6))
def test_a_small_union_is_the_precise_one(wanted: list[Interest]) -> None:
    first, *others = wanted
    assert union_of(wanted) == first.union(*others)


@settings(max_examples=25)
@given(st.lists(interests, min_size=1, max_size=6) | many, st.integers(1, 4))
def test_a_condensed_line_covers_all_and_can_be_sent(wanted: list[Interest], levels: int) -> None:
    for level in range(1, levels + 1):
        line = condensed(wanted, accuracy_of(level, levels))
        assert all(line.covers(one) for one in wanted)
        assert read_interest(str(line)) == line
        assert Hierarchy(arity=2, depth=levels).regroup(level)(wanted) == line


@given(st.lists(st.lists(interests, min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_condensed_level_by_level_covers_who_is_below(groups: list[list[Interest]]) -> None:
    lines = [condensed(group, Accuracy.SELECTIVE) for group in groups]
    top = condensed(lines, Accuracy.TOPIC)
    assert all(top.covers(line) for line in lines)
    assert all(top.covers(one) for group in groups for one in group)


@given(
    st.lists(interests, min_size=1, max_size=5),
    st.sampled_from(TOPICS),
    st.fixed_dictionaries(
        {}, optional={"mag": st.integers(0, 9), "depth": st.integers(0, 60), "place": st.just("P")}
    ),
)
def test_no_event_is_lost_for_whom_a_line_stands(
    wanted: list[Interest], topic: str, attributes: dict[str, object]
) -> None:
    """Asked event by event, not by `covers`."""
    event = (Topic.parse(topic), attributes)
    if any(one.matches(*event) for one in wanted):
        assert all(condensed(wanted, accuracy).matches(*event) for accuracy in Accuracy)


def test_too_many_terms_become_their_topics_and_these_wider_ones() -> None:
    """6.1.1: a filter that covers the precise one."""
    precise = [Interest.parse(f".a and x > {n} and x < {n + 0.5}") for n in range(COMPARING_MAX)]
    assert len(union_of(precise).terms) == COMPARING_MAX
    assert union_of([*precise, Interest.parse(".x and mag > 1")]) == Interest.parse(".a or .x")
    news = [Interest.parse(f".usenet.comp.g{n}") for n in range(TERMS_MAX + 1)]
    assert union_of(news[:-1]) == Interest.parse(" or ".join(map(str, news[:-1])))
    assert union_of([*news, Interest.parse(".a")]) == Interest.parse(".a or .usenet.comp")


@pytest.mark.parametrize("seed", range(20))
def test_topics_are_cut_where_the_definition_says(seed: int) -> None:
    """To as many levels as leave them few and short enough, whatever their order."""
    rng = Random(seed)
    width, deep, padding = (
        rng.choice([2, 8, 30]),
        rng.choice([1, 2, 4, 8]),
        "x" * rng.choice([0, 20]),
    )
    topics = [
        Topic(tuple(f"{rng.randrange(width)}{padding}" for _ in range(rng.randint(1, deep))))
        for _ in range(UNITED_MAX + rng.choice([1, 100, 1000]))
    ]
    if seed % 5 == 0:
        topics.append(Topic(("1" + padding,)))
    for depth in range(deep, -1, -1):
        cut = dict.fromkeys(Topic(topic.levels[:depth]) for topic in topics)
        kept = [one for one in cut if not any(two.includes(one) for two in cut if two != one)]
        text = " or ".join(one.name for one in kept)
        if len(kept) <= TERMS_MAX and len(text) + len(" or ") <= BYTES_MAX:
            break
    assert union_of(Interest([Term(topic)]) for topic in topics) == Interest.parse(text)


def test_a_topic_that_comes_last_may_make_others_needless() -> None:
    """Then there are few, and none has to give way to its super-topic."""
    deep = [Interest.parse(f".a.b{n}.c") for n in range(5 * TERMS_MAX)]
    others = [Interest.parse(".x.y.z"), Interest.parse(".a")]
    assert str(union_of([*deep, *others])) == ".a or .x.y.z"


def test_too_long_a_text_becomes_its_topics_and_these_wider_ones() -> None:
    long = "x" * 60
    text = " or ".join(f'.a.{long}.b{n} and place == "{long}{n}"' for n in range(20))
    topics = union_of([Interest.parse(text)])
    assert topics == Interest.parse(" or ".join(f".a.{long}.b{n}" for n in range(20)))
    more = " or ".join(f".a.{long}.b{n}" for n in range(40))
    assert len(more) > BYTES_MAX
    assert union_of([Interest.parse(more)]) == Interest.parse(f".a.{long}")


@given(st.text(max_size=60) | interests.map(str) | st.sampled_from(["\ud800", '.a or "', "(" * 99]))
def test_a_text_of_a_stranger_is_an_interest_or_a_named_error(text: str) -> None:
    try:
        read = read_interest(text)
    except InterestError:
        with pytest.raises(InterestError, match="column"):
            Interest.parse(text)
    else:
        whole = Interest.parse(text)
        assert read.covers(whole)
        assert whole.covers(read)
        assert str(whole) != text or read == whole


def test_a_text_that_is_too_large_is_refused_by_name() -> None:
    with pytest.raises(InterestError, match="at most 2,048 bytes"):
        read_interest(".ä" * BYTES_MAX)
    with pytest.raises(InterestError, match="multiplied out"):
        read_interest("(x > 1 or y > 1) and z > 1")
    with pytest.raises(InterestError, match="at most 64 alternatives, not 65"):
        read_interest(" or ".join(f"x == {n}" for n in range(TERMS_MAX + 1)))
    with pytest.raises(InterestError, match="at most 16 alternatives that compare"):
        read_interest(" or ".join(f"x == {n} and y > 1" for n in range(COMPARING_MAX + 1)))


@pytest.mark.parametrize("compared", [1, 2, 3, 4, 6, 8])
def test_what_it_takes_to_parse_a_text_is_bounded(
    compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these leaves as many pieces of the others as it compares attributes: without a bound
    the 64 of three took a second, and those of four half a minute."""
    looked_at = Counter[str]()

    def count(piece: Any, other: Term) -> Any:
        looked_at["pieces"] += 1
        return minus(piece, other)

    minus = interest_term._minus
    monkeypatch.setattr(interest_term, "_minus", count)
    rng = Random(compared)
    terms = [
        " and ".join(f"{name} != {rng.randrange(100)}" for name in "abcdefgh"[:compared])
        for _ in range(TERMS_MAX)
    ]
    text = " or ".join(terms)
    while len(text) > BYTES_MAX:
        text = text.rpartition(" or ")[0]
    Interest.parse(text)
    assert looked_at["pieces"] <= 3 * TOGETHER_MAX  # in three rounds at most, of these texts


def test_what_others_send_is_taken_for_condensed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No term is compared with another; whatever is united is condensed anew."""
    read_interest.cache_clear()
    monkeypatch.setattr(Term, "within", None)
    monkeypatch.setattr(Term, "covered_by", None)
    read = read_interest("x > 1 or x > 2 or .a and x > 1")
    assert len(read.terms) == 3
    monkeypatch.undo()
    assert str(union_of([read])) == "x > 1"
    assert read.covers(union_of([read]))


# -- of one process --------------------------------------------------------------------------------

A, X = Topic.parse(".a"), Topic.parse(".x")


def test_a_process_wants_what_its_subscriptions_want_together() -> None:
    mine = ProcessInterest(A, Interest.parse("mag > 5"))
    assert mine.whole == Interest.parse(".a and mag > 5")
    assert mine.whole is mine.whole
    mine.want(X)
    assert mine.topics == [A, X]
    assert mine.whole == Interest.parse(".a and mag > 5 or .x")
    mine.want(A, Interest.parse(".a.b and mag > 1 or .y"))
    assert mine.whole == Interest.parse(".a.b and mag > 1 or .x")
    mine.want(A)
    assert mine.whole == Interest.parse(".a or .x")
    mine.drop(A)
    assert mine.topics == [X]
    assert mine.whole == Interest.parse(".x")


def test_what_can_match_nothing_in_its_community_counts_as_the_topic() -> None:
    assert ProcessInterest(A, Interest.parse(".x and mag > 5")).whole == Interest.parse(".a")
