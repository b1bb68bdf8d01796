"""Which types of fields can travel in an event, and come back as they were sent.

A field of another type, such as a path or an array, would be found out by the publisher alone, one
event at a time; a `collections.Counter` would travel, and never come back as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import InitVar
from inspect import formatannotation, get_annotations
from typing import Any, ClassVar, Final, get_origin, get_type_hints

from msgspec import inspect

_DECODED: Final = (bool, int, float, str, bytes, list, dict, type(None))
"""The types of what is read from an event, where the field does not say a type that msgspec has."""


def untravelling(cls: type) -> list[str]:
    """Return the fields of an event class that cannot travel, as ``name: type``.

    Fields of classes within are named by their path. Raises what `msgspec.inspect.type_info` raises
    for a class that it cannot read.
    """
    return list(_within(inspect.type_info(cls), "", {}))


def unreadable(cls: type) -> str:
    """Return the first field of an event class whose type msgspec cannot read, as ``name: type``.

    It is "" if no field is at fault. msgspec names the type only, and for an undefined name not
    even that.
    """
    for base in reversed(cls.__mro__):
        for name, annotation in get_annotations(base).items():
            alone = type(base.__name__, (), {"__annotations__": {name: annotation}})
            alone.__module__ = base.__module__
            written = annotation if isinstance(annotation, str) else formatannotation(annotation)
            try:
                hint = get_type_hints(alone, include_extras=True)[name]
                if get_origin(hint) is not ClassVar and not isinstance(hint, InitVar):
                    inspect.type_info(hint)
            except Exception:  # whatever evaluating the annotation raises
                return f"{name}: {written}"
    return ""


def _within(info: Any, path: str, seen: dict[Any, None]) -> Iterator[str]:
    if isinstance(info, inspect.CustomType):
        if not _is_decoded(info.cls):
            yield f"{path}: {info.cls.__module__}.{info.cls.__qualname__}".replace("builtins.", "")
        return
    if (fields := getattr(info, "fields", None)) is not None:  # of a class
        if info.cls not in seen:
            seen[info.cls] = None
            for field in fields:
                yield from _within(field.type, f"{path}.{field.name}".lstrip("."), seen)
        return
    for name in ("item_type", "key_type", "value_type"):
        if (inner := getattr(info, name, None)) is not None:
            yield from _within(inner, path, seen)
    for name in ("item_types", "types"):
        for inner in getattr(info, name, ()):
            yield from _within(inner, path, seen)


def _is_decoded(cls: type) -> bool:
    """Say whether what is read from an event may be an instance of `cls`."""
    try:
        return any(issubclass(one, cls) for one in _DECODED)
    except TypeError:  # of a protocol, which takes part in no checks
        return False
