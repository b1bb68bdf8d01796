"""How a command fails: one clear sentence on stderr and an exit code, never a traceback."""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from camcast.app.community_errors import InsecureError
from camcast.cli.logs import complaints
from camcast.vocabulary.errors import CamcastError

EXIT_USAGE = 2  # [POSIX convention, as click's own] the command line or an input file is wrong
EXIT_TOO_FEW = 3  # chosen: a script tells a topic on which nothing came from a failure
EXIT_FAILED = 1  # the command was right, and could not do its work

UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EPIPE)
"""Errors of writing. Such an error names no file: it is left to `camcast.cli.app.main`."""

# CAMCAST's errors derive from these.
_WRONG_INPUT = (ValueError, LookupError, TypeError, InsecureError)
_FAILED = (OSError, RuntimeError)


class CommandError(CamcastError):
    """A command failed; the message is for the person at the keyboard."""


def complain(text: str, level: int = logging.ERROR) -> None:
    """Say something on stderr, on a line of its own.

    What is no reason of a failure has another level than ERROR, for those who read JSON.
    """
    sys.stderr.write(f"{complaints.line(text, level)}\n")
    sys.stderr.flush()


def remark(text: str) -> None:
    """Say on stderr how it goes: nothing has failed."""
    complain(text, logging.INFO)


@contextmanager
def clear_failures(*expected: type[Exception]) -> Iterator[None]:
    """Turn errors into a sentence on stderr and an exit code.

    These are CAMCAST's, those of the operating system that name a file, and the `expected` ones.
    Anything else is a defect of ours and keeps its traceback, or one of `UNWRITABLE`.
    """
    try:
        yield
    except Exception as error:
        names_a_file = isinstance(error, OSError) and bool(error.filename)
        of_stdout = isinstance(error, OSError) and error.errno in UNWRITABLE and not names_a_file
        told = names_a_file or isinstance(error, expected)
        if not isinstance(error, CamcastError) and (of_stdout or not told):
            raise
        text = str(error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        complain(text)
        wrong_input = isinstance(error, _WRONG_INPUT) and not isinstance(error, _FAILED)
        raise typer.Exit(EXIT_USAGE if wrong_input else EXIT_FAILED) from None
