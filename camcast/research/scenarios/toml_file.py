"""Reads attrs classes from TOML, with errors that name the file, the line and the key.

A table is a class, its keys are the fields: numbers, text, truth values, topics, paths relative to
the TOML file, tables and arrays of tables. An error that a class raises, in a validator or in a
check of its own, is raised again with the line of the key that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import inf, isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

import attrs

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.toml_text import TomlTextError, find_lines, parse_toml, read_toml
from camcast.vocabulary.topics import Topic, TopicError

T = TypeVar("T")

_BARE = re.compile(r"[\w-]+")

_PLAIN: Mapping[Any, tuple[Any, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    str: (str, "text"),
}


class TomlError(CamcastError, ValueError):
    """A TOML file is not what it should be: ``FILE:LINE: key: what is wrong``."""


class TomlFile:
    """A file's content, and where each key of it stands. Raises `TomlError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = read_toml(path)
            self.content: dict[str, Any] = parse_toml(text)
        except OSError as error:
            raise TomlError(f"{path}: {error.strerror}; name a file that can be read") from None
        except TomlTextError as error:
            raise TomlError(f"{path}: not TOML: {error}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise TomlError(f"{path}:{line}: not TOML: not UTF-8: {error.reason}") from None
        self._lines = find_lines(text)

    @classmethod
    def given(cls, content: Mapping[str, Any], folder: Path) -> Self:
        """Take content that was read before, also on another machine; paths are in `folder`."""
        file = cls.__new__(cls)
        file.path, file.content, file._lines = folder / "scenario", dict(content), {}
        return file

    def read(self, cls: type[T]) -> T:
        """Build an attrs class from the whole file; raises `TomlError`."""
        return self._table(cls, self.content, ())

    def _table(self, cls: type[T], given: Mapping[str, Any], at: tuple[str | int, ...]) -> T:
        untyped: Any = cls  # attrs' functions ask for a protocol that type[T] does not promise
        fields = attrs.fields_dict(attrs.resolve_types(untyped))
        values = {}
        for key, value in given.items():
            if key not in fields:
                raise self._error((*at, key), f"unknown key; known are {', '.join(fields)}")
            if value is None:  # null in a scenario that was written as JSON: the default
                continue
            values[key] = self._value(fields[key].type, value, (*at, key))
        for name, field in fields.items():
            if name not in values and field.default is attrs.NOTHING:
                raise self._error(at, f"the key {name!r} is missing")
        try:
            return cls(**values)
        except (TypeError, ValueError, LookupError) as error:
            message = str(error.args[0] if error.args else error)
            raise self._error((*at, *_named(message, values)), message) from None

    def _value(self, kind: Any, value: Any, at: tuple[str | int, ...]) -> Any:
        """Return a value converted to a field's type."""
        if isinstance(kind, UnionType):
            kind = next(each for each in get_args(kind) if each is not NoneType)
        if kind in _PLAIN:
            accepted, wanted = _PLAIN[kind]
            if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
                raise self._error(at, f"takes {wanted}, not {value!r}")
            if kind is not float:
                return value
            if not isfinite(number := _as_float(value)):
                raise self._error(at, f"takes {wanted} that is finite, not {value!r}")
            return number
        if kind is Topic:
            return self._topic(value, at)
        if kind is Path:
            if not isinstance(value, str):
                raise self._error(at, f"takes the name of a file, not {value!r}")
            return self.path.parent / str(value)
        match get_origin(kind):
            case origin if origin is Literal:
                if value not in get_args(kind):
                    raise self._error(at, f"is one of {', '.join(get_args(kind))}, not {value!r}")
                return value
            case origin if origin is tuple:
                (each, _) = get_args(kind)
                if not isinstance(value, list):
                    tables = attrs.has(each) and each is not Topic
                    of_tables = f" of tables, written as [[{at[-1]}]]" if tables else ""
                    raise self._error(at, f"takes an array{of_tables}, not {value!r}")
                return tuple(self._value(each, v, (*at, n)) for n, v in enumerate(value))
        if not isinstance(value, dict):
            name = at[-1] if isinstance(at[-1], str) else f"[{at[-2]}]"
            raise self._error(at, f"is a table, written as [{name}]; not {value!r}")
        if attrs.has(kind):
            return self._table(kind, value, at)
        key_kind, inner_kind = get_args(kind)  # a Mapping
        if key_kind is not Topic:
            return value
        return {
            self._topic(key, (*at, key)): (
                self._value(inner_kind, inner, (*at, key)) if attrs.has(inner_kind) else inner
            )
            for key, inner in value.items()
        }

    def _topic(self, value: object, at: tuple[str | int, ...]) -> Topic:
        try:
            return Topic.parse(str(value))
        except TopicError as error:
            raise self._error(at, str(error)) from None

    def _error(self, at: tuple[str | int, ...], message: str) -> TomlError:
        line = self._line(at)
        place = f"{self.path}" if line is None else f"{self.path}:{line}"
        parts = (part for part in at if isinstance(part, str))
        key = ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in parts)
        return TomlError(f"{place}: {key}: {message}" if key else f"{place}: {message}")

    def _line(self, at: Iterable[str | int]) -> int | None:
        """Return the line of a key, or else of the table that it is in, or None."""
        at = tuple(at)
        names = tuple(part for part in at if isinstance(part, str)) or ("",)
        number = next((part for part in at if isinstance(part, int)), 0)
        key = names[-1]
        places = [(names, number, "")]
        for depth in range(len(names) - 1, 0, -1):
            places += [(names[:depth], number, key), (names[:depth], number, "")]
        places.append(((), 0, names[0]))
        return next((self._lines[place] for place in places if place in self._lines), None)


def _as_float(value: float) -> float:
    """Return a number as a float, and infinity for a whole number too large for one."""
    try:
        return float(value)
    except OverflowError:
        return inf


def _named(message: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path to the key that an error message of a class names; empty if it names none.

    It is the first key that the message quotes, or else the first that it mentions. Keys of a table
    that is a class of its own do not count: that class accepted them.
    """
    paths: list[tuple[str, ...]] = [(key,) for key in values]
    for table, inner in values.items():
        paths += [(table, str(key)) for key in inner] if isinstance(inner, Mapping) else []
    for pattern in ("'{}'", r"(?<![\w.]){}(?![\w.])"):
        found = {
            match.start(): path
            for path in reversed(paths)
            if (match := re.search(pattern.format(re.escape(path[-1])), message))
        }
        if found:
            return found[min(found)]
    return ()
