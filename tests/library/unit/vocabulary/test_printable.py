"""Nothing that a terminal obeys, or that turns text around, is left in it."""

from collections.abc import Callable
from typing import Any

import pytest

from camcast.vocabulary.printable import printable, shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Tor für Zürich, 3 € ✓", "Tor für Zürich, 3 € ✓"),
        ("h2\x1b[31mred", "h2\\x1b[31mred"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        ("\U000e0041", "\\U000e0041"),
        ("name\udcff", "name\\udcff"),
        ("one\ntwo", "one\\ntwo"),
    ],
)
def test_what_has_no_shape_is_written_as_python_writes_it(text: str, shown: str) -> None:
    assert printable(text) == shown


class Unshown(Exception):
    """Has neither a text nor a representation."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


@pytest.mark.parametrize("show", [repr, str])
def test_an_object_of_others_is_shown_whatever_it_raises(show: Callable[[Any], str]) -> None:
    assert shown(ValueError("a"), show) == show(ValueError("a"))
    assert shown(Unshown(), show) == "<Unshown, which cannot be shown: SystemExit>"


def test_what_is_kept_is_kept() -> None:
    assert printable("one\n\ttwo\x1b", keep="\n") == "one\n\\ttwo\\x1b"
