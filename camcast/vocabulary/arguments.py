"""Checks of what applications give: an error names the argument, and what it should be.

What is not checked here fails later and elsewhere, perhaps in the event loop, with an error that
names no argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf, isfinite
from numbers import Integral, Real
from types import NoneType
from typing import Any, Final, NoReturn

from attrs import validators

from camcast.vocabulary.printable import shown

BYTES: Final = (bytes, bytearray, memoryview)
"""The types of a payload."""
PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]
"""The validators of a field that is a probability."""
NOT_NEGATIVE: Final = [validators.ge(0.0)]
"""The validators of a field that may be 0, but not less."""


def check_type(name: str, given: object, kinds: Any, meant: str) -> None:
    """Raise `TypeError` unless an argument is of one of these types, as `isinstance` takes them."""
    if not isinstance(given, kinds):
        raise TypeError(f"{name} is {meant}, and not {shown(given)}")


def check_optional(name: str, given: object, kind: type, meant: str) -> None:
    """Raise `TypeError` unless an argument is of this type or None."""
    check_type(name, given, (kind, NoneType), meant)


def check_number(name: str, given: object) -> None:
    """Raise `TypeError` unless an argument is a number."""
    check_type(name, given, Real, "a number")


def built_in(given: Any) -> Any:
    """Return a number of another type, such as numpy's, as an int or a float; else what is given.

    Messages carry no other numbers, and are written long after the call that was given one.
    """
    if type(given) in (bool, int, float) or not isinstance(given, Real):
        return given
    with suppress(OverflowError):  # of a fraction larger than all floats
        return int(given) if isinstance(given, Integral) else float(given)
    return given


def check_flag(name: str, given: object) -> None:
    """Raise `TypeError` unless an argument is True or False: the text "no" would count as true."""
    check_type(name, given, bool, "True or False")


def check_finite(name: str, given: object) -> None:
    """Raise `TypeError` unless an argument is a number, and `ValueError` for inf and nan."""
    check_number(name, given)
    if not is_finite(given):
        raise ValueError(f"{name} is a finite number, and not {given}")


def is_finite(number: Any) -> bool:
    """Whether a number is neither infinite, nor nan, nor too large for a float."""
    try:
        return isfinite(number)
    except OverflowError:
        return False


def check_whole(name: str, given: object) -> None:
    """Raise `TypeError` unless an argument is a whole number."""
    if type(given) is not int:  # an abstract class takes ten times as long to ask
        check_type(name, given, Integral, "a whole number")


def check_timeout(given: float | None) -> None:
    """Raise `TypeError` or `ValueError` unless a timeout is a number of seconds, or None: never."""
    if given is not None:
        check_number("timeout", given)
        if not is_finite(given) and given not in (inf, -inf):
            raise ValueError(f"timeout is a number of seconds, and not {given!r:.50}")


def check_list(name: str, given: object, of: str) -> None:
    """Raise `TypeError` for a text, of which each character would be one, and for no iterable."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{name} is a list of {of}, and not {shown(given)}")


def refuse_copy(running: object, _protocol: object) -> NoReturn:
    """Raise `TypeError`: the `__reduce_ex__` of what has sockets, queues and tasks in one process.

    `copy`, `pickle` and, through it, `multiprocessing` call it.
    """
    name = type(running).__name__
    raise TypeError(
        f"a {name} belongs to one process and cannot be copied or pickled: another process starts a"
        " CommunityManager of its own"
    )


def is_left_to_do(result: object) -> bool:
    """Say whether work is left to do by whoever gets the result of a plain function."""
    return inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)


def check_plain(name: str, call: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no plain function: nobody would await or iterate its result."""
    if not callable(call) or is_coroutine_function(call) or is_generator_function(call):
        raise TypeError(f"{name} is a plain function, which is not awaited, and not {shown(call)}")


def is_generator_function(callback: Callable[..., object]) -> bool:
    """Say whether the result of a function, or of an object called like one, is to be iterated."""
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object whose `__call__` is one
    return any(
        inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one)
        for one in (callback, call)
    )


def is_coroutine_function(callback: Callable[..., object]) -> bool:
    """Say whether a function, or an object that is called like one, is to be awaited."""
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
