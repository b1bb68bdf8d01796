"""TOML from a file that a stranger may have written: parsed, or refused with a clear message.

Python's parser recurses for each level of an array, takes time that grows with the square of the
length of a dotted key, and raises Python's own error for a number of 5,000 digits.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from camcast.vocabulary.errors import CamcastError

BYTES_MAX: Final = 2**20  # chosen: a thousand times what a person writes
DEPTH_MAX: Final = 32  # chosen: our files nest 4 levels

# A dotted key, from the beginning of a word or a quoted part on. A topic has no more levels.
_LONG_KEY: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){33}"""  # DEPTH_MAX + 1
)


class TomlTextError(CamcastError, ValueError):
    """A text is not TOML, or more than is read of TOML; the message says what is wrong."""


def read_toml(path: Path) -> str:
    """Return a file's text. Raises `OSError`, `UnicodeDecodeError`, and if long `TomlTextError`."""
    with path.open("rb") as file:
        content = file.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise TomlTextError(f"longer than {BYTES_MAX:,} bytes")
    return content.decode().replace("\r\n", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text; raises `TomlTextError` for whatever is wrong with it."""
    try:
        if _LONG_KEY.search(text):
            raise RecursionError
        content = tomllib.loads(text)
    except RecursionError:
        raise TomlTextError(f"nested deeper than {DEPTH_MAX} levels") from None
    except ValueError as error:  # a number with more digits than Python reads, among others
        raise TomlTextError(str(error).partition(";")[0]) from None
    if _too_deep(content):
        raise TomlTextError(f"nested deeper than {DEPTH_MAX} levels")
    return content


def _too_deep(content: object) -> bool:
    level = [content]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for outer in level
            if isinstance(outer, Mapping | list)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
    return bool(level)
