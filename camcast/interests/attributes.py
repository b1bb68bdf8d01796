"""The attributes of events: a process decodes a payload once, and only if something asks.

"Event coverage" (002, 6.1.1): "This can avoid the deserialization of events every time they are
filtered." A process that forwards an event does not have its class. The attributes of a typed
event (`camcast.vocabulary.typed`) are therefore the fields as they were sent; those of any other
event are the entries of a payload that is a JSON object, and none if it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from camcast.interests.interest import Interest, attributes_of
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import Sent, read_sent
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

KNOWN_MAX: Final = 512  # chosen: events passed on at a time; a bound, as peers send them
# chosen: 512 events of 2 KiB, or one of any size. A bound as well: a decoded payload takes up to
# 43 times its bytes (measured: a list of empty lists).
KNOWN_BYTES_MAX: Final = PAYLOAD_BYTES_MAX


def matches_by_topic(interest: Interest, topic: Topic) -> bool | None:
    """Return True if all events of a topic match, False if none; None if attributes decide."""
    terms = [term for term in interest.terms if term.topic.includes(topic)]
    if not terms:
        return False
    return True if any(not term.wanted for term in terms) else None


class EventAttributes:
    """Reads the attributes of the events that one process receives; remembers the latest.

    The protocols that filter by attributes and the subscriptions with ``where`` share one.
    """

    def __init__(self) -> None:
        self._known: dict[EventId, tuple[Mapping[str, object], bytes]] = {}
        """The attributes of an event, and the payload that they were decoded from."""
        self._bytes = 0

    def of(self, event: Event) -> Mapping[str, object]:
        """Return the attributes of an event."""
        known = self._known.get(event.id)
        if known is not None and known[1] == event.payload:
            return known[0]
        attributes = _attributes_of(event)
        if known is not None:  # a publisher has sent two payloads as one event
            return attributes
        self._bytes += len(event.payload)
        while self._known and (len(self._known) >= KNOWN_MAX or self._bytes > KNOWN_BYTES_MAX):
            self._bytes -= len(self._known.pop(next(iter(self._known)))[1])
        self._known[event.id] = attributes, event.payload
        return attributes

    def match(self, interest: Interest, event: Event) -> bool:
        """Say whether an event matches; decodes it only if the interest compares attributes."""
        by_topic = matches_by_topic(interest, event.topic)
        return interest.matches(event.topic, self.of(event)) if by_topic is None else by_topic


def _attributes_of(event: Event) -> Mapping[str, object]:
    if not event.typed:
        return attributes_of(event.payload)
    sent = read_sent(event.payload)
    return sent.fields if isinstance(sent, Sent) else {}
