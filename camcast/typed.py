"""Topics and events from Python classes (paper 000, 5.1: from Java interfaces).

A class is a topic and its bases are its super-topics: with ``class Soccer`` and
``class Italy(Soccer)``, Italy is the topic ``.Soccer.Italy``. The path follows the first
base; further bases are further super-topics (3.6), and then need ``attrs.frozen(slots=False)``,
for Python gives a class one base with slots at most. An event is an instance of an attrs class,
and travels as the names of its class's topics, the most special first, and its fields.

A process that subscribes to Soccer receives an Italy if it knows that class, else an instance of
the nearest base that it knows, else the raw bytes with the topic's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import msgspec

from camcast.vocabulary.topics import Topic, TopicError


class TypedEventError(TypeError):
    """A class cannot be a topic, or an object cannot be an event."""


def _bases(cls: type) -> tuple[type, ...]:
    """Return the bases that are topics: attrs classes; others (object, ABC) are not."""
    return tuple(base for base in cls.__bases__ if attrs.has(base))


def topic_of(cls: type) -> Topic:
    """Return the topic of an attrs class; `TypedEventError` for any other class."""
    if not (isinstance(cls, type) and attrs.has(cls)):
        raise TypedEventError(f"{cls!r} is no topic: decorate the class with attrs.frozen")
    bases = _bases(cls)
    path = topic_of(bases[0]) if bases else Topic(())
    try:
        return path.child(cls.__name__)
    except TopicError as error:
        raise TypedEventError(f"class {cls.__name__} cannot be a topic: {error}") from error


def super_topics_of(cls: type) -> tuple[Topic, ...]:
    """Return the topics of the class's bases, or the root if it has none."""
    return tuple(topic_of(base) for base in _bases(cls)) or (Topic(()),)


def encode_event(event: object) -> bytes:
    """Encode an instance of an attrs class; `TypedEventError` if a field does not encode."""
    cls: Any = type(event)
    names = [topic_of(base).name for base in cls.__mro__ if attrs.has(base)]
    try:
        fields = {a.name: getattr(event, a.name) for a in attrs.fields(cls)}
        return msgspec.msgpack.encode((names, fields))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise TypedEventError(f"a {cls.__name__} cannot be sent: {error}") from error


def sent_fields(payload: bytes) -> Mapping[str, Any]:
    """Return the fields of a typed event as they were sent; none if it does not decode."""
    sent = _read(payload)
    return {} if sent is None else sent[1]


def _read(payload: bytes) -> tuple[list[str], dict[str, Any]] | None:
    try:
        return msgspec.msgpack.decode(payload, type=tuple[list[str], dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class EventDecoder:
    """Turns payloads into instances, for a subscriber to `cls` and its subclasses."""

    def __init__(self, cls: type) -> None:
        self._root = cls
        self._known: dict[str, type] = {}

    def decode(self, payload: bytes) -> object:
        """Return an instance of the nearest known class, else the payload itself."""
        if (sent := _read(payload)) is None:
            return payload
        names, fields = sent
        for name in names:
            if (cls := self._class(name)) is not None:
                try:
                    return msgspec.convert(fields, cls)
                # Same name, other fields: perhaps a base still fits. Any exception, since a class's
                # own validators see what a stranger sent, and may fail at it in their own ways.
                except Exception:
                    continue
        return payload

    def _class(self, name: str) -> type | None:
        if name not in self._known:
            # Subclasses may have been defined since; names of no class are not remembered.
            self._known = {topic_of(cls).name: cls for cls in _family(self._root)}
        return self._known.get(name)


def _family(cls: type) -> Iterator[type]:
    if attrs.has(cls):
        yield cls
        for subclass in cls.__subclasses__():
            yield from _family(subclass)
