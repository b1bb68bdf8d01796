"""Names of benchmarks: an identity that tells them apart, and a shorter text that is shown.

The identity is the test's id without what has a column of its own: the same benchmark of two
backends has one name. Parameters are written as ``(nodes=50)`` where each is a number or a short
text. Where one is not, as an object with its address or a long list, the id is what stays the same
from process to process: ``[lz4]``.

What is shown is shortened by what the names do not share: the folders before the file, and
``test_``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

COLUMNS: Final = ("backend", "membership", "protocol", "community", "p_sel", "seed")
"""The keys with columns of their own, neither measures nor parts of a benchmark's name."""
_VALUE_CHARACTERS: Final = 40  # chosen: a longer value is not read, but looked at
_SHOWN_CHARACTERS: Final = 80  # chosen: of parameters; a line of a table
_DIGITS: Final = 8  # chosen: of SHA-256; of 1,000 long names two agree with 1 : 10,000
_PLAIN: Final = re.compile(r"[\w.+\- ]*")


def identity(fullname: str, params: Mapping[str, Any]) -> str:
    """Return the name of a test with these parameters, as pytest-benchmark's files have both."""
    path, _, function = fullname.partition("::")
    function, bracket, given = function.partition("[")
    test = f"{path}::{function}"
    others = {name: value for name, value in params.items() if name not in COLUMNS}
    if bracket and (not params or not all(map(_is_plain, others.values()))):
        columns = [str(value) for name, value in params.items() if name in COLUMNS]
        rest = _without(given.removesuffix("]"), columns)
        return f"{test}[{rest}]" if rest else test
    named = ", ".join(f"{name}={_text(others[name])}" for name in sorted(others))
    return f"{test}({named})" if named else test


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _VALUE_CHARACTERS and _PLAIN.fullmatch(value) is not None
    return value is None or isinstance(value, int | float)


def _text(value: Any) -> str:
    """Write a value so that 1 and "1" differ no less than 1 and 2."""
    is_word = isinstance(value, str) and not _reads_as_json(value)
    return value if is_word else json.dumps(value)


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _without(given: str, values: Iterable[str]) -> str:
    """Take the values out of the part of an id that is in brackets, each once."""
    padded = f"-{given}-"
    for value in values:
        padded = padded.replace(f"-{value}-", "-", 1)
    return padded[1:-1]


def shown_names(identities: Iterable[str]) -> dict[str, str]:
    """Return the shortest names that tell benchmarks apart, by their identities."""
    every = list(dict.fromkeys(identities))
    shown: dict[str, str] = {}
    folders = 0
    left = every
    while left:
        names = {name: _shortened(name, folders) for name in left}
        counts = Counter([*names.values(), *shown.values()])
        for name in left:
            whole = name.partition("::")[0].count("/") < folders
            if whole or counts[names[name]] == 1:
                shown[name] = name if whole else names[name]
        left = [name for name in left if name not in shown]
        folders += 1
    return shown


def _shortened(name: str, folders: int) -> str:
    """Return ``live_multicast.fast(nodes=50)``, with some of the folders before it."""
    path, _, test = name.partition("::")
    function = re.split(r"[\[(]", test, maxsplit=1)[0]
    given = test.removeprefix(function)
    *before, file = path.split("/")
    file = file.removeprefix("test_").removesuffix(".py")
    short = re.sub(r"(^|::)(?:test_|Test)", r"\1", function).replace("::", ".")
    if len(given) > _SHOWN_CHARACTERS:
        digest = sha256(given.encode()).hexdigest()[:_DIGITS]
        kept = given[: _SHOWN_CHARACTERS - _DIGITS]
        given = f"{kept}\N{HORIZONTAL ELLIPSIS}{digest}{given[-1]}"
    return "/".join([*before[len(before) - folders :], f"{file}.{short}"]) + given
