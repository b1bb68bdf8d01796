"""What a live and a virtual scenario say of communities alike, and what can be wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from camcast.vocabulary.topics import Topic
from camcast.workloads import Publication


class ScenarioError(ValueError):
    """A scenario cannot be run; the message names what is wrong and what to do."""


def unchanging(sizes: Mapping[Topic, int]) -> Mapping[Topic, int]:
    """Return a copy that nobody can change."""
    return MappingProxyType(dict(sizes))


def check_sizes(_scenario: object, _field: object, sizes: Mapping[Topic, int]) -> None:
    """Raise `ScenarioError` unless there is a community, and a process in each."""
    if not sizes:
        raise ScenarioError("there are no communities; give at least one, like .soccer=10")
    for topic, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ScenarioError(f"community {topic} has {size} processes; give 1 or more")


def levels(communities: Mapping[Topic, int], topic: Topic) -> Iterator[Topic]:
    """Yield the communities that an event of `topic` is for, its own first, the root last."""
    return (t for t in (topic, *topic.ancestors()) if t in communities)


def check_topics(communities: Mapping[Topic, int], publications: Iterable[Publication]) -> None:
    """Raise `ScenarioError` for a publication on a topic without a community."""
    for publication in publications:
        for topic in publication.topics:
            check_topic(communities, topic)


def check_topic(communities: Mapping[Topic, int], topic: Topic) -> None:
    """Raise `ScenarioError` for a topic without a community, on which something is published."""
    if topic not in communities:
        raise ScenarioError(
            f"the workload publishes on {topic}, which has no community; add one, like {topic}=5"
        )
