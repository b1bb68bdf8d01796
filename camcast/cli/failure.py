"""How a command fails: one clear sentence on stderr and an exit code, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

EXIT_USAGE = 2  # [POSIX convention, as click's own] the command line or an input file is wrong
EXIT_FAILED = 1  # the command was right, and could not do its work

_WRONG_INPUT = (ValueError, LookupError, TypeError)  # our named errors derive from these
_FAILED = (OSError, RuntimeError)


class CommandError(Exception):
    """A command failed; the message is for the person at the keyboard."""


@contextmanager
def clear_failures(*expected: type[Exception]) -> Iterator[None]:
    """Turn the `expected` errors, which carry a sentence of their own, into it and an exit code.

    Anything else is a defect of ours and keeps its traceback.
    """
    try:
        yield
    except (CommandError, *expected) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        sys.stderr.write(f"camcast: {text}\n")
        wrong_input = isinstance(error, _WRONG_INPUT) and not isinstance(error, _FAILED)
        raise typer.Exit(EXIT_USAGE if wrong_input else EXIT_FAILED) from None
