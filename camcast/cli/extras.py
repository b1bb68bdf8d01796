"""Optional parts: what to install when a command needs an extra that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from camcast.cli.failure import CommandError

_PACKAGES: Final = {
    "metrics": ("prometheus_client",),
    "report": ("altair", "vl_convert"),
    "sim": ("numba", "numpy", "llvmlite"),
    "spark": ("pyspark", "py4j", "pyarrow"),
}
"""The packages by which it shows whether an extra is installed."""


def missing_extras(extras: str) -> str:
    """Return those of the extras, written ``sim,report``, that are not installed."""
    missing = (
        extra
        for extra in filter(None, extras.split(","))
        if any(find_spec(package) is None for package in _PACKAGES[extra])
    )
    return ",".join(missing)


@contextmanager
def extras_named(extras: str = "sim") -> Iterator[None]:
    """Turn the absence of an optional package into a `CommandError` that says what to install."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if not any(package in packages for packages in _PACKAGES.values()):
            raise
        raise CommandError(
            f"this needs {package}, which is not installed; run: pip install 'camcast[{extras}]'"
        ) from error
