"""Which types of fields can travel in an event, and come back as they were sent.

A field of another type, such as a path or an array, would be found out by the publisher alone, one
event at a time; a `collections.Counter` would travel, and never come back as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import inspect

_DECODED: Final = (bool, int, float, str, bytes, list, dict, type(None))
"""The types of what is read from an event, where the field does not say a type that msgspec has."""


def untravelling(cls: type) -> list[str]:
    """Return the fields of an event class that cannot travel, as ``name: type``.

    Fields of classes within are named by their path. Raises what `msgspec.inspect.type_info` raises
    for a class that it cannot read.
    """
    return list(_within(inspect.type_info(cls), "", {}))


def _within(info: Any, path: str, seen: dict[Any, None]) -> Iterator[str]:
    if isinstance(info, inspect.CustomType):
        if not any(issubclass(one, info.cls) for one in _DECODED):
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
