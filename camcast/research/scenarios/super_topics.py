"""The super-topics of the topics of a scenario: what is declared of them, and else their names.

A table ``[topics.".x"]`` of a scenario file declares the super-topics of ``.x`` in place of the one
that its name has (000, 3.6: "multiple inheritance")::

    [topics.".x"]
    below = [".l", ".r"]
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from attrs import Factory, field, frozen

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topics import Topic


class SuperTopicError(CamcastError, ValueError):
    """Super-topics cannot be as they are declared; the message names what is wrong."""


@frozen(kw_only=True)
class DeclaredTopic:
    """A table ``[topics.".x"]``: the super-topics of a topic."""

    below: tuple[Topic, ...]
    """The super-topics, in place of super(t); the topic is linked to each of them."""

    def __attrs_post_init__(self) -> None:
        if not self.below:
            raise SuperTopicError("below is empty; name at least one super-topic, or leave it out")
        if twice := next((one for one in self.below if self.below.count(one) > 1), None):
            raise SuperTopicError(f"below names {twice} twice")


@frozen
class SuperTopics:
    """The relation of topics to their super-topics. Raises `SuperTopicError` for a circle."""

    declared: Mapping[Topic, Sequence[Topic]] = Factory(dict)
    """The super-topics of each topic that does not go by its name."""
    _levels: dict[str, tuple[Topic, ...]] = field(factory=dict, init=False, eq=False, repr=False)
    _names: dict[str, tuple[str, ...]] = field(factory=dict, init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for topic in self.declared:
            for above in self.of(topic):
                if topic in self.levels(above):
                    raise SuperTopicError(
                        f"{topic} is below {above}, which is below {topic}; a topic cannot be its"
                        " own super-topic"
                    )

    def of(self, topic: Topic) -> tuple[Topic, ...]:
        """Return the super-topics of a topic, none for the root."""
        above = self.declared.get(topic)
        if above is not None:
            return tuple(above)
        return () if topic.super_topic is None else (topic.super_topic,)

    def levels(self, topic: Topic) -> tuple[Topic, ...]:
        """Return all topics that include a topic: itself, then those above, the nearest first."""
        levels = self._levels.get(topic.name)
        if levels is None:
            found = dict.fromkeys([topic])
            nearest = [topic]
            while nearest:
                above = dict.fromkeys(one for below in nearest for one in self.of(below))
                nearest = [one for one in above if one not in found]
                found.update(above)
            levels = self._levels[topic.name] = tuple(found)
        return levels

    def names_above(self, topic: str) -> tuple[str, ...]:
        """Return `levels` of a topic by names."""
        names = self._names.get(topic)
        if names is None:
            above = self.levels(Topic.parse(topic))
            names = self._names[topic] = tuple(level.name for level in above)
        return names

    def includes(self, community: str, topic: str) -> bool:
        """Return whether the events of a topic are for the subscribers of a community, by names."""
        return community in self.names_above(topic)

    def nearest(self, topic: Topic, inhabited: Container[Topic]) -> Topic | None:
        """Return the nearest topic with members on the ways up from a topic, itself included."""
        return next((one for one in self.levels(topic) if one in inhabited), None)

    def depth(self, topic: Topic) -> int:
        """Return the length of the longest way up, 0 for the root."""
        return max((1 + self.depth(above) for above in self.of(topic)), default=0)
