"""The output of commands on stdout: lines for programs, and text for a person.

Names and payloads come from peers and files: no character of theirs that a terminal would obey
reaches one (`camcast.vocabulary.printable`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from camcast.ops.output_place import OutputError
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.printable import printable

_MAYBE_UNPRINTABLE: Final = re.compile(r"[^ -~]")


def print_line(text: str) -> None:
    """Write one line at once; raises `BrokenPipeError` when nobody reads any longer.

    The line goes past Python's buffer: a thread that a slow reader blocks in a write must not own a
    lock that the interpreter needs when it ends.
    """
    rest = memoryview(printable(text, keep="\n").encode() + b"\n")
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def say(text: str) -> None:
    """Write a line for a person, after what a console has printed."""
    sys.stdout.write(f"{printable(text)}\n")


def write_output(path: Path, text: str) -> None:
    """Write a result to a file, whole or not at all; raises `OutputError`."""
    try:
        write_lasting(path, text.encode(), 0o644)
    except OSError as error:
        raise OutputError(f"--output {path}: {error.strerror}") from None


def json_line(value: object) -> str:
    """Return one line of JSON: types that JSON lacks as text, unprintable characters escaped."""
    try:
        line = msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:  # of a file whose name is not UTF-8, as Python has it
        line = json.dumps(msgspec.to_builtins(value, enc_hook=str), ensure_ascii=False)
    return line if line.isprintable() else _MAYBE_UNPRINTABLE.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def print_json(value: Mapping[str, object] | Sequence[Mapping[str, object]], schema: str) -> None:
    """Write a value as one line of JSON, see `json_line`; raises `BrokenPipeError`.

    Each object begins with the name of its schema, ``camcast.<schema>`` (docs/formats.md), such as
    ``publish/1``: the command and the version of what it prints.
    """
    named = {"schema": f"camcast.{schema}"}
    if isinstance(value, Mapping):
        lines: object = named | dict(value)
    else:
        lines = [named | dict(row) for row in value]
    print_line(json_line(lines))
