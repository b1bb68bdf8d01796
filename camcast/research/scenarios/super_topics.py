"""The topics of a scenario: their super-topics, and the parameters of their communities.

A table ``[topics.".x"]`` of a scenario file declares the super-topics of ``.x`` in place of the one
that its name has (000, 3.6: "multiple inheritance"), and says what parameters its community and
those of its subtopics have (`camcast.vocabulary.topic_parameters`)::

    [topics.".x"]
    below = [".l", ".r"]
    g = 20
    success = 0.9
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from camcast.vocabulary.hierarchy import Hierarchy, HierarchyError
from camcast.vocabulary.topic_parameters import KEYS, TopicParameters
from camcast.vocabulary.topics import ROOT, Topic


@frozen(kw_only=True)
class DeclaredTopic:
    """A table ``[topics.".x"]``; a parameter that is None is as above the topic."""

    below: tuple[Topic, ...] | None = None
    """The super-topics, in place of super(t); the topic is linked to each of them."""
    c: float | None = None
    g: float | None = None
    a: float | None = None
    z: int | None = None
    tau: int | None = None
    p_sel: float | None = None
    as_printed: bool | None = None
    success: float | None = None
    success_up: float | None = None

    def __attrs_post_init__(self) -> None:
        TopicParameters({ROOT: self.parameters})  # raises for a wrong one
        if self.below is None:
            return
        if not self.below:
            raise HierarchyError("below is empty; name at least one super-topic, or leave it out")
        if twice := next((one for one in self.below if self.below.count(one) > 1), None):
            raise HierarchyError(f"below names {twice} twice")

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that the table says, by name."""
        return {key: value for key in KEYS if (value := getattr(self, key)) is not None}


@frozen
class SuperTopics:
    """The relation of topics to their super-topics. Raises `HierarchyError` for a circle."""

    declared: Mapping[Topic, Sequence[Topic]] = field(factory=dict)
    """The super-topics of each topic that does not go by its name."""
    _hierarchy: Hierarchy = field(init=False, factory=Hierarchy, eq=False, repr=False)
    _names: dict[str, tuple[str, ...]] = field(init=False, factory=dict, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._hierarchy.declare(self.declared)

    def of(self, topic: Topic) -> tuple[Topic, ...]:
        """Return the super-topics of a topic, none for the root."""
        return self._hierarchy.super_topics(topic)

    def levels(self, topic: Topic) -> tuple[Topic, ...]:
        """Return all topics that include a topic: itself, then those above, the nearest first."""
        return (topic, *self._hierarchy.ancestors(topic))

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
