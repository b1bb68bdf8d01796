"""Topics and events from Python classes (paper 000, 5.1: from Java interfaces).

An event class is an attrs class, a dataclass or a msgspec Struct. It is a topic, and its bases
are its super-topics: with ``class Soccer`` and ``class Italy(Soccer)``, Italy is the topic
``.Soccer.Italy``. The path follows the first base; further bases are further super-topics (3.6),
and then need ``attrs.frozen(slots=False)``, for Python gives a class one base with slots at most.
*Interfaces* are topics, too, as in the paper: abstract base classes and ``typing.Protocol`` classes
of the application. No event is an instance of an interface alone; its subscribers receive the
instances of all event classes that derive from it.

A class that declares its topic with `topic` stands there, whatever its bases and its name are::

    @camcast.topic(".plant.reading", version=2)
    @attrs.frozen
    class Reading:
        celsius: float

is the topic ``.plant.reading.v2``. An event is an instance, and travels as the names of its class's
topics, the most special first, and its fields.

A process that subscribes to Soccer receives an Italy if it knows that class, else an instance of
the nearest base that it knows and that the fields fit, else a `Sent`: the same without a class. So
the fields of a class may come and go: one that the receiver's class lacks is left out, and one that
was not sent takes the default that the receiver's class has. A change that needs more than that is
a new version: who subscribes to ``.plant.reading`` gets all versions, who subscribes to a version
only that one.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic

import attrs
import msgspec

from camcast.vocabulary.arguments import check_whole
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.topics import Topic, TopicError
from camcast.vocabulary.travelling_types import unreadable, untravelling

if TYPE_CHECKING:  # defaults of type variables (PEP 696) are in `typing` from Python 3.13 on
    from typing_extensions import TypeVar

    E = TypeVar("E", default=Any)
    E_co = TypeVar("E_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    E = TypeVar("E")
    """The event class of a community; Any of one that was named by its topic."""
    E_co = TypeVar("E_co", covariant=True)
    """Likewise, for what only hands events out."""

_DECLARED: Final = "__camcast_topic__"
_log = Logger(__name__)

_Class = TypeVar("_Class", bound=type)


class TypedEventError(CamcastError, TypeError):
    """A class cannot be a topic, or an object cannot be an event."""


@attrs.frozen
class Sent:
    """A typed event as it was sent, for receivers without a class for it; it can be published, too.

    `classes` are the topics of its class and of that class's bases, the most special first, as
    topics are written; `fields` are its fields, of the types that MessagePack has.

    Example:
        ::

            await manager.community(".quakes").publish(Sent((".quakes",), {"mag": 5.2}))
    """

    classes: tuple[str, ...] = attrs.field(validator=attrs.validators.min_len(1))
    fields: Mapping[str, Any]


def topic(name: str, *, version: int | None = None) -> Callable[[_Class], _Class]:
    """Declare the topic of an event class, as a decorator above the one that makes the class.

    `version` adds a level ``v1``, ``v2``, … below `name`. Subclasses that declare nothing are
    subtopics of it. Raises `TopicError` for what is no topic or the root, and `ValueError` for a
    version below 1.

    Args:
        name: The topic, such as ``".quakes"``.
        version: The version of the class; None: the topic has no level for it.

    Example:
        ::

            @topic(".quakes")
            @dataclass
            class Quake:
                mag: float
    """
    declared = Topic.parse(name)
    if declared.super_topic is None:
        raise TopicError("the root is the topic of no class: everybody would have to be in it")
    if version is not None:
        check_whole("version", version)
        if version < 1:
            raise ValueError(f"versions count from 1, so there is no version {version}")
        declared = declared.child(f"v{version}")

    def declare(cls: _Class) -> _Class:
        if not is_topic_class(cls):
            raise _no_topic(cls)
        setattr(cls, _DECLARED, declared)
        return cls

    return declare


def is_event_class(cls: object) -> bool:
    """Say whether a class has events: an attrs class, a dataclass or a msgspec Struct."""
    return isinstance(cls, type) and (
        attrs.has(cls)
        or dataclasses.is_dataclass(cls)
        or (issubclass(cls, msgspec.Struct) and cls is not msgspec.Struct)
    )


def is_topic_class(cls: object) -> bool:
    """Say whether a class is a topic: an event class, or an interface of the application."""
    if is_event_class(cls):
        return True
    # Python has abstract classes of its own, such as ABC and Protocol: none is a topic.
    package = cls.__module__.partition(".")[0] if isinstance(cls, ABCMeta) else "abc"
    return package not in sys.stdlib_module_names and package != "typing_extensions"


def _bases(cls: type) -> tuple[type, ...]:
    """Return the bases that are topics; others (object, ABC) are not."""
    return tuple(filter(is_topic_class, cls.__bases__))


def topic_of(cls: type) -> Topic:
    """Return the topic of an event class or interface; `TypedEventError` for any other class.

    Example:
        ::

            assert topic_of(Quake) == Topic.parse(".quakes")
    """
    if not is_topic_class(cls):
        raise _no_topic(cls)
    declared = vars(cls).get(_DECLARED)
    if isinstance(declared, Topic):
        return declared
    bases = _bases(cls)
    path = topic_of(bases[0]) if bases else Topic(())
    try:
        return path.child(cls.__name__)
    except TopicError as error:
        raise TypedEventError(f"class {cls.__name__} cannot be a topic: {error}") from error


def _no_topic(cls: object) -> TypedEventError:
    return TypedEventError(
        f"{cls!r} is no topic: make it an attrs class, a dataclass or a msgspec Struct, or an"
        " abstract base class of such classes"
    )


def super_topics_of(cls: type) -> tuple[Topic, ...]:
    """Return the super-topics of an event class: those of its bases, and of what it declares.

    Without a base, and where it declares a topic, this is the topic above its own.
    """
    above = topic_of(cls).super_topic
    assert above is not None  # no class is the root
    supers = [topic_of(base) for base in _bases(cls)]
    if not supers or _DECLARED in vars(cls):
        supers.insert(0, above)
    return tuple(dict.fromkeys(supers))


def hierarchy_of(cls: type) -> dict[Topic, tuple[Topic, ...]]:
    """Return the super-topics of a class's topic and of all topics above it.

    These are the topics of its method resolution order. Raises `TypedEventError` as `topic_of`.
    """
    above = [base for base in cls.__mro__ if base is cls or is_topic_class(base)]
    return {topic_of(one): super_topics_of(one) for one in above}


def encode_event(event: object) -> bytes:
    """Encode an instance of an event class, or a `Sent`.

    Raises `TypedEventError` if a field does not encode.
    """
    if isinstance(event, Sent):
        return _encode("event of class " + event.classes[0], event.classes, event.fields)
    cls: Any = type(event)
    names = [topic_of(base).name for base in cls.__mro__ if is_topic_class(base)]
    return _encode(cls.__name__, names, _fields_of(event))


def encode_for(topic: Topic, event: object) -> bytes:
    """Return the payload of an event that is published in the community of `topic`.

    Raises `TypedEventError` for what is no event, and for one of another community.
    """
    if isinstance(event, Sent):
        what = belongs = event.classes[0]
    elif is_event_class(type(event)):
        what, belongs = type(event).__name__, topic_of(type(event)).name
    else:
        raise TypedEventError(
            "publish bytes (of a text: encode it) or an instance of an event class, and no"
            f" {type(event).__name__}: make it an attrs class, a dataclass or a msgspec Struct"
        )
    if belongs != topic.name:
        raise TypedEventError(f"a {what} belongs to the community of {belongs}, not {topic}")
    return encode_event(event)


def _fields_of(event: Any) -> dict[str, object]:
    cls: Any = type(event)
    if isinstance(event, msgspec.Struct):
        names = zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True)
        return {sent: getattr(event, name) for sent, name in names}
    fields = attrs.fields(cls) if attrs.has(cls) else dataclasses.fields(cls)
    return {field.name: getattr(event, field.name) for field in fields}


def _encode(what: str, names: object, fields: object) -> bytes:
    try:
        return msgspec.msgpack.encode((names, fields))
    # OverflowError: of an integer above 64 bits. RecursionError: of a list in itself, say.
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise TypedEventError(f"a {what} cannot be sent: {error}") from error


def read_sent(payload: bytes) -> Sent | bytes:
    """Return a typed event as it was sent; the payload itself if it does not decode."""
    try:
        classes, fields = msgspec.msgpack.decode(
            payload, type=tuple[tuple[str, ...], dict[str, Any]]
        )
    except UNDECODABLE:
        return payload
    return Sent(classes, fields) if classes else payload


class EventDecoder(Generic[E]):
    """Turns payloads into instances, for a subscriber to `cls` and its subclasses."""

    def __init__(self, cls: type[E]) -> None:
        """Raise `TypedEventError` for a class of which no event could ever be made here."""
        try:
            if is_event_class(cls):  # and no interface, which has no fields
                msgspec.msgpack.Decoder(cls)  # looks at the types of all fields
        except Exception as error:
            raise _not_received(cls, error) from error
        if issubclass(cls, msgspec.Struct) and cls.__struct_config__.array_like:
            raise TypedEventError(
                f"events of class {cls.__name__} cannot be received: they travel as named fields,"
                " so leave array_like out"
            )
        self.cls = cls
        """The class whose instances are decoded, and those of its subclasses."""
        self._known: dict[str, type[E] | None] = {}
        self._made = _made.count = _made.count + 1

    def decode(self, payload: bytes) -> E | Sent | bytes:
        """Return an instance of the nearest known class, else what `read_sent` returns."""
        sent = read_sent(payload)
        if isinstance(sent, bytes):
            return sent
        for name in sent.classes:
            if (cls := self._class(name)) is not None:
                try:
                    event: E = msgspec.convert(sent.fields, cls)
                except KeyboardInterrupt:  # of the person, and not of the class
                    raise
                # Same name, other fields: perhaps a base still fits. Whatever it is, for a class's
                # own validators see what a stranger sent, and may fail at it in their own ways: a
                # panic of an extension in Rust would end whoever reads.
                except BaseException:
                    continue
                return event
        return sent

    def _class(self, name: str) -> type[E] | None:
        if name not in self._known or self._made != _made.count:
            # Subclasses may have been defined since; names of no class are not remembered.
            self._made, self._known = _made.count, {}
            for cls in _family(self.cls):
                topic = topic_of(cls).name
                before = self._known.setdefault(topic, cls)
                if before is not None and not is_same_class(before, cls):
                    _log.warning("%s", two_classes(topic, before, cls))
                    self._known[topic] = None  # and no base takes one for the other
                elif before is not None:
                    self._known[topic] = cls  # the one that was defined last
        return self._known.get(name)


def check_travels(cls: type) -> None:
    """Raise `TypedEventError` for an event class with a field that cannot travel, naming both."""
    try:
        fields = untravelling(cls) if is_event_class(cls) else []
    except Exception as error:
        raise _not_received(cls, error) from error
    if fields:
        raise TypedEventError(
            f"events of class {cls.__name__} cannot travel: MessagePack has no such type as that of"
            f" {', '.join(fields)}; use a text, a number, bytes, a list, a mapping, or another"
            " event class"
        )


def _not_received(cls: type, error: Exception) -> TypedEventError:
    """Return the error of a class that cannot be read, whatever its annotations have raised."""
    field = unreadable(cls)
    at = f"{field}: " if field else ""
    return TypedEventError(f"events of class {cls.__name__} cannot be received: {at}{error}")


class _Made:
    """How many decoders were made: classes were named since, perhaps in place of others."""

    count = 0


_made: Final = _Made()


def is_same_class(one: type, other: type) -> bool:
    """Say whether two classes are one that was defined again, as by a notebook's cell."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def two_classes(topic: str, one: type, other: type) -> str:
    """Return the message that two classes have one topic."""
    names = " and ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in (one, other))
    return (
        f"{names} are both the topic {topic}, and instances of one would arrive as the other:"
        " declare another topic for one of them (camcast.topic)"
    )


def _family(cls: type[E]) -> Iterator[type[E]]:
    """Yield a class and all that derive from it, as far as they have events."""
    if is_event_class(cls):
        yield cls
    if is_topic_class(cls):
        subclasses: list[type[E]] = cls.__subclasses__()
        for subclass in subclasses:
            yield from _family(subclass)
