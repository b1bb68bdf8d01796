"""Topics: the grammar, the hierarchy, inclusion by level."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from camcast.vocabulary.frozen_letters import ADDED
from camcast.vocabulary.topics import ROOT, Topic, TopicError

LEVELS = st.text("abz019_-+Äß漢", min_size=1, max_size=8)
TOPICS = st.lists(LEVELS, max_size=8).map(lambda levels: Topic(tuple(levels)))


@given(TOPICS)
@example(ROOT)
def test_a_name_reads_back_as_the_topic_that_wrote_it(topic: Topic) -> None:
    assert Topic.parse(topic.name) == topic
    assert str(topic) == topic.name
    assert topic.name == "." + ".".join(topic.levels)


@given(st.text(max_size=40))
@example(".a\n")
@example(".\udc80")
@example(".a..b")
@example(".\N{ANGSTROM SIGN}")
@example(".\N{HANGUL CHOSEONG KIYEOK}\N{HANGUL JUNGSEONG A}")
@example(".\U00031350")  # a letter since Unicode 15.0
def test_any_text_is_a_topic_of_that_name_or_refused(text: str) -> None:
    grammar = re.fullmatch(r"\.|(\.[\w+-]+)+", text)
    later = any(start <= ord(c) < stop for c in text for start, stop in ADDED)
    grammar = grammar if not later and unicodedata.is_normalized("NFC", text) else None
    fits = grammar and text.count(".") <= 32 and all(len(x) <= 64 for x in text.split("."))
    if fits and len(text.encode()) <= 255:
        assert Topic.parse(text).name == text
    else:
        with pytest.raises(TopicError):
            Topic.parse(text)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "must start with '.'"),
        ("soccer", "try '.soccer'"),
        (".soccer.", "empty level"),
        ("..soccer", "empty level"),
        (".soccer italy", "the character ' '"),
        (".soccer/italy", "the character '/'"),
        (".a.b\n", r"the character '\n'"),
        (".soccer*", "the character '*'"),
        (".soccer.*", "the wildcard '*'; a topic covers all topics below it"),
        (".#", "the wildcard '#'"),
        (".a.>", "the wildcard '>'"),
        (".e\N{COMBINING ACUTE ACCENT}", r"not in Unicode's form NFC; write '.\xe9' instead"),
        (".x\N{COMBINING ACUTE ACCENT}", "the character"),
        (".\U00031350", "letters and digits of Unicode 14.0"),
        ("." + "a" * 65, "longer than 64 characters"),
        (".a" * 33, "33 levels; at most 32"),
        (("." + "a" * 63) * 4, "longer than 255 bytes"),
        (".漢漢" * 32 + "漢" * 11, "longer than 255 bytes"),
    ],
)
def test_a_wrong_name_is_refused_and_says_why(name: str, told: str) -> None:
    with pytest.raises(TopicError, match=re.escape(told)):
        Topic.parse(name)


@pytest.mark.parametrize(
    "name", [".", "." + "a" * 64, ".a" * 32, ("." + "a" * 62) * 4 + ".aa", ".a_-+9"]
)
def test_the_largest_names_fit(name: str) -> None:
    assert Topic.parse(name).name == name


def test_levels_given_directly_follow_the_same_grammar() -> None:
    for levels in (("",), ("a.b",), ("a b",), ("a" * 65,), ("a",) * 33):
        with pytest.raises(TopicError):
            Topic(levels)


def test_the_hierarchy_of_the_paper() -> None:
    italy = Topic.parse(".soccer.italy")
    soccer = Topic.parse(".soccer")
    assert italy.super_topic == soccer
    assert soccer.super_topic == ROOT
    assert ROOT.super_topic is None
    assert list(italy.ancestors()) == [soccer, ROOT]
    assert (italy.level, soccer.level, ROOT.level) == (2, 1, 0)
    assert soccer.child("italy") == italy


@given(TOPICS, TOPICS)
@example(Topic.parse(".a.b"), Topic.parse(".a.bc"))
def test_a_topic_includes_itself_and_its_descendants_only(one: Topic, other: Topic) -> None:
    expected = one == other or one in list(other.ancestors())
    assert one.includes(other) == expected


def test_inclusion_compares_levels_and_not_bytes() -> None:
    assert not Topic.parse(".a.b").includes(Topic.parse(".a.bc"))
    assert Topic.parse(".a.b").includes(Topic.parse(".a.b.c"))
    assert ROOT.includes(Topic.parse(".a"))
    assert not Topic.parse(".a").includes(ROOT)


def test_a_topic_equals_the_text_that_names_it_and_is_found_by_it() -> None:
    topic = Topic.parse(".soccer.italy")
    assert topic == ".soccer.italy"
    assert ".soccer.italy" == topic  # noqa: SIM300  # this order is asked for as well
    assert topic != ".soccer"
    assert topic != "soccer.italy"
    assert topic != (".soccer.italy",)
    by_text: dict[object, int] = {".soccer.italy": 1}
    by_topic: dict[object, int] = {topic: 2}
    assert (by_text[topic], by_topic[".soccer.italy"]) == (1, 2)
    assert f"{topic:>15}|" == "  .soccer.italy|"
    with pytest.raises(TypeError, match="a topic"):
        Topic.parse(cast("Any", topic))  # whatever text was read before


@given(TOPICS, TOPICS)
def test_topics_are_in_the_order_of_their_levels(one: Topic, other: Topic) -> None:
    assert (one < other) is (one.levels < other.levels)
    assert (one >= other) is (one.levels >= other.levels)
    assert (one == other) is (one.levels == other.levels)


def test_the_group_is_the_head_of_the_names_sha1() -> None:
    for name in (".", ".soccer.italy", ".漢字"):
        assert Topic.parse(name).group == hashlib.sha1(name.encode()).digest()[:8]
