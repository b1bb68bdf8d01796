"""Topics and super-topics as applications name them: by names, by `Topic`s, by classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from camcast.vocabulary import typed
from camcast.vocabulary.arguments import check_list
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.topics import Topic

TopicLike = str | Topic | type
"""A topic, its name, or an event class."""
SuperTopicsLike = Iterable[TopicLike] | Mapping[TopicLike, Iterable[TopicLike]]
"""The super-topics of a topic, or those of several topics by the topic."""


def topic_of(given: TopicLike) -> Topic:
    """Return the topic that an application names. Raises `TopicError` and `TypedEventError`."""
    if isinstance(given, Topic):
        return given
    return Topic.parse(given) if isinstance(given, str) else typed.topic_of(given)


def steps_of(
    topic: TopicLike, super_topics: SuperTopicsLike | None
) -> dict[Topic, tuple[Topic, ...]]:
    """Return what an application says of a topic's super-topics, and of theirs.

    A class says those of all its bases, and a list or mapping replaces some. Raises `TypeError` for
    what is no list, `CommunityError` for a topic that is said to be below itself, and what
    `topic_of` raises.
    """
    if super_topics is None:
        given: dict[TopicLike, list[TopicLike]] = {}
    elif isinstance(super_topics, Mapping):
        for of in super_topics.values():
            check_list("super_topics of a topic", of, "topics")
        given = {of: list(above) for of, above in super_topics.items()}
    else:
        check_list("super_topics", super_topics, "topics")
        given = {topic: list(super_topics)}
    steps: dict[Topic, tuple[Topic, ...]] = {}
    for named in (topic, *given, *(one for above in given.values() for one in above)):
        if isinstance(named, type):
            steps |= typed.hierarchy_of(named)
    for of, above in given.items():
        check_super_topics(topic_of(of), [topic_of(one) for one in above])
        steps[topic_of(of)] = tuple(map(topic_of, above))
    return steps


def check_super_topics(topic: Topic, super_topics: Iterable[Topic]) -> None:
    """Raise `CommunityError` if one of these is the topic itself, or below it."""
    for super_topic in super_topics:
        if topic == super_topic:
            raise CommunityError(f"{topic} cannot be its own super-topic")
        if topic.includes(super_topic):
            raise CommunityError(f"{super_topic} is below {topic}, and cannot be its super-topic")
