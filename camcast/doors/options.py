"""Options of a plug: an attrs class, built from names and values that a person wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import attrs

from camcast.arguments import is_finite
from camcast.vocabulary.errors import CamcastError


class OptionError(CamcastError, ValueError):
    """A plug does not know an option, or refuses its value."""


_READERS: dict[Any, tuple[Callable[[str], object], str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
}


_PLAIN: dict[Any, Any] = {int: int, float: int | float, bool: bool}


def build_options(options: type[Any], given: Mapping[str, object], owner: str) -> Any:
    """Build an attrs class from names and values, which may be text from a command line.

    Raises `OptionError` for an unknown name, or a value of the wrong type or out of range; the
    message names the `owner` of the options, as in "membership 'scamp'".
    """
    fields = attrs.fields_dict(attrs.resolve_types(options))
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise OptionError(f"{owner} has no option {name!r}; it has: {known}")
        kind = fields[name].type
        if isinstance(value, str) and kind in _READERS:
            read, wanted = _READERS[kind]
            try:
                value = read(value)
            except (ValueError, KeyError):
                raise OptionError(
                    f"option {name!r} of {owner} takes {wanted}, not {value!r}"
                ) from None
        elif kind in _PLAIN and (
            not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind is not bool)
        ):
            raise OptionError(
                f"option {name!r} of {owner} takes {_READERS[kind][1]}, not {value!r}"
            )
        if isinstance(value, Real) and not is_finite(value):
            raise OptionError(f"option {name!r} of {owner} takes a finite number, not {value}")
        values[name] = value
    try:
        return options(**values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: {error.args[0] if error.args else error}") from error
