"""Which processes of a view an event is for (002, 5.1.2: "matching that given event").

A table is matched again only if the table or the event is another than before. Where no line of the
table compares attributes of a topic's events, all events of the topic have one audience, and no
payload is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from camcast.interests.attributes import EventAttributes, matches_by_topic
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.hierarchy import HierarchicalViews
from camcast.research.systems.hpmcast.rounds import Audience, audience
from camcast.research.systems.hpmcast.view import processes_of
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.topics import Topic

V = TypeVar("V", bool, bool | None)

# chosen: topics, of which peers may publish any number. Audiences of events need no bound:
# each event that is gossiped has one at a time, of its level, which is forgotten with the event.
TOPICS_MAX: Final = 1024


class Audiences:
    """The audiences of events in the views of one process, at least `threshold` large (5.4.2)."""

    def __init__(
        self, views: HierarchicalViews, attributes: EventAttributes, threshold: int
    ) -> None:
        self._views = views
        self._attributes = attributes
        self._threshold = threshold
        self._of_events: dict[EventId, tuple[int, Audience[Address]]] = {}
        """The level of each event, and its audience there."""
        self._of_topics: dict[tuple[int, Topic], Audience[Address] | None] = {}
        """The audiences, by level and topic; None where lines compare attributes of such events."""
        self._wants: dict[int, tuple[list[Interest], list[int]]] = {}
        """By level, the different interests of its lines, and which of these each line has."""
        self._processes: dict[int, tuple[Address, ...]] = {}
        """The processes of each level's view."""
        self._version = -1  # the version of the views that the audiences are from

    def of(self, level: int, event: Event) -> Audience[Address]:
        """Return the audience of an event in the view of a level; kept until `forget`."""
        if self._views.version != self._version:
            self._version = self._views.version
            self._of_events.clear()
            self._of_topics.clear()
            self._wants.clear()
            self._processes.clear()
        known = self._of_events.get(event.id)
        if known is not None and known[0] == level:
            return known[1]
        if (level, event.topic) not in self._of_topics:
            if len(self._of_topics) >= TOPICS_MAX:
                self._of_topics.clear()
            self._of_topics[level, event.topic] = self._of_topic(level, event.topic)
        found = self._of_topics[level, event.topic]
        if found is None:
            found = self._audience(
                level, self._verdicts(level, lambda one: self._attributes.match(one, event))
            )
        self._of_events[event.id] = level, found
        return found

    def forget(self, event: EventId) -> None:
        """Forget the audience of an event that is gossiped no longer; those of topics stay."""
        self._of_events.pop(event, None)

    def _of_topic(self, level: int, topic: Topic) -> Audience[Address] | None:
        """Return the audience of all events of a topic; None if it depends on attributes."""
        verdicts = self._verdicts(level, lambda one: matches_by_topic(one, topic))
        decided = [verdict for verdict in verdicts if verdict is not None]
        return self._audience(level, decided) if len(decided) == len(verdicts) else None

    def _verdicts(self, level: int, match: Callable[[Interest], V]) -> list[V]:
        """Match all lines of a table, equal interests once."""
        if level not in self._wants:
            numbers: dict[Interest, int] = {}
            lines = self._views.table(level)
            which = [numbers.setdefault(line.interest, len(numbers)) for line in lines]
            self._wants[level] = list(numbers), which
        different, which = self._wants[level]
        verdicts = [match(interest) for interest in different]
        return [verdicts[number] for number in which]

    def _audience(self, level: int, wanted: list[bool]) -> Audience[Address]:
        table = self._views.table(level)
        if level not in self._processes:
            self._processes[level] = processes_of(table)
        interested = [one for one, line in zip(wanted, table, strict=True) for _ in line.delegates]
        return audience(len(table), self._processes[level], interested, self._threshold)
