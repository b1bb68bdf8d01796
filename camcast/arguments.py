"""Checks of what applications give: an error names the argument, and what it should be.

What is not checked here fails later and elsewhere, perhaps in the event loop, with an error that
names no argument.
"""

from __future__ import annotations

from typing import Any, Final

BYTES: Final = (bytes, bytearray, memoryview)
"""The types of a payload."""


def check_type(name: str, given: object, kinds: Any, meant: str) -> None:
    """Raise `TypeError` unless an argument is of one of these types, as `isinstance` takes them."""
    if not isinstance(given, kinds):
        raise TypeError(f"{name} is {meant}, and not {given!r}")


def check_number(name: str, given: object) -> None:
    """Raise `TypeError` unless an argument is a number."""
    check_type(name, given, (int, float), "a number")
