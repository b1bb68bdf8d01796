"""Optional parts: what to install when a command needs an extra that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from camcast.cli.failure import CommandError

_EXTRAS: Final = {
    "numpy": "sim",
    "numba": "sim",
    "llvmlite": "sim",
    "altair": "report",
    "vl_convert": "report",
}


@contextmanager
def extras_named() -> Iterator[None]:
    """Turn the absence of an optional package into a `CommandError` that says what to install."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        raise CommandError(
            f"this needs {package}, which is not installed;"
            f" run: pip install 'camcast[{_EXTRAS[package]}]'"
        ) from error
