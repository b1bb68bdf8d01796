"""Text from elsewhere, as a terminal may show it.

A terminal obeys what it is sent: an escape sequence in a name or in a payload can recolour or
overwrite lines, set the title, or make the terminal type. What turns the direction of writing, or
ends a line where no line ends, makes a reader take one text for another.
"""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""Return the text with what has no shape written as in Python: ``\x1b``, ``\u202e``.

    Which characters have none `str.isprintable` says; those in `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode()
        for one in text
    )
