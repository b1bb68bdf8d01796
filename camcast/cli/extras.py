"""Optional parts: what to install when a command needs an extra that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from camcast.cli.failure import CommandError

_SPARK: Final = ("pyarrow", "pyspark", "py4j")
_PACKAGES: Final = (
    *("numpy", "numba", "llvmlite", "altair", "vl_convert", "prometheus_client"),
    *_SPARK,
)


@contextmanager
def extras_named(extras: str = "sim") -> Iterator[None]:
    """Turn the absence of an optional package into a `CommandError` that says what to install."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        raise CommandError(
            f"this needs {package}, which is not installed; run: pip install 'camcast[{extras}]'"
        ) from error
