"""Which functions may be callbacks: none whose result nobody would await or iterate."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def check_callback(callback: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no function, or one that would never run."""
    if not callable(callback):
        raise TypeError(f"a callback is a function, and not {callback!r}")
    if _is_generator_function(callback):
        raise TypeError(
            f"{callback!r} has a `yield`: nobody would iterate it, and it would never run"
        )


def is_awaited(result: object) -> bool:
    """Say whether work is left to do by whoever gets a plain callback's result."""
    return inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)


def check_plain(name: str, call: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no plain function: nobody would await or iterate its result."""
    if not callable(call) or is_coroutine_function(call) or _is_generator_function(call):
        raise TypeError(f"{name} is a plain function, which is not awaited, and not {call!r}")


def _is_generator_function(callback: Callable[..., object]) -> bool:
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object whose `__call__` is one
    return any(
        inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one)
        for one in (callback, call)
    )


def is_coroutine_function(callback: Callable[..., object]) -> bool:
    """Say whether a function, or an object that is called like one, is to be awaited."""
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
