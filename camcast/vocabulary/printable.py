"""Text from other processes and objects of others, made safe to print.

A terminal obeys escape sequences: in a name or a payload they can recolour or overwrite lines, set
the title, or make the terminal type. Characters that change the direction of writing, or end a
line, make a reader take one text for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def shown(thing: object, show: Callable[[Any], str] = repr) -> str:
    """Return an object of others as text, also where its `__repr__` (or `__str__`) raises.

    For logs of what others' code did: that log must not fail where their code does.
    """
    try:
        return show(thing)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type(thing).__name__}, which cannot be shown: {type(error).__name__}>"


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
