"""The attributes of events: a process decodes a payload once, and only if something asks.

"Event coverage" (002, 6.1.1): "This can avoid the deserialization of events every time they are
filtered." A process that forwards an event does not have its class. The attributes of a typed
event (`camcast.vocabulary.typed`) are therefore the fields as they were sent; those of any other
event are the entries of a payload that is a JSON object, and none if it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

from camcast.interests.interest import Interest, attributes_of
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.hierarchy import ANCESTORS_MAX
from camcast.vocabulary.topics import Topic, TopicError
from camcast.vocabulary.typed import Sent, read_sent
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

KNOWN_MAX: Final = 512  # chosen: events passed on at a time; a bound, as peers send them
# chosen: 512 events of 2 KiB, or one of any size. A bound as well: a decoded payload takes up to
# 43 times its bytes (measured: a list of empty lists).
KNOWN_BYTES_MAX: Final = PAYLOAD_BYTES_MAX
CLASSES_MAX: Final = 1 + ANCESTORS_MAX  # an event's class, and all topics that may include it

_Read: TypeAlias = tuple[Mapping[str, object], Sequence[Topic]]
"""The attributes of an event, and the topics of its classes."""


def matches_by_topic(
    interest: Interest, topic: Topic, above: Collection[Topic] = ()
) -> bool | None:
    """Return True if all events of a topic match, False if none; None if attributes decide.

    `above` are topics that include the topic, beside those that its name says.
    """
    terms = [term for term in interest.terms if term.takes(topic, above)]
    if not terms:
        return False
    return True if any(not term.wanted for term in terms) else None


class EventAttributes:
    """Reads the attributes of the events that one process receives; remembers the latest.

    The protocols that filter by attributes and the subscriptions with ``where`` share one.
    """

    def __init__(self) -> None:
        self._known: dict[EventId, tuple[_Read, bytes]] = {}
        """What was read of an event, and the payload that it was decoded from."""
        self._bytes = 0

    def of(self, event: Event) -> Mapping[str, object]:
        """Return the attributes of an event."""
        return self._read(event)[0]

    def topics_of(self, event: Event) -> Sequence[Topic]:
        """Return the topics of a typed event's classes, as its publisher named them."""
        return self._read(event)[1] if event.typed else ()

    def match(self, interest: Interest, event: Event) -> bool:
        """Say whether an event matches; decodes it only if the interest compares attributes."""
        by_topic = matches_by_topic(interest, event.topic)
        return interest.matches(event.topic, self.of(event)) if by_topic is None else by_topic

    def _read(self, event: Event) -> _Read:
        known = self._known.get(event.id)
        if known is not None and known[1] == event.payload:
            return known[0]
        read = _read(event)
        if known is not None:  # a publisher has sent two payloads as one event
            return read
        self._bytes += len(event.payload)
        while self._known and (len(self._known) >= KNOWN_MAX or self._bytes > KNOWN_BYTES_MAX):
            self._bytes -= len(self._known.pop(next(iter(self._known)))[1])
        self._known[event.id] = read, event.payload
        return read


def _read(event: Event) -> _Read:
    if not event.typed:
        return attributes_of(event.payload), ()
    sent = read_sent(event.payload)
    return (sent.fields, _topics(sent.classes)) if isinstance(sent, Sent) else ({}, ())


def _topics(names: Sequence[str]) -> Sequence[Topic]:
    try:
        return [Topic.parse(name) for name in names[:CLASSES_MAX]]
    except TopicError:  # a stranger sent it
        return ()
