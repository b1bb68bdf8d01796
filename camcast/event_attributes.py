"""The attributes of events on their way: each payload is decoded once at most, and only if need be.

"Event coverage" (002, 6.1.1): "This can avoid the deserialization of events every time they are
filtered." Processes that pass an event on know no class of it. So of a typed event
(`camcast.typed`) they see the fields as they were sent, of another the entries of a payload that is
a JSON object; else it has no attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from camcast.events import Event, EventId
from camcast.interests import Interest, attributes_of
from camcast.topics import Topic
from camcast.typed import sent_fields

KNOWN_MAX: Final = 512  # chosen: events on their way at a time; bounds what peers can fill (G5)


def matches_by_topic(interest: Interest, topic: Topic) -> bool | None:
    """Say whether all events of a topic match, or none; None if it depends on attributes."""
    terms = [term for term in interest.terms if term.topic.includes(topic)]
    if not terms:
        return False
    return True if any(not term.wanted for term in terms) else None


class EventAttributes:
    """The attributes of the events that one process has to do with."""

    def __init__(self) -> None:
        self._known: dict[EventId, Mapping[str, object]] = {}

    def of(self, event: Event) -> Mapping[str, object]:
        """Return the attributes of an event."""
        known = self._known.get(event.id)
        if known is None:
            if len(self._known) >= KNOWN_MAX:
                del self._known[next(iter(self._known))]
            read = sent_fields if event.typed else attributes_of
            known = self._known[event.id] = read(event.payload)
        return known

    def match(self, interest: Interest, event: Event) -> bool:
        """Say whether an event is of interest; looks into it only if it depends on that."""
        by_topic = matches_by_topic(interest, event.topic)
        return interest.matches(event.topic, self.of(event)) if by_topic is None else by_topic
