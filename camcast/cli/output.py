"""Lines on stdout, for programs that read them one at a time."""

from __future__ import annotations

import os
import sys

import msgspec
from rich.console import Console


def print_line(text: str) -> None:
    """Write one line at once; raises `BrokenPipeError` when nobody reads any more.

    Past Python's buffer: a thread that the reader holds up in a write must not own a lock
    that the interpreter wants when it ends.
    """
    rest = memoryview(text.encode() + b"\n")
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def wide_console(width: int) -> Console:
    """Return the console; not cut to 80 columns where there is no terminal that has a width."""
    console = Console()
    return console if console.is_terminal else Console(width=width)


def print_json(value: object) -> None:
    """Write one JSON object as one line, what JSON lacks as text; raises `BrokenPipeError`."""
    print_line(msgspec.json.encode(value, enc_hook=str).decode())
