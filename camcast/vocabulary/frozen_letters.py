"""Writes the table of the letters that topics may have (`camcast.vocabulary.topic_letters`).

``python -m camcast.vocabulary.frozen_letters > camcast/vocabulary/topic_letters.py`` gives the same
file under Python 3.11 (Unicode 14.0), 3.12 (15.0) and 3.13 (15.1). Unicode never takes a character
back and never changes the letters that it has; each version only adds characters, and those added
after the version of the table are left out by `ADDED`. A Python with a later version than those
is refused: it has letters that nobody has listed here.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import Final

FROZEN: Final = "14.0.0"
"""The version of Unicode whose letters are those of topics: that of Python 3.11, our oldest."""
VERSIONS: Final = (FROZEN, "15.0.0", "15.1.0")
# [Unicode 2023, DerivedAge.txt] The letters and numbers among the characters that came with 15.0,
# and in the last range with 15.1.
ADDED: Final = (
    *((0x1123F, 0x11241), (0x11F02, 0x11F03), (0x11F04, 0x11F11), (0x11F12, 0x11F34)),
    *((0x11F50, 0x11F5A), (0x1342F, 0x13430), (0x13441, 0x13447), (0x1B132, 0x1B133)),
    *((0x1B155, 0x1B156), (0x1D2C0, 0x1D2D4), (0x1DF25, 0x1DF2B), (0x1E030, 0x1E06E)),
    *((0x1E4D0, 0x1E4EC), (0x1E4F0, 0x1E4FA), (0x2B739, 0x2B73A), (0x31350, 0x323B0)),
    (0x2EBF0, 0x2EE5E),
)
_IN_A_LINE: Final = 10  # chosen: lines of less than 100 characters
_HEAD: Final = '''"""The characters of a topic's levels, the same under every Python.

Written by `camcast.vocabulary.frozen_letters`: do not edit.
"""

from typing import Final

# fmt: off
BOUNDS: Final = (
'''
_TAIL: Final = ''')
# fmt: on
"""Where ranges of characters begin and end, by turns: "+", "-", "_", and what Unicode {} has as
letters and numbers."""
'''


def bounds() -> list[int]:
    """Return where ranges of the characters of levels begin, and where each ends, by turns.

    Raises `RuntimeError` under a Python whose version of Unicode is not one of `VERSIONS`.
    """
    if (version := unicodedata.unidata_version) not in VERSIONS:
        raise RuntimeError(
            f"this Python has Unicode {version}; its letters that came after {FROZEN} are not"
            f" listed in {__name__}.ADDED"
        )
    found, inside = list[int](), False
    for code in range(sys.maxunicode + 2):
        if _is_frozen(code) is not inside:
            inside = not inside
            found.append(code)
    return found


def _is_frozen(code: int) -> bool:
    if code > sys.maxunicode or any(start <= code < stop for start, stop in ADDED):
        return False
    character = chr(code)
    return character.isalnum() or character in "+-_"


def table() -> str:
    """Return the text of `camcast.vocabulary.topic_letters`."""
    numbers = [f"{code:#07x}," for code in bounds()]
    rows = [numbers[at : at + _IN_A_LINE] for at in range(0, len(numbers), _IN_A_LINE)]
    return _HEAD + "".join(f"    {' '.join(row)}\n" for row in rows) + _TAIL.format(FROZEN)


if __name__ == "__main__":
    sys.stdout.write(table())
