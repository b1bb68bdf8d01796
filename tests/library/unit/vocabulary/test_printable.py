"""Nothing that a terminal obeys, or that turns text around, is left in it."""

import pytest

from camcast.vocabulary.printable import printable


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


def test_what_is_kept_is_kept() -> None:
    assert printable("one\n\ttwo\x1b", keep="\n") == "one\n\\ttwo\\x1b"
