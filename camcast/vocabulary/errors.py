"""The base class of all errors that this library makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override


class CamcastError(Exception):
    """The base of every error of CAMCAST, to catch them all.

    Each error also derives from the built-in error of its kind, such as `ValueError`,
    `TimeoutError` or `OSError`.
    """

    @override
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle and copy what there is: the initializers of some errors make their messages."""
        return _restore, (type(self), self.args, self.__dict__)


class CommunityError(CamcastError):
    """Base of what goes wrong with a community."""


def _restore(kind: type[CamcastError], args: tuple[Any, ...], state: Mapping[str, Any]) -> object:
    error = kind.__new__(kind, *args)
    if isinstance(error, OSError):
        OSError.__init__(error, *args)  # which has the number and its meaning from there
    error.args = args
    error.__dict__.update(state)
    return error
