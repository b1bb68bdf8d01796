"""Grids of parameters: ``links.loss=0,0.05`` and ``membership=scamp,dht`` are four points.

A key is written as in TOML (``communities.".news"``); a number in it chooses a table of an array
(``crashes.0.share``). A value is one of TOML, or a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any, Final, TypeAlias

from attrs import frozen

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.toml_text import TomlTextError, parse_toml

POINTS_MAX: Final = 100_000  # chosen: a wrong grid is found before it fills the memory

_WORD: Final = re.compile(r"[^\s,\"'\[\]{}=]+")

Point: TypeAlias = Mapping[str, Any]
"""By key, as it was given, the value."""


class GridError(CamcastError, ValueError):
    """A --grid makes no sense; names it."""


@frozen
class Axis:
    """A key and its values."""

    key: str
    """As it was given."""
    path: tuple[str, ...]
    values: tuple[Any, ...]


def read_axis(text: str) -> Axis:
    """Read ``key=value,value,...``; raises `GridError`."""
    key, equals, given = text.partition("=")
    key = key.strip()
    if not equals or not given.strip():
        raise GridError(f"--grid takes KEY=VALUE,VALUE,..., like links.loss=0,0.1; not {text!r}")
    values = _values(given, text)
    for index, value in enumerate(values):
        # 1, 1.0 and true are equal in Python
        if (type(value), value) in [(type(other), other) for other in values[:index]]:
            raise GridError(f"--grid {text}: {value!r} is there twice")
    return Axis(key, _path(key, text), values)


def points(axes: Sequence[Axis]) -> list[Point]:
    """Return every combination, the last axis fastest; raises `GridError`."""
    for index, axis in enumerate(axes):
        for other in axes[:index]:
            if axis.path[: len(other.path)] == other.path[: len(axis.path)]:
                raise GridError(f"--grid says {axis.key} and {other.key}; that is one key twice")
    if (total := prod(len(axis.values) for axis in axes)) > POINTS_MAX:
        raise GridError(f"the grid has {total:,} points; give {POINTS_MAX:,} or fewer")
    keys = [axis.key for axis in axes]
    return [dict(zip(keys, values, strict=True)) for values in product(*(a.values for a in axes))]


def overridden(content: Mapping[str, Any], axes: Sequence[Axis], point: Point) -> dict[str, Any]:
    """Return the content of a TOML file with the values of a point; raises `GridError`."""
    changed = deepcopy(dict(content))
    for axis in axes:
        table: Any = changed
        for part in axis.path[:-1]:
            table = _inner(table, part, axis.key)
        if isinstance(table, list):
            raise GridError(f"--grid {axis.key}: give the key of the table that is to change")
        table[axis.path[-1]] = point[axis.key]
    return changed


def _inner(table: Any, part: str, key: str) -> Any:
    if isinstance(table, list):
        if not part.isdecimal() or int(part) >= len(table):
            raise GridError(
                f"--grid {key}: {part} is no number of a table; there are {len(table)}, from 0 on"
            )
        return table[int(part)]
    inner = table.setdefault(part, {})
    if not isinstance(inner, dict | list):
        raise GridError(f"--grid {key}: {part} is {inner!r} in the file, not a table")
    return inner


def _path(key: str, text: str) -> tuple[str, ...]:
    try:
        table: Any = parse_toml(f"{key} = 0")
    except TomlTextError:
        raise GridError(
            f'--grid {text}: {key!r} is no key, like links.loss or communities.".news"'
        ) from None
    path = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        path.append(part)
    return tuple(path)


def _values(given: str, text: str) -> tuple[Any, ...]:
    """Read the values, which commas part; a comma without a value before it is in a value."""
    values, pieces = [], []
    for piece in given.split(","):
        pieces.append(piece)
        part = ",".join(pieces).strip()
        try:
            ((_, value),) = parse_toml(f"value = {part}").items()
        except ValueError:  # TomlTextError, or more than one key
            if not _WORD.fullmatch(part):
                continue
            value = part
        values.append(value)
        pieces = []
    if pieces:
        raise GridError(f"--grid {text}: {','.join(pieces).strip()!r} is no value")
    return tuple(values)
