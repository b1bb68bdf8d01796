"""TOML from a file that a stranger may have written: parsed, or refused with a clear message.

Python's parser recurses for each level of an array, takes time that grows with the square of the
length of a dotted key, and raises Python's own error for a number of 5,000 digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import read_given

BYTES_MAX: Final = 2**20  # chosen: a thousand times what a person writes
DEPTH_MAX: Final = 32  # chosen: our files nest 4 levels

# A dotted key, from the beginning of a word or a quoted part on. A topic has no more levels.
_LONG_KEY: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){33}"""  # DEPTH_MAX + 1
)
_HEADING: Final = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?")
_PART: Final = re.compile(r"""\"[^"]*"|'[^']*'|[\w-]+""")
_ASSIGNMENT: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)\s*=""")


class TomlTextError(CamcastError, ValueError):
    """A text is not TOML, or more than is read of TOML; the message says what is wrong."""


def read_toml(path: Path) -> str:
    """Return a file's text, without what Windows adds to it.

    Raises `OSError`, `UnicodeDecodeError`, and `TomlTextError` for a long one.
    """
    content, _ = read_given(path, BYTES_MAX)
    if len(content) > BYTES_MAX:
        raise TomlTextError(f"longer than {BYTES_MAX:,} bytes")
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text; raises `TomlTextError` for whatever is wrong with it."""
    import tomllib  # when used: most processes read no file

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


def find_lines(text: str) -> dict[tuple[tuple[str, ...], int, str], int]:
    """Return the line of each (table, number among tables of that name, key).

    A table is the path of its heading; the line of a table itself has the key "". Dotted keys and
    inline tables are not found.
    """
    lines: dict[tuple[tuple[str, ...], int, str], int] = {}
    seen: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.fullmatch(line):
            table = tuple(part.strip("\"'") for part in _PART.findall(heading[1]))
            seen[table] = seen.get(table, -1) + 1
            lines[table, seen[table], ""] = number
        elif assignment := _ASSIGNMENT.match(line):
            lines.setdefault((table, seen.get(table, 0), assignment[1].strip("\"'")), number)
    return lines
