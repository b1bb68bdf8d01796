"""Text from other processes, made safe to print on a terminal.

A terminal obeys escape sequences: in a name or a payload they can recolour or overwrite lines, set
the title, or make the terminal type. Characters that change the direction of writing, or end a
line, make a reader take one text for another.
"""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""Return the text with unprintable characters escaped as in Python: ``\x1b``, ``\u202e``.

    `str.isprintable` says which characters these are; those in `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode()
        for one in text
    )
