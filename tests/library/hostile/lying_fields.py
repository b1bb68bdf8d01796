"""Lies that follow from the classes of messages: each field takes its extremes, and random values.

A lie is well formed: it has the types that its class asks for, so that what is told of is refused
for its meaning or believed. A field that a class gets later has its lies without being named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import inf, nan
from pkgutil import walk_packages
from random import Random
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

import camcast.engine
import camcast.protocols
import membership
import overlays
from camcast.vocabulary.events import STREAM_ID_BYTES
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Message, MessageT
from camcast.vocabulary.wire import Kind

KINDS: Final = {
    "camcast.engine.link_messages": Kind.LINKS,
    "camcast.engine.liveness_messages": Kind.LIVENESS,
    "camcast.engine.repair.messages": Kind.REPAIR,
    "camcast.engine.security_messages": Kind.SECURITY,
    "camcast.protocols": Kind.PROTOCOL,
    "membership": Kind.MEMBERSHIP,
    "overlays": Kind.DISCOVERY,
}
"""The kind of the records with messages of the classes in each package or module."""

SHIPPED: Final = (camcast.engine, camcast.protocols, membership, overlays)

NUMBERS: Final = (2**20, 0, 1, 2**31, 2**32 - 1, 2**63 - 1, -1)
TIMES: Final = (1.0, 0.0, 1e9, inf, nan, -1.0)
MANY: Final = 600  # chosen: more than any bound on what a message may name, within a frame


class Lies:
    """The lies of one liar, who knows some topics and processes by name."""

    def __init__(self, topics: tuple[str, ...], contacts: tuple[Contact, ...]) -> None:
        self._texts = (*topics, "", "no topic", "a" * 255)
        self._contacts = contacts
        self._rng = Random(1)
        self._bytes = (b"", *(bytes([one]) * size for one in (0, 255) for size in (8, 16, 24, 64)))
        self._bytes += tuple(bytes(contact.peer) for contact in contacts)

    def of(self, cls: type[MessageT]) -> Iterator[MessageT]:
        """Yield messages of a class, each with one field that lies; one if it has no fields.

        They are the same each time, whatever other lies were made before.
        """
        self._rng.seed(f"{cls.__module__}.{cls.__name__}")
        yield from self._values(cls)

    def _values(self, hint: Any) -> Iterator[Any]:
        """Yield values of a type, the least strange one first."""
        hint = getattr(hint, "__supertype__", hint)
        origin, parts = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            for part in parts:
                yield from self._values(part)
        elif origin is not None and origin is not tuple:  # Annotated, Literal
            yield from self._values(parts[0]) if isinstance(parts[0], type) else parts
        elif hint is None or hint is type(None):
            yield None
        elif origin is tuple and parts[-1:] == (...,):
            values = list(self._values(parts[0]))
            yield from ((one,) for one in values)
            yield from ((), tuple(values), (values[0],) * MANY)
            for one in values:
                if (many := tuple(self._renamed(one) for _ in range(MANY)))[0] != one:
                    yield many
        elif origin is tuple:
            yield from map(tuple, self._varied([list(self._values(part)) for part in parts]))
        elif hint is Contact:
            yield from self._contacts
        elif issubclass(hint, msgspec.Struct) or hasattr(hint, "_fields"):
            hints = get_type_hints(hint)
            names = hint._fields if hasattr(hint, "_fields") else hint.__struct_fields__
            fields = [list(self._values(hints[name])) for name in names]
            for values in self._varied(fields):
                yield hint(*values)
        elif issubclass(hint, bool):
            yield from (False, True)
        elif issubclass(hint, int):
            yield from (*NUMBERS, self._rng.getrandbits(self._rng.randrange(1, 63)))
        elif issubclass(hint, float):
            yield from (*TIMES, self._rng.lognormvariate(0.0, 5.0))
        elif issubclass(hint, str):
            yield from self._texts
        elif issubclass(hint, bytes):
            yield from (*self._bytes, self._rng.randbytes(self._rng.randrange(1, 64)))
        else:
            raise AssertionError(f"there are no lies of {hint} yet")

    def _renamed(self, value: Any) -> Any:
        """Return a value with other ids in it, of streams or of processes, that nobody has."""
        if isinstance(value, bytes):
            return self._rng.randbytes(len(value) or STREAM_ID_BYTES)
        if isinstance(value, tuple):
            return tuple(map(self._renamed, value))
        return value

    def _varied(self, fields: list[list[Any]]) -> Iterator[list[Any]]:
        """Yield the first values of all fields, then each other value of each of them.

        Where texts may be empty, that says what else the message is for: all is said twice.
        """
        for text in (self._texts[0], ""):
            usual = [text if values[0] == self._texts[0] else values[0] for values in fields]
            yield usual
            for place, values in enumerate(fields):
                for value in values[1:]:
                    yield [*usual[:place], value, *usual[place + 1 :]]
            if self._texts[0] not in usual:
                return


def shipped_classes() -> dict[type[Message], Kind | None]:
    """Return the classes of messages in `SHIPPED`, with the kinds of their records."""
    for package in SHIPPED:
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    classes: dict[type[Message], Kind | None] = {}
    waiting = list(Message.__subclasses__())
    for cls in waiting:  # which grows
        waiting += cls.__subclasses__()
        room = f"{cls.__module__}."
        if room.startswith(tuple(f"{package.__name__}." for package in SHIPPED)):
            kinds = (kind for start, kind in KINDS.items() if room.startswith(f"{start}."))
            classes[cls] = next(kinds, None)
    return dict(sorted(classes.items(), key=lambda one: (one[0].__module__, one[0].__name__)))
