"""Options of a plug: an attrs class, built from names and values that a person wrote.

One rule for all plugs: the fields of the class are the options. Text is read as the type of the
field says, if that is `str`, `pathlib.Path`, `int`, `float` or `bool`; a field of another type has
a converter. A field made with ``metadata=SHARED`` is an option that all of a community must have
the same: processes that differ do not join each other (`camcast.vocabulary.choices`). The class is
`Backend.options` of a membership (``--set``), `Discovery.options` (``--discovery-set``), and a
protocol itself (``--protocol-set``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from camcast.vocabulary.arguments import built_in, is_finite
from camcast.vocabulary.errors import CamcastError

SHARED: Final = MappingProxyType({"camcast.shared": True})
"""The metadata of an option that all of a community must have the same."""


class OptionError(CamcastError, ValueError):
    """A plug does not know an option, or refuses its value."""


_KINDS: dict[Any, tuple[Any, Callable[[str], object], str]] = {
    str: (str, str, "a text"),
    Path: (Path, Path, "a path"),
    int: (int, int, "a whole number"),
    float: (int | float, float, "a number"),
    bool: (bool, {"true": True, "false": False}.get, "true or false"),
}
"""By the type of an option: the classes of its values, what reads a text, and words for both."""


def build_options(options: type[Any], given: Mapping[str, object], owner: str) -> Any:
    """Build an attrs class from names and values, which may be text from a command line.

    Raises `OptionError` for an unknown name, or a value of the wrong type or out of range; the
    message names the `owner` of the options, as in "membership 'scamp'".
    """
    fields = attrs.fields_dict(attrs.resolve_types(options)) if given else {}
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise OptionError(f"{owner} has no option {name!r}; it has: {known}")
        kind = fields[name].type
        if kind in _KINDS:
            classes, read, wanted = _KINDS[kind]
            with suppress(ValueError):
                value = read(value) if isinstance(value, str) else value
            value = built_in(value)
            if not isinstance(value, classes) or (isinstance(value, bool) and kind is not bool):
                raise OptionError(f"option {name!r} of {owner} takes {wanted}, not {given[name]!r}")
        if isinstance(value, Real) and not is_finite(value):
            raise OptionError(f"option {name!r} of {owner} takes a finite number, not {value}")
        values[name] = value
    try:
        return options(**values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: {error.args[0] if error.args else error}") from error


def shared_options(*plugs: object) -> str:
    """Return the options that others must have the same, as in ``arity=10 depth=2``."""
    shared: dict[str, object] = {}
    for plug in plugs:
        kind: Any = type(plug)
        shared |= {name: getattr(plug, name) for name in _shared(kind)}
    return " ".join(f"{name}={value}" for name, value in sorted(shared.items()))


# chosen: more than a program has plugs; a notebook that defines one again and again keeps the last
@lru_cache(maxsize=64)
def _shared(kind: type[Any]) -> list[str]:
    """Return the names of the options of a class of plugs that others must have the same."""
    options = attrs.fields(kind) if attrs.has(kind) else ()
    return [option.name for option in options if SHARED.items() <= option.metadata.items()]
