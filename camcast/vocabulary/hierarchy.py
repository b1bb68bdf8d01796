"""The hierarchy: which topics include a topic, as one process knows it (paper 000, 2.1 and 3.6).

*Includes* is a relation between topics. A topic's name says one super-topic: ``.a`` includes
``.a.b``. An application may say others, and several: with ``super_topics=``, or by the bases of an
event class (`camcast.vocabulary.typed`). The topics that include a topic, however far up, are its
*ancestors*. They are ordered breadth first, so that no topic comes before one that it includes by
fewer steps.

A process knows what its own application *declares*, also of topics that it is not a member of. For
other topics it goes by what their members *tell* of them, and for the rest by names. Declarations
and what is told add up: an event climbs to a super-topic that any member of its community links. A
super-topic that members told of counts until they have been silent of it for `TOLD_SECONDS` while
they told of others; where no member is left, the last that was told counts.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topics import Topic

SUPER_TOPICS_MAX: Final = 16  # chosen: of one topic; more bases than any class of a program has
TOLD_MAX: Final = 256  # chosen: topics that members told of, each with its super-topics; 100 kB
TOLD_SECONDS: Final = 120.0  # chosen: two dozen checks; all g members that answer were asked
ANCESTORS_MAX: Final = 64  # chosen: twice the levels of a name; bounds the searches of a topic
LOOKUPS_REMEMBERED: Final = 4096  # chosen: topics of a second's events; a bound, as peers name them

Steps = Mapping[Topic, Sequence[Topic]]
"""Topics with their immediate super-topics."""


class HierarchyError(CamcastError, ValueError):
    """Topics cannot include each other, or a protocol cannot carry that they do."""


@frozen
class Way:
    """A way up: super-topics of which each includes the one before by its name (000, 3.3).

    One super-topic table serves it: who is found for a topic of it serves all that are farther up.
    """

    topics: tuple[Topic, ...]
    depth: int
    """The steps from the community to the first topic of the way, less one."""

    @property
    def start(self) -> Topic:
        """The nearest topic."""
        return self.topics[0]


class Hierarchy:
    """The super-topics of each topic, as one process knows them."""

    def __init__(self) -> None:
        self._declared: dict[Topic, tuple[Topic, ...]] = {}
        self._told: dict[Topic, dict[Topic, float]] = {}
        """What members told of a topic: its super-topics, and when each was told of last."""
        self._declared_with: dict[Topic, dict[Topic, None]] = {}
        """The joined topics, each with the topics of which something unusual was said then."""
        self._declaring: dict[Topic, dict[Topic, None]] = {}
        """The same the other way about."""
        self._ancestors: dict[tuple[Topic, bool], tuple[Topic, ...]] = {}

    @property
    def is_plain(self) -> bool:
        """Whether all topics have the super-topics that their names say."""
        return not self._declared and not self._told

    def declare(self, steps: Steps, joined: Topic | None = None) -> list[Topic]:
        """Note what the application of this process says of topics, in place of what it said.

        What it says with a `joined` topic counts until it has left all topics with which it said
        something of the same topic (`withdraw`).

        Returns the topics of which it said something else before. Raises `HierarchyError` if a
        topic would include itself, or would have more than `SUPER_TOPICS_MAX` super-topics or
        `ANCESTORS_MAX` ancestors, and notes nothing then.
        """
        new = {topic: tuple(dict.fromkeys(supers)) for topic, supers in steps.items()}
        declared = ChainMap(new, self._declared)
        for topic in steps:
            ancestors = _ancestors(topic, declared)
            if topic in ancestors or any(topic.includes(one) for one in steps[topic]):
                supers = " and ".join(map(str, steps[topic]))
                raise HierarchyError(f"{topic} would be its own super-topic by way of {supers}")
            if (count := len(new[topic])) > SUPER_TOPICS_MAX:
                raise HierarchyError(
                    f"{topic} has {count} super-topics; give at most {SUPER_TOPICS_MAX}, or topics"
                    " between"
                )
            if len(ancestors) > ANCESTORS_MAX:
                raise HierarchyError(
                    f"{topic} has {len(ancestors)} ancestors, of which at most {ANCESTORS_MAX} can"
                    " be searched for"
                )
        changed = [topic for topic in steps if new[topic] != self.declared(topic)]
        for topic in changed:
            if new[topic] == by_name(topic):
                del self._declared[topic]
            else:
                self._declared[topic] = new[topic]
        if changed:
            self._ancestors.clear()
        for topic in steps:
            if joined is not None and topic in self._declared:
                self._declared_with.setdefault(joined, {})[topic] = None
                self._declaring.setdefault(topic, {})[joined] = None
        return changed

    def withdraw(self, joined: Topic) -> list[Topic]:
        """Forget what the application said with a topic that it has left.

        Returns the topics of which it says something else now.
        """
        changed = []
        for topic in self._declared_with.pop(joined, ()):
            declaring = self._declaring[topic]
            del declaring[joined]
            if not declaring:
                del self._declaring[topic]
                if self._declared.pop(topic, None) is not None:
                    changed.append(topic)
        if changed:
            self._ancestors.clear()
        return changed

    def tell(self, topic: Topic, super_topics: Sequence[Topic], now: float) -> bool:
        """Note what a member of a topic's community tells of its super-topics.

        Returns whether that changes them. A telling that would let a topic include itself is
        ignored.
        """
        told = dict(self._told.get(topic, ()))
        told |= dict.fromkeys(super_topics[:SUPER_TOPICS_MAX], now)
        told = {one: when for one, when in told.items() if when >= now - TOLD_SECONDS}
        before = self._told.get(topic)
        if before is None and tuple(told) == by_name(topic):
            return False
        if before is not None and list(before) == list(told):
            before |= told
            return False
        if len(told) > SUPER_TOPICS_MAX or any(
            topic == one or topic in self.ancestors(one) for one in told
        ):
            return False
        if before is None and len(self._told) >= TOLD_MAX:
            del self._told[next(iter(self._told))]
        self._told[topic] = told
        self._ancestors.clear()
        return True

    def declared(self, topic: Topic) -> tuple[Topic, ...]:
        """Return the immediate super-topics of a topic as declared here, else by its name."""
        return self._declared.get(topic, by_name(topic))

    def super_topics(self, topic: Topic) -> tuple[Topic, ...]:
        """Return the immediate super-topics of a topic, as far as this process knows."""
        declared, told = self._declared.get(topic), self._told.get(topic)
        if declared is None and told is None:
            return by_name(topic)
        return tuple(dict.fromkeys((*(declared or ()), *(told or ()))))

    def served_by(self, topic: Topic) -> tuple[Topic, ...]:
        """Return the super-topics to which the members of a topic take its events.

        That is what they told; members that told nothing go by names, whatever is declared here.
        """
        told = self._told.get(topic)
        return by_name(topic) if told is None else tuple(told)

    def ancestors(self, topic: Topic, *, served: bool = False) -> tuple[Topic, ...]:
        """Return all topics that include a topic, breadth first and without itself.

        With `served`, those that members of the topic take its events to (`served_by`).
        """
        known = self._ancestors.get((topic, served))
        if known is None:
            step = self.served_by if served else self.super_topics
            found = dict.fromkeys(step(topic))
            queue = list(found)
            for one in queue:  # which grows
                for above in step(one):
                    if above not in found and above != topic and len(found) < ANCESTORS_MAX:
                        found[above] = None
                        queue.append(above)
            if len(self._ancestors) >= LOOKUPS_REMEMBERED:
                self._ancestors.clear()
            known = self._ancestors[topic, served] = tuple(found)
        return known

    def includes(self, above: Topic, topic: Topic) -> bool:
        """Say whether `above` is a topic or one of its ancestors."""
        if self.is_plain:
            return above.includes(topic)
        return above == topic or above in self.ancestors(topic)

    def declares(self, above: Topic, topic: Topic) -> bool:
        """Say the same by names and by what this process's own application declares alone."""
        return above.includes(topic) or above in _ancestors(topic, self._declared)

    def declared_below(self, above: Topic) -> list[Topic]:
        """Return the topics that are declared to be below a topic, and are not by their names."""
        return [
            topic
            for topic in self._declared
            if not above.includes(topic) and above in _ancestors(topic, self._declared)
        ]

    def unusual(self, topic: Topic) -> dict[Topic, tuple[Topic, ...]]:
        """Return, of a topic and its ancestors, those with other super-topics than names say."""
        of = {one: self.super_topics(one) for one in (topic, *self.ancestors(topic))}
        return {one: supers for one, supers in of.items() if supers != by_name(one)}

    def ways_up(self, super_topics: Iterable[Topic]) -> tuple[Way, ...]:
        """Return the ways up from these super-topics of a topic, breadth first.

        Each ancestor is on one of them.
        """
        starts = [(topic, 0) for topic in dict.fromkeys(super_topics)]
        direct = dict(starts)
        ways: list[Way] = []
        met: dict[Topic, None] = {}
        for start, depth in starts:  # which grows
            if start in met:
                continue
            topics = [start]
            met[start] = None
            while True:
                following = self.super_topics(topics[-1])
                by_name = topics[-1].super_topic
                starts += [(one, depth + len(topics)) for one in following if one != by_name]
                if by_name is None or by_name not in following:
                    break
                if by_name in met or by_name in direct or len(met) >= ANCESTORS_MAX:
                    break
                topics.append(by_name)
                met[by_name] = None
            ways.append(Way(tuple(topics), depth))
        return tuple(ways)


def by_name(topic: Topic) -> tuple[Topic, ...]:
    """Return the super-topic that a topic's name says; none of the root."""
    above = topic.super_topic
    return () if above is None else (above,)


def check_by_name(steps: Steps, what: str) -> None:
    """Raise `HierarchyError` if a topic has other super-topics than its name says.

    `what` cannot carry them, as the message says.
    """
    for topic, super_topics in steps.items():
        if tuple(super_topics) not in (by_name(topic), ()):
            supers = " and ".join(map(str, super_topics))
            raise HierarchyError(
                f"{what} knows super-topics by names alone: it cannot link {topic} to {supers};"
                " the protocol camcast can"
            )


def _ancestors(topic: Topic, declared: Steps) -> Mapping[Topic, None]:
    """Return the ancestors of a topic by what is declared and by names; itself in a circle."""
    found: dict[Topic, None] = {}
    queue = [topic]
    for one in queue:  # which grows
        for above in declared.get(one, by_name(one)):
            if above not in found:
                found[above] = None
                queue.append(above)
    return found
