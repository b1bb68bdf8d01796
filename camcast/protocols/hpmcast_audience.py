"""Which processes of a view an event is for (002, 5.1.2: "matching that given event").

A table is matched with an event anew only if either is another than before. Where no line of it
compares attributes of such events, all events of a topic are alike, and none is looked into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from camcast.event_attributes import EventAttributes, matches_by_topic
from camcast.events import Event, EventId
from camcast.interests import Interest
from camcast.protocols.hpmcast_address import Address
from camcast.protocols.hpmcast_hierarchy import HierarchicalViews
from camcast.protocols.hpmcast_rounds import Audience, audience
from camcast.protocols.hpmcast_view import processes_of
from camcast.topics import Topic

V = TypeVar("V", bool, bool | None)

AUDIENCES_MAX: Final = 1024  # chosen: of different topics and events, as peers publish them (G5)


class Audiences:
    """The audiences of events in the views of one process, at least `threshold` large (5.4.2)."""

    def __init__(
        self, views: HierarchicalViews, attributes: EventAttributes, threshold: int
    ) -> None:
        self._views = views
        self._attributes = attributes
        self._threshold = threshold
        self._known: dict[tuple[int, Topic | EventId], Audience[Address]] = {}
        self._undecided: dict[tuple[int, Topic], None] = {}
        """Levels whose lines compare attributes of events of a topic."""
        self._different: dict[int, tuple[list[Interest], list[int]]] = {}
        """Of each level what different interests its lines have, and which of these each has."""
        self._version = -1  # of the views that the audiences are from

    def of(self, level: int, event: Event) -> Audience[Address]:
        """Return the audience of an event in the view of a level."""
        if self._views.version != self._version or len(self._known) >= AUDIENCES_MAX:
            self._version = self._views.version
            self._known.clear()
            self._undecided.clear()
            self._different.clear()
        by_topic = (level, event.topic)
        known = self._known.get(by_topic) or self._known.get((level, event.id))
        if known is not None:
            return known
        if by_topic not in self._undecided:
            verdicts = self._verdicts(level, lambda one: matches_by_topic(one, event.topic))
            decided = [verdict for verdict in verdicts if verdict is not None]
            if len(decided) == len(verdicts):
                return self._remember(level, event.topic, decided)
            self._undecided[by_topic] = None
        precise = self._verdicts(level, lambda one: self._attributes.match(one, event))
        return self._remember(level, event.id, precise)

    def forget(self, event: EventId) -> None:
        """Forget the audiences of an event that is gossiped no longer; those of topics stay."""
        for level in range(1, self._views.hierarchy.depth + 1):
            self._known.pop((level, event), None)

    def _verdicts(self, level: int, match: Callable[[Interest], V]) -> list[V]:
        """Match all lines of a table; many say the same."""
        if level not in self._different:
            numbers: dict[Interest, int] = {}
            lines = self._views.table(level)
            which = [numbers.setdefault(line.interest, len(numbers)) for line in lines]
            self._different[level] = list(numbers), which
        different, which = self._different[level]
        verdicts = [match(interest) for interest in different]
        return [verdicts[number] for number in which]

    def _remember(self, level: int, key: Topic | EventId, wanted: list[bool]) -> Audience[Address]:
        table = self._views.table(level)
        interested = [one for one, line in zip(wanted, table, strict=True) for _ in line.delegates]
        found = audience(len(table), processes_of(table), interested, self._threshold)
        self._known[level, key] = found
        return found
